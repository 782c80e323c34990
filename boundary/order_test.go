package boundary_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

func TestOrder(t *testing.T) {
	onFake(t, []scenario{
		{"batch_reads_are_admitted_as_asked", direct(admittedAsAsked)},
		{"batch_the_last_places_go_to_the_first_asked", direct(lastPlaces)},
		{"batch_the_first_of_two_equal_ids_runs", direct(firstOfEqual)},
		{"batch_bodies_run_at_once_all_the_same", direct(bodiesAtOnce)},
		{"batch_an_authorizer_that_ends_its_goroutine", direct(authorizerGoexit)},
		{"reads_are_admitted_as_asked", admittedAsAsked},
		{"the_last_places_go_to_the_first_asked", lastPlaces},
		{"the_first_of_two_equal_ids_runs", firstOfEqual},
		{"bodies_run_at_once_all_the_same", bodiesAtOnce},
		{"a_store_that_hangs_is_waited_for_once", hangingStoreOnce},
		{"an_authorizer_that_ends_its_goroutine", authorizerGoexit},
		{"shut_down_while_some_wait_for_their_place", shutDownWhileWaiting},
	})
}

// direct is the scenario on a store that takes batches.
func direct(run func(*testing.T, *deck)) func(*testing.T, *deck) {
	return func(t *testing.T, d *deck) {
		front := *d
		front.direct = true
		run(t, &front)
	}
}

// tools is a set with one tool that reads.
func (b *bench) tools(e boundary.Executor) *boundary.Toolset {
	b.t.Helper()
	set, err := boundary.NewToolset(b.ToolBoundary, boundary.Tool{Name: someTool, Effect: canonical.EffectRead, Executor: e, Projector: seen()})
	if err != nil {
		b.t.Fatalf("NewToolset: %v", err)
	}
	return set
}

func turn(ids ...string) []boundary.Call {
	var calls []boundary.Call
	for _, id := range ids {
		calls = append(calls, boundary.Call{ID: canonical.ToolCallID(id), Name: someTool, Arguments: []byte(someArgs)})
	}
	return calls
}

func upTo(n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("call_%02d", i))
	}
	return ids
}

// admittedAsAsked: some of the calls are refused before they get that far, which
// must not let those behind them overtake.
func admittedAsAsked(t *testing.T, d *deck) {
	for range 20 {
		b := newBench(t, d, setup{spec: anyBudget()})
		ids := upTo(20)
		calls := turn(ids...)
		for _, i := range []int{0, 3, 4, 11, 19} {
			calls[i].Arguments = []byte(`[]`)
		}
		var want []canonical.CallName
		for i, got := range b.tools(says("ok")).Dispatch(t.Context(), b.run, calls...) {
			if string(calls[i].Arguments) == `[]` {
				wantFailed(t, got, lifecycle.InvalidInput, lifecycle.NotStarted)
				continue
			}
			wantReady(t, got, "seen: ok")
			want = append(want, named(ids[i]))
		}
		order, err := d.Order(t.Context(), b.run.Key(), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var names []canonical.CallName
		for _, entry := range order {
			names = append(names, entry.Call)
		}
		if !slices.Equal(names, want) {
			t.Fatalf("admitted %v, want %v", names, want)
		}
	}
}

func lastPlaces(t *testing.T, d *deck) {
	for range 20 {
		b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 3, Bytes: canonical.Unlimited}}})
		for i, got := range b.tools(says("ok")).Dispatch(t.Context(), b.run, turn(upTo(8)...)...) {
			if i < 3 {
				wantReady(t, got, "seen: ok")
			} else {
				wantFailed(t, got, lifecycle.RunBudgetExhausted, lifecycle.NotStarted)
			}
		}
	}
}

func firstOfEqual(t *testing.T, d *deck) {
	for range 20 {
		b := newBench(t, d, setup{})
		tool := says("ok")
		results := b.tools(tool).Dispatch(t.Context(), b.run, turn("a", "b", "a", "a")...)
		wantReady(t, results[0], "seen: ok")
		wantReady(t, results[1], "seen: ok")
		wantFailed(t, results[2], lifecycle.DuplicateToolCall, lifecycle.NotStarted)
		wantFailed(t, results[3], lifecycle.DuplicateToolCall, lifecycle.NotStarted)
		wantEntered(t, tool, 2)
	}
}

// bodiesAtOnce: each body waits until all have been entered.
func bodiesAtOnce(t *testing.T, d *deck) {
	const together = 8
	b := newBench(t, d, setup{})
	entered, all := make(chan struct{}, together), make(chan struct{})
	go func() {
		for range together {
			<-entered
		}
		close(all)
	}()
	tool := &body{do: func(ctx context.Context, _ boundary.Input, raw io.Writer) error {
		entered <- struct{}{}
		select {
		case <-all:
		case <-ctx.Done():
			return ctx.Err()
		}
		_, err := io.WriteString(raw, "ok")
		return err
	}}
	for _, got := range b.tools(tool).Dispatch(t.Context(), b.run, turn(upTo(together)...)...) {
		wantReady(t, got, "seen: ok")
	}
}

// hangingStoreOnce: eight calls do not wait for eight timeouts.
func hangingStoreOnce(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		b.faulty.Script(fakes.MethodAdmit, fakes.Every, fakes.HangBefore)
		start := time.Now()
		tool := says("ok")
		for _, got := range b.tools(tool).Dispatch(t.Context(), b.run, turn(upTo(8)...)...) {
			wantFailed(t, got, lifecycle.StoreUnavailable, lifecycle.NotStarted)
		}
		if took, limit := time.Since(start), canonical.DefaultLimits().ClosingTimeout; took > 2*limit {
			t.Errorf("the answers took %v, want no more than twice %v", took, limit)
		}
		wantEntered(t, tool, 0)
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// authorizerGoexit: an authorizer that ends its goroutine takes its own call with
// it and no other.
func authorizerGoexit(t *testing.T, d *deck) {
	b := newBench(t, d, setup{config: boundary.Config{Authorizer: boundary.AuthorizerFunc(
		func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
			if q.Identity.Call == named("call_00") {
				runtime.Goexit()
			}
			return q.Grant(), nil
		},
	)}})
	results := b.tools(says("ok")).Dispatch(t.Context(), b.run, turn(upTo(3)...)...)
	if o := results[0].Outcome; !o.IsError() || o.Execution() == lifecycle.Completed {
		t.Errorf("outcome %v, want an error", o)
	}
	wantReady(t, results[1], "seen: ok")
	wantReady(t, results[2], "seen: ok")
}

// shutDownWhileWaiting: who was not admitted when the shutdown came is refused,
// and the shutdown waits for the one that was.
func shutDownWhileWaiting(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		b.faulty.Script(fakes.MethodAdmit, 1, fakes.HoldBefore)
		tool := says("ok")
		results, down := make(chan []boundary.Result, 1), make(chan error, 1)
		go func() { results <- b.tools(tool).Dispatch(t.Context(), b.run, turn(upTo(3)...)...) }()
		<-b.faulty.Reached(fakes.MethodAdmit, 1)
		synctest.Wait() // the others wait behind the first
		go func() { down <- b.Shutdown(t.Context()) }()
		synctest.Wait()
		b.faulty.Release(fakes.MethodAdmit, 1)
		if err := <-down; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		got := <-results
		wantReady(t, got[0], "seen: ok")
		wantFailed(t, got[1], lifecycle.RunInactive, lifecycle.NotStarted)
		wantFailed(t, got[2], lifecycle.RunInactive, lifecycle.NotStarted)
		wantEntered(t, tool, 1)
	})
}
