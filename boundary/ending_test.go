package boundary_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

func TestEnding(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"P02_reply_lost", completeReplyLost},
		{"P09_T36_two_endings_race", endingsRace},
		{"P24_saved_then_swept", savedThenSwept},
		{"T36_a_sweep_ends_it_first", sweepEndsFirst},
	})
}

func TestEnding_projection(t *testing.T) {
	onFake(t, []scenario{
		{"T30_a_projector_that_fails", projectorFails},
		{"T31_statuses_that_are_none", badStatuses},
		{"T32_found_and_nothing_to_show", foundNothingToShow},
		{"T34_absence_without_a_scope", absenceWithoutScope},
		{"T48_facts_and_text_over_their_limits", projectionOverLimits},
		{"P40_codes_of_projectors", codesOfProjectors},
		{"a_projector_that_ignores_its_time", projectorIgnoresTime},
	})
}

func TestEnding_faults(t *testing.T) {
	onFake(t, []scenario{
		{"T56_the_store_is_down_at_the_end", downAtTheEnd},
		{"the_store_is_down_at_each_step", downAtEachStep},
		{"the_store_hangs_at_the_end", hangsAtTheEnd},
		{"the_answer_to_a_save_is_lost", saveReplyLost},
		{"a_save_is_refused", saveRefused},
		{"what_the_store_says_at_the_end", saidAtTheEnd},
		{"the_caller_has_gone_at_the_end", callerGoneAtTheEnd},
		{"the_caller_leaves_while_it_is_projected", callerLeavesProjection},
		{"the_record_expired_under_the_tool", expiredUnderTheTool},
	})
}

func completeReplyLost(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for _, fault := range []fakes.Fault{fakes.FailAfter, fakes.Twice} {
		for _, write := range []bool{false, true} {
			b.faulty.Script(fakes.MethodComplete, b.faulty.Calls(fakes.MethodComplete)+1, fault)
			tool, id := says("ok"), fmt.Sprintf("%s_%t", fault, write)
			env, action := b.envelope(id), reading(tool)
			if write {
				env, action = b.writeEnvelope(id), writing(tool)
			}
			before := b.state()
			wantReady(t, b.Invoke(t.Context(), b.run, env, action), "seen: ok")
			wantEntered(t, tool, 1)
			rec, after := b.record(id), b.state()
			used := int64(len(rec.Request) + len(rec.Raw.Bytes) + len(rec.Agent) + len(rec.Facts) + len(rec.Coverage))
			if after.LastSeq != before.LastSeq+1 || after.Reserved != before.Reserved+used {
				t.Errorf("%s: sequence %d, %d bytes, want %d and %d", id, after.LastSeq, after.Reserved, before.LastSeq+1, before.Reserved+used)
			}
		}
	}
	b.wantMet()
	if len(b.taken()) != 0 {
		t.Errorf("retained %v, want nothing", b.taken())
	}
	if out, err := b.run.Outstanding(t.Context()); err != nil || len(out.Open)+len(out.Effects) != 0 {
		t.Errorf("outstanding %+v, %v, want nothing", out, err)
	}
}

// endingsRace lets a call end READY while somebody with the same claim ends it
// as ERROR; and once it is READY, tries again.
func endingsRace(t *testing.T, d *deck) {
	for i := range 8 {
		store := &detour{Store: d.Store}
		var admitted canonical.Admission
		store.admit = func(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
			admitted = a
			return d.Admit(ctx, a)
		}
		b := newBench(t, d, setup{config: boundary.Config{Store: store}})
		tool := holds(t, "ok")
		result := b.async(t.Context(), b.envelope("a"), reading(tool))
		<-tool.in
		rival := canonical.Ending{Run: b.run.Key(), Call: named("a"), Claim: admitted.Claim, Expires: b.record("a").Expires,
			Verdict: lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.Completed), Stage: canonical.StageExecute}
		fought := make(chan error, 1)
		if i%2 == 0 {
			tool.release()
		}
		go func() {
			_, err := d.Complete(context.WithoutCancel(t.Context()), rival)
			fought <- err
		}()
		tool.release()
		got, lost := <-result, <-fought
		rec := b.record("a")
		switch {
		case lost == nil:
			wantFailed(t, got, lifecycle.StoreConflict, lifecycle.Completed)
			if rec.State != lifecycle.Error || rec.Code != lifecycle.ToolExecutionFailed || rec.Agent != nil {
				t.Errorf("record %s %s, want the rival's", rec.State, rec.Code)
			}
			if kept := b.taken(); len(kept) != 1 || kept[0].Reason != boundary.Conflicted || string(kept[0].Raw.Bytes) != "ok" {
				t.Errorf("retained %v, want the result that lost", kept)
			}
		case errors.Is(lost, canonical.ErrConflict):
			wantReady(t, got, "seen: ok")
			if rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != "ok" {
				t.Errorf("record %s, raw %q, want READY and ok", rec.State, string(rec.Raw.Bytes))
			}
			wantReference(t, got.Outcome, rec)
		default:
			t.Errorf("the rival was told %v, want nothing or ErrConflict", lost)
		}
		other := lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.Unknown)
		rival.Verdict = other
		if _, err := d.Complete(t.Context(), rival); !errors.Is(err, canonical.ErrConflict) {
			t.Errorf("a third ending was told %v, want ErrConflict", err)
		}
		wantSameRecord(t, b, "a", rec)
	}
}

// soonDue makes a store that counts an admitted call as abandoned at once, so
// that a sweep can end it while it runs.
func soonDue(d *deck) *detour {
	return &detour{Store: d.Store, admit: func(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
		a.Timeout, a.Closing = time.Millisecond, time.Millisecond
		return d.Admit(ctx, a)
	}}
}

// sweep ends what is abandoned, as another process would.
func (b *bench) sweep(want lifecycle.Code, x lifecycle.Execution) {
	b.t.Helper()
	b.deck.advance(b.t, 50*time.Millisecond)
	swept, err := b.run.Sweep(b.t.Context(), time.Millisecond)
	if err != nil || len(swept) != 1 || swept[0].Code != want || swept[0].Execution != x {
		b.t.Errorf("swept %v, %v, want one call as %s, ran: %s", swept, err, want, x.Ran())
	}
}

func savedThenSwept(t *testing.T, d *deck) {
	b := newBench(t, d, setup{config: boundary.Config{Store: soonDue(d)}})
	raw := strings.Repeat("order 17 placed ", 1000)
	action := writing(says(raw))
	action.Projector = projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
		if rec := b.record("w"); rec.State != lifecycle.Projecting || string(rec.Raw.Bytes) != raw {
			t.Errorf("record %s with %d bytes of raw, want PROJECTING and the raw result", rec.State, rec.Raw.Size)
		}
		b.sweep(lifecycle.ProjectionFailed, lifecycle.Completed) // as if the process had died here
		return projector.Projection{Result: []byte("placed"), Status: evidence.Found}, nil
	})
	wantFailed(t, b.Invoke(t.Context(), b.run, b.writeEnvelope("w"), action), lifecycle.StoreConflict, lifecycle.Completed)
	rec := b.record("w")
	if rec.State != lifecycle.Error || rec.Code != lifecycle.ProjectionFailed || rec.Execution != lifecycle.Completed || rec.Agent != nil {
		t.Errorf("record %s %s %s, want ERROR PROJECTION_FAILED completed", rec.State, rec.Code, rec.Execution)
	}
	if ref, ok := rec.Reference(); string(rec.Raw.Bytes) != raw || !ok || ref.SHA256 != canonical.Body(raw).SHA256() {
		t.Errorf("raw of %d bytes, reference %+v, want the raw result, verifiable", len(rec.Raw.Bytes), ref)
	}
	if list, err := b.run.Unresolved(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("unresolved %v, %v, want nothing", list, err)
	}
	other := b.joined(boundary.Config{})
	wantReady(t, other.read("b", says("ok")), "seen: ok") // no barrier
}

// sweepEndsFirst: for a read and for a write. The owner's result is the host's,
// whole, and can be settled beside the record.
func sweepEndsFirst(t *testing.T, d *deck) {
	for _, write := range []bool{false, true} {
		b := newBench(t, d, setup{config: boundary.Config{Store: soonDue(d)}})
		code := lifecycle.Orphaned
		env, action := b.envelope("a"), reading(nil)
		if write {
			code, env, action = lifecycle.OutcomeUnknown, b.writeEnvelope("a"), writing(nil)
		}
		action.Executor = &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			b.sweep(code, lifecycle.Unknown)
			_, err := io.WriteString(raw, "ok")
			return err
		}}
		wantFailed(t, b.Invoke(t.Context(), b.run, env, action), lifecycle.StoreConflict, lifecycle.Completed)
		before := b.record("a")
		kept := b.taken()
		if len(kept) != 1 || kept[0].Reason != boundary.Conflicted || string(kept[0].Raw.Bytes) != "ok" {
			t.Fatalf("retained %v, want the result", kept)
		}
		if v := kept[0].Verdict(); v.State != lifecycle.Ready || v.Evidence != evidence.Found {
			t.Errorf("retained as %+v, want READY: it was projected although the store had said no", v)
		}
		for range 2 { // settling twice is fine
			if err := b.Settle(t.Context(), kept[0]); err != nil {
				t.Fatalf("Settle: %v", err)
			}
		}
		wantSameRecord(t, b, "a", before)
		late := b.settlement("a").Late
		if late == nil || late.Verdict.State != lifecycle.Ready || string(late.Raw.Bytes) != "ok" || string(late.Agent) != "seen: ok" {
			t.Errorf("settlement %+v, want the late result", late)
		}
		if o, err := b.run.Lookup(t.Context(), named("a")); err != nil || o.Code() != code {
			t.Errorf("lookup %v, %v, want what the record says", o, err)
		}
		report, err := b.run.Facts(t.Context())
		if err != nil || len(report.Facts) != 0 || len(report.Excluded) != 1 {
			t.Errorf("report %+v, %v, want no fact", report, err)
		}
	}
}

// wantProjectionFailed checks a call whose tool ran and whose projection did not
// come off.
func wantProjectionFailed(t *testing.T, b *bench, id string, got boundary.Result, code lifecycle.Code, stage canonical.Stage) {
	t.Helper()
	wantFailed(t, got, code, lifecycle.Completed)
	rec := b.record(id)
	if rec.State != lifecycle.Error || rec.Evidence != evidence.Failed || rec.Code != code || rec.Stage != stage {
		t.Errorf("%s: record %s %s %s at %s, want ERROR ERROR %s at %s", id, rec.State, rec.Evidence, rec.Code, rec.Stage, code, stage)
	}
	if string(rec.Raw.Bytes) != "the raw result" || rec.Agent != nil || rec.Facts != nil || rec.Coverage != nil {
		t.Errorf("%s: raw %q, agent result %v, facts %v, want the raw alone", id, string(rec.Raw.Bytes), rec.Agent, rec.Facts)
	}
	wantReference(t, got.Outcome, rec)
	wantHidden(t, got, "the raw result")
	wantHidden(t, got, "s3cr3t")
}

func (b *bench) projected(id string, p projector.Projector) boundary.Result {
	b.t.Helper()
	return b.Invoke(b.t.Context(), b.run, b.envelope(id), boundary.Action{Executor: says("the raw result"), Projector: p})
}

func anyBudget() boundary.RunSpec {
	return boundary.RunSpec{Budget: canonical.Budget{Calls: 64, PerTool: 64}}
}

func projectorFails(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anyBudget()})
	for id, p := range map[string]projector.Projector{
		"error": fakes.NewProjector(fakes.Projected{Err: errors.New("s3cr3t")}),
		"panic": fakes.NewProjector(fakes.Projected{Panic: "s3cr3t"}),
		"error_and_result": fakes.NewProjector(fakes.Projected{
			Projection: projector.Projection{Result: []byte("s3cr3t"), Status: evidence.Found}, Err: errors.New("s3cr3t"),
		}),
		"goexit": projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			runtime.Goexit()
			return projector.Projection{}, nil
		}),
		"vicious": fakes.NewProjector(fakes.Projected{Err: viciousError{}}),
		"zero":    fakes.NewProjector(fakes.Projected{}),
	} {
		code := lifecycle.ProjectionFailed
		if id == "zero" {
			code = lifecycle.InvalidEvidenceStatus
		}
		wantProjectionFailed(t, b, id, b.projected(id, p), code, canonical.StageProject)
	}
	failing := fakes.NewProjector(fakes.Projected{Err: io.ErrUnexpectedEOF})
	if got := b.projected("cause", failing); !errors.Is(got.Err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want the projector's own within reach of the host", got.Err)
	}
}

func badStatuses(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anyBudget()})
	for i, status := range []evidence.Status{"", "FOUND", "no_evidence", "evidence_found", "EVIDENCE_FOUND ", evidence.Failed, "READY"} {
		p := fakes.NewProjector(fakes.Projected{Projection: projector.Projection{
			Result: []byte("something"), Status: status, Coverage: evidence.Searched("x", "docs"),
		}})
		id := fmt.Sprint("call_", i)
		wantProjectionFailed(t, b, id, b.projected(id, p), lifecycle.InvalidEvidenceStatus, canonical.StageProject)
	}
}

func foundNothingToShow(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anyBudget()})
	for i, text := range [][]byte{nil, {}, []byte(" "), []byte("\n\t "), []byte("\xff")} {
		p := fakes.NewProjector(fakes.Projected{Projection: projector.Projection{Result: text, Status: evidence.Found}})
		id := fmt.Sprint("call_", i)
		wantProjectionFailed(t, b, id, b.projected(id, p), lifecycle.ProjectionFailed, canonical.StageProject)
	}
}

func absenceWithoutScope(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anyBudget()})
	cut := evidence.Searched("x", "docs")
	cut.Complete = false
	full := evidence.Searched("x", "docs")
	fact := evidence.NewFact(evidence.Subject{Kind: "k"}, "is", "v")
	for id, p := range map[string]projector.Projection{
		"none":       {},
		"no_place":   {Coverage: evidence.Coverage{LookedFor: "x", Complete: true}},
		"cut":        {Coverage: cut},
		"with_facts": {Coverage: full, Facts: []evidence.Fact{fact}},
	} {
		p.Result, p.Status = []byte("nothing"), evidence.None
		got := b.projected(id, fakes.NewProjector(fakes.Projected{Projection: p}))
		wantProjectionFailed(t, b, id, got, lifecycle.InvalidEvidenceStatus, canonical.StageProject)
	}
}

func projectionOverLimits(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anyBudget(), config: boundary.Config{Limits: canonical.Limits{AgentBytes: 1000, FactsBytes: 1000}}})
	found := func(text string, facts int) projector.Projector {
		p := projector.Projection{Result: []byte(text), Status: evidence.Found}
		for i := range facts {
			p.Facts = append(p.Facts, evidence.NewFact(evidence.Subject{Kind: "k", ID: fmt.Sprint(i)}, "is", strings.Repeat("v", 100)))
		}
		return fakes.NewProjector(fakes.Projected{Projection: p})
	}
	wantProjectionFailed(t, b, "text", b.projected("text", found(strings.Repeat("é", 501), 0)), lifecycle.ResultTooLarge, canonical.StageAgent)
	wantProjectionFailed(t, b, "facts", b.projected("facts", found("short", 10)), lifecycle.ProjectionFailed, canonical.StageFacts)
	got := b.projected("fit", found(strings.Repeat("é", 500), 3))
	wantReady(t, got, strings.Repeat("é", 500))
}

func codesOfProjectors(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anyBudget(), config: boundary.Config{Codes: map[lifecycle.Code]string{"NOT_A_LIST": "It is no list."}}})
	for id, c := range map[string]struct {
		err  error
		code lifecycle.Code
	}{
		"registered":     {projector.Coded("NOT_A_LIST", errors.New("s3cr3t")), "NOT_A_LIST"},
		"not_registered": {projector.Coded("NOT_A_TREE", errors.New("s3cr3t")), lifecycle.ProjectionFailed},
		"built_in":       {projector.Coded(string(lifecycle.Unauthorized), nil), lifecycle.ProjectionFailed},
		"malformed":      {projector.Coded("s3cr3t", nil), lifecycle.ProjectionFailed},
		"of_a_tool":      {boundary.Coded("NOT_A_LIST", nil), lifecycle.ProjectionFailed}, // a projector has its own way to say so
	} {
		got := b.projected(id, fakes.NewProjector(fakes.Projected{Err: c.err}))
		wantProjectionFailed(t, b, id, got, c.code, canonical.StageProject)
	}
}

func projectorIgnoresTime(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		open := make(chan struct{})
		defer close(open)
		stubborn := fakes.NewProjector(fakes.Projected{Until: open, Projection: fakes.Found("late").Projection})
		start := time.Now()
		got := b.projected("a", stubborn)
		if took, limit := time.Since(start), canonical.DefaultLimits().ProjectorTimeout; took != limit {
			t.Errorf("the outcome came after %v, want %v", took, limit)
		}
		wantProjectionFailed(t, b, "a", got, lifecycle.ProjectionFailed, canonical.StageProject)
	})
}

// downAtTheEnd: nobody acknowledged the ending, so nobody may believe it.
func downAtTheEnd(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	b.faulty.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
	got := b.read("a", says("ok"))
	failed := wantFailed(t, got, lifecycle.ResultNotStored, lifecycle.Completed)
	if failed.Stored {
		t.Error("the error says that the ending is stored")
	}
	if _, ok := got.Outcome.Reference(); ok {
		t.Error("the outcome refers to what is not stored")
	}
	wantHidden(t, got, marker)
	wantHidden(t, got, "seen: ok")
	if rec := b.record("a"); rec.State != lifecycle.Projecting {
		t.Errorf("record %s, want PROJECTING", rec.State)
	}
	report, err := b.run.Facts(t.Context())
	if err != nil || len(report.Facts) != 0 || report.Totals.Ready != 0 {
		t.Errorf("report %+v, %v, want no fact", report, err)
	}
	kept := b.taken()
	if len(kept) != 1 || kept[0].Reason != boundary.NotStored || string(kept[0].Raw.Bytes) != "ok" || kept[0].Verdict().State != lifecycle.Ready {
		t.Fatalf("retained %+v, want the whole result", kept)
	}
	b.faulty.Heal(fakes.MethodComplete)
	if err := b.Settle(t.Context(), kept[0]); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	if o, err := b.run.Lookup(t.Context(), named("a")); err != nil || o.Text() != "seen: ok" {
		t.Errorf("lookup %q, %v, want what the model could have had", o.Text(), err)
	}
	if report, err = b.run.Facts(t.Context()); err != nil || len(report.Facts) != 1 {
		t.Errorf("report %+v, %v, want the fact", report, err)
	}
}

// downAtEachStep takes the store away for good at one step of a read and of a
// write, by every kind of fault. Whatever the model is told of the tool must be
// what the tool counted.
func downAtEachStep(t *testing.T, d *deck) {
	for _, fault := range []fakes.Fault{fakes.FailBefore, fakes.FailAfter, fakes.HangBefore, fakes.HangAfter} {
		for _, c := range []struct {
			step     fakes.Method
			write    bool
			lost     lifecycle.Code // where the message did not arrive
			answered lifecycle.Code // where it did and the answer is lost for ever
			ran      lifecycle.Execution
		}{
			{fakes.MethodAdmit, false, lifecycle.StoreUnavailable, lifecycle.StoreUnavailable, lifecycle.NotStarted},
			{fakes.MethodAdmit, true, lifecycle.StoreUnavailable, lifecycle.StoreUnavailable, lifecycle.NotStarted},
			{fakes.MethodSave, true, "", "", lifecycle.Completed}, // the ending carries the bytes once more
			{fakes.MethodComplete, false, lifecycle.ResultNotStored, lifecycle.ResultNotStored, lifecycle.Completed},
			{fakes.MethodComplete, true, lifecycle.ResultNotStored, lifecycle.ResultNotStored, lifecycle.Completed},
		} {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, d, setup{})
				b.faulty.Script(c.step, fakes.Every, fault)
				tool := says("ok")
				env, action := b.envelope("a"), reading(tool)
				if c.write {
					env, action = b.writeEnvelope("a"), writing(tool)
				}
				got := b.Invoke(t.Context(), b.run, env, action)
				b.wantMet()
				want := c.lost
				if fault == fakes.FailAfter || fault == fakes.HangAfter {
					want = c.answered
				}
				t.Log(fault, c.step, c.write)
				if want == "" {
					wantReady(t, got, "seen: ok")
				} else {
					wantFailed(t, got, want, c.ran)
				}
				entered := int64(0)
				if c.ran == lifecycle.Completed {
					entered = 1
				}
				wantEntered(t, tool, entered)
				if kept := len(b.taken()); kept != 0 != (want == lifecycle.ResultNotStored) {
					t.Errorf("%d results retained", kept)
				}
				b.faulty.Heal(c.step)
				if err := b.Shutdown(t.Context()); err != nil { // settles, ends what was abandoned
					t.Errorf("Shutdown: %v", err)
				}
				rec, err := d.Record(t.Context(), b.run.Key(), named("a"))
				switch {
				case want == lifecycle.StoreUnavailable && errors.Is(err, canonical.ErrMissing):
				case want == lifecycle.StoreUnavailable && rec.Execution == lifecycle.NotStarted:
				case want != lifecycle.StoreUnavailable && rec.State == lifecycle.Ready && string(rec.Raw.Bytes) == "ok":
				default:
					t.Errorf("afterwards the record is %s %s %s, %v", rec.State, rec.Code, rec.Execution, err)
				}
			})
		}
	}
}

func hangsAtTheEnd(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		b.faulty.Script(fakes.MethodComplete, fakes.Every, fakes.HangAfter)
		start := time.Now()
		wantFailed(t, b.read("a", says("ok")), lifecycle.ResultNotStored, lifecycle.Completed)
		if took, limit := time.Since(start), canonical.DefaultLimits().ClosingTimeout; took != limit {
			t.Errorf("the outcome came after %v, want %v", took, limit)
		}
	})
}

func saveReplyLost(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for _, fault := range []fakes.Fault{fakes.FailAfter, fakes.Twice, fakes.FailBefore} {
		b.faulty.Script(fakes.MethodSave, b.faulty.Calls(fakes.MethodSave)+1, fault)
		tool := says("ok")
		wantReady(t, b.write(string(fault), tool), "seen: ok")
		wantEntered(t, tool, 1)
		if rec := b.record(string(fault)); string(rec.Raw.Bytes) != "ok" {
			t.Errorf("raw %q, want ok", string(rec.Raw.Bytes))
		}
	}
	b.wantMet()
}

// saveRefused: the ending is tried all the same, and its answer counts.
func saveRefused(t *testing.T, d *deck) {
	for _, sentinel := range []error{canonical.ErrConflict, canonical.ErrMissing, canonical.ErrNewerVersion} {
		b := newBench(t, d, setup{})
		b.faulty.Answer(fakes.MethodSave, 1, &canonical.RefusedError{Op: "save", Err: sentinel})
		wantReady(t, b.write("w", says("ok")), "seen: ok")
		b.wantMet()
		if rec := b.record("w"); rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != "ok" {
			t.Errorf("%v: record %s, raw %q, want READY and ok", sentinel, rec.State, string(rec.Raw.Bytes))
		}
	}
}

func saidAtTheEnd(t *testing.T, d *deck) {
	for _, c := range []struct {
		said   error
		tool   *body
		write  bool
		code   lifecycle.Code
		ran    lifecycle.Execution
		reason boundary.RetainedReason
	}{
		{canonical.ErrConflict, says("ok"), false, lifecycle.StoreConflict, lifecycle.Completed, boundary.Conflicted},
		{canonical.ErrNewerVersion, says("ok"), false, lifecycle.StoreConflict, lifecycle.Completed, boundary.Conflicted},
		{canonical.ErrForeign, says("ok"), false, lifecycle.StoreConflict, lifecycle.Completed, boundary.Conflicted},
		{canonical.ErrMissing, says("ok"), false, lifecycle.RecordExpired, lifecycle.Completed, boundary.Expired},
		{canonical.ErrConflict, fails(errLost), false, lifecycle.StoreConflict, lifecycle.Completed, boundary.Conflicted},
		{canonical.ErrMissing, fails(errLost), false, lifecycle.RecordExpired, lifecycle.Completed, boundary.Expired},
		{canonical.ErrConflict, fails(errLost), true, lifecycle.StoreConflict, lifecycle.Unknown, boundary.Conflicted},
		{canonical.ErrMissing, fails(errLost), true, lifecycle.OutcomeUnknown, lifecycle.Unknown, boundary.Expired},
		{context.Canceled, fails(errLost), true, lifecycle.OutcomeUnknown, lifecycle.Unknown, boundary.NotStored},
		{context.Canceled, fails(errLost), false, lifecycle.ResultNotStored, lifecycle.Completed, boundary.NotStored},
	} {
		b := newBench(t, d, setup{})
		said := c.said
		if !errors.Is(said, context.Canceled) {
			said = &canonical.RefusedError{Op: "complete", Err: said}
		}
		b.faulty.Answer(fakes.MethodComplete, fakes.Every, said)
		env, action := b.envelope("a"), reading(c.tool)
		if c.write {
			env, action = b.writeEnvelope("a"), writing(c.tool)
		}
		t.Log(c.said, c.write)
		failed := wantFailed(t, b.Invoke(t.Context(), b.run, env, action), c.code, c.ran)
		if !errors.Is(failed, c.said) {
			t.Errorf("error %v, want %v in it", failed, c.said)
		}
		if kept := b.taken(); len(kept) != 1 || kept[0].Reason != c.reason {
			t.Errorf("retained %v, want one as %s", kept, c.reason)
		}
	}
}

// callerGoneAtTheEnd cancels the caller's context at each closing write.
func callerGoneAtTheEnd(t *testing.T, d *deck) {
	for _, step := range []fakes.Method{fakes.MethodSave, fakes.MethodComplete} {
		for _, hold := range []fakes.Fault{fakes.HoldBefore, fakes.HoldAfter} {
			b := newBench(t, d, setup{})
			b.faulty.Script(step, 1, hold)
			ctx, leave := context.WithCancel(t.Context())
			result := b.async(ctx, b.writeEnvelope("w"), writing(says("ok")))
			<-b.faulty.Reached(step, 1)
			leave()
			b.faulty.Release(step, 1)
			wantReady(t, <-result, "seen: ok")
			b.wantMet()
			if rec := b.record("w"); rec.State != lifecycle.Ready || !bytes.Equal(rec.Raw.Bytes, []byte("ok")) {
				t.Errorf("%s, %s: record %s, want READY", step, hold, rec.State)
			}
		}
	}
}

// callerLeavesProjection: the tool has run, so its result is judged and kept.
func callerLeavesProjection(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	action := reading(says("ok"))
	action.Projector = projector.Func(func(inner context.Context, in projector.Input) (projector.Projection, error) {
		leave()
		return projector.Projection{Result: in.Raw, Status: evidence.Found}, inner.Err()
	})
	wantReady(t, b.Invoke(ctx, b.run, b.envelope("a"), action), "ok")
}

// expiredUnderTheTool: a record's life is over while its tool still runs. It is
// not made again, and nothing can refer to the result.
func expiredUnderTheTool(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		d.advance(t, 25*time.Hour)
		_, err := io.WriteString(raw, "ok")
		return err
	}}
	wantFailed(t, b.read("a", tool), lifecycle.RecordExpired, lifecycle.Completed)
	if _, err := d.Record(t.Context(), b.run.Key(), named("a")); !errors.Is(err, canonical.ErrMissing) {
		t.Errorf("record: %v, want ErrMissing", err)
	}
	if kept := b.taken(); len(kept) != 1 || kept[0].Reason != boundary.Expired || string(kept[0].Raw.Bytes) != "ok" {
		t.Errorf("retained %v, want the bytes", kept)
	}
}
