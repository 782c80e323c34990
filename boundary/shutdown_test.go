package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

func TestShutdown(t *testing.T) {
	onFake(t, []scenario{
		{"P44_waits_for_running_calls", shutdownWaits},
		{"P44_time_is_up_before_a_call_has_ended", shutdownTimeIsUp},
		{"P44_stores_what_was_retained", shutdownStores},
		{"P44_on_a_broken_store_nothing_is_dropped", shutdownBroken},
		{"P44_late_results_are_listed", shutdownLate},
		{"a_call_that_ends_while_the_store_is_broken", shutdownDuringBrokenEnd},
		{"while_calls_are_made", shutdownUnderLoad},
		{"an_observer_that_blocks", shutdownObserverBlocks},
	})
}

// wantLeft checks what a shutdown says it has left behind.
func wantLeft(t *testing.T, err error, open, retained int) *boundary.ShutdownError {
	t.Helper()
	left, ok := errors.AsType[*boundary.ShutdownError](err)
	if !ok || len(left.Open) != open || len(left.Retained) != retained {
		t.Fatalf("Shutdown: %v, want %d open calls and %d retained results", err, open, retained)
	}
	return left
}

func wantRefusing(t *testing.T, b *bench) {
	t.Helper()
	tool := says("no")
	wantFailed(t, b.read("late", tool), lifecycle.RunInactive, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	_, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: testScope()})
	wantRunError(t, err, lifecycle.RunInactive, nil)
	_, err = b.JoinRun(t.Context(), b.run.Ticket())
	wantRunError(t, err, lifecycle.RunInactive, nil)
}

func shutdownWaits(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		tool := holds(t, "ok")
		running := b.async(t.Context(), b.envelope("a"), reading(tool))
		<-tool.in
		down := make(chan error, 2)
		for range 2 { // twice at once is fine
			go func() { down <- b.Shutdown(t.Context()) }()
		}
		synctest.Wait() // both wait for the call now
		if len(down) != 0 {
			t.Fatalf("Shutdown: %v while a call was running", <-down)
		}
		wantRefusing(t, b)
		tool.release()
		wantReady(t, <-running, "seen: ok")
		for range 2 {
			if err := <-down; err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		}
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown again: %v", err)
		}
		wantRefusing(t, b)
	})
}

func shutdownTimeIsUp(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		tool := holds(t, "ok")
		env := b.envelope("a")
		env.Turn = "3"
		running := b.async(t.Context(), env, reading(tool))
		<-tool.in
		second := holds(t, "ok")
		also := b.async(t.Context(), b.envelope("b"), reading(second))
		<-second.in
		ctx, cancel := context.WithCancel(t.Context())
		down := make(chan error, 1)
		go func() { down <- b.Shutdown(ctx) }()
		synctest.Wait()
		cancel()
		err := <-down
		left := wantLeft(t, err, 2, 0)
		for i, call := range []canonical.CallName{inTurn("3", "a"), named("b")} { // in a steady order
			if want := (canonical.Identity{RunKey: b.run.Key(), Call: call}); left.Open[i] != want {
				t.Errorf("open call %+v, want %+v", left.Open[i], want)
			}
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown: %v, want the context's error in it", err)
		}
		tool.release()
		second.release()
		wantReady(t, <-also, "seen: ok")
		wantReady(t, <-running, "seen: ok") // a shutdown that gave up has stopped nothing
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown again: %v", err)
		}
	})
}

func shutdownStores(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	b.keep(b.envelope("r"), reading(says("read")))
	b.keep(b.writeEnvelope("w"), writing(says("written")))
	b.keep(b.envelope("e"), reading(fails(errLost)))
	if err := b.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
	for id, want := range map[string]string{"r": "seen: read", "w": "seen: written"} {
		if o, err := b.run.Lookup(t.Context(), named(id)); err != nil || o.Text() != want {
			t.Errorf("%s: lookup %q, %v, want %q", id, o.Text(), err, want)
		}
	}
	if rec := b.record("e"); rec.Code != lifecycle.ToolExecutionFailed {
		t.Errorf("record %s %s, want TOOL_EXECUTION_FAILED", rec.State, rec.Code)
	}
}

func shutdownBroken(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	b.keep(b.envelope("r"), reading(says("s3cr3t")))
	b.faulty.Script(fakes.MethodSettle, fakes.Every, fakes.FailBefore)
	for range 2 {
		err := b.Shutdown(t.Context())
		left := wantLeft(t, err, 0, 1)
		if kept := left.Retained[0]; string(kept.Raw.Bytes) != "s3cr3t" || kept.Reason != boundary.NotStored || kept.Identity.Call != named("r") {
			t.Errorf("left %+v, want the result", kept)
		}
		host, ok := errors.AsType[*boundary.Error](err)
		if _, fault := errors.AsType[*fakes.FaultError](err); !ok || !fault || host.Code != lifecycle.ResultNotStored {
			t.Errorf("Shutdown: %v, want RESULT_NOT_STORED and the store's error within reach", err)
		}
		text := fmt.Sprintf("%v %+v %#v %s", err, err, err, err)
		if strings.Contains(text, "s3cr3t") || strings.Contains(text, marker) {
			t.Errorf("the error shows what it should not: %s", text)
		}
	}
	wantRefusing(t, b)
	b.faulty.Heal(fakes.MethodSettle)
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown on the mended store: %v", err)
	}
	if rec := b.record("r"); rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != "s3cr3t" {
		t.Errorf("record %s, want READY with the result", rec.State)
	}
}

// shutdownLate: a host that takes no results finds late ones in the error, and
// the call they belong to is not counted as open.
func shutdownLate(t *testing.T, d *deck) {
	arrived := make(chan struct{})
	config := boundary.Config{Store: d.Store, Authorizer: boundary.AllowAll{}, Now: d.now}
	config.Observer = boundary.ObserverFunc(func(_ context.Context, e boundary.Event) {
		if e.Kind == boundary.EventRetained {
			close(arrived)
		}
	})
	b := newBench(t, d, setup{})
	var err error
	if b.ToolBoundary, err = boundary.New(config); err != nil {
		t.Fatal(err)
	}
	b.run = b.open(boundary.RunSpec{})
	tool := holds(t, "late")
	got := b.Invoke(t.Context(), b.run, b.envelope("a"), short(reading(tool)))
	wantFailed(t, got, lifecycle.ToolTimeout, lifecycle.Unknown)
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v; a body that was left behind has no outcome any more", err)
	}
	tool.release()
	<-arrived
	left := wantLeft(t, b.Shutdown(t.Context()), 0, 1)
	if late := left.Retained[0]; late.Reason != boundary.Late || string(late.Raw.Bytes) != "late" {
		t.Errorf("left %+v, want the late result", late)
	}
}

// shutdownDuringBrokenEnd: what the last call could not store is settled by the
// shutdown that waited for it.
func shutdownDuringBrokenEnd(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		b.faulty.Script(fakes.MethodComplete, fakes.Every, fakes.HangBefore)
		running := b.async(t.Context(), b.envelope("a"), reading(says("ok")))
		<-b.faulty.Reached(fakes.MethodComplete, 1)
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		wantFailed(t, <-running, lifecycle.ResultNotStored, lifecycle.Completed)
		if rec := b.record("a"); rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != "ok" {
			t.Errorf("record %s, want READY", rec.State)
		}
	})
}

// shutdownUnderLoad: whatever a call was told is what is in the store once the
// shutdown is through.
func shutdownUnderLoad(t *testing.T, d *deck) {
	for range 10 {
		b := newBench(t, d, setup{spec: anyBudget()})
		tool := says("ok")
		results := make([]boundary.Result, 32)
		var wave sync.WaitGroup
		for i := range results {
			wave.Go(func() { results[i] = b.read(fmt.Sprint("call_", i), tool) })
		}
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		out, err := b.run.Outstanding(t.Context())
		if err != nil || len(out.Open) != 0 {
			t.Errorf("outstanding after Shutdown: %+v, %v, want nothing", out, err)
		}
		entered := tool.entries()
		wave.Wait()
		ready := int64(0)
		for _, got := range results {
			if got.Err == nil {
				ready++
				continue
			}
			wantFailed(t, got, lifecycle.RunInactive, lifecycle.NotStarted)
		}
		if ready != entered || tool.entries() != entered || b.state().LastSeq != entered {
			t.Errorf("%d READY, %d entries at the shutdown, %d later, want one number", ready, entered, tool.entries())
		}
	}
}

func shutdownObserverBlocks(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		b := newBench(t, d, setup{config: boundary.Config{Observer: boundary.ObserverFunc(func(context.Context, boundary.Event) { <-open })}})
		wantReady(t, b.read("a", says("ok")), "seen: ok")
		ctx, cancel := context.WithCancel(t.Context())
		down := make(chan error, 1)
		go func() { down <- b.Shutdown(ctx) }()
		synctest.Wait()
		cancel()
		err := <-down
		wantLeft(t, err, 0, 0)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown: %v, want the context's error in it", err)
		}
		close(open)
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown again: %v", err)
		}
	})
}
