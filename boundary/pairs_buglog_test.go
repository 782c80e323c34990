package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/runprogress"
)

// Reports from the field on calls without results and results without calls.
func TestBugLog_pairs(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"B17_a_process_dies_inside_the_tool", diesInside},
		{"B18_retries_of_an_interrupted_step", interruptedStep},
		{"B19_a_process_dies_before_or_after_the_tool", diesBeforeOrAfter},
		{"B21_no_result_without_its_call", noResultWithoutCall},
		{"B22_cancelled_as_the_tool_returns", cancelledAtReturn},
		{"B23_B24_eight_at_once_finishing_backwards", finishingBackwards},
		{"B25_more_calls_than_the_budget", moreThanTheBudget},
		{"B27_an_open_call_without_an_owner", withoutOwner},
		{"B28_asked_again_in_another_order", anotherOrder},
	})
}

// mortal is the store of a process that dies: from then on nothing that it sends
// arrives.
type mortal struct {
	canonical.Store
	dead                       atomic.Bool
	atAdmit, atSave, beforeEnd bool // where it dies: after an admission, before or after a save, before an ending
	afterSave                  bool
}

var errDead = errors.New("this process is no more")

func (m *mortal) die() error {
	m.dead.Store(true)
	return errDead
}

// Admit implements [canonical.Calls].
func (m *mortal) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	if m.dead.Load() {
		return canonical.Admitted{}, errDead
	}
	got, err := m.Store.Admit(ctx, a)
	if m.atAdmit {
		return canonical.Admitted{}, m.die()
	}
	return got, err
}

// Save implements [canonical.Calls].
func (m *mortal) Save(ctx context.Context, s canonical.Saving) (canonical.Ended, error) {
	if m.dead.Load() || m.atSave {
		return canonical.Ended{}, m.die()
	}
	got, err := m.Store.Save(ctx, s)
	if m.afterSave {
		return canonical.Ended{}, m.die()
	}
	return got, err
}

// Complete implements [canonical.Calls].
func (m *mortal) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	if m.dead.Load() || m.beforeEnd {
		return canonical.Ended{}, m.die()
	}
	return m.Store.Complete(ctx, e)
}

// call is an envelope and action for a read or a write.
func (b *bench) call(id string, write bool, e boundary.Executor) (boundary.Envelope, boundary.Action) {
	if write {
		return b.writeEnvelope(id), writing(e)
	}
	return b.envelope(id), reading(e)
}

// wantReport checks what a run's report counts, and why calls give nothing.
func wantReport(t *testing.T, run *boundary.Run, calls, ready int, excluded map[string]runprogress.Exclusion) {
	t.Helper()
	report, err := run.Facts(t.Context())
	if err != nil || report.Totals.Calls != calls || report.Totals.Ready != ready || len(report.Facts) != ready || len(report.Excluded) != len(excluded) {
		t.Errorf("report %+v, %d facts, %d excluded, %v; want %d calls, %d ready with a fact each, %d excluded",
			report.Totals, len(report.Facts), len(report.Excluded), err, calls, ready, len(excluded))
	}
	for _, got := range report.Excluded {
		want := excluded[string(got.ToolCallID)]
		if got.Reason != want.Reason || got.Code != want.Code || got.Execution != want.Execution {
			t.Errorf("%s is excluded as %s %s, ran: %s; want %s %s, ran: %s", got.ToolCallID, got.Reason, got.Code, got.Execution, want.Reason, want.Code, want.Execution)
		}
	}
}

func failedAs(code lifecycle.Code, x lifecycle.Execution) runprogress.Exclusion {
	return runprogress.Exclusion{Reason: runprogress.Failed, Code: code, Execution: x}
}

func diesInside(t *testing.T, d *deck) {
	for _, write := range []bool{false, true} {
		code := lifecycle.Orphaned
		if write {
			code = lifecycle.OutcomeUnknown
		}
		b := newBench(t, d, setup{config: boundary.Config{Store: soonDue(d)}})
		wantReady(t, b.read("before", says("ok")), "seen: ok")
		tool := holds(t, "nobody waits for this")
		env, action := b.call("killed", write, tool)
		b.async(t.Context(), env, action)
		<-tool.in
		other := b.joined(boundary.Config{}) // what is left of the run, after the first process is gone
		wantReport(t, other.run, 2, 1, map[string]runprogress.Exclusion{"killed": {Reason: runprogress.Projecting}})
		wantDuplicate(t, other.Invoke(t.Context(), other.run, env, action), named("killed"), lifecycle.Projecting)
		other.sweep(code, lifecycle.Unknown)
		wantReport(t, other.run, 2, 1, map[string]runprogress.Exclusion{"killed": failedAs(code, lifecycle.Unknown)})
		wantDuplicate(t, other.Invoke(t.Context(), other.run, env, action), named("killed"), lifecycle.Error)
		for id, want := range map[string]string{"before": "seen: ok", "killed": `"ran":"unknown"`} {
			if o, err := other.run.Lookup(t.Context(), named(id)); err != nil || !strings.Contains(o.Text(), want) {
				t.Errorf("%s is answered %s, %v, want %s", id, o.Text(), err, want)
			}
		}
		other.wantOrder(named("before"), named("killed"))
		wantEntered(t, &tool.body, 1)
	}
}

// interruptedStep: each try of a read is a record that ended; of a write the first
// stops the others, which is what a person must look at before it is sent again.
func interruptedStep(t *testing.T, d *deck) {
	const tries = 20
	interrupted := func() (context.Context, *body) {
		ctx, leave := context.WithCancel(t.Context())
		t.Cleanup(leave)
		return ctx, &body{do: func(ctx context.Context, _ boundary.Input, _ io.Writer) error {
			leave()
			<-ctx.Done()
			return ctx.Err()
		}}
	}
	b := newBench(t, d, setup{spec: anySize()})
	excluded := map[string]runprogress.Exclusion{}
	for i := range tries {
		id := fmt.Sprintf("try-%d", i)
		ctx, tool := interrupted()
		wantFailed(t, b.Invoke(ctx, b.run, b.envelope(id), reading(tool)), lifecycle.Cancelled, lifecycle.Completed)
		wantEntered(t, tool, 1)
		excluded[id] = failedAs(lifecycle.Cancelled, lifecycle.Completed)
	}
	wantReport(t, b.run, tries, 0, excluded)
	if out, err := b.run.Outstanding(t.Context()); err != nil || len(out.Open)+len(out.Effects) != 0 {
		t.Errorf("outstanding %+v, %v, want nothing", out, err)
	}
	b.run = b.open(anySize())
	for i := range tries {
		ctx, tool := interrupted()
		got := b.Invoke(ctx, b.run, b.writeEnvelope(fmt.Sprintf("try-%d", i)), writing(tool))
		if i == 0 {
			wantFailed(t, got, lifecycle.OutcomeUnknown, lifecycle.Unknown)
			continue
		}
		wantFailed(t, got, lifecycle.UnresolvedEffect, lifecycle.NotStarted)
		wantEntered(t, tool, 0)
	}
	wantReport(t, b.run, 1, 0, map[string]runprogress.Exclusion{"try-0": failedAs(lifecycle.OutcomeUnknown, lifecycle.Unknown)})
	if list, err := b.run.Unresolved(t.Context()); err != nil || len(list) != 1 || list[0].Call != named("try-0") {
		t.Errorf("unresolved %v, %v, want the one that ran", list, err)
	}
}

func diesBeforeOrAfter(t *testing.T, d *deck) {
	const raw = "the whole result"
	for _, c := range []struct {
		when    string
		process *mortal
		write   bool
		entered int64
		code    lifecycle.Code
		x       lifecycle.Execution
		raw     string
	}{
		{"before a read", &mortal{atAdmit: true}, false, 0, lifecycle.Orphaned, lifecycle.Unknown, ""},
		{"before a write", &mortal{atAdmit: true}, true, 0, lifecycle.OutcomeUnknown, lifecycle.Unknown, ""},
		{"after a read", &mortal{beforeEnd: true}, false, 1, lifecycle.Orphaned, lifecycle.Unknown, ""},
		{"after a write, its result not saved", &mortal{atSave: true}, true, 1, lifecycle.OutcomeUnknown, lifecycle.Unknown, ""},
		{"after a write, as its result is saved", &mortal{afterSave: true}, true, 1, lifecycle.ProjectionFailed, lifecycle.Completed, raw},
		{"after a write, its result saved", &mortal{beforeEnd: true}, true, 1, lifecycle.ProjectionFailed, lifecycle.Completed, raw},
	} {
		c.process.Store = soonDue(d)
		b := newBench(t, d, setup{config: boundary.Config{Store: c.process}})
		tool := says(raw)
		env, action := b.call("a", c.write, tool)
		if got := b.Invoke(t.Context(), b.run, env, action); !got.Outcome.IsError() {
			t.Errorf("%s: outcome %v, want an error", c.when, got.Outcome)
		}
		wantEntered(t, tool, c.entered)
		if rec := b.record("a"); rec.State != lifecycle.Projecting {
			t.Errorf("%s: record %s, want PROJECTING", c.when, rec.State)
		}
		other := b.joined(boundary.Config{})
		other.sweep(c.code, c.x)
		rec := other.record("a")
		if rec.State != lifecycle.Error || rec.Code != c.code || rec.Execution != c.x || string(rec.Raw.Bytes) != c.raw {
			t.Errorf("%s: record %s %s, ran: %s, %d bytes of raw; want %s, ran: %s, %d bytes", c.when, rec.State, rec.Code, rec.Execution.Ran(), len(rec.Raw.Bytes), c.code, c.x.Ran(), len(c.raw))
		}
		wantReport(t, other.run, 1, 0, map[string]runprogress.Exclusion{"a": failedAs(c.code, c.x)})
		wantEntered(t, tool, c.entered)
	}
}

func noResultWithoutCall(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := holds(t, "late but whole")
	result := b.async(t.Context(), b.writeEnvelope("c1"), writing(tool))
	<-tool.in
	if err := b.joined(boundary.Config{}).run.Close(t.Context()); err != nil { // the run ends by another path
		t.Fatalf("Close: %v", err)
	}
	tool.release()
	wantReady(t, <-result, "seen: late but whole")
	b.wantOrder(named("c1"))
	before := d.keys(t, b.run.Key())
	expires := b.record("c1").Expires
	for _, raw := range []string{"small", strings.Repeat("large ", 1000), strings.Repeat("pieces ", 1<<18)} {
		ending := canonical.Ending{
			Run: b.run.Key(), Call: named("never-asked"), Claim: canonical.Claim(strings.Repeat("0", 32)), Expires: expires,
			Verdict: lifecycle.Succeed(evidence.Found), Raw: canonical.NewRaw([]byte(raw)), Agent: canonical.Body(raw),
		}
		_, save := d.Save(t.Context(), canonical.Saving{Run: ending.Run, Call: ending.Call, Claim: ending.Claim, Raw: ending.Raw, Expires: expires})
		_, complete := d.Complete(t.Context(), ending)
		_, settle := d.Settle(t.Context(), ending)
		for verb, err := range map[string]error{"save": save, "complete": complete, "settle": settle} {
			if !errors.Is(err, canonical.ErrMissing) {
				t.Errorf("%s of %d bytes without a call: %v, want ErrMissing", verb, len(raw), err)
			}
		}
	}
	if after := d.keys(t, b.run.Key()); !slices.Equal(after, before) {
		t.Errorf("keys %v, want %v", after, before)
	}
}

func cancelledAtReturn(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for _, write := range []bool{false, true} {
		for _, where := range []string{"tool", "projector"} {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			id := fmt.Sprintf("%s-%t", where, write)
			env, action := b.call(id, write, says("kept"))
			if where == "tool" {
				action.Executor = boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, raw io.Writer) error {
					_, err := io.WriteString(raw, "kept")
					leave()
					return err
				})
			} else {
				action.Projector = projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
					leave()
					return seen().Project(ctx, in)
				})
			}
			wantReady(t, b.Invoke(ctx, b.run, env, action), "seen: kept")
			if rec := b.record(id); rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != "kept" || rec.Ended.IsZero() {
				t.Errorf("%s: record %s with %d bytes, want READY with the result", id, rec.State, rec.Raw.Size)
			}
		}
	}
}

// finishingBackwards: each call waits until the one asked after it has ended.
func finishingBackwards(t *testing.T, d *deck) {
	const calls = 8
	b := newBench(t, d, setup{})
	var done [calls + 1]chan struct{}
	for i := range done {
		done[i] = make(chan struct{})
	}
	close(done[calls])
	tool := &body{do: func(_ context.Context, in boundary.Input, raw io.Writer) error {
		var i int
		if _, err := fmt.Sscanf(string(in.Identity.Call.ID), "call-%d", &i); err != nil {
			return err
		}
		<-done[i+1]
		defer close(done[i])
		_, err := fmt.Fprintf(raw, "result of %s", in.Identity.Call.ID)
		return err
	}}
	set := b.toolset(readTool(someTool, tool))
	var list []boundary.Call
	var want []canonical.CallName
	for i := range calls {
		list = append(list, asked(fmt.Sprintf("call-%d", i), someTool))
		want = append(want, named(fmt.Sprintf("call-%d", i)))
	}
	got := set.Dispatch(t.Context(), b.run, list...)
	if len(got) != calls {
		t.Fatalf("%d answers, want %d", len(got), calls)
	}
	for i, r := range got {
		text := fmt.Sprintf("seen: result of call-%d", i)
		wantReady(t, r, text)
		if o, err := b.run.Lookup(t.Context(), want[i]); err != nil || o.Text() != text {
			t.Errorf("stored under %s: %v, %v", want[i], o, err)
		}
	}
	b.wantOrder(want...)
	wantEntered(t, tool, calls)
	var texts []string
	for _, process := range []*bench{b, b, b.joined(boundary.Config{})} {
		report, err := process.run.Facts(t.Context())
		encoded, bad := json.Marshal(report)
		if err != nil || bad != nil || len(report.Facts) != calls {
			t.Fatalf("report with %d facts, %v, %v", len(report.Facts), err, bad)
		}
		for i, fact := range report.Facts {
			if string(fact.ToolCallID) != string(want[i].ID) {
				t.Errorf("fact %d is of %s, want %s", i, fact.ToolCallID, want[i])
			}
		}
		texts = append(texts, report.Text()+string(encoded))
	}
	if texts[0] != texts[1] || texts[0] != texts[2] {
		t.Error("the report is not the same every time")
	}
}

func moreThanTheBudget(t *testing.T, d *deck) {
	const calls, room = 200, 128
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: room, PerTool: canonical.Unlimited}}})
	tool := says("ok")
	var list []boundary.Call
	for i := range calls {
		list = append(list, asked(fmt.Sprintf("c%d", i), someTool))
	}
	got := b.toolset(readTool(someTool, tool)).Dispatch(t.Context(), b.run, list...)
	if len(got) != calls {
		t.Fatalf("%d answers, want %d", len(got), calls)
	}
	for i, r := range got {
		if i < room {
			wantReady(t, r, "seen: ok")
			continue
		}
		if host := wantFailed(t, r, lifecycle.RunBudgetExhausted, lifecycle.NotStarted); host.Identity.Call != named(fmt.Sprintf("c%d", i)) {
			t.Errorf("answer %d is about %s", i, host.Identity.Call)
		}
	}
	wantEntered(t, tool, room)
	if got := b.state().LastSeq; got != room {
		t.Errorf("%d admissions, want %d", got, room)
	}
}

// withoutOwner: an open read is listed and holds nothing up; an open write holds
// its own run up, visibly, until somebody says what became of it.
func withoutOwner(t *testing.T, d *deck) {
	for _, write := range []bool{false, true} {
		b := newBench(t, d, setup{config: boundary.Config{Store: &mortal{Store: soonDue(d), atAdmit: true}}})
		env, action := b.call("old", write, says("no"))
		b.Invoke(t.Context(), b.run, env, action)
		other := b.joined(boundary.Config{})
		d.advance(t, 50*time.Millisecond)
		if list, err := other.run.Unresolved(t.Context()); err != nil || len(list) != 1 || list[0].Call != named("old") {
			t.Errorf("unresolved %v, %v, want the old call", list, err)
		}
		if out, err := other.run.Outstanding(t.Context()); err != nil || len(out.Open) != 1 || !out.Open[0].Due.Before(out.Now) || (len(out.Effects) == 1) != write {
			t.Errorf("outstanding %+v, %v, want the old call, overdue", out, err)
		}
		if got := other.read("new", says("ok")); write {
			wantFailed(t, got, lifecycle.UnresolvedEffect, lifecycle.NotStarted)
		} else {
			wantReady(t, got, "seen: ok")
		}
		if write {
			other.sweep(lifecycle.OutcomeUnknown, lifecycle.Unknown)
			if err := other.run.Resolve(t.Context(), named("old"), canonical.NotApplied, "the ledger of the service has no such order"); err != nil {
				t.Errorf("Resolve: %v", err)
			}
		} else {
			other.sweep(lifecycle.Orphaned, lifecycle.Unknown)
		}
		if list, err := other.run.Unresolved(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("unresolved %v, %v, want nothing", list, err)
		}
		wantReady(t, other.read("newer", says("ok")), "seen: ok")
	}
}

func anotherOrder(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	var mu sync.Mutex
	entries := map[string]int{}
	tool := boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
		mu.Lock()
		defer mu.Unlock()
		entries[string(in.Identity.Call.ID)]++
		_, err := io.WriteString(raw, string(in.Identity.Call.ID))
		return err
	})
	send := func(p *bench, ids ...string) []boundary.Result {
		var list []boundary.Call
		for _, id := range ids {
			list = append(list, asked(id, someTool))
		}
		return p.toolset(readTool(someTool, tool)).Dispatch(t.Context(), p.run, list...)
	}
	for i, r := range send(b, "a", "b", "c", "d") {
		wantReady(t, r, "seen: "+string("abcd"[i]))
	}
	other := b.joined(boundary.Config{}) // after a restart
	again := []string{"d", "e", "b", "a", "c"}
	for i, r := range send(other, again...) {
		if again[i] == "e" {
			wantReady(t, r, "seen: e")
			continue
		}
		wantDuplicate(t, r, named(again[i]), lifecycle.Ready)
		if o, err := other.run.Lookup(t.Context(), named(again[i])); err != nil || o.Text() != "seen: "+again[i] {
			t.Errorf("%s was answered %v, %v", again[i], o, err)
		}
	}
	if want := map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}; !reflect.DeepEqual(entries, want) {
		t.Errorf("entries %v, want %v", entries, want)
	}
	other.wantOrder(named("a"), named("b"), named("c"), named("d"), named("e"))
}
