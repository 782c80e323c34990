package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/internal/redistest"
)

func TestMain(m *testing.M) {
	workers.Main(roles())
	goleak.VerifyTestMain(m)
}

func TestRun_prints_one_table_and_leaves_nothing(t *testing.T) {
	redistest.Server(t) // skips where there is no redis-server
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	ok, err := run(t.Context(), []string{"-each", "2", "-only", "(wire reply lost|server SCRIPT FLUSH) admit", "-dir", dir}, &out, &progress)
	if err != nil || !ok {
		t.Fatalf("run = %t, %v\n%s%s", ok, err, out.String(), progress.String())
	}
	for _, want := range []string{"wire: reply lost ", "server: SCRIPT FLUSH ", "\nall "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of a run in which nothing failed is still there: %v", err)
	}
}

// A report that exists is not written over, and a run without a call is no
// success.
func TestRun_refuses(t *testing.T) {
	for _, args := range [][]string{{"-each", "-1"}, {"-only", "("}, {"-no-such-flag"}, {"argument"}, {"-only", "nothing is called so", "-dir", t.TempDir()}} {
		if ok, _ := run(t.Context(), args, io.Discard, io.Discard); ok {
			t.Errorf("%q: a success", args)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "report.jsonl"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ok, err := run(t.Context(), []string{"-dir", dir}, io.Discard, io.Discard); ok || err == nil {
		t.Errorf("wrote over a report: %t, %v", ok, err)
	}
}
