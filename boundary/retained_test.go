package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

func TestSettle(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"P25_while_the_record_is_open", settleOpen},
		{"P25_after_a_sweep", settleSwept},
		{"P25_after_the_runs_life", settleExpired},
		{"an_unknown_outcome_raises_the_barrier", settleUnknown},
		{"beside_another_outcome", settleConflict},
	})
}

func TestRetained(t *testing.T) {
	onFake(t, []scenario{
		{"the_hosts_bytes_are_its_own", hostsBytes},
		{"a_host_that_panics", hostPanics},
		{"a_host_that_settles_at_once", hostSettlesAtOnce},
		{"what_cannot_be_settled", cannotSettle},
		{"settling_on_a_store_that_is_still_down", settleStillDown},
		{"printed_without_bodies", retainedPrinted},
	})
}

// keep makes a call whose ending cannot be stored, and returns what the host was
// handed.
func (b *bench) keep(env boundary.Envelope, action boundary.Action) boundary.Retained {
	b.t.Helper()
	b.faulty.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
	before := len(b.taken())
	if got := b.Invoke(b.t.Context(), b.run, env, action); got.Err == nil {
		b.t.Fatalf("outcome %v, want that it could not be stored", got.Outcome)
	}
	b.faulty.Heal(fakes.MethodComplete)
	kept := b.taken()
	if len(kept) != before+1 {
		b.t.Fatalf("retained %v, want one more than %d", kept, before)
	}
	return kept[before]
}

func settleOpen(t *testing.T, d *deck) {
	for _, write := range []bool{false, true} {
		b := newBench(t, d, setup{})
		tool := says(strings.Repeat("raw ", 2000))
		env, action := b.envelope("a"), reading(tool)
		if write {
			env, action = b.writeEnvelope("a"), writing(tool)
		}
		kept := b.keep(env, action)
		if rec := b.record("a"); rec.State != lifecycle.Projecting || rec.Raw.Present() != write {
			t.Fatalf("record %s, raw stored %t, want PROJECTING and %t", rec.State, rec.Raw.Present(), write)
		}
		for range 2 {
			if err := b.Settle(t.Context(), kept); err != nil {
				t.Fatalf("Settle: %v", err)
			}
		}
		rec := b.record("a")
		if rec.State != lifecycle.Ready || rec.Evidence != evidence.Found || string(rec.Raw.Bytes) != strings.Repeat("raw ", 2000) {
			t.Errorf("record %s %s with %d bytes of raw, want READY and the result", rec.State, rec.Evidence, len(rec.Raw.Bytes))
		}
		wantEntered(t, tool, 1)
		if s := b.settlement("a"); s.Late != nil || s.Resolved != nil {
			t.Errorf("settlement %+v, want none: the record itself was ended", s)
		}
		report, err := b.run.Facts(t.Context())
		if err != nil || report.Totals.Ready != 1 {
			t.Errorf("report %+v, %v, want the call", report.Totals, err)
		}
	}
}

func settleSwept(t *testing.T, d *deck) {
	b := newBench(t, d.behind(soonDue(d)), setup{})
	kept := b.keep(b.writeEnvelope("w"), writing(fails(errLost)))
	b.sweep(lifecycle.OutcomeUnknown, lifecycle.Unknown)
	wantFailed(t, b.read("b", says("ok")), lifecycle.UnresolvedEffect, lifecycle.NotStarted)
	before := b.record("w")
	for range 2 {
		if err := b.Settle(t.Context(), kept); err != nil {
			t.Fatalf("Settle: %v", err)
		}
	}
	wantSameRecord(t, b, "w", before)
	s := b.settlement("w")
	if s.Late == nil || s.Late.Verdict != kept.Verdict() || s.Late.Verdict.Code != lifecycle.OutcomeUnknown || s.Resolved != nil {
		t.Errorf("settlement %+v, want the late verdict", s)
	}
	wantFailed(t, b.read("b", says("ok")), lifecycle.UnresolvedEffect, lifecycle.NotStarted) // a settlement is no verdict
	if err := b.run.Resolve(t.Context(), named("w"), canonical.NotApplied, "settlement of "+b.run.Key().Scope.Tenant); err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	wantReady(t, b.read("b", says("ok")), "seen: ok")
	if s = b.settlement("w"); s.Late == nil || s.Resolved == nil {
		t.Errorf("settlement %+v, want both parts", s)
	}
}

// settleExpired: the shortest life that limits allow is a little over five
// seconds, which a real server has to be waited for.
func settleExpired(t *testing.T, d *deck) {
	limits := canonical.Limits{
		RecordTTL: canonical.DueMargin + 1500*time.Millisecond, ToolTimeout: 500 * time.Millisecond,
		ProjectorTimeout: 500 * time.Millisecond, ClosingTimeout: 500 * time.Millisecond,
	}
	b := newBench(t, d, setup{config: boundary.Config{Limits: limits}, spec: boundary.RunSpec{MaxDuration: 2 * time.Second}})
	kept := b.keep(b.envelope("a"), reading(says("ok")))
	d.advance(t, limits.RecordTTL)
	err := b.Settle(t.Context(), kept)
	host, ok := errors.AsType[*boundary.Error](err)
	if !ok || host.Code != lifecycle.RecordExpired || !errors.Is(err, canonical.ErrMissing) {
		t.Errorf("Settle: %v, want RECORD_EXPIRED", err)
	}
	if string(kept.Raw.Bytes) != "ok" {
		t.Errorf("the host has %q, want its bytes", string(kept.Raw.Bytes))
	}
	var left *boundary.ShutdownError
	if err := b.Shutdown(t.Context()); !errors.As(err, &left) || len(left.Retained) != 1 || string(left.Retained[0].Raw.Bytes) != "ok" {
		t.Errorf("Shutdown: %v, want the bytes listed, not dropped", err)
	}
	for _, key := range d.keys(t, b.run.Key()) {
		if strings.Contains(key, "call:") {
			t.Errorf("the key %s was made again", key)
		}
	}
}

func settleUnknown(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	kept := b.keep(b.writeEnvelope("w"), writing(fails(errLost)))
	wantReady(t, b.read("a", says("ok")), "seen: ok") // not due yet, and nobody knows
	if err := b.Settle(t.Context(), kept); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	if rec := b.record("w"); rec.Code != lifecycle.OutcomeUnknown || rec.Execution != lifecycle.Unknown {
		t.Errorf("record %s %s, want OUTCOME_UNKNOWN", rec.Code, rec.Execution)
	}
	wantFailed(t, b.read("b", says("ok")), lifecycle.UnresolvedEffect, lifecycle.NotStarted)
}

func settleConflict(t *testing.T, d *deck) {
	var claim canonical.Claim
	store := &detour{Store: d.Store, admit: func(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
		claim = a.Claim
		return d.Admit(ctx, a)
	}}
	b := newBench(t, d.behind(store), setup{})
	kept := b.keep(b.envelope("a"), reading(says("ok")))
	rec := b.record("a")
	if _, err := d.Complete(t.Context(), canonical.Ending{Run: b.run.Key(), Call: named("a"), Claim: claim, Expires: rec.Expires,
		Verdict: lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.Unknown)}); err != nil {
		t.Fatalf("Complete: %v", err)
	}
	before := b.record("a")
	err := b.Settle(t.Context(), kept)
	if host, ok := errors.AsType[*boundary.Error](err); !ok || host.Code != lifecycle.StoreConflict || !errors.Is(err, canonical.ErrConflict) {
		t.Errorf("Settle: %v, want STORE_CONFLICT", err)
	}
	wantSameRecord(t, b, "a", before)
}

func hostsBytes(t *testing.T, d *deck) {
	spoil := func(r boundary.Retained) {
		for i := range r.Raw.Bytes {
			r.Raw.Bytes[i] = '#'
		}
	}
	b := newBench(t, d, setup{})
	for id, settle := range map[string]func(boundary.Retained) error{
		"by_the_host": func(r boundary.Retained) error { return b.Settle(t.Context(), r) },
		"at_shutdown": func(boundary.Retained) error {
			b.faulty.Script(fakes.MethodSettle, fakes.Every, fakes.FailBefore)
			var left *boundary.ShutdownError
			if err := b.Shutdown(t.Context()); !errors.As(err, &left) || len(left.Retained) != 1 {
				t.Fatalf("Shutdown: %v, want one result left", err)
			}
			spoil(left.Retained[0])
			b.faulty.Heal(fakes.MethodSettle)
			return b.Shutdown(t.Context())
		},
	} {
		b = newBench(t, d, setup{})
		kept := b.keep(b.envelope(id), reading(says("the result")))
		spoil(kept)
		if err := settle(kept); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if rec := b.record(id); string(rec.Raw.Bytes) != "the result" { // Record verifies the digest, too
			t.Errorf("%s: raw %q, want the result", id, string(rec.Raw.Bytes))
		}
	}
}

func hostPanics(t *testing.T, d *deck) {
	handed := 0
	b := newBench(t, d, setup{config: boundary.Config{OnRetained: func(context.Context, boundary.Retained) { handed++; panic("s3cr3t") }}})
	b.faulty.Answer(fakes.MethodComplete, 1, &canonical.RefusedError{Op: "complete", Err: canonical.ErrConflict})
	got := b.read("a", says("ok"))
	wantFailed(t, got, lifecycle.StoreConflict, lifecycle.Completed)
	wantHidden(t, got, "s3cr3t")
	var left *boundary.ShutdownError
	b.faulty.Answer(fakes.MethodSettle, 1, &canonical.RefusedError{Op: "settle", Err: canonical.ErrConflict})
	if err := b.Shutdown(t.Context()); !errors.As(err, &left) || len(left.Retained) != 1 || handed != 1 {
		t.Errorf("Shutdown: %v after %d calls of the host, want the result it did not take", err, handed)
	}
}

// hostSettlesAtOnce: from inside OnRetained, which is on the call's goroutine.
func hostSettlesAtOnce(t *testing.T, d *deck) {
	var b *bench
	var settled error
	b = newBench(t, d, setup{config: boundary.Config{OnRetained: func(ctx context.Context, r boundary.Retained) {
		b.faulty.Heal(fakes.MethodComplete)
		settled = b.Settle(ctx, r)
	}}})
	b.faulty.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
	wantFailed(t, b.read("a", says("ok")), lifecycle.ResultNotStored, lifecycle.Completed)
	if settled != nil {
		t.Errorf("Settle: %v", settled)
	}
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v, want nothing left", err)
	}
	if n := b.faulty.Calls(fakes.MethodSettle); n != 1 {
		t.Errorf("%d settlements were sent, want 1", n)
	}
}

func cannotSettle(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for name, r := range map[string]boundary.Retained{
		"zero":   {},
		"forged": {Identity: canonical.Identity{RunKey: b.run.Key(), Call: named("a")}, Reason: boundary.NotStored, Raw: canonical.NewRaw([]byte("x"))},
		"late":   {Reason: boundary.Late},
	} {
		err := b.Settle(t.Context(), r)
		if host, ok := errors.AsType[*boundary.Error](err); !ok || host.Code != lifecycle.StoreConflict || host.Execution != lifecycle.Unknown {
			t.Errorf("%s: %v, want STORE_CONFLICT, ran: unknown", name, err)
		}
	}
	if n := b.faulty.Calls(fakes.MethodSettle); n != 0 {
		t.Errorf("%d settlements were sent, want none", n)
	}
}

func settleStillDown(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	kept := b.keep(b.envelope("a"), reading(says("ok")))
	b.faulty.Script(fakes.MethodSettle, fakes.Every, fakes.FailBefore)
	err := b.Settle(t.Context(), kept)
	if host, ok := errors.AsType[*boundary.Error](err); !ok || host.Code != lifecycle.ResultNotStored || host.Execution != lifecycle.Completed {
		t.Errorf("Settle: %v, want RESULT_NOT_STORED", err)
	}
	if strings.Contains(err.Error(), marker) {
		t.Errorf("the error %v has the store's own words", err)
	}
	b.faulty.Heal(fakes.MethodSettle)
	if err := b.Settle(t.Context(), kept); err != nil {
		t.Errorf("Settle: %v", err)
	}
}

func retainedPrinted(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	kept := b.keep(b.envelope("a"), reading(says("s3cr3t")))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{kept, &kept, []boundary.Retained{kept}} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, "s3cr3t") || strings.Contains(text, "733363723374") || strings.Contains(text, "115 51 99") {
				t.Errorf("%s prints %s", verb, text)
			}
		}
	}
}
