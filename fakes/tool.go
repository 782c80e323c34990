package fakes

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// Ran is one scripted entry of a [Tool]. The fields happen from top to bottom.
type Ran struct {
	Until  <-chan struct{} // not nil: waits for it, or for the end of the context
	Deaf   bool            // waits for Until alone, whatever the context says
	Output []byte          // written to raw; an error of the writer is returned
	Panic  any             // not nil: the tool panics with it
	Err    error           // returned
}

// Returns is a tool's success with output.
func Returns(output string) Ran { return Ran{Output: []byte(output)} }

// Fails is a tool's error.
func Fails(err error) Ran { return Ran{Err: err} }

// Tool is a [boundary.Executor] that follows a script: the first entry takes the
// first step, entries beyond the script the last one. It counts entries, not
// returns, since an entry is what must not happen twice. It is safe for
// concurrent use.
type Tool struct {
	mu      sync.Mutex
	script  []Ran
	inputs  []boundary.Input
	entered []chan struct{}
}

var _ boundary.Executor = (*Tool)(nil)

// NewTool returns a tool with a script of at least one step.
func NewTool(first Ran, more ...Ran) *Tool {
	return &Tool{script: append([]Ran{first}, more...)}
}

// Execute implements [boundary.Executor].
func (t *Tool) Execute(ctx context.Context, in boundary.Input, raw io.Writer) error {
	step := t.enter(in)
	if err := step.wait(ctx); err != nil {
		return err
	}
	if len(step.Output) > 0 {
		if _, err := raw.Write(slices.Clone(step.Output)); err != nil {
			return err
		}
	}
	if step.Panic != nil {
		panic(step.Panic)
	}
	return step.Err
}

func (s Ran) wait(ctx context.Context) error {
	if s.Until == nil {
		return nil
	}
	gone := ctx.Done()
	if s.Deaf {
		gone = nil
	}
	select {
	case <-s.Until:
		return nil
	case <-gone:
		return ctx.Err()
	}
}

func (t *Tool) enter(in boundary.Input) Ran {
	t.mu.Lock()
	defer t.mu.Unlock()
	in.Arguments = in.Arguments.Clone()
	t.inputs = append(t.inputs, in)
	close(t.signal(len(t.inputs)))
	return t.script[min(len(t.inputs), len(t.script))-1]
}

// Entries is how often the body was entered, returned or not.
func (t *Tool) Entries() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.inputs)
}

// EntriesOf is how often the body was entered for one call.
func (t *Tool) EntriesOf(id canonical.Identity) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, in := range t.inputs {
		if in.Identity == id {
			n++
		}
	}
	return n
}

// Inputs are copies of what it was given, in the order of entry.
func (t *Tool) Inputs() []boundary.Input {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.inputs)
	for i := range out {
		out[i].Arguments = out[i].Arguments.Clone()
	}
	return out
}

// Entered is closed when the body is entered for the nth time, counted from 1.
func (t *Tool) Entered(n int) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.signal(n)
}

// signal returns the channel of one entry. The mutex is held.
func (t *Tool) signal(n int) chan struct{} {
	for len(t.entered) < n {
		t.entered = append(t.entered, make(chan struct{}))
	}
	return t.entered[n-1]
}
