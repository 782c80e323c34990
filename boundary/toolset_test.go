package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func TestToolset(t *testing.T) {
	onFake(t, []scenario{
		{"one_answer_a_call_in_the_order_asked", answersInOrder},
		{"no_calls_no_answers", noCalls},
		{"without_a_run_every_call_is_answered", dispatchWithoutRun},
		{"a_caller_who_has_gone", dispatchCancelled},
		{"one_id_twice_in_one_message", idTwice},
		{"a_slow_read_keeps_its_place", slowReadFirst},
		{"a_goroutine_that_the_host_ends", goroutineEnds},
		{"what_is_no_read_runs_alone_and_in_order", effectsAlone},
		{"a_body_gets_what_was_sent_and_who_asked", bodyInput},
		{"budget_of_a_tool", budgetOfTool},
		{"raw_limit_of_a_tool", rawLimitOfTool},
		{"effects_are_those_of_the_tools", effectsOfTools},
		{"definitions_are_copies", definitionsDetached},
		{"prints_names", toolsetPrints},
	})
}

// toolset makes a toolset or fails.
func (b *bench) toolset(tools ...boundary.Tool) *boundary.Toolset {
	b.t.Helper()
	set, err := boundary.NewToolset(b.ToolBoundary, tools...)
	if err != nil {
		b.t.Fatalf("NewToolset: %v", err)
	}
	return set
}

func readTool(name string, e boundary.Executor) boundary.Tool {
	return boundary.Tool{Name: name, Effect: canonical.EffectRead, Executor: e, Projector: seen()}
}

func writeTool(name string, e boundary.Executor) boundary.Tool {
	return boundary.Tool{Name: name, Effect: canonical.EffectWrite, Executor: e, Projector: seen()}
}

func asked(id, name string) boundary.Call {
	return boundary.Call{ID: canonical.ToolCallID(id), Name: name, Arguments: []byte(someArgs)}
}

// answersInOrder sends one message with everything that can go wrong in it.
func answersInOrder(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	panics := &body{do: func(context.Context, boundary.Input, io.Writer) error { panic("x") }}
	set := b.toolset(readTool("read", says("r")), writeTool("write", says("w")), readTool("panics", panics),
		readTool("fails", fails(errors.New("x"))), writeTool("breaks", fails(errors.New("x"))))
	broken, unnamed := asked("c4", "read"), asked("", "read")
	broken.Arguments = []byte(`{"q":`)
	calls := []boundary.Call{
		asked("c0", "read"), asked("c1", "write"), asked("c2", "panics"), asked("c3", "none"), broken, unnamed,
		asked("c0", "write"), asked("c7", "fails"), asked("c8", "read"), asked("c9", "breaks"), asked("c10", "read"), asked("c11", "write"),
	}
	want := []lifecycle.Code{
		"", "", lifecycle.ToolExecutionFailed, lifecycle.UnknownTool, lifecycle.InvalidInput, lifecycle.InvalidToolCallID,
		lifecycle.DuplicateToolCall, lifecycle.ToolExecutionFailed, "", lifecycle.OutcomeUnknown, lifecycle.UnresolvedEffect, lifecycle.UnresolvedEffect,
	}
	got := set.Dispatch(t.Context(), b.run, calls...)
	if len(got) != len(calls) {
		t.Fatalf("%d answers to %d calls", len(got), len(calls))
	}
	for i, r := range got {
		if r.Outcome.Code() != want[i] || (r.Err == nil) != (want[i] == "") {
			t.Errorf("answer %d is %v, %v; want %q", i, r.Outcome, r.Err, want[i])
		}
		var host *boundary.Error
		if errors.As(r.Err, &host) && host.Identity.Call.ID != "" && host.Identity.Call.ID != calls[i].ID {
			t.Errorf("answer %d is of call %q", i, host.Identity.Call)
		}
		if !json.Valid([]byte(r.Outcome.Text())) && want[i] != "" {
			t.Errorf("answer %d is no JSON: %s", i, r.Outcome.Text())
		}
	}
	for i, text := range map[int]string{0: "seen: r", 1: "seen: w", 8: "seen: r"} {
		if got[i].Outcome.Text() != text {
			t.Errorf("answer %d is %q, want %q", i, got[i].Outcome.Text(), text)
		}
	}
}

func noCalls(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	if got := b.toolset(readTool("read", says("r"))).Dispatch(t.Context(), b.run); len(got) != 0 {
		t.Errorf("%d answers to no calls", len(got))
	}
	if got := b.toolset().Dispatch(t.Context(), b.run, asked("c1", "read")); len(got) != 1 || got[0].Outcome.Code() != lifecycle.UnknownTool {
		t.Errorf("a toolset without tools answers %v, want UNKNOWN_TOOL", got)
	}
}

func dispatchWithoutRun(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("r")
	set := b.toolset(readTool("read", tool), writeTool("write", tool))
	for name, run := range map[string]*boundary.Run{"nil": nil, "zero": {}, "of another boundary": b.joined(boundary.Config{}).run} {
		for i, r := range set.Dispatch(t.Context(), run, asked("c1", "read"), asked("c2", "write"), asked("c3", "none")) {
			if r.Outcome.Code() != lifecycle.RunInactive || r.Err == nil {
				t.Errorf("%s: answer %d is %v, %v; want RUN_INACTIVE", name, i, r.Outcome, r.Err)
			}
		}
	}
	wantEntered(t, tool, 0)
}

func dispatchCancelled(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("r")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := b.toolset(readTool("read", tool), writeTool("write", tool)).Dispatch(ctx, b.run, asked("c1", "read"), asked("c2", "write"))
	for _, r := range got {
		wantFailed(t, r, lifecycle.Cancelled, lifecycle.NotStarted)
	}
	wantEntered(t, tool, 0)
	b.noRecord("c1", 0)
}

func idTwice(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("r")
	got := b.toolset(readTool("read", tool)).Dispatch(t.Context(), b.run, asked("c1", "read"), asked("c1", "read"), asked("c1", "read"))
	wantReady(t, got[0], "seen: r") // the first in the message, every time
	wantFailed(t, got[1], lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	wantFailed(t, got[2], lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	wantEntered(t, tool, 1)
}

// goroutineEnds: a host's code that ends its goroutine, as a test's FailNow does,
// takes no answer of the others with it, and its own says that nothing is known.
func goroutineEnds(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	leaves := checking{says("1"), func([]byte) error { runtime.Goexit(); return nil }}
	got := b.toolset(readTool("leaves", leaves), readTool("read", says("r"))).
		Dispatch(t.Context(), b.run, asked("c1", "read"), asked("c2", "leaves"), asked("c3", "read"))
	wantReady(t, got[0], "seen: r")
	wantFailed(t, got[1], lifecycle.OutcomeUnknown, lifecycle.Unknown)
	wantReady(t, got[2], "seen: r")
}

func slowReadFirst(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	slow := holds(t, "slow")
	fast := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		<-slow.in
		defer slow.release() // ends after this one has written
		_, err := io.WriteString(raw, "fast")
		return err
	}}
	got := b.toolset(readTool("slow", slow), readTool("fast", fast)).Dispatch(t.Context(), b.run, asked("c1", "slow"), asked("c2", "fast"))
	wantReady(t, got[0], "seen: slow")
	wantReady(t, got[1], "seen: fast")
}

// effectsAlone: of read, read, write, unknown, read nothing overlaps a call that
// is no read, and those run in the order asked.
func effectsAlone(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	var mu sync.Mutex
	var log []string
	var writes, reads atomic.Int64
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, text)
	}
	read := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		reads.Add(1)
		defer reads.Add(-1)
		if writes.Load() != 0 {
			t.Error("a read runs beside a call that is none")
		}
		_, err := io.WriteString(raw, "1")
		return err
	}}
	alone := &body{do: func(_ context.Context, in boundary.Input, raw io.Writer) error {
		note(string(in.Identity.Call.ID))
		if writes.Add(1) != 1 || reads.Load() != 0 {
			t.Error("a call that is no read does not run alone")
		}
		defer writes.Add(-1)
		state, err := b.deck.Outstanding(context.Background(), b.run.Key())
		if err != nil || len(state.Open) != 1 {
			t.Errorf("%d calls open (%v), want this one: the one before has settled", len(state.Open), err)
		}
		_, err = io.WriteString(raw, "1")
		return err
	}}
	set := b.toolset(readTool("read", read), writeTool("write", alone),
		boundary.Tool{Name: "unknown", Effect: canonical.EffectUnknown, Executor: alone, Projector: seen()})
	got := set.Dispatch(t.Context(), b.run, asked("r1", "read"), asked("r2", "read"), asked("w1", "write"), asked("u1", "unknown"),
		asked("r3", "read"), asked("w2", "write"), asked("r4", "read"))
	for i, r := range got {
		if r.Err != nil {
			t.Errorf("answer %d: %v", i, r.Err)
		}
	}
	if want := []string{"w1", "u1", "w2"}; !slices.Equal(log, want) {
		t.Errorf("effects ran in the order %v, want %v", log, want)
	}
}

func bodyInput(t *testing.T, d *deck) {
	who := canonical.Principal{User: "u", Agent: "a"}
	b := newBench(t, d, setup{spec: boundary.RunSpec{Principal: who}})
	var got boundary.Input
	tool := &body{do: func(_ context.Context, in boundary.Input, raw io.Writer) error {
		got = in
		return nil
	}}
	call := boundary.Call{ID: "c1", Turn: "t7", Name: "read", Arguments: []byte("{ \"q\" : 1e0,\"n\":9007199254740993 }\n")}
	wantReady(t, b.toolset(readTool("read", tool)).Dispatch(t.Context(), b.run, call)[0], "seen: ")
	id := canonical.Identity{RunKey: b.run.Key(), Call: inTurn("t7", "c1")}
	if got.Identity != id || got.Seq != 1 || got.Tool != "read" || got.Principal != who {
		t.Errorf("input %+v, want call t7:c1, first of the run, of %+v", got, who)
	}
	if string(got.Arguments) != string(call.Arguments) || got.OperationKey != id.OperationKey(call.Arguments) {
		t.Errorf("arguments %q with key %s, want the bytes as sent and their key", []byte(got.Arguments), got.OperationKey)
	}
}

func budgetOfTool(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{PerTool: 3}}})
	narrow, wide, open := readTool("narrow", says("1")), readTool("wide", says("1")), readTool("open", says("1"))
	narrow.Budget, wide.Budget, open.Budget = 1, 9, canonical.Unlimited
	set := b.toolset(narrow, wide, open)
	for _, c := range []struct {
		tool string
		most int
	}{{"narrow", 1}, {"wide", 3}, {"open", 3}} {
		for i := range 4 {
			got := set.Dispatch(t.Context(), b.run, asked(fmt.Sprintf("%s%d", c.tool, i), c.tool))[0]
			if want := i >= c.most; got.Outcome.IsError() != want || want && got.Outcome.Code() != lifecycle.ToolBudgetExhausted {
				t.Errorf("call %d of %s: %v, want refused for the tool's budget: %t", i, c.tool, got.Outcome, want)
			}
		}
	}
}

func rawLimitOfTool(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	small, usual := readTool("small", says("12345")), readTool("usual", says("12345"))
	small.MaxRawBytes = 4
	got := b.toolset(small, usual).Dispatch(t.Context(), b.run, asked("c1", "small"), asked("c2", "usual"))
	wantFailed(t, got[0], lifecycle.ResultTooLarge, lifecycle.Completed)
	wantReady(t, got[1], "seen: 12345")
}

func effectsOfTools(t *testing.T, d *deck) {
	b := process(t, d, boundary.Config{Effects: boundary.EffectPolicy{Write: true}})
	b.run = b.open(boundary.RunSpec{})
	set := b.toolset(readTool("read", says("1")), writeTool("write", says("1")),
		boundary.Tool{Name: "unknown", Effect: canonical.EffectUnknown, Executor: says("1"), Projector: seen()})
	got := set.Dispatch(t.Context(), b.run, asked("c1", "read"), asked("c2", "write"), asked("c3", "unknown"))
	wantReady(t, got[0], "seen: 1")
	wantReady(t, got[1], "seen: 1")
	wantFailed(t, got[2], lifecycle.NotReadOnly, lifecycle.NotStarted)
	for id, want := range map[string]canonical.Effect{"c1": canonical.EffectRead, "c2": canonical.EffectWrite} {
		if rec := b.record(id); rec.Effect != want {
			t.Errorf("%s is recorded as %s, want %s", id, rec.Effect, want)
		}
	}
}

func definitionsDetached(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	const schema = `{"type":"object"}`
	first, second := readTool("first", says("1")), readTool("second", says("1"))
	first.Description, first.Schema = "the first", []byte(schema)
	set := b.toolset(first, second)
	copy(first.Schema, "xxxxxx") // the caller's bytes are the caller's
	copy(set.Definitions()[0].Schema, "yyyyyy")
	got := set.Definitions()
	if len(got) != 2 || got[0].Name != "first" || got[0].Description != "the first" || string(got[0].Schema) != schema || got[1].Name != "second" {
		t.Errorf("definitions %+v, want both tools in the order given, with the schema as it was", got)
	}
	text, err := json.Marshal(got)
	want := `[{"name":"first","description":"the first","schema":{"type":"object"}},{"name":"second","description":""}]`
	if err != nil || string(text) != want {
		t.Errorf("as JSON %s, %v; want %s", text, err, want)
	}
}

func toolsetPrints(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	set := b.toolset(readTool("first", says("1")), readTool("second", says("1")))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		if got := fmt.Sprintf(verb, set); got != "toolset(first, second)" {
			t.Errorf("%s prints %s", verb, got)
		}
	}
	call := boundary.Call{ID: "c1", Turn: "t1", Name: "first", Arguments: []byte(someArgs)}
	if got, want := fmt.Sprint(call), `{call "t1:c1" tool "first" arguments 9 bytes}`; got != want {
		t.Errorf("a call prints as %s, want %s", got, want)
	}
	text, err := json.Marshal(call)
	if want := `{"id":"c1","turn":"t1","name":"first","arguments":"9 bytes"}`; err != nil || string(text) != want {
		t.Errorf("a call as JSON: %s, %v; want %s", text, err, want)
	}
}

// In a bubble everything can be waited for to stand still: then the reads that
// are inside are as many as there will be.
func TestToolset_reads_run_beside_each_other_up_to_a_bound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls, most = 20, 8
		b := newBench(t, fakeBackend().start(t), setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: calls, PerTool: calls}}})
		var inside, entered atomic.Int64
		leave := make(chan struct{})
		tool := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			inside.Add(1)
			entered.Add(1)
			defer inside.Add(-1)
			<-leave
			_, err := io.WriteString(raw, "1")
			return err
		}}
		var message []boundary.Call
		for i := range calls {
			message = append(message, asked(fmt.Sprintf("c%d", i), "read"))
		}
		done := make(chan []boundary.Result, 1)
		go func() { done <- b.toolset(readTool("read", tool)).Dispatch(t.Context(), b.run, message...) }()
		for left := calls; left > 0; left-- {
			synctest.Wait()
			if got, want := inside.Load(), int64(min(left, most)); got != want {
				t.Errorf("%d reads inside with %d to go, want %d", got, left, want)
			}
			leave <- struct{}{}
		}
		for i, r := range <-done {
			if r.Err != nil {
				t.Errorf("answer %d: %v", i, r.Err)
			}
		}
	})
}

// In a bubble time moves when everything waits, and so a timeout is exact.
func TestToolset_timeout_of_a_tool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fakeBackend().start(t), setup{})
		took := map[string]time.Duration{}
		waits := &body{do: func(ctx context.Context, in boundary.Input, _ io.Writer) error {
			start := time.Now()
			<-ctx.Done()
			took[in.Tool] = time.Since(start)
			return ctx.Err()
		}}
		short, usual := writeTool("short", waits), writeTool("usual", waits)
		short.Timeout = 7 * time.Second
		short.Effect, usual.Effect = canonical.EffectUnknown, canonical.EffectRead
		for i, r := range b.toolset(usual, short).Dispatch(t.Context(), b.run, asked("c0", "usual"), asked("c1", "short")) {
			if want := []lifecycle.Code{lifecycle.ToolTimeout, lifecycle.OutcomeUnknown}[i]; r.Outcome.Code() != want {
				t.Errorf("answer %d: %v, want %s", i, r.Outcome, want)
			}
		}
		if took["short"] != 7*time.Second || took["usual"] != 30*time.Second {
			t.Errorf("bodies had %v, want 7s and the default of 30s", took)
		}
	})
}

func TestNewToolset_reports_everything_at_once(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t), setup{})
	good := readTool("good", says("1"))
	bad := boundary.Tool{
		Name: "bad name", Effect: "reads", Schema: []byte(`{"type":"nonsense"}`),
		Timeout: time.Microsecond, Budget: -2, MaxRawBytes: -1,
	}
	long := readTool(strings.Repeat("n", 65), says("1"))
	long.Timeout, long.Budget, long.MaxRawBytes = 48*time.Hour, canonical.MaxBudgetCalls+1, 5<<20
	_, err := boundary.NewToolset(b.ToolBoundary, good, bad, long, good)
	var config *boundary.ConfigError
	if !errors.As(err, &config) {
		t.Fatalf("error %v, want a *ConfigError", err)
	}
	want := []string{
		"tool 1: canonical: tool: has a byte that is not allowed at byte 3", "tool 1: no Executor", "tool 1: no Projector",
		"tool 1: effect must be read, write or unknown", "tool 1: timeout is 1µs, at least 1ms is needed",
		"tool 1: budget is -2, not within 0 to 1000000000", "tool 1: limit MaxRawBytes is -1, the limit is 4194304",
		"tool 1: schema: does not compile",
		"tool 2: canonical: tool: too long in bytes (65, limit 64)", "tool 2: timeout is 48h0m0s, the record's life allows 23h59m50s",
		"tool 2: budget is 1000000001, not within 0 to 1000000000", "tool 2: limit MaxRawBytes is 5242880, the limit is 4194304",
		`tool 3: name "good" is given twice`,
	}
	var got []string
	for _, problem := range config.Problems {
		got = append(got, problem.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := boundary.NewToolset(nil, good); !errors.As(err, &config) {
		t.Errorf("without a boundary: %v, want a *ConfigError", err)
	}
	edge := readTool(strings.Repeat("n", 64), says("1"))
	edge.Timeout, edge.Budget, edge.MaxRawBytes = time.Millisecond, canonical.MaxBudgetCalls, 4<<20
	if _, err := boundary.NewToolset(b.ToolBoundary, edge); err != nil {
		t.Errorf("exactly at the limits: %v", err)
	}
}
