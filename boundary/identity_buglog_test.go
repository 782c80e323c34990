package boundary_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Reports from the field on ids: given twice, cut, empty, odd, reused as paths.
func TestBugLog_identity(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"B01_one_id_on_two_calls", oneIDTwoCalls},
		{"B02_the_same_short_id_in_a_later_turn", idOfEarlierTurn},
		{"B03_one_id_twice_at_the_same_instant", idTwiceAtOnce},
		{"B05_ids_repeat_across_runs", idsRepeatAcrossRuns},
		{"B07_B08_no_id_and_none_made_of_the_name", noIDAtAll},
		{"B09_B10_long_ids_whole_or_refused", longIDs},
		{"B12_odd_characters", oddIDs},
		{"B13_an_id_that_is_a_path", idIsPath},
		{"B14_a_run_id_is_taken_once", runIDTakenOnce},
		{"B16_rebuilt_in_the_middle_of_a_run", rebuiltBoundary},
		{"B38_other_arguments_under_a_used_id", otherArguments},
		{"B39_equal_arguments_are_two_calls", equalArguments},
	})
}

// anySize is a run whose budgets are no part of the test.
func anySize() boundary.RunSpec {
	return boundary.RunSpec{Budget: canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}}
}

// with is a read with its own turn, id and arguments.
func (b *bench) with(turn canonical.Turn, id, arguments string) boundary.Envelope {
	env := b.envelope(id)
	env.Turn, env.Input = turn, []byte(arguments)
	return env
}

// wantDuplicate checks that a call was refused as one of an id that was used.
func wantDuplicate(t *testing.T, got boundary.Result, call canonical.CallName, first lifecycle.State) {
	t.Helper()
	host := wantFailed(t, got, lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	no, ok := errors.AsType[*canonical.RefusedError](host)
	if !ok || no.Call != call || no.First != first || host.Identity.Call != call || !strings.Contains(host.Error(), string(call.ID)) {
		t.Errorf("host error %v, want one that names %s and says that the first is %s", host, call, first)
	}
}

// wantOrder checks which calls a run has, and that no other was ever admitted.
func (b *bench) wantOrder(want ...canonical.CallName) {
	b.t.Helper()
	order, err := b.deck.Order(b.t.Context(), b.run.Key(), 0, len(want)+1)
	var got []canonical.CallName
	for i, entry := range order {
		got = append(got, entry.Call)
		if entry.Seq != int64(i+1) {
			b.t.Errorf("call %s has sequence %d, want %d", entry.Call, entry.Seq, i+1)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		b.t.Errorf("order %v, %v, want %v", got, err, want)
	}
}

func oneIDTwoCalls(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	other := b.joined(boundary.Config{})
	tool := says("first result")
	wantReady(t, b.Invoke(t.Context(), b.run, b.with("", "c1", `{"q":"first"}`), reading(tool)), "seen: first result")
	first := b.record("c1")
	for _, p := range []*bench{b, other} {
		for _, arguments := range []string{`{"q":"second"}`, `{"q":"first"}`, `{"q":"first" }`, `{}`} {
			read, write := p.with("", "c1", arguments), p.with("", "c1", arguments)
			write.ReadOnly, write.Tool = false, "another"
			wantDuplicate(t, p.Invoke(t.Context(), p.run, read, reading(tool)), named("c1"), lifecycle.Ready)
			wantDuplicate(t, p.Invoke(t.Context(), p.run, write, writing(tool)), named("c1"), lifecycle.Ready)
		}
	}
	wantEntered(t, tool, 1)
	if now := b.record("c1"); !reflect.DeepEqual(now, first) || string(now.Raw.Bytes) != "first result" {
		t.Errorf("the first record is now %+v, was %+v", now.Head, first.Head)
	}
	b.wantOrder(named("c1"))
}

func idOfEarlierTurn(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	wantReady(t, b.read("b9mgIC84m", tool), "seen: ok")
	for range 3 { // a host that sets no turn: the id alone names the call
		got := b.read("b9mgIC84m", tool)
		wantDuplicate(t, got, named("b9mgIC84m"), lifecycle.Ready)
		if o, err := b.run.Lookup(t.Context(), named("b9mgIC84m")); err != nil || o.Text() != "seen: ok" {
			t.Errorf("lookup %v, %v, want the first answer", o, err)
		}
	}
	wantEntered(t, tool, 1)
	for _, turn := range []canonical.Turn{"1", "2"} { // a host that does: it is another call
		env := b.with(turn, "b9mgIC84m", someArgs)
		wantReady(t, b.Invoke(t.Context(), b.run, env, reading(tool)), "seen: ok")
		wantDuplicate(t, b.Invoke(t.Context(), b.run, env, reading(tool)), inTurn(turn, "b9mgIC84m"), lifecycle.Ready)
	}
	wantEntered(t, tool, 3)
	report, err := b.run.Facts(t.Context())
	if err != nil || report.Totals.Calls != 3 || report.Totals.Ready != 3 || len(report.Facts) != 3 {
		t.Errorf("report on %+v with %d facts, %v, want 3 calls with a result each", report.Totals, len(report.Facts), err)
	}
}

func idTwiceAtOnce(t *testing.T, d *deck) {
	const repeats = 1000
	b := newBench(t, d, setup{spec: anySize()})
	processes := [2]*bench{b, b.joined(boundary.Config{})}
	tool := says("ok")
	for i := range repeats {
		id := fmt.Sprintf("edit:%d", i)
		var got [2]boundary.Result
		var wait sync.WaitGroup
		for k, p := range processes {
			wait.Go(func() { got[k] = p.Invoke(t.Context(), p.run, p.envelope(id), reading(tool)) })
		}
		wait.Wait()
		if got[0].Outcome.IsError() {
			got[0], got[1] = got[1], got[0]
		}
		wantReady(t, got[0], "seen: ok")
		wantFailed(t, got[1], lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	}
	wantEntered(t, tool, repeats)
	if got := b.state().LastSeq; got != repeats {
		t.Errorf("%d admissions, want %d", got, repeats)
	}
}

func idsRepeatAcrossRuns(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{ID: "run-1"}})
	runs := map[string]*boundary.Run{"run-1": b.run, "run-2": b.open(boundary.RunSpec{ID: "run-2"}), "run-11": b.open(boundary.RunSpec{ID: "run-11"})}
	ids := []string{"c1", "1", "run-1:c1"}
	references := map[string]bool{}
	for name, run := range runs {
		b.run = run
		for _, id := range ids {
			raw := strings.Repeat(name+" "+id+" ", 200)
			got := b.read(id, says(raw))
			wantReady(t, got, "seen: "+raw)
			ref, ok := got.Outcome.Reference()
			if !ok || references[ref.EvidenceID] || ref.RunID != name {
				t.Errorf("%s %s: reference %+v, want its own", name, id, ref)
			}
			references[ref.EvidenceID] = true
		}
	}
	for name, run := range runs {
		b.run = run
		for _, id := range ids {
			if rec := b.record(id); string(rec.Raw.Bytes) != strings.Repeat(name+" "+id+" ", 200) {
				t.Errorf("%s %s has another call's raw result", name, id)
			}
		}
		b.wantOrder(named("c1"), named("1"), named("run-1:c1"))
	}
}

// noIDAtAll: a missing id stays missing, by either way in, and its place is not
// taken by the name of the tool.
func noIDAtAll(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	before := d.keys(t, b.run.Key())
	tool := says("no")
	set := b.toolset(readTool(someTool, tool), writeTool("write", tool))
	for _, id := range []string{"", " ", "   ", "\t", "\n", "\x00", "\u00a0", "\u200b", "\ufeff"} {
		host := wantFailed(t, b.read(id, tool), lifecycle.InvalidToolCallID, lifecycle.NotStarted)
		if bad, ok := errors.AsType[*canonical.NameError](host); !ok || bad.Field != "tool_call_id" || !strings.Contains(host.Error(), "tool_call_id") {
			t.Errorf("id %q: host error %v, want one that names the field", id, host)
		}
		for _, got := range set.Dispatch(t.Context(), b.run, asked(id, someTool), asked(id, someTool), asked(id, "write")) {
			wantFailed(t, got, lifecycle.InvalidToolCallID, lifecycle.NotStarted)
		}
	}
	wantEntered(t, tool, 0)
	b.noRecord(someTool, 0)
	if after := d.keys(t, b.run.Key()); !slices.Equal(after, before) {
		t.Errorf("keys %v, want %v", after, before)
	}
	wantReady(t, b.read(someTool, says("ok")), "seen: ok") // the name is free for whoever really sends it
}

func longIDs(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anySize()})
	tool := says("ok")
	var want []canonical.CallName
	for _, size := range []int{63, 64, 65, 512} {
		for _, end := range "xy" { // equal but for the last byte
			id := strings.Repeat("a", size-1) + string(end)
			wantReady(t, b.read(id, says(id)), "seen: "+id)
			want = append(want, named(id))
		}
	}
	for i := range 12 { // one digit more from the tenth on
		id := strings.Repeat("f", 62) + fmt.Sprintf("_%d", i)
		wantReady(t, b.read(id, says(id)), "seen: "+id)
		want = append(want, named(id))
	}
	for _, size := range []int{513, 4096, 1 << 20} {
		host := wantFailed(t, b.read(strings.Repeat("a", size), tool), lifecycle.InvalidToolCallID, lifecycle.NotStarted)
		if bad, ok := errors.AsType[*canonical.NameError](host); !ok || bad.Size != size || bad.Limit != canonical.MaxToolCallID || len(host.Error()) > 300 {
			t.Errorf("%d bytes: host error %.300v, want one with size and limit", size, host)
		}
	}
	wantEntered(t, tool, 0)
	b.wantOrder(want...)
	for _, call := range want {
		if rec := b.recordOf(call); rec.Identity.Call != call || string(rec.Raw.Bytes) != string(call.ID) {
			t.Errorf("record of %s is %s with %d bytes", call, rec.Identity.Call, rec.Raw.Size)
		}
	}
}

func oddIDs(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anySize()})
	taken := []string{"a|b", "a:b", "a.b", "a/b", "a+b", "a=b", "a@b", "a~b", "..", "a::b", ":", "|", strings.Repeat("a|b.c:", 15)}
	var want []canonical.CallName
	for _, id := range taken {
		wantReady(t, b.read(id, says(id)), "seen: "+id)
		want = append(want, named(id))
	}
	before := d.keys(t, b.run.Key())
	tool := says("no")
	for _, id := range []string{
		"*", "a*", "?", "[a]", "[a-z]:b", "\\", "a\nb", "a\rb", "a\x00b", "\u202eb", "a\u200fb", "\U0001f600", "{a}", "a}b", "a b", "a\"b", "a'b", "a%2fb", "a\xffb",
	} {
		host := wantFailed(t, b.read(id, tool), lifecycle.InvalidToolCallID, lifecycle.NotStarted)
		if bad, ok := errors.AsType[*canonical.NameError](host); !ok || bad.Reason == "" || host.Identity.Call.ID != "" {
			t.Errorf("%q: host error %v, want a reason and no id", id, host)
		}
		if _, err := b.run.Lookup(t.Context(), named(id)); err == nil {
			t.Errorf("%q: looked up", id)
		}
	}
	wantEntered(t, tool, 0)
	if after := d.keys(t, b.run.Key()); !slices.Equal(after, before) {
		t.Errorf("keys %v, want %v", after, before)
	}
	b.wantOrder(want...)
	for _, id := range taken {
		if rec := b.record(id); string(rec.Identity.Call.ID) != id || string(rec.Raw.Bytes) != id {
			t.Errorf("record of %q is %s with %d bytes", id, rec.Identity.Call, rec.Raw.Size)
		}
	}
}

// idIsPath: dots and slashes are letters like any other; nothing leads from one
// run into another.
func idIsPath(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{ID: "mine"}})
	victim, mine := b.open(boundary.RunSpec{ID: "victim"}), b.run
	b.run = victim
	wantReady(t, b.read("call_secret", says("s3cr3t")), "seen: s3cr3t")
	b.run = mine
	for _, id := range []string{"../victim/call_secret", "victim:call_secret", "victim/call_secret", "../../victim:call:call_secret", ":call:call_secret", "call_secret", "no-such-call"} {
		_, lookup := b.run.Lookup(t.Context(), named(id))
		resolve := b.run.Resolve(t.Context(), named(id), canonical.Applied, "receipt")
		for verb, err := range map[string]error{"look up": lookup, "resolve": resolve} {
			host := wantRunError(t, err, lifecycle.RecordExpired, canonical.ErrMissing)
			if host.Identity.Run != "mine" || strings.Contains(strings.ReplaceAll(err.Error(), id, ""), "s3cr3t") {
				t.Errorf("%s %q: %v, want what is said of any unknown id", verb, id, err)
			}
		}
		heads, err := d.Heads(t.Context(), b.run.Key(), []canonical.CallName{named(id)})
		if err != nil || len(heads) != 1 || heads[0].Exists() || heads[0].Fault != nil {
			t.Errorf("heads of %q: %+v, %v, want the zero head", id, heads, err)
		}
	}
	for _, id := range []string{"..%2fvictim%2fcall_secret", "..\\victim\\call_secret"} {
		_, err := b.run.Lookup(t.Context(), named(id))
		wantRunError(t, err, lifecycle.InvalidToolCallID, nil)
	}
	wantReady(t, b.read("../victim/call_secret", says("own")), "seen: own")
	b.run = victim
	if rec := b.record("call_secret"); string(rec.Raw.Bytes) != "s3cr3t" {
		t.Errorf("the other run's record has changed")
	}
	b.wantOrder(named("call_secret"))
}

func runIDTakenOnce(t *testing.T, d *deck) {
	const rivals = 16
	b := process(t, d, boundary.Config{})
	for i := range 20 {
		spec := boundary.RunSpec{ID: canonical.RunID(fmt.Sprintf("session-%d", 1700000000+i)), Scope: testScope()}
		runs, refusals := make([]*boundary.Run, rivals), make([]error, rivals)
		var wait sync.WaitGroup
		for k := range rivals {
			wait.Go(func() { runs[k], refusals[k] = b.OpenRun(t.Context(), spec) })
		}
		wait.Wait()
		var opened []*boundary.Run
		for k := range rivals {
			if refusals[k] == nil {
				opened = append(opened, runs[k])
				continue
			}
			wantRunError(t, refusals[k], lifecycle.RunInactive, canonical.ErrRunTaken)
		}
		if len(opened) != 1 {
			t.Fatalf("%s was opened %d times, want once", spec.ID, len(opened))
		}
		joined, err := process(t, d, boundary.Config{}).JoinRun(t.Context(), opened[0].Ticket()) // the proof of owning it
		if err != nil || joined.Key() != opened[0].Key() {
			t.Errorf("joining with the ticket: %v", err)
		}
	}
}

// rebuiltBoundary: what names a call is its run, turn and id, and what its key
// for outside services is made of are these and the bytes; nothing is counted in
// a process.
func rebuiltBoundary(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	keys := map[string]string{}
	note := func(p *bench, id, arguments string) {
		wantReady(t, p.Invoke(t.Context(), p.run, p.with("", id, arguments), reading(tool)), "seen: ok")
		rec := p.record(id)
		if was, used := keys[rec.OperationKey]; used {
			t.Errorf("%s has the operation key of %q", id, was)
		}
		keys[rec.OperationKey] = id
		if want := rec.Identity.OperationKey([]byte(arguments)); rec.OperationKey != want {
			t.Errorf("%s has the operation key %s, want %s", id, rec.OperationKey, want)
		}
	}
	note(b, "c1", `{"n":1}`)
	rebuilt := b.joined(boundary.Config{}) // its first call, as c1 was of the other
	note(rebuilt, "c2", `{"n":1}`)
	again := b.joined(boundary.Config{})
	note(again, "c3", `{"n":2}`)
	for _, p := range []*bench{b, rebuilt, again} {
		for _, id := range []string{"c1", "c2", "c3"} {
			wantDuplicate(t, p.read(id, tool), named(id), lifecycle.Ready)
		}
	}
	wantEntered(t, tool, 3)
	b.wantOrder(named("c1"), named("c2"), named("c3"))
}

// otherArguments: bytes are compared, never meanings, so one id never serves an
// answer for other bytes, and spellings differ in every key made of them.
func otherArguments(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anySize()})
	spellings := []string{
		`{"amount":10}`, `{"amount":9999}`, `{"amount":10.0}`, `{"amount":"10"}`, `{"amount":1e1}`, `{ "amount":10}`,
		`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"id":9007199254740993}`, `{"id":9007199254740992}`,
	}
	tool := says("ok")
	wantReady(t, b.Invoke(t.Context(), b.run, b.with("", "pay", spellings[0]), reading(tool)), "seen: ok")
	keys, digests := map[string]bool{}, map[string]bool{}
	for i, arguments := range spellings {
		wantDuplicate(t, b.Invoke(t.Context(), b.run, b.with("", "pay", arguments), reading(tool)), named("pay"), lifecycle.Ready)
		id := fmt.Sprintf("own-%d", i)
		wantReady(t, b.Invoke(t.Context(), b.run, b.with("", id, arguments), reading(tool)), "seen: ok")
		rec := b.record(id)
		keys[rec.OperationKey], digests[rec.RequestSHA256] = true, true
		keys[b.record("pay").Identity.OperationKey([]byte(arguments))] = true
		if string(rec.Request) != arguments {
			t.Errorf("request kept as %q, want %q", []byte(rec.Request), arguments)
		}
	}
	wantEntered(t, tool, int64(len(spellings)+1))
	if len(digests) != len(spellings) || len(keys) != 2*len(spellings) {
		t.Errorf("%d digests and %d operation keys of %d spellings under two names each", len(digests), len(keys), len(spellings))
	}
	if rec := b.record("pay"); string(rec.Request) != spellings[0] {
		t.Errorf("the first call's request is now %q", []byte(rec.Request))
	}
}

// equalArguments: nothing is answered from an earlier call because it looks alike.
func equalArguments(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anySize()})
	for i, answer := range []string{"first", "second", "third"} {
		wantReady(t, b.read(fmt.Sprintf("r%d", i), says(answer)), "seen: "+answer)
	}
	tool := says("written")
	for i := range 3 {
		wantReady(t, b.write(fmt.Sprintf("w%d", i), tool), "seen: written")
	}
	wantEntered(t, tool, 3)
	wantFailed(t, b.read("bad", fails(errors.New("x"))), lifecycle.ToolExecutionFailed, lifecycle.Completed)
	wantReady(t, b.read("good", says("ok")), "seen: ok") // an old failure is not served either
}
