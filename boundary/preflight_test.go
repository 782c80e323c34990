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

func TestPreflight(t *testing.T) {
	onFake(t, []scenario{
		{"T04_ids_that_are_none", idsThatAreNone},
		{"T09_spaces_are_not_trimmed", spacesNotTrimmed},
		{"T11_input_that_is_no_object", inputNoObject},
		{"T13_not_authorized", notAuthorized},
		{"T14_not_read_only", notReadOnly},
		{"T16_deadline_over_or_context_cancelled", timeIsUp},
		{"T17_deadline_to_the_instant", deadlineToTheInstant},
		{"T50_request_over_its_limit", requestOverLimit},
		{"effects_that_a_policy_lets_through", effectPolicies},
		{"a_tool_that_is_none", toolThatIsNone},
		{"the_tools_own_check_of_its_arguments", ownArgumentCheck},
		{"the_first_failure_is_told", firstFailureIsTold},
	})
}

func TestPreflight_on_stores(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"T15_closed_run", closedRun},
		{"P08_turns_and_ids_that_look_alike", lookAlikes},
	})
}

// wantUntouched checks that refusals cost nothing: the store was not asked to
// admit, and the run is as it was.
func wantUntouched(t *testing.T, b *bench) {
	t.Helper()
	if n := b.faulty.Calls(fakes.MethodAdmit); n != 0 {
		t.Errorf("the store was asked to admit %d times, want 0", n)
	}
	if state := b.state(); state.LastSeq != 0 || state.Reserved != 0 {
		t.Errorf("the run has %d admissions and %d reserved bytes, want none", state.LastSeq, state.Reserved)
	}
}

func refusedIDs(t *testing.T, d *deck, ids []string) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	for _, id := range ids {
		failed := wantFailed(t, b.read(id, tool), lifecycle.InvalidToolCallID, lifecycle.NotStarted)
		if name, ok := errors.AsType[*canonical.NameError](failed); !ok || name.Field != "tool_call_id" {
			t.Errorf("%q: error %v, want a NameError of tool_call_id", id, failed)
		}
		if failed.Identity.Call != (canonical.CallName{}) {
			t.Errorf("%q: the error repeats the id", id)
		}
	}
	wantEntered(t, tool, 0)
	wantUntouched(t, b)
}

func idsThatAreNone(t *testing.T, d *deck) {
	refusedIDs(t, d, []string{"", " ", "   ", "\t", "\n", "\u00a0", "\u200b", "\x00", "call\x00", "{call}", "call*", "cäll", "\xff", strings.Repeat("x", 513)})
}

func spacesNotTrimmed(t *testing.T, d *deck) {
	refusedIDs(t, d, []string{" call_1", "call_1 ", "call_1\n", "\tcall_1", "call 1", "\u200bcall_1", "\ufeffcall_1"})
}

func inputNoObject(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	deep := strings.Repeat(`{"a":`, canonical.MaxRequestDepth)
	for _, input := range []string{
		`[]`, `null`, `"x"`, `1`, `true`, ``, ` `, `{"a":1}{"b":2}`, `{"a":1} 2`, `{"a":}`, `{`, `{"a":1,}`, `{a:1}`, `{'a':1}`,
		`{"a":1,"a":1}`, `{"x":{"a":1,"\u0061":2}}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, "\ufeff{}", `// comment
{}`, `{"a":NaN}`, `{"a":01}`, deep + `{}` + strings.Repeat(`}`, canonical.MaxRequestDepth),
	} {
		env := b.envelope("a")
		env.Input = []byte(input)
		failed := wantFailed(t, b.Invoke(t.Context(), b.run, env, reading(tool)), lifecycle.InvalidInput, lifecycle.NotStarted)
		if _, ok := errors.AsType[*canonical.RequestError](failed); !ok {
			t.Errorf("%q: error %v, want a RequestError", input, failed)
		}
	}
	env := b.envelope("a")
	env.Input = nil
	wantFailed(t, b.Invoke(t.Context(), b.run, env, reading(tool)), lifecycle.InvalidInput, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	wantUntouched(t, b)
}

// wantHidden checks that no form of a result shows text.
func wantHidden(t *testing.T, got boundary.Result, text string) {
	t.Helper()
	for _, form := range []string{got.Outcome.Text(), fmt.Sprintf("%v %+v %#v %s %q", got, got, got, got.Outcome, got.Outcome), got.Err.Error()} {
		if strings.Contains(form, text) {
			t.Errorf("%q is shown in %s", text, form)
		}
	}
}

func notAuthorized(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	got := b.Invoke(t.Context(), b.run, boundary.Envelope{
		RunID: b.run.ID(), ToolCallID: "a", Tool: someTool, Input: []byte(`{"secret":"s3cr3t"}`), ReadOnly: true,
	}, reading(tool))
	wantFailed(t, got, lifecycle.Unauthorized, lifecycle.NotStarted)
	wantHidden(t, got, "s3cr3t")
	wantEntered(t, tool, 0)
	wantUntouched(t, b)
}

func notReadOnly(t *testing.T, d *deck) {
	b := process(t, d, boundary.Config{}) // the zero policy
	b.run = b.open(boundary.RunSpec{})
	tool := says("ok")
	zero := boundary.Envelope{RunID: b.run.ID(), ToolCallID: "a", Tool: someTool, Input: []byte(`{"secret":"s3cr3t"}`), Authorized: true}
	for _, effect := range []canonical.Effect{"", canonical.EffectRead, canonical.EffectWrite, canonical.EffectUnknown, "READ"} {
		action := reading(tool)
		action.Effect = effect
		got := b.Invoke(t.Context(), b.run, zero, action)
		wantFailed(t, got, lifecycle.NotReadOnly, lifecycle.NotStarted)
		wantHidden(t, got, "s3cr3t")
	}
	zero.ReadOnly = true
	got := b.Invoke(t.Context(), b.run, zero, writing(tool)) // where they disagree the stronger effect counts
	wantFailed(t, got, lifecycle.NotReadOnly, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	wantUntouched(t, b)
}

func effectPolicies(t *testing.T, d *deck) {
	for _, c := range []struct {
		policy boundary.EffectPolicy
		effect canonical.Effect
		stored canonical.Effect // empty: refused
	}{
		{boundary.EffectPolicy{}, canonical.EffectRead, canonical.EffectRead},
		{boundary.EffectPolicy{}, "", canonical.EffectRead},
		{boundary.EffectPolicy{}, canonical.EffectWrite, ""},
		{boundary.EffectPolicy{}, canonical.EffectUnknown, ""},
		{boundary.EffectPolicy{Write: true}, canonical.EffectWrite, canonical.EffectWrite},
		{boundary.EffectPolicy{Write: true}, canonical.EffectUnknown, ""},
		{boundary.EffectPolicy{Unknown: true}, canonical.EffectWrite, ""},
		{boundary.EffectPolicy{Unknown: true}, canonical.EffectUnknown, canonical.EffectUnknown},
		{boundary.EffectPolicy{Unknown: true}, "write ", canonical.EffectUnknown}, // a slip is not a read
	} {
		b := process(t, d, boundary.Config{Effects: c.policy})
		b.run = b.open(boundary.RunSpec{})
		action := reading(says("ok"))
		action.Effect = c.effect
		got := b.Invoke(t.Context(), b.run, b.envelope("a"), action)
		if c.stored == "" {
			wantFailed(t, got, lifecycle.NotReadOnly, lifecycle.NotStarted)
			continue
		}
		wantReady(t, got, "seen: ok")
		if rec := b.record("a"); rec.Effect != c.stored {
			t.Errorf("%+v with %q: recorded as %q, want %q", c.policy, c.effect, rec.Effect, c.stored)
		}
	}
}

func timeIsUp(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{MaxDuration: time.Minute}})
	tool := says("ok")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	wantFailed(t, b.Invoke(gone, b.run, b.envelope("a"), reading(tool)), lifecycle.Cancelled, lifecycle.NotStarted)
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	wantFailed(t, b.Invoke(late, b.run, b.envelope("a"), reading(tool)), lifecycle.Cancelled, lifecycle.NotStarted)
	d.advance(t, time.Minute+time.Millisecond)
	wantFailed(t, b.read("a", tool), lifecycle.RunDeadlineExceeded, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	wantUntouched(t, b)
}

func deadlineToTheInstant(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{MaxDuration: time.Minute}})
	tool := says("ok")
	d.advance(t, time.Minute-time.Millisecond)
	wantReady(t, b.read("a", tool), "seen: ok")
	d.advance(t, time.Millisecond)
	if left := b.state().Left; left != 0 {
		t.Fatalf("%v left, want exactly 0", left)
	}
	wantFailed(t, b.read("b", tool), lifecycle.RunDeadlineExceeded, lifecycle.NotStarted)
	wantEntered(t, tool, 1)

	// A process whose own timer stands still is told the same by the store.
	slow := b.joined(boundary.Config{Now: func() time.Time { return time.Unix(1, 0) }})
	wantFailed(t, slow.read("b", tool), lifecycle.RunDeadlineExceeded, lifecycle.NotStarted)
	b.noRecord("b", 1)
}

func requestOverLimit(t *testing.T, d *deck) {
	const limit = 64
	b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{RequestBytes: limit}}})
	tool := says("ok")
	object := func(size int) []byte { return []byte(`{"a":"` + strings.Repeat("é", (size-8)/2) + `"}`) }
	env := b.envelope("a")
	for _, input := range [][]byte{object(limit + 2), []byte(strings.Repeat(" ", limit-1) + "{}"), []byte(strings.Repeat("[", 1000))} {
		env.Input = input
		failed := wantFailed(t, b.Invoke(t.Context(), b.run, env, reading(tool)), lifecycle.RequestTooLarge, lifecycle.NotStarted)
		if bad, ok := errors.AsType[*canonical.RequestError](failed); !ok || bad.Limit != limit || bad.Size != len(input) {
			t.Errorf("error %v, want the sizes %d and %d", failed, len(input), limit)
		}
	}
	wantEntered(t, tool, 0)
	wantUntouched(t, b)
	env.Input = object(limit)
	wantReady(t, b.Invoke(t.Context(), b.run, env, reading(tool)), "seen: ok")
}

func toolThatIsNone(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	for _, c := range []struct {
		name   string
		action boundary.Action
	}{
		{someTool, boundary.Action{}},
		{someTool, boundary.Action{Executor: tool}},
		{someTool, boundary.Action{Projector: seen()}},
		{"", reading(tool)},
		{"no spaces", reading(tool)},
		{strings.Repeat("x", 65), reading(tool)},
		{"a:b", reading(tool)},
	} {
		env := b.envelope("a")
		env.Tool = c.name
		wantFailed(t, b.Invoke(t.Context(), b.run, env, c.action), lifecycle.UnknownTool, lifecycle.NotStarted)
	}
	wantEntered(t, tool, 0)
	wantUntouched(t, b)
}

// checking is an executor that looks at its arguments first.
type checking struct {
	*body
	check func([]byte) error
}

// CheckArguments implements [boundary.ArgumentChecker].
func (c checking) CheckArguments(arguments []byte) error { return c.check(arguments) }

func ownArgumentCheck(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	for _, check := range []func([]byte) error{
		func([]byte) error { return errors.New("no: s3cr3t") },
		func([]byte) error { panic("no: s3cr3t") },
	} {
		got := b.read("a", checking{tool, check})
		wantFailed(t, got, lifecycle.InvalidInput, lifecycle.NotStarted)
		wantHidden(t, got, "s3cr3t")
	}
	wantEntered(t, tool, 0)
	wantUntouched(t, b)
	spoiling := func(arguments []byte) error {
		if string(arguments) != someArgs {
			t.Errorf("checked %q, want the exact bytes", arguments)
		}
		arguments[0] = '#'
		return nil
	}
	wantReady(t, b.read("a", checking{tool, spoiling}), "seen: ok")
	if rec := b.record("a"); string(rec.Request) != someArgs {
		t.Errorf("request %q, want %q", string(rec.Request), someArgs)
	}
}

// firstFailureIsTold mends one thing after the other in a call with which
// everything is wrong. The order is DESIGN's.
func firstFailureIsTold(t *testing.T, d *deck) {
	b := process(t, d, boundary.Config{})
	b.run = b.open(boundary.RunSpec{ID: "r1", MaxDuration: time.Minute})
	d.advance(t, time.Minute)
	if err := b.run.Close(t.Context()); err != nil {
		t.Fatalf("Close: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tool := says("ok")
	env := boundary.Envelope{RunID: "r2", ToolCallID: " ", Tool: "?", Input: []byte(`[]`)}
	action := boundary.Action{Executor: checking{tool, func([]byte) error { return errors.New("no") }}}
	for _, step := range []struct {
		want lifecycle.Code
		mend func()
	}{
		{lifecycle.InvalidToolCallID, func() { env.ToolCallID = "a" }},
		{lifecycle.RunMismatch, func() { env.RunID = "r1" }},
		{lifecycle.InvalidInput, func() { env.Input = []byte(`{}`) }},
		{lifecycle.UnknownTool, func() { env.Tool, action.Projector = someTool, seen() }},
		{lifecycle.InvalidInput, func() { action.Executor = tool }},
		{lifecycle.Unauthorized, func() { env.Authorized = true }},
		{lifecycle.NotReadOnly, func() { env.ReadOnly = true }},
		{lifecycle.RunInactive, func() {
			b.run = b.open(boundary.RunSpec{ID: "r2", MaxDuration: time.Minute})
			env.RunID = "r2"
			d.advance(t, time.Minute)
		}},
		{lifecycle.RunDeadlineExceeded, func() { b.run = b.open(boundary.RunSpec{ID: "r3"}); env.RunID = "r3" }},
		{lifecycle.Cancelled, func() { ctx = t.Context() }},
	} {
		wantFailed(t, b.Invoke(ctx, b.run, env, action), step.want, lifecycle.NotStarted)
		wantUntouched(t, b)
		step.mend()
	}
	wantReady(t, b.Invoke(ctx, b.run, env, action), "seen: ok")
	wantEntered(t, tool, 1)
}

func closedRun(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	other := b.joined(boundary.Config{})
	tool := says("ok")
	for range 2 { // closing twice is fine
		if err := b.run.Close(t.Context()); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	wantFailed(t, b.read("a", tool), lifecycle.RunInactive, lifecycle.NotStarted)
	wantFailed(t, other.read("a", tool), lifecycle.RunInactive, lifecycle.NotStarted) // it asks the store
	wantFailed(t, other.read("b", tool), lifecycle.RunInactive, lifecycle.NotStarted) // and remembers
	if n := other.faulty.Calls(fakes.MethodAdmit); n != 1 {
		t.Errorf("the other process asked %d times, want once", n)
	}
	wantEntered(t, tool, 0)
	b.noRecord("a", 0)
}

func lookAlikes(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	invoke := func(turn canonical.Turn, id canonical.ToolCallID) boundary.Result {
		env := b.envelope("a")
		env.Turn, env.ToolCallID = turn, id
		return b.Invoke(t.Context(), b.run, env, reading(says(string(turn)+"/"+string(id))))
	}
	for _, turn := range []canonical.Turn{"a:", ":", "a:b", " ", canonical.Turn(strings.Repeat("1", 33))} {
		failed := wantFailed(t, invoke(turn, "c"), lifecycle.InvalidToolCallID, lifecycle.NotStarted)
		if name, ok := errors.AsType[*canonical.NameError](failed); !ok || name.Field != "turn" {
			t.Errorf("turn %q: error %v, want a NameError of turn", turn, failed)
		}
	}
	names := []canonical.CallName{inTurn("a", "b:c"), inTurn("a.b", "c"), inTurn("a", "b"), inTurn("", "a:b"), inTurn("", "a.b:c")}
	for _, n := range names {
		wantReady(t, invoke(n.Turn, n.ID), "seen: "+string(n.Turn)+"/"+string(n.ID))
	}
	for i, n := range names {
		rec := b.recordOf(n)
		if rec.Identity.Call != n || rec.Seq != int64(i+1) || rec.Evidence != evidence.Found || string(rec.Raw.Bytes) != string(n.Turn)+"/"+string(n.ID) {
			t.Errorf("record of %q is %q with sequence %d and raw %q", n, rec.Identity.Call, rec.Seq, string(rec.Raw.Bytes))
		}
	}
}
