package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

func TestProgress(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"P19_a_process_dies_inside_a_write", diesInsideWrite},
		{"P22_an_unknown_write_is_resolved", resolveUnknown},
		{"P23_a_read_that_died", readDied},
		{"P43_lookup", lookUp},
		{"P48_another_process_reports_the_same", sameReport},
	})
}

func TestProgress_faults(t *testing.T) {
	onFake(t, []scenario{
		{"P43_lookup_when_the_store_is_down", lookUpDown},
		{"verdicts_that_cannot_be", badVerdicts},
		{"a_store_that_is_down_is_an_error", progressDown},
		{"a_run_that_is_gone_is_an_error", progressGone},
		{"a_sweep_leaves_the_living_alone", sweepGrace},
	})
}

// dies admits a call as a process would that is gone a moment later: nobody will
// end it. It is due after the given time.
func (b *bench) dies(id string, effect canonical.Effect, due time.Duration) {
	b.t.Helper()
	state := b.state()
	_, err := b.deck.Admit(b.t.Context(), canonical.Admission{
		Run: b.run.Key(), Call: named(id), Claim: canonical.Claim("claim-of-" + id), EvidenceID: canonical.EvidenceID("evidence-of-" + id),
		Tool: someTool, Effect: effect, Request: canonical.Body(someArgs), ToolBudget: canonical.Unlimited,
		NotAfter: state.Now.Add(time.Minute), Timeout: due - time.Millisecond, Closing: time.Millisecond, TTL: state.Limits.RecordTTL,
	})
	if err != nil {
		b.t.Fatalf("Admit %s: %v", id, err)
	}
}

func (b *bench) unresolved() []canonical.CallName {
	b.t.Helper()
	list, err := b.run.Unresolved(b.t.Context())
	if err != nil {
		b.t.Fatalf("Unresolved: %v", err)
	}
	var calls []canonical.CallName
	for _, id := range list {
		if id.RunKey != b.run.Key() {
			b.t.Errorf("unresolved call of %+v", id.RunKey)
		}
		calls = append(calls, id.Call)
	}
	return calls
}

func diesInsideWrite(t *testing.T, d *deck) {
	elsewhere := newBench(t, d, setup{})
	var runs []*bench
	for _, effect := range []canonical.Effect{canonical.EffectWrite, canonical.EffectUnknown} {
		b := newBench(t, d, setup{})
		b.dies("w", effect, d.soon)
		wantReady(t, b.read("before", says("ok")), "seen: ok")
		if got := b.unresolved(); len(got) != 0 {
			t.Errorf("unresolved before the due time: %v, want nothing", got)
		}
		runs = append(runs, b)
	}
	d.advance(t, d.soon)
	for _, b := range runs {
		tool := says("no")
		for _, p := range []*bench{b, b.joined(boundary.Config{})} {
			wantFailed(t, p.read("after", tool), lifecycle.UnresolvedEffect, lifecycle.NotStarted)
			wantFailed(t, p.write("after", tool), lifecycle.UnresolvedEffect, lifecycle.NotStarted)
		}
		wantEntered(t, tool, 0)
		if got := b.unresolved(); !slices.Equal(got, []canonical.CallName{named("w")}) {
			t.Errorf("unresolved %v, want the write", got)
		}
	}
	wantReady(t, elsewhere.read("a", says("ok")), "seen: ok")
}

func resolveUnknown(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantReady(t, b.read("fine", says("ok")), "seen: ok")
	wantFailed(t, b.write("w", fails(errLost)), lifecycle.OutcomeUnknown, lifecycle.Unknown)
	wantFailed(t, b.read("a", says("no")), lifecycle.UnresolvedEffect, lifecycle.NotStarted)
	first := b.record("w")
	if got := b.unresolved(); !slices.Equal(got, []canonical.CallName{named("w")}) {
		t.Errorf("unresolved %v, want the write", got)
	}
	b.faulty.Script(fakes.MethodResolve, 1, fakes.FailAfter) // the answer to the first verdict is lost
	for range 2 {
		if err := b.run.Resolve(t.Context(), named("w"), canonical.Applied, "receipt 17"); err != nil {
			t.Fatalf("Resolve: %v", err)
		}
	}
	b.wantMet()
	wantReady(t, b.read("a", says("yes")), "seen: yes")
	if got := b.unresolved(); len(got) != 0 {
		t.Errorf("unresolved %v, want nothing", got)
	}
	wantSameRecord(t, b, "w", first)
	s := b.settlement("w")
	if s.Resolved == nil || s.Resolved.Verdict != canonical.Applied || s.Resolved.Evidence != "receipt 17" || s.Identity != first.Identity {
		t.Errorf("settlement %+v, want the verdict on %+v", s, first.Identity)
	}
	if o, err := b.run.Lookup(t.Context(), named("w")); err != nil || o.Code() != lifecycle.OutcomeUnknown || o.Execution() != lifecycle.Unknown {
		t.Errorf("lookup %v, %v, want what the model was told", o, err)
	}
	for _, c := range []struct {
		call    string
		verdict canonical.EffectVerdict
		code    lifecycle.Code
		cause   error
	}{
		{"w", canonical.NotApplied, lifecycle.StoreConflict, canonical.ErrConflict},
		{"fine", canonical.Applied, lifecycle.StoreConflict, canonical.ErrConflict},
		{"never", canonical.Applied, lifecycle.RecordExpired, canonical.ErrMissing},
	} {
		wantRunError(t, b.run.Resolve(t.Context(), named(c.call), c.verdict, "receipt 18"), c.code, c.cause)
	}
	if s := b.settlement("w"); s.Resolved == nil || s.Resolved.Verdict != canonical.Applied {
		t.Errorf("settlement %+v, want the first verdict", s)
	}
}

func readDied(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	b.dies("r", canonical.EffectRead, 20*time.Millisecond)
	out, err := b.run.Outstanding(t.Context())
	if err != nil || len(out.Open) != 1 || out.Open[0].Call != named("r") || len(out.Effects) != 0 {
		t.Errorf("outstanding %+v, %v, want the read as open", out, err)
	}
	d.advance(t, 50*time.Millisecond)
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	wantReady(t, b.write("b", says("ok")), "seen: ok")
	if got := b.unresolved(); !slices.Equal(got, []canonical.CallName{named("r")}) {
		t.Errorf("unresolved %v, want the read", got)
	}
	if _, err := b.run.Lookup(t.Context(), named("r")); !errors.Is(err, canonical.ErrStillOpen) {
		t.Errorf("lookup: %v, want ErrStillOpen", err)
	}
	b.sweep(lifecycle.Orphaned, lifecycle.Unknown)
	if o, err := b.run.Lookup(t.Context(), named("r")); err != nil || o.Code() != lifecycle.Orphaned || o.Execution() != lifecycle.Unknown {
		t.Errorf("lookup %v, %v, want ORPHANED, ran: unknown", o, err)
	}
	if got := b.unresolved(); len(got) != 0 {
		t.Errorf("unresolved %v, want nothing", got)
	}
	wantFailed(t, b.read("r", says("again")), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	wantReady(t, b.read("c", says("ok")), "seen: ok")
}

func lookUp(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool, slow := says("a \x00 raw\n"), holds(t, "slow")
	results := map[string]boundary.Result{
		"ready":  b.read("ready", tool),
		"failed": b.read("failed", fails(errLost)),
	}
	env := b.envelope("absent")
	results["absent"] = b.Invoke(t.Context(), b.run, env, boundary.Action{Executor: tool, Projector: fakes.NewProjector(fakes.Absent("nothing", "docs"))})
	running := b.async(t.Context(), b.envelope("open"), reading(slow))
	<-slow.in
	before := b.state()
	for id, told := range results {
		for range 2 {
			o, err := b.run.Lookup(t.Context(), named(id))
			if err != nil || o.Text() != told.Outcome.Text() || o.Code() != told.Outcome.Code() || o.Execution() != told.Outcome.Execution() ||
				o.Evidence() != told.Outcome.Evidence() || o.IsError() != told.Outcome.IsError() {
				t.Errorf("%s: lookup %v %q, %v, want what the call was told: %v %q", id, o, o.Text(), err, told.Outcome, told.Outcome.Text())
			}
			first, _ := told.Outcome.Reference()
			if again, _ := o.Reference(); again != first {
				t.Errorf("%s: reference %+v, want %+v", id, again, first)
			}
		}
	}
	o, err := b.run.Lookup(t.Context(), named("open"))
	host := wantRunError(t, err, lifecycle.OutcomeUnknown, canonical.ErrStillOpen)
	if no, ok := errors.AsType[*canonical.RefusedError](host); !ok || no.First != lifecycle.Projecting {
		t.Errorf("error %v, want the state PROJECTING", host)
	}
	if !o.IsError() || o.Execution() != lifecycle.Unknown || !strings.Contains(o.Text(), `"ran":"unknown"`) {
		t.Errorf("outcome of an open call is %v, %s, want that nothing is known", o, o.Text())
	}
	_, err = b.run.Lookup(t.Context(), named("never"))
	wantRunError(t, err, lifecycle.RecordExpired, canonical.ErrMissing)
	_, err = b.run.Lookup(t.Context(), named("not an id"))
	wantRunError(t, err, lifecycle.InvalidToolCallID, nil)
	if after := b.state(); after.LastSeq != before.LastSeq || after.Reserved != before.Reserved {
		t.Errorf("looking up has changed the run from %+v to %+v", before, after)
	}
	wantEntered(t, tool, 2)
	slow.release()
	wantReady(t, <-running, "seen: slow")
	if o, err := b.run.Lookup(t.Context(), named("open")); err != nil || o.Text() != "seen: slow" {
		t.Errorf("lookup %q, %v, want the result", o.Text(), err)
	}
}

// sameReport: a run with every kind of ending, reported by the process that made
// the calls, from its tracker, and by one that knows the store alone.
func sameReport(t *testing.T, d *deck) {
	store := &opened{Store: d.Store}
	b := newBench(t, d.behind(store), setup{spec: anyBudget()})
	slow := holds(t, "slow")
	first := b.async(t.Context(), b.envelope("slow"), reading(slow)) // admitted first, ends last
	<-slow.in
	wantReady(t, b.read("a", says("275")), "seen: 275")
	wantFailed(t, b.read("failed", fails(errLost)), lifecycle.ToolExecutionFailed, lifecycle.Completed)
	absent := boundary.Action{Executor: says("[]"), Projector: fakes.NewProjector(fakes.Absent("nothing", "docs"))}
	wantReady(t, b.Invoke(t.Context(), b.run, b.envelope("absent"), absent), "nothing")
	wantFailed(t, b.read("a", says("again")), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	turned := b.envelope("a")
	turned.Turn = "2"
	wantReady(t, b.Invoke(t.Context(), b.run, turned, reading(says("276"))), "seen: 276")
	wantFailed(t, b.write("w", fails(errLost)), lifecycle.OutcomeUnknown, lifecycle.Unknown)
	if err := b.run.Resolve(t.Context(), named("w"), canonical.NotApplied, "receipt"); err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	many := boundary.Action{Executor: says("many"), Projector: fakes.NewProjector(manyFacts(40))}
	wantReady(t, b.Invoke(t.Context(), b.run, b.envelope("many"), many), "many")
	kept := b.keep(b.envelope("kept"), reading(says("kept")))
	slow.release()
	wantReady(t, <-first, "seen: slow")

	compare := func(when string) {
		t.Helper()
		mine, err := b.run.Facts(t.Context())
		if err != nil {
			t.Fatalf("%s: Facts: %v", when, err)
		}
		joined := process(t, d, boundary.Config{})
		run, err := joined.JoinRun(t.Context(), boundary.RunTicket{Run: b.run.Key(), Token: store.token})
		if err != nil {
			t.Fatalf("JoinRun: %v", err)
		}
		theirs, err := run.Facts(t.Context())
		if err != nil || !reflect.DeepEqual(theirs, mine) || encode(t, theirs) != encode(t, mine) || theirs.Text() != mine.Text() {
			t.Errorf("%s: reports differ, %v:\n%s\n%s", when, err, mine.Text(), theirs.Text())
		}
		if mine.Totals.Calls != 8 || mine.Omitted.FactsOverCall != 24 {
			t.Errorf("%s: totals %+v, omitted %+v, want 8 calls and 24 facts left out", when, mine.Totals, mine.Omitted)
		}
	}
	compare("with one call not stored")
	if err := b.Settle(t.Context(), kept); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	compare("with all stored")
	if err := b.run.Close(t.Context()); err != nil {
		t.Fatalf("Close: %v", err)
	}
	compare("closed")
	report, err := b.run.Facts(t.Context())
	if err != nil || !report.Complete {
		t.Errorf("report %+v, %v, want it complete", report.Totals, err)
	}
	if report.Facts[0].ToolCallID != "slow" || len(report.Absences) != 1 || len(report.Excluded) != 2 {
		t.Errorf("first fact of %s, %d absences, excluded %v", report.Facts[0].ToolCallID, len(report.Absences), report.Excluded)
	}
}

// opened is a store that remembers the token of the run that was opened: a
// ticket that the run has given out would make it report from the store, too.
type opened struct {
	canonical.Store
	token canonical.Token
}

// OpenRun implements [canonical.Runs].
func (s *opened) OpenRun(ctx context.Context, o canonical.Opening) (canonical.RunState, error) {
	s.token = o.Token
	return s.Store.OpenRun(ctx, o)
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func manyFacts(n int) fakes.Projected {
	p := projector.Projection{Result: []byte("many"), Status: evidence.Found}
	for i := range n {
		p.Facts = append(p.Facts, evidence.NewFact(evidence.Subject{Kind: "row", ID: fmt.Sprint(i)}, "is", "x"))
	}
	return fakes.Projected{Projection: p}
}

func lookUpDown(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	b.faulty.Script(fakes.MethodView, fakes.Every, fakes.FailAfter)
	o, err := b.run.Lookup(t.Context(), named("a"))
	wantRunError(t, err, lifecycle.StoreUnavailable, nil)
	if !o.IsError() || o.Execution() != lifecycle.Unknown || strings.Contains(err.Error(), marker) {
		t.Errorf("outcome %v, error %v, want that nothing is known", o, err)
	}
	b.faulty.Heal(fakes.MethodView)
	store := d.Store.(*fakes.Store)
	if !store.Corrupt(canonical.Identity{RunKey: b.run.Key(), Call: named("a")}) {
		t.Fatal("no record")
	}
	_, err = b.run.Lookup(t.Context(), named("a"))
	wantRunError(t, err, lifecycle.StoreUnavailable, canonical.ErrCorrupt)
}

func badVerdicts(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	b.dies("open", canonical.EffectWrite, time.Minute)
	wantRunError(t, b.run.Resolve(t.Context(), named("open"), canonical.Applied, "x"), lifecycle.OutcomeUnknown, canonical.ErrStillOpen)
	wantFailed(t, b.write("w", fails(errLost)), lifecycle.OutcomeUnknown, lifecycle.Unknown)
	for _, c := range []struct {
		call    string
		verdict canonical.EffectVerdict
		grounds string
	}{
		{"w", "", "x"}, {"w", "perhaps", "x"}, {"w", canonical.Applied, ""}, {"w", canonical.Applied, strings.Repeat("x", 513)},
		{"w", canonical.Applied, "\xff"}, {"not an id", canonical.Applied, "x"},
	} {
		wantRunError(t, b.run.Resolve(t.Context(), named(c.call), c.verdict, c.grounds), lifecycle.InvalidInput, nil)
	}
}

func progressDown(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	for _, c := range []struct {
		method fakes.Method
		ask    func() error
	}{
		{fakes.MethodInspect, func() error { _, err := b.run.Facts(t.Context()); return err }},
		{fakes.MethodHeads, func() error { _, err := b.run.Facts(t.Context()); return err }},
		{fakes.MethodOutstanding, func() error { _, err := b.run.Outstanding(t.Context()); return err }},
		{fakes.MethodOutstanding, func() error { _, err := b.run.Unresolved(t.Context()); return err }},
		{fakes.MethodSweep, func() error { _, err := b.run.Sweep(t.Context(), 0); return err }},
		{fakes.MethodResolve, func() error { return b.run.Resolve(t.Context(), named("a"), canonical.Applied, "x") }},
	} {
		b.faulty.Script(c.method, fakes.Every, fakes.FailBefore)
		err := c.ask()
		wantRunError(t, err, lifecycle.StoreUnavailable, nil)
		if strings.Contains(err.Error(), marker) {
			t.Errorf("%s: the error %v has the store's own words", c.method, err)
		}
		b.faulty.Heal(c.method)
	}
}

func progressGone(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	d.advance(t, 48*time.Hour)
	_, err := b.run.Facts(t.Context())
	wantRunError(t, err, lifecycle.RunInactive, canonical.ErrRunMissing)
	_, err = b.run.Unresolved(t.Context())
	wantRunError(t, err, lifecycle.RunInactive, canonical.ErrRunMissing)
	_, err = b.run.Sweep(t.Context(), 0)
	wantRunError(t, err, lifecycle.RunInactive, canonical.ErrRunMissing)
	_, err = b.run.Lookup(t.Context(), named("a"))
	wantRunError(t, err, lifecycle.RecordExpired, canonical.ErrMissing)
}

// sweepGrace: the default grace is a minute past the due time, and a call that
// ends itself first is not touched.
func sweepGrace(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := holds(t, "ok")
	running := b.async(t.Context(), b.envelope("living"), reading(tool))
	<-tool.in
	limits := canonical.DefaultLimits()
	d.advance(t, limits.ToolTimeout+limits.Closing()+canonical.DueMargin+boundary.DefaultGrace)
	if swept, err := b.run.Sweep(t.Context(), 0); err != nil || len(swept) != 0 {
		t.Errorf("swept %v, %v, want nothing: the grace is not over", swept, err)
	}
	_, err := b.run.Sweep(t.Context(), -time.Second)
	wantRunError(t, err, lifecycle.InvalidInput, nil)
	tool.release()
	wantReady(t, <-running, "seen: ok")
	d.advance(t, time.Hour/2)
	if swept, err := b.run.Sweep(t.Context(), 0); err != nil || len(swept) != 0 {
		t.Errorf("swept %v, %v, want nothing: the call has ended", swept, err)
	}
}
