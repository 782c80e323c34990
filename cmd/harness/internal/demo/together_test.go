package demo

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

func threeCalls() message {
	return message{turn: "t", searches: []search{{tool: "a"}, {tool: "b"}, {tool: "c"}}}
}

func callOfTurn(turn canonical.Turn, id canonical.ToolCallID) boundary.Input {
	in := inputOf("r", id)
	in.Identity.Call.Turn = turn
	return in
}

// run enters all calls of a message, each in a goroutine of its own, the last asked first.
func (t *together) run(ctx context.Context, m message, x boundary.Executor) {
	var wait sync.WaitGroup
	for i := range m.searches {
		call := callOfTurn(m.turn, callID(len(m.searches)-1-i))
		wait.Go(func() { _ = t.around(x).Execute(ctx, call, io.Discard) })
	}
	wait.Wait()
}

func TestToolsMeet(t *testing.T) {
	t.Parallel()
	m := threeCalls()
	for range 20 {
		together := newTogether([]message{m}, time.Minute)
		together.run(t.Context(), m, writes("x"))
		atOnce, ended := together.met("t")
		if want := []canonical.CallName{m.name(2), m.name(1), m.name(0)}; !atOnce || !slices.Equal(ended, want) {
			t.Fatalf("got at once %t, ended %v, want %v", atOnce, ended, want)
		}
	}
}

// A tool that fails or panics has left as well, and nobody waits for it for ever.
func TestToolsMeetThoughOneFails(t *testing.T) {
	t.Parallel()
	m := threeCalls()
	together := newTogether([]message{m}, time.Minute)
	together.run(t.Context(), m, boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, _ io.Writer) error {
		return errors.New(string(in.Identity.Call.ID))
	}))
	if atOnce, ended := together.met("t"); !atOnce || len(ended) != 3 {
		t.Errorf("got at once %t, ended %v", atOnce, ended)
	}
}

// One after the other they wait in vain, once; the calls run all the same.
func TestToolsThatDoNotMeet(t *testing.T) {
	t.Parallel()
	m := threeCalls()
	together := newTogether([]message{m}, 10*time.Millisecond)
	ran := 0
	counts := boundary.ExecutorFunc(func(context.Context, boundary.Input, io.Writer) error {
		ran++
		return nil
	})
	for i := range m.searches {
		if err := together.around(counts).Execute(t.Context(), callOfTurn("t", callID(i)), io.Discard); err != nil {
			t.Error(err)
		}
	}
	if atOnce, ended := together.met("t"); atOnce || len(ended) != 3 || ran != 3 {
		t.Errorf("got at once %t, ended %v, ran %d", atOnce, ended, ran)
	}
}

func TestNobodyWaitsAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	together := newTogether([]message{threeCalls()}, time.Hour)
	if err := together.around(writes("x")).Execute(ctx, callOfTurn("t", callID(0)), io.Discard); err != nil {
		t.Error(err)
	}
	if atOnce, _ := together.met("t"); atOnce {
		t.Error("one of three calls is told as all of them")
	}
}

// Calls of no message just run: recorded ones, and those that are refused elsewhere.
func TestCallsOfNoMessageDoNotWait(t *testing.T) {
	t.Parallel()
	together := newTogether([]message{threeCalls()}, time.Hour)
	for _, in := range []boundary.Input{inputOf("r", callID(0)), callOfTurn("other", callID(0)), callOfTurn("t", "call_9")} {
		if err := together.around(writes("x")).Execute(t.Context(), in, io.Discard); err != nil {
			t.Error(err)
		}
	}
	if _, ended := together.met("t"); len(ended) != 0 {
		t.Errorf("got %v", ended)
	}
}

func TestMeetingKeepsTheToolsOwnCheck(t *testing.T) {
	t.Parallel()
	together := newTogether(nil, time.Hour)
	for _, c := range []struct {
		tool boundary.Executor
		want error
	}{{picky{writes()}, errPicky}, {writes(), nil}} {
		checker, ok := together.around(c.tool).(boundary.ArgumentChecker)
		if !ok {
			t.Fatal("the check is lost")
		}
		if got := checker.CheckArguments([]byte(`{"a":1}`)); got != c.want {
			t.Errorf("%T: got %v, want %v", c.tool, got, c.want)
		}
	}
}
