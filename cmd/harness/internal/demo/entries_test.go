package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

func inputOf(run canonical.RunID, id canonical.ToolCallID) boundary.Input {
	return boundary.Input{Tool: "tool", Arguments: []byte(`{}`), Identity: canonical.Identity{
		RunKey: canonical.RunKey{Scope: canonical.Scope{Tenant: "t"}, Run: run}, Call: canonical.CallName{ID: id},
	}}
}

func writes(texts ...string) boundary.Executor {
	return boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		for _, text := range texts {
			if _, err := io.WriteString(raw, text); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestEntryIsNotedWithWhatTheToolWrote(t *testing.T) {
	t.Parallel()
	e, err := openEntries("")
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if err := e.around(writes("one ", "", "two")).Execute(t.Context(), inputOf("r", "a"), &raw); err != nil || raw.String() != "one two" {
		t.Fatalf("got %q, %v", raw.String(), err)
	}
	failed := errors.New("own")
	fails := boundary.ExecutorFunc(func(context.Context, boundary.Input, io.Writer) error { return failed })
	if err := e.around(fails).Execute(t.Context(), inputOf("r", "b"), io.Discard); !errors.Is(err, failed) {
		t.Errorf("got %v, want the tool's own error", err)
	}
	sum, none := sha256.Sum256([]byte("one two")), sha256.Sum256(nil)
	want := []entry{
		{identity: inputOf("r", "a").Identity, tool: "tool", size: 7, sha256: hex.EncodeToString(sum[:])},
		{identity: inputOf("r", "b").Identity, tool: "tool", sha256: hex.EncodeToString(none[:]), failed: true},
	}
	if got := e.all(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if lines, counted, err := e.recount(nil); lines != nil || counted || err != nil {
		t.Errorf("without a file: got %v, %t, %v", lines, counted, err)
	}
	if err := e.close(); err != nil {
		t.Error(err)
	}
}

// An entry is noted before the tool does anything, so that one that never returns is seen.
func TestEntryIsNotedFirst(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "entries")
	e, err := openEntries(path)
	if err != nil {
		t.Fatal(err)
	}
	looks := boundary.ExecutorFunc(func(context.Context, boundary.Input, io.Writer) error {
		if text, err := os.ReadFile(path); err != nil || string(text) != "r\ta\ttool\n" {
			t.Errorf("inside the tool: got %q, %v", text, err)
		}
		if got := e.all(); len(got) != 1 || got[0].sha256 != "" {
			t.Errorf("inside the tool: got %+v", got)
		}
		panic("the tool does not return")
	})
	func() {
		defer func() { _ = recover() }()
		_ = e.around(looks).Execute(t.Context(), inputOf("r", "a"), io.Discard)
	}()
	if got := e.all(); len(got) != 1 {
		t.Errorf("got %+v, want the entry", got)
	}
	if err := e.close(); err != nil {
		t.Error(err)
	}
}

// What a tool could not write is not counted as written.
func TestEntryCountsWhatWasTaken(t *testing.T) {
	t.Parallel()
	e := &entries{}
	limit := boundary.ErrRawLimit
	if err := e.around(writes("abcdef", "gh")).Execute(t.Context(), inputOf("r", "a"), &shortWriter{room: 4, err: limit}); !errors.Is(err, limit) {
		t.Errorf("got %v, want %v", err, limit)
	}
	sum := sha256.Sum256([]byte("abcd"))
	if got := e.all()[0]; got.size != 4 || got.sha256 != hex.EncodeToString(sum[:]) || !got.failed {
		t.Errorf("got %+v, want the four bytes that were taken", got)
	}
}

type shortWriter struct {
	room int
	err  error
}

func (w *shortWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.room -= n
	if n < len(p) {
		return n, w.err
	}
	return n, nil
}

// A tool that cannot be counted is not entered.
func TestEntryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	e, err := openEntries(filepath.Join(t.TempDir(), "entries"))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	entered := false
	err = e.around(boundary.ExecutorFunc(func(context.Context, boundary.Input, io.Writer) error {
		entered = true
		return nil
	})).Execute(t.Context(), inputOf("r", "a"), io.Discard)
	if !errors.Is(err, os.ErrClosed) || entered {
		t.Errorf("got %v, entered %t, want the file's error and no entry", err, entered)
	}
}

type picky struct{ boundary.Executor }

var errPicky = errors.New("not these arguments")

func (picky) CheckArguments(arguments []byte) error {
	if string(arguments) == "{}" {
		return nil
	}
	return errPicky
}

func TestCountingKeepsTheToolsOwnCheck(t *testing.T) {
	t.Parallel()
	e := &entries{}
	for _, c := range []struct {
		tool      boundary.Executor
		arguments string
		want      error
	}{{picky{writes()}, "{}", nil}, {picky{writes()}, `{"a":1}`, errPicky}, {writes(), `{"a":1}`, nil}} {
		checker, ok := e.around(c.tool).(boundary.ArgumentChecker)
		if !ok {
			t.Fatal("the check is lost")
		}
		if got := checker.CheckArguments([]byte(c.arguments)); got != c.want {
			t.Errorf("%T %s: got %v, want %v", c.tool, c.arguments, got, c.want)
		}
	}
	if len(e.all()) != 0 {
		t.Error("a check was counted as an entry")
	}
}

// Lines of several goroutines and of several openings of one file stay whole.
func TestEntriesOfManyAtOnce(t *testing.T) {
	t.Parallel()
	const openings, each = 4, 50
	path := filepath.Join(t.TempDir(), "entries")
	var wait sync.WaitGroup
	for n := range openings {
		e, err := openEntries(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.close() })
		for i := range each {
			wait.Go(func() {
				id := canonical.ToolCallID(fmt.Sprintf("call_%d", i))
				if err := e.around(writes("x")).Execute(t.Context(), inputOf(canonical.RunID(fmt.Sprintf("run_%d", n)), id), io.Discard); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	e, err := openEntries(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	lines, counted, err := e.recount([]canonical.RunKey{{Run: "run_1"}, {Run: "run_3"}})
	if err != nil || !counted || len(lines) != 2*each {
		t.Fatalf("got %d lines, %t, %v, want %d", len(lines), counted, err, 2*each)
	}
	slices.Sort(lines)
	if unique := len(slices.Compact(lines)); unique != 2*each {
		t.Errorf("got %d different lines, want %d", unique, 2*each)
	}
	for _, l := range lines[:2*each] {
		if strings.Count(l, "\t") != 2 || !strings.HasSuffix(l, "\ttool\n") {
			t.Errorf("got %q", l)
		}
	}
}

// A run whose id begins like another's is another run.
func TestRecountTellsRunsApart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "entries")
	if err := os.WriteFile(path, []byte("run\ta\tt\nrun2\tb\tt\n run\tc\tt\nrun\td\tt"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := openEntries(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	lines, counted, err := e.recount([]canonical.RunKey{{Run: "run"}})
	if want := []string{"run\ta\tt\n", "run\td\tt"}; err != nil || !counted || !slices.Equal(lines, want) {
		t.Errorf("got %q, %t, %v, want %q", lines, counted, err, want)
	}
}
