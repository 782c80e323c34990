package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/text"
	"github.com/toolharness/harness/runprogress"
)

// Reports from the field on what is stored: failures kept as success, answers of
// the store that were lost, counters that many write.
func TestBugLog_stored(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"B36_a_failure_is_stored_as_one", failureIsStored},
		{"B44_cancelled_at_any_moment", cancelledAnywhere},
		{"B45_B51_admitted_and_never_told", admittedNeverTold},
		{"B47_the_projector_fails_behind_a_good_result", projectorFailsBehind},
		{"B50_its_own_admission_is_no_duplicate", ownAdmission},
		{"B52_every_message_is_delivered_twice", everythingTwice},
		{"B71_many_writers_of_one_run", manyWriters},
		{"B94_many_callers_at_the_limit", callersAtTheLimit},
	})
}

func failureIsStored(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anySize()})
	envelope := projector.Projector(text.New(text.Options{}))
	excluded := map[string]runprogress.Exclusion{}
	for id, c := range map[string]struct {
		tool *body
		show projector.Projector
		code lifecycle.Code
	}{
		"error": {fails(errors.New("timed out upstream")), seen(), lifecycle.ToolExecutionFailed},
		"panic": {ending(func() { panic("x") }), seen(), lifecycle.ToolExecutionFailed},
		"result_and_error": {&body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			_, _ = io.WriteString(raw, "half a result")
			return io.ErrUnexpectedEOF
		}}, seen(), lifecycle.ToolExecutionFailed},
		"envelope_error":     {says(`{"error":"timeout"}`), envelope, lifecycle.ProjectionFailed},
		"envelope_is_error":  {says(`{"isError":true,"content":[{"type":"text","text":"timeout"}]}`), envelope, lifecycle.ProjectionFailed},
		"envelope_status":    {says(`{"status":"failed","result":[]}`), envelope, lifecycle.ProjectionFailed},
		"envelope_success":   {says(`{"success":false,"data":{"rows":3}}`), envelope, lifecycle.ProjectionFailed},
		"envelope_in_string": {says(`"{\"error\":\"timeout\"}"`), envelope, lifecycle.ProjectionFailed},
	} {
		action := reading(c.tool)
		action.Projector = c.show
		wantFailed(t, b.Invoke(t.Context(), b.run, b.envelope(id), action), c.code, lifecycle.Completed)
		if rec := b.record(id); rec.State != lifecycle.Error || rec.Code != c.code || rec.Agent != nil || rec.Evidence != evidence.Failed {
			t.Errorf("%s: record %s %s %s with %d bytes for the model, want ERROR %s with none", id, rec.State, rec.Code, rec.Evidence, rec.AgentSize, c.code)
		}
		if o, err := b.run.Lookup(t.Context(), named(id)); err != nil || o.Code() != c.code {
			t.Errorf("%s: served again as %v, %v, want the failure", id, o, err)
		}
		excluded[id] = failedAs(c.code, lifecycle.Completed)
	}
	wantReport(t, b.run, len(excluded), 0, excluded)
}

// crossing is a store that lets something happen before and after its writes.
type crossing struct {
	canonical.Store
	at func(place string)
}

// Admit implements [canonical.Calls].
func (s *crossing) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	s.at("before admit")
	defer s.at("after admit")
	return s.Store.Admit(ctx, a)
}

// Save implements [canonical.Calls].
func (s *crossing) Save(ctx context.Context, m canonical.Saving) (canonical.Ended, error) {
	s.at("before save")
	defer s.at("after save")
	return s.Store.Save(ctx, m)
}

// Complete implements [canonical.Calls].
func (s *crossing) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	s.at("before complete")
	defer s.at("after complete")
	return s.Store.Complete(ctx, e)
}

// cancelledAnywhere: a thousand calls, each cancelled at one of ten places.
func cancelledAnywhere(t *testing.T, d *deck) {
	const rounds = 50
	places := []string{"before admit", "after admit", "tool begins", "tool has written", "before save", "after save",
		"projector begins", "projector ends", "before complete", "after complete"}
	var leave context.CancelFunc
	var now string
	at := func(place string) {
		if place == now {
			leave()
		}
	}
	b := newBench(t, d, setup{config: boundary.Config{Store: &crossing{d.Store, at}}, spec: anySize()})
	tool := &body{do: func(ctx context.Context, _ boundary.Input, raw io.Writer) error {
		at("tool begins")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		_, err := io.WriteString(raw, "ok")
		at("tool has written")
		return err
	}}
	show := projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
		at("projector begins")
		defer at("projector ends")
		return seen().Project(ctx, in)
	})
	for _, write := range []bool{false, true} {
		for i := range rounds {
			for k, place := range places {
				now = place
				var ctx context.Context
				ctx, leave = context.WithCancel(t.Context())
				id := fmt.Sprintf("c-%t-%d-%d", write, i, k)
				env, action := b.call(id, write, tool)
				action.Projector = show
				got := b.Invoke(ctx, b.run, env, action)
				leave()
				rec := b.record(id)
				if !rec.State.Final() || got.Outcome.IsError() != (rec.State == lifecycle.Error) || rec.Code != got.Outcome.Code() {
					t.Fatalf("%s: record %s %s, outcome %v", place, rec.State, rec.Code, got.Outcome)
				}
				if rec.Code == lifecycle.OutcomeUnknown { // a write that said it was cut short
					if err := b.run.Resolve(t.Context(), named(id), canonical.NotApplied, "it wrote nothing"); err != nil {
						t.Fatalf("Resolve: %v", err)
					}
				}
			}
		}
	}
	if out, err := b.run.Outstanding(t.Context()); err != nil || len(out.Open)+len(out.Effects) != 0 {
		t.Errorf("outstanding %+v, %v, want nothing", out, err)
	}
	if got := b.state().LastSeq; got != 2*rounds*int64(len(places)) {
		t.Errorf("%d admissions, want %d", got, 2*rounds*len(places))
	}
	if len(b.taken()) != 0 {
		t.Errorf("retained %v, want nothing", b.taken())
	}
}

// admittedNeverTold: the store acts and every answer is lost. Nothing is entered,
// the process cleans up behind itself, and nobody else has to.
func admittedNeverTold(t *testing.T, d *deck) {
	for _, write := range []bool{false, true} {
		for _, fault := range []fakes.Fault{fakes.FailAfter, fakes.HangAfter} {
			b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{ClosingTimeout: 200 * time.Millisecond}}})
			b.faulty.Script(fakes.MethodAdmit, fakes.Every, fault)
			tool := says("no")
			env, action := b.call("a", write, tool)
			host := wantFailed(t, b.Invoke(t.Context(), b.run, env, action), lifecycle.StoreUnavailable, lifecycle.NotStarted)
			if lost, ok := errors.AsType[*fakes.FaultError](host); !ok || !lost.Sent {
				t.Errorf("host error %v, want the lost answer in it", host)
			}
			if err := b.Shutdown(t.Context()); err != nil { // which does not wait for the clean-up's own time
				t.Errorf("Shutdown: %v", err)
			}
			rec := b.record("a")
			if rec.State != lifecycle.Error || rec.Code != lifecycle.StoreUnavailable || rec.Execution != lifecycle.NotStarted {
				t.Errorf("record %s %s, ran: %s; want STORE_UNAVAILABLE, ran: no", rec.State, rec.Code, rec.Execution.Ran())
			}
			other := b.joined(boundary.Config{})
			wantDuplicate(t, other.Invoke(t.Context(), other.run, env, action), named("a"), lifecycle.Error)
			if o, err := other.run.Lookup(t.Context(), named("a")); err != nil || o.Execution() != lifecycle.NotStarted {
				t.Errorf("lookup %v, %v, want that it was not started", o, err)
			}
			env, action = other.call("b", write, tool)
			wantReady(t, other.Invoke(t.Context(), other.run, env, action), "seen: no")
			wantEntered(t, tool, 1)
		}
	}
}

func projectorFailsBehind(t *testing.T, d *deck) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{ProjectorTimeout: 50 * time.Millisecond}}, spec: anySize()})
	for name, broken := range map[string]projector.Func{
		"panic": func(context.Context, projector.Input) (projector.Projection, error) { panic("x") },
		"error": func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{}, errors.New("x")
		},
		"stall": func(context.Context, projector.Input) (projector.Projection, error) {
			<-release
			return projector.Projection{}, nil
		},
		"zero": func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Status: evidence.Found}, nil
		},
	} {
		for _, write := range []bool{false, true} {
			id := fmt.Sprintf("%s-%t", name, write)
			tool := says("a good result of " + id)
			env, action := b.call(id, write, tool)
			action.Projector = broken
			wantFailed(t, b.Invoke(t.Context(), b.run, env, action), lifecycle.ProjectionFailed, lifecycle.Completed)
			rec := b.record(id)
			if rec.State != lifecycle.Error || rec.Execution != lifecycle.Completed || rec.Stage != canonical.StageProject || string(rec.Raw.Bytes) != "a good result of "+id {
				t.Errorf("%s: record %s, ran: %s, at %q, %d bytes of raw; want that the tool completed and what it returned", id, rec.Code, rec.Execution.Ran(), rec.Stage, rec.Raw.Size)
			}
			again, err := projector.Drive(t.Context(), seen(), projector.Input{Tool: rec.Tool, Request: rec.Request, Raw: rec.Raw.Bytes}, projector.Options{})
			if err != nil || string(again.Result) != "seen: a good result of "+id {
				t.Errorf("%s: projected again as %q, %v", id, again.Result, err)
			}
			wantEntered(t, tool, 1)
		}
	}
	if list, err := b.run.Unresolved(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("unresolved %v, %v, want nothing: the writes are known to have run", list, err)
	}
}

func ownAdmission(t *testing.T, d *deck) {
	for _, write := range []bool{false, true} {
		for lost := 1; lost <= 3; lost++ {
			b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 2}}})
			for i := range lost {
				b.faulty.Script(fakes.MethodAdmit, i+1, fakes.FailAfter)
			}
			tool := says("ok")
			env, action := b.call("a", write, tool)
			wantReady(t, b.Invoke(t.Context(), b.run, env, action), "seen: ok")
			b.wantMet()
			other := b.joined(boundary.Config{})
			wantDuplicate(t, other.Invoke(t.Context(), other.run, env, action), named("a"), lifecycle.Ready)
			wantEntered(t, tool, 1)
			wantReady(t, other.read("b", says("ok")), "seen: ok") // one place was taken, not more
			wantFailed(t, other.read("c", says("ok")), lifecycle.RunBudgetExhausted, lifecycle.NotStarted)
		}
	}
}

// everythingTwice: the same calls, on a store to which every message is delivered
// twice, and on one to which it is not, leave the same run.
func everythingTwice(t *testing.T, d *deck) {
	story := func(twice bool) (*bench, string) {
		b := process(t, d, boundary.Config{Effects: anyEffect(), Limits: canonical.Limits{RawBytes: 2 << 20}})
		for _, m := range fakes.Methods() {
			if twice {
				b.faulty.Script(m, fakes.Every, fakes.Twice)
			}
		}
		b.run = b.open(boundary.RunSpec{ID: canonical.RunID(fmt.Sprintf("twice-%t", twice)), Budget: canonical.Budget{Calls: 7}})
		wantReady(t, b.read("r1", says("ok")), "seen: ok")
		wantReady(t, b.write("w1", says("written")), "seen: written")
		wantFailed(t, b.read("big", says(strings.Repeat("x", 3<<20))), lifecycle.ResultTooLarge, lifecycle.Completed)
		large := reading(says(strings.Repeat("y", 3<<19)))
		large.Projector = fakes.NewProjector(fakes.Found("much"))
		wantReady(t, b.Invoke(t.Context(), b.run, b.envelope("pieces"), large), "much")
		wantFailed(t, b.read("r1", says("no")), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
		wantFailed(t, b.read("bad", fails(errors.New("x"))), lifecycle.ToolExecutionFailed, lifecycle.Completed)
		wantFailed(t, b.write("w2", fails(errors.New("x"))), lifecycle.OutcomeUnknown, lifecycle.Unknown)
		if err := b.run.Resolve(t.Context(), named("w2"), canonical.Applied, "receipt"); err != nil {
			t.Errorf("Resolve: %v", err)
		}
		wantReady(t, b.read("last", says("ok")), "seen: ok")
		wantFailed(t, b.read("over", says("no")), lifecycle.RunBudgetExhausted, lifecycle.NotStarted)
		report, err := b.run.Facts(t.Context())
		if err != nil {
			t.Fatalf("Facts: %v", err)
		}
		if err := b.run.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		return b, strings.ReplaceAll(report.Text(), string(b.run.ID()), "RUN")
	}
	once, want := story(false)
	twice, got := story(true)
	if got != want {
		t.Errorf("report\n%s\nwant\n%s", got, want)
	}
	if a, b := once.state(), twice.state(); a.LastSeq != b.LastSeq || a.Reserved != b.Reserved || a.Phase != b.Phase || a.LastSeq != 7 {
		t.Errorf("run %d calls, %d bytes, %s; want %d, %d, %s", b.LastSeq, b.Reserved, b.Phase, a.LastSeq, a.Reserved, a.Phase)
	}
	for _, m := range []fakes.Method{fakes.MethodOpenRun, fakes.MethodAdmit, fakes.MethodSave, fakes.MethodComplete, fakes.MethodResolve, fakes.MethodCloseRun} {
		if twice.faulty.Calls(m) == 0 {
			t.Errorf("%s was never called, so this has not shown it", m)
		}
	}
}

// patient is for hundreds of calls at once on a machine that may be busy: none of
// them is about time.
func patient() boundary.Config {
	return boundary.Config{Limits: canonical.Limits{ClosingTimeout: time.Minute, ProjectorTimeout: time.Minute}}
}

func manyWriters(t *testing.T, d *deck) {
	const processes, each = 4, 50
	b := newBench(t, d, setup{config: patient(), spec: anySize()})
	all := []*bench{b}
	for len(all) < processes {
		all = append(all, b.joined(boundary.Config{}))
	}
	var wait sync.WaitGroup
	var raw int64
	for p, process := range all {
		for i := range each {
			id := fmt.Sprintf("p%d-c%d", p, i)
			raw += int64(len(id))
			wait.Go(func() {
				if got := process.Invoke(t.Context(), process.run, process.envelope(id), reading(says(id))); got.Err != nil {
					t.Errorf("%s: %v", id, got.Err)
				}
			})
		}
	}
	wait.Wait()
	const calls = processes * each
	for _, process := range all {
		process.run.Ticket() // so that every process asks for the whole run
		report, err := process.run.Facts(t.Context())
		if err != nil || report.Totals.Admitted != calls || report.Totals.Calls != calls || report.Totals.Ready != calls || report.Totals.RawBytes != raw ||
			report.Totals.ProjectedBytes != raw+calls*int64(len("seen: ")) || len(report.Facts)+report.Omitted.FactsOverRun+report.Omitted.FactsOverSize != calls {
			t.Errorf("report %+v, %d facts, omitted %+v, %v; want %d calls, %d bytes", report.Totals, len(report.Facts), report.Omitted, err, calls, raw)
		}
	}
	seqs := map[int64]bool{}
	for p := range all {
		for i := range each {
			id := fmt.Sprintf("p%d-c%d", p, i)
			rec := b.record(id)
			seqs[rec.Seq] = true
			if rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != id || string(rec.Agent) != "seen: "+id || string(rec.Request) != someArgs || rec.Facts == nil {
				t.Errorf("%s: record %s with %q, a field is another's or lost", id, rec.State, []byte(rec.Agent))
			}
		}
	}
	if len(seqs) != calls {
		t.Errorf("%d different sequences, want %d", len(seqs), calls)
	}
}

func callersAtTheLimit(t *testing.T, d *deck) {
	const room, calls, processes = 6, 200, 4
	for name, c := range map[string]struct {
		budget canonical.Budget
		own    int // the tool's own
		code   lifecycle.Code
	}{
		"run":     {canonical.Budget{Calls: room, PerTool: canonical.Unlimited}, 0, lifecycle.RunBudgetExhausted},
		"tool":    {canonical.Budget{Calls: canonical.Unlimited, PerTool: room}, 0, lifecycle.ToolBudgetExhausted},
		"toolset": {canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited}, room, lifecycle.ToolBudgetExhausted},
	} {
		b := newBench(t, d, setup{config: patient(), spec: boundary.RunSpec{Budget: c.budget}})
		all := []*bench{b}
		for len(all) < processes {
			all = append(all, b.joined(boundary.Config{}))
		}
		tool := says("ok")
		results := make([]boundary.Result, calls)
		var wait sync.WaitGroup
		for i := range results {
			process := all[i%processes]
			action := reading(tool)
			action.Budget = c.own
			wait.Go(func() {
				results[i] = process.Invoke(t.Context(), process.run, process.envelope(fmt.Sprintf("c%d", i)), action)
			})
		}
		wait.Wait()
		served := 0
		for _, r := range results {
			if !r.Outcome.IsError() {
				served++
				continue
			}
			wantFailed(t, r, c.code, lifecycle.NotStarted)
		}
		if got := b.state().LastSeq; served != room || got != room {
			t.Errorf("%s: %d served, %d admitted, want %d", name, served, got, room)
		}
		wantEntered(t, tool, room)
	}
}
