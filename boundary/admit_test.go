package boundary_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

func TestAdmit(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"P01_reply_lost", admitReplyLost},
		{"P03_delivered_again_after_a_sweep", admitAfterSweep},
		{"P04_delivered_again_after_close", admitAfterClose},
		{"P04_delivered_again_after_the_deadline", admitAfterDeadline},
		{"P05_delivered_after_its_not_after", admitTooLate},
	})
}

func TestAdmit_faults(t *testing.T) {
	onFake(t, []scenario{
		{"P06_caller_leaves_and_it_lands", callerLeaves},
		{"T54_store_down", admitStoreDown},
		{"T57_answer_lost_each_time", admitEveryReplyLost},
		{"shutdown_does_not_wait_for_an_abandoned_admission", abandonAtShutdown},
		{"an_abandoned_admission_that_cannot_be_ended_at_first", abandonRetries},
		{"a_refusal_after_a_delivery_that_is_still_on_its_way", refusedWhileOneTravels},
		{"a_refusal_that_is_lost_is_asked_for_again", refusalLost},
		{"an_ended_record_that_cannot_be_read", endedUnreadable},
		{"the_stores_clock_is_set_forward", storeClockForward},
		{"the_stores_clock_is_set_back", storeClockBack},
		{"the_stores_clock_is_set_beyond_the_deadline", storeClockBeyondDeadline},
		{"the_stores_clock_jumps_each_time", storeClockJumpsOn},
		{"unresolved_effect_and_capacity", barrierAndCapacity},
	})
}

// detour puts a test between a boundary and its store, at the admission.
type detour struct {
	canonical.Store
	admit func(context.Context, canonical.Admission) (canonical.Admitted, error)
}

// Admit implements [canonical.Calls].
func (s *detour) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	return s.admit(ctx, a)
}

var errLost = errors.New("connection reset: " + marker)

// lostOnce delivers the first admission, as alter makes it, runs between, and
// loses the answer; later deliveries are passed on.
func lostOnce(d *deck, alter func(*canonical.Admission), between func()) *detour {
	s := &detour{Store: d.Store}
	first := true
	s.admit = func(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
		if !first {
			return d.Admit(ctx, a)
		}
		first = false
		if alter != nil {
			alter(&a)
		}
		if _, err := d.Admit(ctx, a); err != nil {
			return canonical.Admitted{}, err
		}
		between()
		return canonical.Admitted{}, errLost
	}
	return s
}

func admitReplyLost(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 2, PerTool: 2}}})
	for _, fault := range []fakes.Fault{fakes.FailAfter, fakes.Twice} {
		b.faulty.Script(fakes.MethodAdmit, b.faulty.Calls(fakes.MethodAdmit)+1, fault)
		tool := says("ok")
		id := string(fault)
		wantReady(t, b.read(id, tool), "seen: ok")
		wantEntered(t, tool, 1)
		if rec := b.record(id); rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != "ok" {
			t.Errorf("record %s, raw %q, want READY and ok", rec.State, string(rec.Raw.Bytes))
		}
	}
	b.wantMet()
	if n := b.faulty.Calls(fakes.MethodAdmit); n != 3 {
		t.Errorf("%d admissions were sent, want 3", n)
	}
	if got := b.state().LastSeq; got != 2 {
		t.Errorf("%d places of the budget are used, want 2", got)
	}
	wantFailed(t, b.read("c", says("ok")), lifecycle.RunBudgetExhausted, lifecycle.NotStarted)
}

// admitAfterSweep: the sweeper was told to find the call abandoned at once, so
// that no server has to be waited for.
func admitAfterSweep(t *testing.T, d *deck) {
	for _, c := range []struct {
		effect canonical.Effect
		code   lifecycle.Code
	}{{canonical.EffectRead, lifecycle.Orphaned}, {canonical.EffectWrite, lifecycle.OutcomeUnknown}} {
		var b *bench
		store := lostOnce(d, func(a *canonical.Admission) { a.Timeout, a.Closing = time.Millisecond, time.Millisecond }, func() {
			d.advance(t, 50*time.Millisecond)
			swept, err := b.run.Sweep(t.Context(), time.Millisecond)
			if err != nil || len(swept) != 1 || swept[0].Code != c.code {
				t.Errorf("swept %v, %v, want the call as %s", swept, err, c.code)
			}
		})
		b = newBench(t, d, setup{config: boundary.Config{Store: store}})
		tool := says("ok")
		action := boundary.Action{Executor: tool, Projector: seen(), Effect: c.effect}
		wantFailed(t, b.Invoke(t.Context(), b.run, b.envelope("a"), action), c.code, lifecycle.Unknown)
		wantEntered(t, tool, 0)
		if rec := b.record("a"); rec.State != lifecycle.Error || rec.Code != c.code || rec.Stage != canonical.StageSweep {
			t.Errorf("record %s %s at %s, want what the sweep wrote", rec.State, rec.Code, rec.Stage)
		}
	}
}

func admitAfterClose(t *testing.T, d *deck) {
	var b *bench
	b = newBench(t, d, setup{config: boundary.Config{Store: lostOnce(d, nil, func() {
		if err := b.run.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})}})
	tool := says("ok")
	wantReady(t, b.read("a", tool), "seen: ok")
	wantEntered(t, tool, 1)
	wantFailed(t, b.read("b", tool), lifecycle.RunInactive, lifecycle.NotStarted)
}

func admitAfterDeadline(t *testing.T, d *deck) {
	b := newBench(t, d, setup{
		config: boundary.Config{Store: lostOnce(d, nil, func() { d.advance(t, d.soon) })},
		spec:   boundary.RunSpec{MaxDuration: d.soon},
	})
	in := make(chan struct{})
	tool := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		close(in)
		_, err := io.WriteString(raw, "ok")
		return err
	}}
	got := b.read("a", tool)
	<-in // the call goes on, with no time left; how it ends is the tool's doing
	if code := got.Outcome.Code(); code != "" && code != lifecycle.ToolTimeout {
		t.Errorf("outcome %v, want READY or TOOL_TIMEOUT", got.Outcome)
	}
	if rec := b.record("a"); !rec.State.Final() || rec.Execution == lifecycle.NotStarted {
		t.Errorf("record %s %s, want it ended after its tool was entered", rec.State, rec.Execution)
	}
	wantEntered(t, tool, 1)
	wantFailed(t, b.read("b", tool), lifecycle.RunDeadlineExceeded, lifecycle.NotStarted)
}

func admitTooLate(t *testing.T, d *deck) {
	const patience = 50 * time.Millisecond
	store := &detour{Store: d.Store}
	b := newBench(t, d, setup{config: boundary.Config{Store: store, Limits: canonical.Limits{ClosingTimeout: patience}}})
	before := d.keys(t, b.run.Key())
	late := 0
	store.admit = func(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
		d.advance(t, patience+10*time.Millisecond)
		got, err := d.Admit(context.WithoutCancel(ctx), a)
		if !errors.Is(err, canonical.ErrTooLate) {
			t.Errorf("late delivery is answered %+v, %v, want ErrTooLate", got, err)
		}
		late++
		return got, err
	}
	tool := says("ok")
	failed := wantFailed(t, b.read("a", tool), lifecycle.StoreUnavailable, lifecycle.NotStarted)
	if !errors.Is(failed, canonical.ErrTooLate) || late == 0 || late > 2 {
		t.Errorf("error %v after %d late deliveries, want ErrTooLate after one or two", failed, late)
	}
	wantEntered(t, tool, 0)
	b.noRecord("a", 0)
	if after := d.keys(t, b.run.Key()); !slices.Equal(after, before) {
		t.Errorf("keys %v, want %v", after, before)
	}
}

// callerLeaves: before the message is delivered, and between delivery and
// answer; for a read and for a write, whose barrier must not rise.
func callerLeaves(t *testing.T, d *deck) {
	for _, hold := range []fakes.Fault{fakes.HoldBefore, fakes.HoldAfter} {
		for _, action := range []boundary.Action{reading(says("ok")), writing(says("ok"))} {
			b := newBench(t, d, setup{})
			b.faulty.Script(fakes.MethodAdmit, 1, hold)
			ctx, leave := context.WithCancel(t.Context())
			result := b.async(ctx, b.envelope("a"), action)
			<-b.faulty.Reached(fakes.MethodAdmit, 1)
			leave()
			b.faulty.Release(fakes.MethodAdmit, 1)
			failed := wantFailed(t, <-result, lifecycle.Cancelled, lifecycle.NotStarted)
			if !errors.Is(failed, context.Canceled) || !failed.Stored {
				t.Errorf("error %v, stored %t, want the context's and true", failed, failed.Stored)
			}
			wantEntered(t, action.Executor.(*body), 0)
			rec := b.record("a")
			if rec.State != lifecycle.Error || rec.Code != lifecycle.Cancelled || rec.Execution != lifecycle.NotStarted {
				t.Errorf("record %s %s %s, want ERROR CANCELLED not_started", rec.State, rec.Code, rec.Execution)
			}
			out, err := b.run.Outstanding(t.Context())
			if err != nil || len(out.Open)+len(out.Effects) != 0 {
				t.Errorf("outstanding %+v, %v, want nothing", out, err)
			}
			if len(b.taken()) != 0 {
				t.Errorf("retained %v, want nothing: no tool has run", b.taken())
			}
			wantReady(t, b.read("b", says("ok")), "seen: ok")
		}
	}
}

func admitStoreDown(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	b.faulty.Script(fakes.MethodAdmit, fakes.Every, fakes.FailBefore)
	tool := says("ok")
	got := b.read("a", tool)
	failed := wantFailed(t, got, lifecycle.StoreUnavailable, lifecycle.NotStarted)
	if cause, ok := errors.AsType[*fakes.FaultError](failed); !ok || cause.Sent {
		t.Errorf("error %v, want the store's own within reach", failed)
	}
	wantHidden(t, got, marker)
	wantEntered(t, tool, 0)
	b.noRecord("a", 0)
	b.faulty.Heal(fakes.MethodAdmit)
	wantReady(t, b.read("a", tool), "seen: ok") // the refusal has not used the name
}

// admitEveryReplyLost: it landed, nobody knows, the body is not entered; later
// the record is ended as what it is, and the run's report agrees with the store.
func admitEveryReplyLost(t *testing.T, d *deck) {
	for _, fault := range []fakes.Fault{fakes.FailAfter, fakes.HangAfter} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, d, setup{})
			wantReady(t, b.read("before", says("ok")), "seen: ok")
			b.faulty.Script(fakes.MethodAdmit, fakes.Every, fault)
			tool := says("ok")
			start := time.Now()
			wantFailed(t, b.write("a", tool), lifecycle.StoreUnavailable, lifecycle.NotStarted)
			limit := canonical.DefaultLimits().ClosingTimeout
			if took := time.Since(start); took > limit {
				t.Errorf("the refusal took %v, want at most %v", took, limit)
			}
			if rec := b.record("a"); rec.State != lifecycle.Projecting {
				t.Fatalf("record %s, want PROJECTING: a delivery may still be under way", rec.State)
			}
			time.Sleep(limit - time.Nanosecond) // in the bubble's time
			synctest.Wait()
			if n := b.faulty.Calls(fakes.MethodComplete); n != 1 {
				t.Errorf("ended before every delivery was too late to land: %d completions, want 1", n)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			rec := b.record("a")
			if rec.State != lifecycle.Error || rec.Code != lifecycle.StoreUnavailable || rec.Execution != lifecycle.NotStarted {
				t.Errorf("record %s %s %s, want ERROR STORE_UNAVAILABLE not_started", rec.State, rec.Code, rec.Execution)
			}
			wantEntered(t, tool, 0)
			b.faulty.Heal(fakes.MethodAdmit)
			wantFailed(t, b.write("a", tool), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
			wantReady(t, b.read("b", says("ok")), "seen: ok") // no barrier
			report, err := b.run.Facts(t.Context())
			if err != nil || report.Totals.Calls != 3 || len(report.Excluded) != 1 || report.Excluded[0].ToolCallID != "a" {
				t.Errorf("report on %d calls, excluded %v, %v, want 3 and the lost one", report.Totals.Calls, report.Excluded, err)
			}
		})
	}
}

func abandonAtShutdown(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		b.faulty.Script(fakes.MethodAdmit, fakes.Every, fakes.FailAfter)
		wantFailed(t, b.read("a", says("ok")), lifecycle.StoreUnavailable, lifecycle.NotStarted)
		start := time.Now()
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("Shutdown took %v, want no wait", took)
		}
		if rec := b.record("a"); rec.Code != lifecycle.StoreUnavailable || rec.Execution != lifecycle.NotStarted {
			t.Errorf("record %s %s, want it ended as not started", rec.State, rec.Code)
		}
	})
}

func abandonRetries(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		b.faulty.Script(fakes.MethodAdmit, fakes.Every, fakes.FailAfter)
		b.faulty.Script(fakes.MethodComplete, 1, fakes.FailBefore)
		wantFailed(t, b.read("a", says("ok")), lifecycle.StoreUnavailable, lifecycle.NotStarted)
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if rec := b.record("a"); rec.State != lifecycle.Error {
			t.Errorf("record %s, want ERROR", rec.State)
		}
		b.wantMet()
	})
}

// refusedWhileOneTravels: the first delivery is stuck on its way, the second is
// refused for lack of room, then room is made and the first one lands.
func refusedWhileOneTravels(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		store := &detour{Store: d.Store}
		var travelling canonical.Admission
		calls := 0
		store.admit = func(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
			if calls++; calls == 2 { // the first of the call under test
				travelling = a
				return canonical.Admitted{}, errLost
			}
			return d.Admit(ctx, a)
		}
		limits := canonical.DefaultLimits()
		b := newBench(t, d, setup{config: boundary.Config{Store: store}, spec: boundary.RunSpec{Budget: canonical.Budget{Bytes: limits.Reserve(100)}}})
		first, tool := holds(t, "ok"), says("ok")
		slow := b.async(t.Context(), b.envelope("slow"), reading(first))
		<-first.in
		wantFailed(t, b.write("a", tool), lifecycle.CapacityExhausted, lifecycle.NotStarted)
		first.release()
		wantReady(t, <-slow, "seen: ok")
		if _, err := d.Admit(t.Context(), travelling); err != nil {
			t.Fatalf("the travelling admission: %v", err)
		}
		time.Sleep(limits.ClosingTimeout)
		synctest.Wait()
		if rec := b.record("a"); rec.State != lifecycle.Error || rec.Execution != lifecycle.NotStarted {
			t.Errorf("record %s %s, want ERROR not_started", rec.State, rec.Execution)
		}
		wantEntered(t, tool, 0)
		if list, err := b.run.Unresolved(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("unresolved %v, %v, want nothing", list, err)
		}
	})
}

func refusalLost(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	b.faulty.Script(fakes.MethodAdmit, 2, fakes.FailAfter)
	wantFailed(t, b.read("a", says("ok")), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	b.wantMet()
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if rec := b.record("a"); rec.State != lifecycle.Ready { // the claim of the second is not the first's
		t.Errorf("record %s, want READY", rec.State)
	}
}

// endedUnreadable: the admission was answered with an ending, of which nothing
// more can be learned. This process knows that it has not entered the body.
func endedUnreadable(t *testing.T, d *deck) {
	var b *bench
	store := lostOnce(d, func(a *canonical.Admission) { a.Timeout, a.Closing = time.Millisecond, time.Millisecond }, func() {
		b.sweep(lifecycle.Orphaned, lifecycle.Unknown)
	})
	b = newBench(t, d.behind(store), setup{})
	b.faulty.Script(fakes.MethodView, fakes.Every, fakes.FailBefore)
	tool := says("ok")
	got := b.read("a", tool)
	wantFailed(t, got, lifecycle.StoreUnavailable, lifecycle.NotStarted)
	wantHidden(t, got, marker)
	wantEntered(t, tool, 0)
}

// skewed is a process that opened a run of three hours before the store's clock
// moved by jump, while its own stood still.
func skewed(t *testing.T, jump time.Duration) *bench {
	t.Helper()
	d := fakeBackend().start(t)
	own := d.now()
	b := newBench(t, d, setup{config: boundary.Config{Now: func() time.Time { return own }}, spec: boundary.RunSpec{MaxDuration: 3 * time.Hour}})
	d.advance(t, jump)
	return b
}

func storeClockForward(t *testing.T, _ *deck) {
	b := skewed(t, time.Hour)
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	if n := b.faulty.Calls(fakes.MethodAdmit); n != 2 {
		t.Errorf("%d admissions were sent, want 2: one too late, one after asking for the time", n)
	}
	wantReady(t, b.read("b", says("ok")), "seen: ok")
	if n := b.faulty.Calls(fakes.MethodAdmit); n != 3 {
		t.Errorf("%d admissions were sent, want 3: the process knows the time now", n)
	}
}

func storeClockBack(t *testing.T, _ *deck) {
	b := skewed(t, -time.Hour)
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	if n := b.faulty.Calls(fakes.MethodAdmit) + b.faulty.Calls(fakes.MethodInspect); n != 1 {
		t.Errorf("%d trips for the admission, want 1", n)
	}
}

func storeClockBeyondDeadline(t *testing.T, _ *deck) {
	b := skewed(t, 4*time.Hour)
	tool := says("ok")
	wantFailed(t, b.read("a", tool), lifecycle.RunDeadlineExceeded, lifecycle.NotStarted)
	wantFailed(t, b.read("b", tool), lifecycle.RunDeadlineExceeded, lifecycle.NotStarted)
	if n := b.faulty.Calls(fakes.MethodAdmit); n != 2 {
		t.Errorf("%d admissions were sent, want 2: the second call is refused without asking", n)
	}
	wantEntered(t, tool, 0)
}

// storeClockJumpsOn: asking for the time helps once a call, not for ever; and a
// store that cannot tell the time leaves the call refused.
func storeClockJumpsOn(t *testing.T, d *deck) {
	tooLate := &canonical.RefusedError{Op: "admit", Err: canonical.ErrTooLate}
	b := newBench(t, d, setup{})
	b.faulty.Answer(fakes.MethodAdmit, fakes.Every, tooLate)
	tool := says("ok")
	wantFailed(t, b.read("a", tool), lifecycle.StoreUnavailable, lifecycle.NotStarted)
	if n := b.faulty.Calls(fakes.MethodAdmit); n != 2 {
		t.Errorf("%d admissions were sent, want 2", n)
	}
	b.faulty.Script(fakes.MethodInspect, fakes.Every, fakes.FailBefore)
	failed := wantFailed(t, b.read("a", tool), lifecycle.StoreUnavailable, lifecycle.NotStarted)
	if !errors.Is(failed, canonical.ErrTooLate) {
		t.Errorf("error %v, want ErrTooLate in it", failed)
	}
	wantEntered(t, tool, 0)
}

func barrierAndCapacity(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantFailed(t, b.write("w", fails(errLost)), lifecycle.OutcomeUnknown, lifecycle.Unknown)
	tool := says("ok")
	wantFailed(t, b.read("a", tool), lifecycle.UnresolvedEffect, lifecycle.NotStarted)
	wantFailed(t, b.write("b", tool), lifecycle.UnresolvedEffect, lifecycle.NotStarted)
	b.run = b.open(boundary.RunSpec{Budget: canonical.Budget{Bytes: 1 << 20}}) // less than one call may need
	wantFailed(t, b.read("a", tool), lifecycle.CapacityExhausted, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	b.noRecord("a", 0)
}
