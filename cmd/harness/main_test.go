package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolharness/harness/internal/redistest"
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
