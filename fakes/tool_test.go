package fakes_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
)

func inputOf(id canonical.ToolCallID) boundary.Input {
	return boundary.Input{Identity: canonical.Identity{RunKey: theRun(), Call: canonical.CallName{ID: id}}, Arguments: canonical.Body(`{}`)}
}

func TestTool_follows_its_script(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tool := fakes.NewTool(fakes.Returns("one"), fakes.Fails(broken))
	for i, want := range []struct {
		output string
		err    error
	}{{"one", nil}, {"", broken}, {"", broken}} {
		var raw bytes.Buffer
		err := tool.Execute(context.Background(), inputOf("c1"), &raw)
		if raw.String() != want.output || err != want.err {
			t.Errorf("entry %d = %q, %v; want %q, %v", i+1, raw.String(), err, want.output, want.err)
		}
	}
	if tool.EntriesOf(inputOf("c1").Identity) != 3 || tool.EntriesOf(inputOf("c2").Identity) != 0 {
		t.Errorf("entries of c1 and c2 = %d, %d; want 3, 0",
			tool.EntriesOf(inputOf("c1").Identity), tool.EntriesOf(inputOf("c2").Identity))
	}
}

func TestTool_counts_entries_not_returns(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		release := make(chan struct{})
		tool := fakes.NewTool(fakes.Ran{Until: release, Deaf: deaf})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- tool.Execute(ctx, inputOf("c1"), &bytes.Buffer{}) }()
		<-tool.Entered(1)
		if tool.Entries() != 1 {
			t.Errorf("deaf=%v: Entries = %d while the body runs, want 1", deaf, tool.Entries())
		}
		cancel()
		if !deaf {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("a tool that listens returned %v, want context.Canceled", err)
			}
			continue
		}
		select {
		case err := <-done:
			t.Errorf("a deaf tool returned %v at the end of its context", err)
		default:
		}
		close(release)
		if err := <-done; err != nil {
			t.Errorf("a deaf tool returned %v after its release, want nil", err)
		}
	}
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, boundary.ErrRawLimit }

func TestTool_returns_the_writers_error(t *testing.T) {
	t.Parallel()
	tool := fakes.NewTool(fakes.Returns("too much"))
	if err := tool.Execute(context.Background(), inputOf("c1"), fullWriter{}); !errors.Is(err, boundary.ErrRawLimit) {
		t.Errorf("Execute = %v, want ErrRawLimit", err)
	}
}

func TestTool_panics_and_keeps_what_it_was_given(t *testing.T) {
	t.Parallel()
	tool := fakes.NewTool(fakes.Ran{Output: []byte("partial"), Panic: "secret"})
	in := inputOf("c1")
	func() {
		defer func() {
			if got := recover(); got != "secret" {
				t.Errorf("panicked with %v, want the scripted value", got)
			}
		}()
		_ = tool.Execute(context.Background(), in, &bytes.Buffer{})
	}()
	in.Arguments[0] = 'X'
	if got := string(tool.Inputs()[0].Arguments); got != "{}" {
		t.Errorf("kept arguments %q, want its own copy {}", got)
	}
}
