package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/localstore"
)

// asProgram makes this test binary be the program, so that tests see a real process with its signals and pipes.
const asProgram = "HARNESS_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m,
		// The index of document search starts its workers when a program that links
		// it is loaded, before any test, and never ends them.
		goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"),
	)
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func TestProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		status int
		out    string
		errs   string
	}{
		{[]string{"demo"}, 0, "All 16 checks passed.\n", ""},
		{[]string{"demo", "-o", "json"}, 0, "}\n", ""},
		{[]string{"demo", "--keep"}, 2, "", "Try 'harness help'.\n"},
		{[]string{"demo", "--redis", "redis://u:marker_7@127.0.0.1:1"}, 1, "", "no connection\n"},
		{[]string{"version"}, 0, "\n", ""},
	} {
		cmd := program(t, c.args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		start := time.Now()
		_ = cmd.Run() // the status says it
		if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.HasSuffix(out.String(), c.out) || !strings.HasSuffix(errs.String(), c.errs) {
			t.Errorf("%v: got %d, %q, %q, want %d", c.args, got, out.String(), errs.String(), c.status)
		}
		if strings.Contains(errs.String(), "marker_7") || strings.Contains(errs.String(), "127.0.0.1") || strings.Count(errs.String(), "\n") > 2 {
			t.Errorf("%v: got %q, want our own words only", c.args, errs.String())
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%v: took %v", c.args, took)
		}
	}
}

// A reader that goes away after a line must not keep the program from taking its keys away.
func TestProgramWhoseReaderGoesAway(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	cmd := program(t, "demo", "--redis", db.URL())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(out, 16).ReadString('\n'); err != nil {
		t.Error(err)
	}
	_ = out.Close()
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 1 || !strings.Contains(errs.String(), "could not be printed") {
		t.Errorf("got %d, %q, want 1", got, errs.String())
	}
	if left, err := db.Client().DBSize(t.Context()).Result(); err != nil || left != 0 {
		t.Errorf("got %d keys, %v, want none", left, err)
	}
}

// output is what a process must print to standard output, with nothing on standard error.
func output(t *testing.T, args ...string) string {
	t.Helper()
	cmd := program(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() != 0 {
		t.Fatalf("%v: got %v, %q", args, err, errs.String())
	}
	return out.String()
}

// What one process kept in a directory, others read back, export and verify: ready, absent, failed, Chinese.
func TestProgramsShareADirectory(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "run.jsonl")
	var made struct {
		OK    bool   `json:"ok"`
		Store string `json:"store"`
		Run   string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(output(t, "demo", "--data", dir, "-o", "json")), &made); err != nil || !made.OK || made.Store != "local" {
		t.Fatalf("got %+v, %v", made, err)
	}
	var list struct {
		Calls []struct {
			Name   string `json:"call"`
			Result bool   `json:"has_result"`
		} `json:"calls"`
	}
	if err := json.Unmarshal([]byte(output(t, "ls", made.Run, "--data", dir, "-o", "json")), &list); err != nil || len(list.Calls) != 24 {
		t.Fatalf("got %+v, %v, want 24 calls", list, err)
	}
	if text := output(t, "read", made.Run, "m4:call_0", "--data", dir); !strings.Contains(text, "青松卡的年费是多少？") {
		t.Errorf("got %s", text)
	}
	if text := output(t, "show", made.Run, "m2:call_0", "--data", dir); !strings.Contains(text, "\nevidence       NO_EVIDENCE\n") || !strings.Contains(text, "\nstrength       fsync\n") {
		t.Errorf("got %s", text)
	}
	output(t, "export", made.Run, "-o", file, "--data", dir)
	if text := output(t, "verify", file); !strings.Contains(text, "\ncalls        24\n") {
		t.Errorf("got %s", text)
	}

	// A process that holds the file keeps others out, and they say so.
	store, err := localstore.Open(filepath.Join(dir, localstore.FileName), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	cmd := program(t, "ls", "--data", dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	_ = cmd.Run() // the status says it
	if got := cmd.ProcessState.ExitCode(); got != 1 || !strings.Contains(errs.String(), "another process holds the file") {
		t.Errorf("got %d, %q, want 1", got, errs.String())
	}
}
