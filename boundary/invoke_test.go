package boundary_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

func TestInvoke(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"T01_everything_is_kept_as_it_was", keptAsItWas},
		{"T02_seen_from_inside_the_tool", seenFromInside},
		{"T05_ids_as_providers_send_them", idsAsSent},
		{"T10_case_makes_two_calls", caseMakesTwo},
		{"T18_run_budget", runBudget},
		{"T19_tool_budget", toolBudget},
		{"T21_duplicate_costs_nothing", duplicateCostsNothing},
		{"T22_a_failed_call_has_used_its_place", failedUsedItsPlace},
		{"T23_same_id_other_input", sameIDOtherInput},
		{"T25_same_id_in_two_runs", sameIDTwoRuns},
		{"T26_duplicate_of_a_running_call", duplicateOfRunning},
		{"T27_duplicate_of_an_error", duplicateOfError},
		{"P07_same_id_in_two_turns", sameIDTwoTurns},
		{"one_winner_among_many", oneWinner},
	})
}

func TestInvoke_keys(t *testing.T) {
	onStores(t, keyedBackends(), []scenario{
		{"T03_another_run_gains_no_key", otherRunNoKey},
		{"T08_one_record_key_with_the_id", oneRecordKey},
	})
}

func TestInvoke_result(t *testing.T) {
	onFake(t, []scenario{
		{"T33_absence_is_kept", absenceIsKept},
		{"T40_bytes_belong_to_the_record", bytesBelongToTheRecord},
		{"T45_T47_raw_at_its_limit_and_over", rawAtItsLimit},
		{"T48_agent_result_at_its_limit_and_over", agentAtItsLimit},
		{"T53_a_narrower_call_after_RESULT_TOO_LARGE", narrowerCall},
		{"P42_operation_key", operationKey},
		{"P50_text_is_the_projectors_bytes", textUnchanged},
		{"an_action_with_its_own_raw_limit", ownRawLimit},
		{"no_run_and_a_run_of_another_boundary", noRun},
	})
}

func keptAsItWas(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{Principal: canonical.Principal{User: "u1", Agent: "a1"}}})
	raw := []byte("{\"n\":9007199254740993,\"b\":\"\x00\xff\"} \n") // not UTF-8, digits over 2^53
	request := []byte("{ \"q\" : \"\\u00e9\" , \"n\":1.0e2 }")      // spelled as no encoder would
	tool := &body{do: func(_ context.Context, in boundary.Input, w io.Writer) error {
		if !bytes.Equal(in.Arguments, request) || in.Principal.User != "u1" || in.Tool != someTool || in.Seq != 1 {
			t.Errorf("input %+v, want the request byte for byte, principal, tool and sequence 1", in)
		}
		_, err := w.Write(raw)
		return err
	}}
	shown := fakes.NewProjector(fakes.Found("two rows\n"))
	env := b.envelope("call_1")
	env.Input = slices.Clone(request)
	got := b.Invoke(t.Context(), b.run, env, boundary.Action{Executor: tool, Projector: shown})
	wantReady(t, got, "two rows\n")
	wantEntered(t, tool, 1)

	rec := b.record("call_1")
	if !bytes.Equal(rec.Request, request) || !bytes.Equal(rec.Raw.Bytes, raw) || string(rec.Agent) != "two rows\n" {
		t.Errorf("record has request %q, raw %q, agent result %q", string(rec.Request), string(rec.Raw.Bytes), string(rec.Agent))
	}
	if rec.State != lifecycle.Ready || rec.Evidence != evidence.Found || rec.Execution != lifecycle.Completed || rec.Code != "" {
		t.Errorf("record ended %s %s %s %q, want READY EVIDENCE_FOUND completed", rec.State, rec.Evidence, rec.Execution, rec.Code)
	}
	if rec.Effect != canonical.EffectRead || rec.Tool != someTool || rec.Principal.Agent != "a1" || rec.Seq != 1 {
		t.Errorf("head %+v", rec.Head)
	}
	wantReference(t, got.Outcome, rec)
	in := shown.Inputs()[0]
	if !bytes.Equal(in.Raw, raw) || !bytes.Equal(in.Request, request) || in.Tool != someTool || in.Limits.AgentBytes != 16<<10 {
		t.Errorf("projector was given %+v", in)
	}
}

// wantReference checks that the outcome names the stored raw result, verifiably.
func wantReference(t *testing.T, o boundary.Outcome, rec canonical.Record) {
	t.Helper()
	ref, ok := o.Reference()
	stored, there := rec.Reference()
	if !ok || !there || ref.SHA256 != rec.Raw.Bytes.SHA256() || ref.Bytes != int64(len(rec.Raw.Bytes)) {
		t.Fatalf("reference %+v, %t, want the digest and size of the stored raw", ref, ok)
	}
	if ref.EvidenceID != string(rec.EvidenceID) || ref.ToolCallID != string(rec.Identity.Call.ID) || ref.RunID != string(rec.Identity.Run) ||
		ref.Turn != string(rec.Identity.Call.Turn) || ref.Strength != stored.Strength || ref.Version != evidence.ReferenceVersion {
		t.Errorf("reference %+v, the record's is %+v", ref, stored)
	}
}

func seenFromInside(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	var inside canonical.Record
	var order []canonical.Numbered
	tool := &body{do: func(ctx context.Context, in boundary.Input, raw io.Writer) (err error) {
		if inside, err = d.Record(ctx, in.Identity.RunKey, in.Identity.Call); err != nil {
			return err
		}
		if order, err = d.Order(ctx, in.Identity.RunKey, 0, 10); err != nil {
			return err
		}
		_, err = io.WriteString(raw, "done")
		return err
	}}
	wantReady(t, b.read("call_1", tool), "seen: done")
	if len(order) != 1 || order[0].Call != named("call_1") {
		t.Errorf("order %v, want the one call", order)
	}
	if inside.State != lifecycle.Projecting || string(inside.Request) != someArgs || inside.Identity.Call.ID != "call_1" {
		t.Errorf("inside: %s, request %q, call %q", inside.State, string(inside.Request), inside.Identity.Call)
	}
	if inside.Raw.Present() || inside.Agent != nil || inside.Evidence != "" || inside.Code != "" || inside.Execution != "" {
		t.Errorf("inside: raw %v, agent %v, evidence %q, want none", inside.Raw, inside.Agent, inside.Evidence)
	}
}

func idsAsSent(t *testing.T, d *deck) {
	long := "fc_" + strings.Repeat("a|b+c/d=", 56) + "abc" // 454 bytes
	ids := []string{"call_abc", "toolu_01A", "functions.read_file:3", "call_x|fc_y", "exec:80",
		"0190b5a4-6f0e-7cc3-98c4-dc0c0c07398f", "ollama_0", "tooluse_a-b_c", "~@", long, strings.Repeat("x", 512)}
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 32, PerTool: 32}}})
	for i, id := range ids {
		wantReady(t, b.read(id, says("ok")), "seen: ok")
		if rec := b.record(id); string(rec.Identity.Call.ID) != id || rec.Seq != int64(i+1) {
			t.Errorf("id %q is stored as %q with sequence %d, want %d", id, rec.Identity.Call.ID, rec.Seq, i+1)
		}
	}
	order, err := d.Order(t.Context(), b.run.Key(), 0, 100)
	if err != nil || len(order) != len(ids) {
		t.Fatalf("order has %d entries, %v, want %d", len(order), err, len(ids))
	}
	for i, entry := range order {
		if string(entry.Call.ID) != ids[i] {
			t.Errorf("entry %d is %q, want %q", i, entry.Call.ID, ids[i])
		}
	}
}

func caseMakesTwo(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantReady(t, b.read("Call_1", says("upper")), "seen: upper")
	wantReady(t, b.read("call_1", says("lower")), "seen: lower")
	if u, l := b.record("Call_1"), b.record("call_1"); string(u.Raw.Bytes) != "upper" || string(l.Raw.Bytes) != "lower" {
		t.Errorf("records %q and %q, want upper and lower", string(u.Raw.Bytes), string(l.Raw.Bytes))
	}
}

func runBudget(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 2}}})
	tool := says("ok")
	wantReady(t, b.read("a", tool), "seen: ok")
	wantReady(t, b.read("b", tool), "seen: ok")
	failed := wantFailed(t, b.read("c", tool), lifecycle.RunBudgetExhausted, lifecycle.NotStarted)
	if no, ok := errors.AsType[*canonical.RefusedError](failed); !ok || no.Limit != 2 || no.Wanted != 3 {
		t.Errorf("error %v, want the numbers 2 and 3", failed)
	}
	wantEntered(t, tool, 2)
	b.noRecord("c", 2)
}

func toolBudget(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 5}}})
	x, y := says("x"), says("y")
	invoke := func(id, tool string, e boundary.Executor) boundary.Result {
		env, action := b.envelope(id), reading(e)
		env.Tool, action.Budget = tool, 1
		return b.Invoke(t.Context(), b.run, env, action)
	}
	wantReady(t, invoke("1", "X", x), "seen: x")
	wantFailed(t, invoke("2", "X", x), lifecycle.ToolBudgetExhausted, lifecycle.NotStarted)
	wantReady(t, invoke("3", "Y", y), "seen: y")
	wantEntered(t, x, 1)
	wantEntered(t, y, 1)
	b.noRecord("2", 2)
}

func duplicateCostsNothing(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 2}}})
	tool := says("ok")
	wantReady(t, b.read("a", tool), "seen: ok")
	for range 3 {
		wantFailed(t, b.read("a", tool), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	}
	wantReady(t, b.read("b", tool), "seen: ok")
	wantFailed(t, b.read("b", tool), lifecycle.DuplicateToolCall, lifecycle.NotStarted) // not "budget"
	wantEntered(t, tool, 2)
}

func failedUsedItsPlace(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 1}}})
	wantFailed(t, b.read("a", fails(io.ErrClosedPipe)), lifecycle.ToolExecutionFailed, lifecycle.Completed)
	wantFailed(t, b.read("b", says("ok")), lifecycle.RunBudgetExhausted, lifecycle.NotStarted)
}

func sameIDOtherInput(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("first")
	wantReady(t, b.read("a", tool), "seen: first")
	before := b.record("a")
	env := b.envelope("a")
	env.Input = []byte(`{"q":"another"}`)
	failed := wantFailed(t, b.Invoke(t.Context(), b.run, env, reading(tool)), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	if no, ok := errors.AsType[*canonical.RefusedError](failed); !ok || no.First != lifecycle.Ready {
		t.Errorf("error %v, want the first call's state READY", failed)
	}
	if after := b.record("a"); !reflect.DeepEqual(after, before) {
		t.Errorf("record changed from %+v to %+v", before.Head, after.Head)
	}
	wantEntered(t, tool, 1)
}

func sameIDTwoRuns(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{ID: "r1"}})
	tool := says("ok")
	wantReady(t, b.read("a", tool), "seen: ok")
	first := b.run
	for _, spec := range []boundary.RunSpec{
		{ID: "r2"},
		{ID: "r1", Scope: canonical.Scope{Tenant: "acme", Owner: "ops", Namespace: "elsewhere"}},
		{ID: "r1", Scope: canonical.Scope{Tenant: "acm", Owner: "eops", Namespace: "tests"}},
	} {
		b.run = b.open(spec)
		wantReady(t, b.read("a", tool), "seen: ok")
	}
	wantEntered(t, tool, 4)
	b.run = first
	if got := b.state().LastSeq; got != 1 {
		t.Errorf("%d admissions in the first run, want 1", got)
	}
}

func duplicateOfRunning(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := holds(t, "slow")
	first := b.async(t.Context(), b.envelope("a"), reading(tool))
	<-tool.in
	other := b.joined(boundary.Config{})
	for _, p := range []*bench{b, other} {
		failed := wantFailed(t, p.read("a", says("second")), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
		if no, ok := errors.AsType[*canonical.RefusedError](failed); !ok || no.First != lifecycle.Projecting {
			t.Errorf("error %v, want the first call's state PROJECTING", failed)
		}
	}
	tool.release()
	wantReady(t, <-first, "seen: slow")
	wantEntered(t, &tool.body, 1)
}

func duplicateOfError(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantFailed(t, b.read("a", fails(io.ErrClosedPipe)), lifecycle.ToolExecutionFailed, lifecycle.Completed)
	tool := says("again")
	wantFailed(t, b.read("a", tool), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	if rec := b.record("a"); rec.State != lifecycle.Error || rec.Code != lifecycle.ToolExecutionFailed {
		t.Errorf("record %s %s, want ERROR TOOL_EXECUTION_FAILED", rec.State, rec.Code)
	}
}

func sameIDTwoTurns(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := holds(t, "slow")
	one, nine := b.envelope("call_1"), b.envelope("call_1")
	one.Turn, nine.Turn = "1", "9"
	first := b.async(t.Context(), one, reading(tool))
	<-tool.in
	wantReady(t, b.Invoke(t.Context(), b.run, nine, reading(says("quick"))), "seen: quick")
	if rec := b.recordOf(inTurn("1", "call_1")); rec.State != lifecycle.Projecting {
		t.Errorf("turn 1 is %s, want PROJECTING", rec.State)
	}
	if o, err := b.run.Lookup(t.Context(), inTurn("9", "call_1")); err != nil || o.Text() != "seen: quick" {
		t.Errorf("lookup of turn 9: %v, %v", o, err)
	}
	if _, err := b.run.Lookup(t.Context(), inTurn("1", "call_1")); !errors.Is(err, canonical.ErrStillOpen) {
		t.Errorf("lookup of turn 1: %v, want ErrStillOpen", err)
	}
	if _, err := b.run.Lookup(t.Context(), named("call_1")); !errors.Is(err, canonical.ErrMissing) {
		t.Errorf("lookup without a turn: %v, want ErrMissing", err)
	}
	tool.release()
	wantReady(t, <-first, "seen: slow")
	order, err := d.Order(t.Context(), b.run.Key(), 0, 10)
	if want := []canonical.Numbered{{Seq: 1, Call: inTurn("1", "call_1")}, {Seq: 2, Call: inTurn("9", "call_1")}}; err != nil || !slices.Equal(order, want) {
		t.Errorf("order %v, %v, want %v", order, err, want)
	}
	nine.Turn = "1"
	wantFailed(t, b.Invoke(t.Context(), b.run, nine, reading(says("again"))), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
}

// oneWinner lets two processes race for one name; the tool itself is witness.
func oneWinner(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	const each = 4
	processes := []*bench{b, b.joined(boundary.Config{}), b.joined(boundary.Config{})}
	var results []<-chan boundary.Result
	for range each {
		for _, p := range processes {
			results = append(results, p.async(t.Context(), p.envelope("a"), reading(tool)))
		}
	}
	ready := 0
	for _, result := range results {
		if got := <-result; got.Err == nil {
			ready++
		} else {
			wantFailed(t, got, lifecycle.DuplicateToolCall, lifecycle.NotStarted)
		}
	}
	if ready != 1 {
		t.Errorf("%d calls are READY, want 1", ready)
	}
	wantEntered(t, tool, 1)
}

func otherRunNoKey(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{ID: "r1"}})
	other := b.open(boundary.RunSpec{ID: "r2"})
	before := d.keys(t, b.run.Key(), other.Key())
	tool := says("ok")
	for _, name := range []canonical.RunID{"r2", "r3", "R1", "", "r1 "} {
		env := b.envelope("a")
		env.RunID = name
		wantFailed(t, b.Invoke(t.Context(), b.run, env, reading(tool)), lifecycle.RunMismatch, lifecycle.NotStarted)
	}
	wantEntered(t, tool, 0)
	if after := d.keys(t, b.run.Key(), other.Key()); !slices.Equal(after, before) {
		t.Errorf("keys %v, want %v", after, before)
	}
	b.noRecord("a", 0)
}

func oneRecordKey(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantReady(t, b.read("call_x|fc_y", says("ok")), "seen: ok")
	var records []string
	for _, key := range d.keys(t, b.run.Key()) {
		if strings.Contains(key, ":call:") || strings.Contains(key, " call:") {
			records = append(records, key)
		}
	}
	if len(records) != 1 || !strings.HasSuffix(records[0], "call_x|fc_y") {
		t.Errorf("record keys %q, want one that ends with the id", records)
	}
}

func absenceIsKept(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	coverage := evidence.Searched("AC/DC", "docs", "wiki")
	coverage.Unchecked, coverage.Filters = []string{"mail"}, []string{"lang = en"}
	tool := says(`{"hits":[],"done":true}`)
	shown := fakes.NewProjector(fakes.Projected{Projection: projector.Projection{
		Result: []byte("nothing found"), Status: evidence.None, Coverage: coverage,
	}})
	got := b.Invoke(t.Context(), b.run, b.envelope("a"), boundary.Action{Executor: tool, Projector: shown})
	wantReady(t, got, "nothing found")
	if got.Outcome.Evidence() != evidence.None {
		t.Errorf("evidence %s, want NO_EVIDENCE", got.Outcome.Evidence())
	}
	rec := b.record("a")
	stored, err := evidence.DecodeCoverage(rec.Coverage)
	if err != nil || !reflect.DeepEqual(stored, coverage) || rec.Evidence != evidence.None || rec.State != lifecycle.Ready {
		t.Errorf("record %s %s, coverage %+v, %v, want READY NO_EVIDENCE and %+v", rec.State, rec.Evidence, stored, err, coverage)
	}
	report, err := b.run.Facts(t.Context())
	if err != nil || len(report.Facts) != 0 || len(report.Absences) != 1 || !reflect.DeepEqual(report.Absences[0].Coverage, coverage) {
		t.Errorf("report %+v, %v, want one absence and no fact", report, err)
	}
	wantEntered(t, tool, 1) // nothing found is an answer, not a reason to try again
	if shown.Entries() != 1 {
		t.Errorf("projector entered %d times, want 1", shown.Entries())
	}
}

// bytesBelongToTheRecord: whoever gave or got bytes writes into them afterwards.
func bytesBelongToTheRecord(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	spoil := func(lists ...[]byte) {
		for _, list := range lists {
			for i := range list {
				list[i] = '#'
			}
		}
	}
	buffer := []byte("raw result")
	tool := &body{do: func(_ context.Context, in boundary.Input, raw io.Writer) error {
		_, err := raw.Write(buffer)
		spoil(buffer, in.Arguments)
		return err
	}}
	result, line := []byte("agent result"), "value"
	var given projector.Input
	shown := projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		given = in
		if string(in.Raw) != "raw result" || string(in.Request) != someArgs {
			t.Errorf("projector got raw %q, request %q", in.Raw, in.Request)
		}
		spoil(in.Raw, in.Request)
		return projector.Projection{Result: result, Status: evidence.Found,
			Facts: []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "k"}, "is", line)}}, nil
	})
	env := b.envelope("a")
	got := b.Invoke(t.Context(), b.run, env, boundary.Action{Executor: tool, Projector: shown})
	spoil(result, given.Raw, given.Request, env.Input)
	wantReady(t, got, "agent result")
	rec := b.record("a")
	spoil(rec.Request, rec.Raw.Bytes, rec.Agent, rec.Facts)
	rec = b.record("a")
	if string(rec.Request) != someArgs || string(rec.Raw.Bytes) != "raw result" || string(rec.Agent) != "agent result" {
		t.Errorf("record has request %q, raw %q, agent result %q", string(rec.Request), string(rec.Raw.Bytes), string(rec.Agent))
	}
	if o, err := b.run.Lookup(t.Context(), named("a")); err != nil || o.Text() != "agent result" {
		t.Errorf("lookup %q, %v", o.Text(), err)
	}
}

func rawAtItsLimit(t *testing.T, d *deck) {
	const limit = 1000
	b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{RawBytes: limit}}})
	shown := fakes.NewProjector(fakes.Found("fits"))
	invoke := func(id string, size int) boundary.Result {
		e := says(strings.Repeat("é", size/2) + strings.Repeat("x", size%2)) // bytes are counted, not runes
		return b.Invoke(t.Context(), b.run, b.envelope(id), boundary.Action{Executor: e, Projector: shown})
	}
	wantReady(t, invoke("exact", limit), "fits")
	if rec := b.record("exact"); rec.Raw.Bytes == nil || rec.Raw.Size != limit || rec.Raw.AtLeast {
		t.Errorf("raw of %d bytes, want %d", rec.Raw.Size, limit)
	}
	got := invoke("over", limit+1)
	wantFailed(t, got, lifecycle.ResultTooLarge, lifecycle.Completed)
	if _, ok := got.Outcome.Reference(); ok {
		t.Error("the outcome refers to a raw result that is not stored")
	}
	rec := b.record("over")
	if rec.Raw.Bytes != nil || rec.Head.Raw.Stored || rec.Raw.Size != limit+1 || rec.Raw.SHA256 == "" || rec.Stage != canonical.StageRaw {
		t.Errorf("raw %+v, stage %s, want the size %d, a digest and no bytes", rec.Raw, rec.Stage, limit+1)
	}
	if shown.Entries() != 1 {
		t.Errorf("projector entered %d times, want 1", shown.Entries())
	}
}

func agentAtItsLimit(t *testing.T, d *deck) {
	const limit = 100
	b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{AgentBytes: limit}}})
	invoke := func(id string, size int) boundary.Result {
		shown := fakes.NewProjector(fakes.Found(strings.Repeat("a", size)))
		return b.Invoke(t.Context(), b.run, b.envelope(id), boundary.Action{Executor: says("raw"), Projector: shown})
	}
	wantReady(t, invoke("exact", limit), strings.Repeat("a", limit))
	got := invoke("over", limit+1)
	wantFailed(t, got, lifecycle.ResultTooLarge, lifecycle.Completed)
	rec := b.record("over")
	if rec.Agent != nil || rec.AgentSize != 0 || string(rec.Raw.Bytes) != "raw" || rec.Stage != canonical.StageAgent {
		t.Errorf("agent result %v, raw %q, stage %s, want none, raw kept, agent_result", rec.Agent, string(rec.Raw.Bytes), rec.Stage)
	}
	wantReference(t, got.Outcome, rec)
}

func narrowerCall(t *testing.T, d *deck) {
	b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{RawBytes: 10}}})
	wantFailed(t, b.read("wide", says("far too much of it")), lifecycle.ResultTooLarge, lifecycle.Completed)
	wantReady(t, b.read("narrow", says("little")), "seen: little")
	if got := b.state().LastSeq; got != 2 {
		t.Errorf("%d admissions, want 2", got)
	}
}

// operationKey: equal where the same call is delivered again, in whatever
// process; another one for another turn, other bytes, another run.
func operationKey(t *testing.T, d *deck) {
	var keys []string
	tool := &body{do: func(_ context.Context, in boundary.Input, _ io.Writer) error {
		keys = append(keys, in.OperationKey)
		return nil
	}}
	call := func(d *deck, run canonical.RunID, turn canonical.Turn, input string) canonical.Record {
		b := newBench(t, d, setup{spec: boundary.RunSpec{ID: run}})
		env := b.envelope("a")
		env.Turn, env.Input = turn, []byte(input)
		wantReady(t, b.Invoke(t.Context(), b.run, env, reading(tool)), "seen: ")
		return b.recordOf(inTurn(turn, "a"))
	}
	rec := call(d, "r1", "1", `{}`)
	call(fakeBackend().start(t), "r1", "1", `{}`) // another process, another store
	call(fakeBackend().start(t), "r1", "2", `{}`)
	call(fakeBackend().start(t), "r1", "1", `{ }`)
	call(fakeBackend().start(t), "r2", "1", `{}`)
	if keys[0] != keys[1] || len(keys[0]) != 64 || rec.OperationKey != keys[0] {
		t.Errorf("keys %s and %s, record has %s, want one", keys[0], keys[1], rec.OperationKey)
	}
	slices.Sort(keys)
	if different := len(slices.Compact(keys)); different != 4 {
		t.Errorf("%d different keys, want 4", different)
	}
}

func textUnchanged(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for i, text := range []string{
		" \n{\"a\": 9007199254740993.10}\r\n", "<b>&amp;\u2028</b>", "\ufeffbom", "nul \x00 and \x7f", "🦖\u0301", `{"error":{"code":"X"}}`,
	} {
		id := string(rune('a' + i))
		got := b.Invoke(t.Context(), b.run, b.envelope(id), boundary.Action{Executor: says("raw"), Projector: fakes.NewProjector(fakes.Found(text))})
		wantReady(t, got, text)
		if o, err := b.run.Lookup(t.Context(), named(id)); err != nil || o.Text() != text {
			t.Errorf("lookup gives %q, %v, want %q", o.Text(), err, text)
		}
	}
}

func ownRawLimit(t *testing.T, d *deck) {
	b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{RawBytes: 10}}})
	invoke := func(id string, limit int64, text string) boundary.Result {
		a := reading(says(text))
		a.MaxRawBytes = limit
		return b.Invoke(t.Context(), b.run, b.envelope(id), a)
	}
	wantReady(t, invoke("a", 4, "four"), "seen: four")
	wantFailed(t, invoke("b", 4, "five5"), lifecycle.ResultTooLarge, lifecycle.Completed)
	wantFailed(t, invoke("c", 100, "more than ten"), lifecycle.ResultTooLarge, lifecycle.Completed) // the run's limit stands
}

func noRun(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	other := process(t, d, boundary.Config{})
	for name, got := range map[string]boundary.Result{
		"nil":     b.Invoke(t.Context(), nil, b.envelope("a"), reading(tool)),
		"foreign": other.Invoke(t.Context(), b.run, b.envelope("a"), reading(tool)),
	} {
		t.Log(name)
		wantFailed(t, got, lifecycle.RunInactive, lifecycle.NotStarted)
	}
	wantEntered(t, tool, 0)
	b.noRecord("a", 0)
}
