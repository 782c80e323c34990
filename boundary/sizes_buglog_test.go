package boundary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/text"
	"github.com/toolharness/harness/runprogress"
)

// Reports from the field on sizes, encodings and arguments.
func TestBugLog_sizes(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"B74_five_megabytes_by_every_route", everyRoute},
		{"B76_too_large_is_told_once", tooLargeOnce},
		{"B77_each_limit_says_which_it_is", eachLimit},
		{"B81_bytes_that_are_no_text", noText},
		{"B83_no_arguments", noArguments},
		{"B85_digits_survive", digitsSurvive},
		{"B86_B87_broken_arguments", brokenArguments},
	})
}

func everyRoute(t *testing.T, d *deck) {
	const size, room = 5 << 20, 4 << 10
	raw := strings.Repeat(strings.Repeat("0123456789abcdef", 64)[1:]+"\n", size/1024)
	b := newBench(t, d, setup{config: boundary.Config{
		Limits: canonical.Limits{RawBytes: size, RecordBytes: size + 1<<20, AgentBytes: room, ProjectorTimeout: time.Minute, ClosingTimeout: time.Minute}}, spec: anySize()})
	bounded := func(route, shown string) {
		if len(shown) > room || !utf8.ValidString(shown) || shown == "" {
			t.Errorf("%s: the model gets %d bytes, want 1 to %d of valid text", route, len(shown), room)
		}
	}
	for _, write := range []bool{false, true} {
		id := fmt.Sprintf("big-%t", write)
		env, action := b.call(id, write, says(raw))
		action.Projector = text.New(text.Options{})
		got := b.Invoke(t.Context(), b.run, env, action)
		if got.Err != nil {
			t.Fatalf("%s: %v", id, got.Err)
		}
		bounded("live", got.Outcome.Text())
		o, err := b.run.Lookup(t.Context(), named(id))
		if err != nil || o.Text() != got.Outcome.Text() {
			t.Errorf("looked up %d bytes, %v, want what was served", len(o.Text()), err)
		}
		again := b.Invoke(t.Context(), b.run, env, action)
		wantFailed(t, again, lifecycle.DuplicateToolCall, lifecycle.NotStarted)
		bounded("duplicate", again.Outcome.Text())
		if rec := b.record(id); string(rec.Raw.Bytes) != raw || rec.Raw.SHA256 != canonical.Body(raw).SHA256() {
			t.Errorf("%s: %d bytes of raw, want all %d", id, rec.Raw.Size, size)
		}
	}
	failing := b.read("error", fails(errors.New(raw)))
	wantFailed(t, failing, lifecycle.ToolExecutionFailed, lifecycle.Completed)
	bounded("error text", failing.Outcome.Text())
	action := reading(says("x"))
	action.Projector = projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
		return projector.Projection{}, errors.New(raw)
	})
	failing = b.Invoke(t.Context(), b.run, b.envelope("projector"), action)
	bounded("projector's error text", failing.Outcome.Text())
	if len(failing.Err.Error()) > room || strings.Contains(failing.Err.Error(), "abcde") {
		t.Errorf("the host's error has %d bytes", len(failing.Err.Error()))
	}
	kept := b.keep(b.envelope("kept"), boundary.Action{Executor: says(raw), Projector: text.New(text.Options{}), Effect: canonical.EffectRead})
	if err := b.Settle(t.Context(), kept); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	o, err := b.run.Lookup(t.Context(), named("kept"))
	if err != nil {
		t.Fatalf("Lookup: %v", err)
	}
	bounded("settled", o.Text())
	report, err := b.run.Facts(t.Context())
	if shown := report.Text(); err != nil || len(shown) > runprogress.MaxBytes || report.Totals.RawBytes < 3*size {
		t.Errorf("report of %d bytes on %d of raw, %v", len(shown), report.Totals.RawBytes, err)
	}
}

func tooLargeOnce(t *testing.T, d *deck) {
	const limit = 1000
	b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{RawBytes: limit}}})
	for _, write := range []bool{false, true} {
		for _, size := range []int{limit + 1, 10 * limit, 1 << 20} {
			id := fmt.Sprintf("c-%t-%d", write, size)
			tool := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
				if _, err := raw.Write(make([]byte, size)); err != nil && !errors.Is(err, boundary.ErrRawLimit) {
					return err
				}
				return nil
			}}
			env, action := b.call(id, write, tool)
			wantFailed(t, b.Invoke(t.Context(), b.run, env, action), lifecycle.ResultTooLarge, lifecycle.Completed)
			rec := b.record(id)
			if rec.State != lifecycle.Error || rec.Code != lifecycle.ResultTooLarge || rec.Tool != someTool || rec.Stage != canonical.StageRaw ||
				rec.Raw.Present() || rec.Raw.Size != int64(size) && !rec.Raw.AtLeast || rec.Raw.Size <= limit {
				t.Errorf("%s: record %s of %q at %q with %d bytes; want RESULT_TOO_LARGE with tool and size and no bytes", id, rec.Code, rec.Tool, rec.Stage, rec.Raw.Size)
			}
			wantEntered(t, tool, 1)
			wantDuplicate(t, b.Invoke(t.Context(), b.run, env, action), named(id), lifecycle.Error)
			wantEntered(t, tool, 1)
		}
	}
	if got := b.faulty.Calls(fakes.MethodComplete); got != 6 {
		t.Errorf("%d endings were sent for 6 calls", got)
	}
	wantReady(t, b.read("narrower", says("ok")), "seen: ok")
}

// eachLimit: whichever limit is met, by whichever way in, both faces say that it
// was a limit and the host learns which; what is empty is empty for real.
func eachLimit(t *testing.T, d *deck) {
	limits := canonical.Limits{RequestBytes: 1000, RawBytes: 2000, AgentBytes: 500, FactsBytes: 400}
	first := newBench(t, d, setup{config: boundary.Config{Limits: limits}, spec: anySize()})
	for process, b := range map[string]*bench{"opened": first, "joined": first.joined(boundary.Config{})} { // under other limits of its own
		set := b.toolset(readTool(someTool, says("ok")))
		request := func(size int) []byte {
			return fmt.Appendf(nil, `{"q":"%s"}`, strings.Repeat("x", size-len(`{"q":""}`)))
		}
		for _, size := range []int{1001, 64 << 10, 300 << 10, 10 << 20} {
			env := b.with("", fmt.Sprintf("%s-request-%d", process, size), string(request(size)))
			call := boundary.Call{ID: env.ToolCallID, Name: someTool, Arguments: env.Input}
			for _, got := range []boundary.Result{b.Invoke(t.Context(), b.run, env, reading(says("no"))), set.Dispatch(t.Context(), b.run, call)[0]} {
				host := wantFailed(t, got, lifecycle.RequestTooLarge, lifecycle.NotStarted)
				if bad, ok := errors.AsType[*canonical.RequestError](host); !ok || bad.Size != size || bad.Limit != 1000 {
					t.Errorf("host error %v, want size %d and limit 1000", host, size)
				}
			}
		}
		env := b.with("", process+"-request-whole", string(request(1000)))
		wantReady(t, b.Invoke(t.Context(), b.run, env, reading(says("ok"))), "seen: ok")
		show := func(p projector.Projection) boundary.Action {
			return boundary.Action{Executor: says("ok"), Effect: canonical.EffectRead,
				Projector: projector.Func(func(context.Context, projector.Input) (projector.Projection, error) { return p, nil })}
		}
		var facts []evidence.Fact
		for i := range 10 {
			facts = append(facts, evidence.NewFact(evidence.Subject{Kind: "row", ID: fmt.Sprint(i)}, "is", strings.Repeat("v", 100)))
		}
		for name, c := range map[string]struct {
			action boundary.Action
			code   lifecycle.Code
			stage  canonical.Stage
			says   string
		}{
			"raw":   {reading(says(strings.Repeat("r", 2001))), lifecycle.ResultTooLarge, canonical.StageRaw, "raw result is over its limit"},
			"agent": {show(projector.Projection{Result: make([]byte, 501), Status: evidence.Found}), lifecycle.ResultTooLarge, canonical.StageAgent, "limit 500"},
			"facts": {show(projector.Projection{Result: []byte("x"), Status: evidence.Found, Facts: facts}), lifecycle.ProjectionFailed, canonical.StageFacts, "limit 400"},
		} {
			id := process + "-" + name
			host := wantFailed(t, b.Invoke(t.Context(), b.run, b.envelope(id), c.action), c.code, lifecycle.Completed)
			if rec := b.record(id); rec.Stage != c.stage || rec.Code != c.code || rec.Agent != nil {
				t.Errorf("%s: record %s at %q, want %s at %q", id, rec.Code, rec.Stage, c.code, c.stage)
			}
			if name != "raw" && !strings.Contains(host.Error(), c.says) || name == "raw" && host.Code != lifecycle.ResultTooLarge {
				t.Errorf("%s: host error %v, want %q in it", id, host, c.says)
			}
		}
		empty := b.read(process+"-empty", says(""))
		wantReady(t, empty, "seen: ")
		if rec := b.record(process + "-empty"); !rec.Raw.Present() || rec.Raw.Size != 0 {
			t.Errorf("an empty result is kept as %+v", rec.Raw.Size)
		}
	}
}

// noText: whatever bytes a tool returns, what the model is sent can be encoded,
// and what the host keeps is what came.
func noText(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anySize()})
	binary := make([]byte, 1024)
	for i := range binary {
		binary[i] = byte(i * 7)
	}
	for i, raw := range []string{
		`{"a":"\ud83d"}`, `"\udc00 low alone"`, `["\ud83d\ud83d"]`, "caf\xe9", "\xff\xfe\x00", "a\x00b", "\xef\xbb\xbf{\"a\":1}", "\xef\xbb\xbftext",
		"\xed\xa0\xbd", "\xf0\x9f\x98", `{"a":"` + "\xc3\x28" + `"}`, "\u2028\u202e\x1b[31mred", string(binary),
	} {
		id := fmt.Sprintf("c%d", i)
		action := reading(says(raw))
		action.Projector = text.New(text.Options{})
		got := b.Invoke(t.Context(), b.run, b.envelope(id), action)
		shown := got.Outcome.Text()
		encoded, err := json.Marshal(map[string]string{"role": "tool", "content": shown})
		var back map[string]string
		if err != nil || json.Unmarshal(encoded, &back) != nil || back["content"] != shown || !utf8.ValidString(shown) || strings.ContainsAny(shown, "\x00\x1b") {
			t.Errorf("%q is shown as %q, which no message can hold unchanged", raw, shown)
		}
		if rec := b.record(id); string(rec.Raw.Bytes) != raw || got.Outcome.IsError() != (rec.State == lifecycle.Error) {
			t.Errorf("%q is kept as %q", raw, string(rec.Raw.Bytes))
		}
		if o, err := b.run.Lookup(t.Context(), named(id)); err != nil || o.Text() != shown {
			t.Errorf("%q is shown again as %q, %v", raw, o.Text(), err)
		}
	}
	report, err := b.run.Facts(t.Context())
	if shown := report.Text(); err != nil || !utf8.ValidString(shown) || strings.ContainsAny(shown, "\x00\x1b\u202e\u2028") {
		t.Errorf("report %q, %v", shown, err)
	}
}

// noArguments: one rule by every way in. A tool without parameters is called with
// an empty object; nothing else stands for it.
func noArguments(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anySize()})
	type none struct{}
	typed := boundary.Args(func(_ context.Context, _ none, raw io.Writer) error { _, err := io.WriteString(raw, "ok"); return err })
	set := b.toolset(readTool("plain", says("ok")), readTool("typed", typed),
		boundary.Tool{Name: "schema", Effect: canonical.EffectRead, Executor: says("ok"), Projector: seen(), Schema: json.RawMessage(`{"type":"object"}`)})
	before := d.keys(t, b.run.Key())
	for i, arguments := range [][]byte{nil, {}, []byte(`""`), []byte("null"), []byte(" "), []byte("\n\t"), []byte("\ufeff{}"), []byte("\x00"), []byte("{}{}"), []byte("[]")} {
		id := fmt.Sprintf("c%d", i)
		env := b.envelope(id)
		env.Input = arguments
		results := []boundary.Result{b.Invoke(t.Context(), b.run, env, reading(says("no"))), b.Invoke(t.Context(), b.run, env, reading(typed))}
		for _, name := range []string{"plain", "typed", "schema"} {
			results = append(results, set.Dispatch(t.Context(), b.run, boundary.Call{ID: env.ToolCallID, Name: name, Arguments: arguments})...)
		}
		for _, got := range results {
			wantFailed(t, got, lifecycle.InvalidInput, lifecycle.NotStarted)
		}
	}
	if after := d.keys(t, b.run.Key()); !slices.Equal(after, before) {
		t.Errorf("keys %v, want %v", after, before)
	}
	for i, arguments := range []string{`{}`, ` {} `, "{\n}"} {
		for _, name := range []string{"plain", "typed", "schema"} {
			id := fmt.Sprintf("ok-%d-%s", i, name)
			got := set.Dispatch(t.Context(), b.run, boundary.Call{ID: canonical.ToolCallID(id), Name: name, Arguments: []byte(arguments)})
			wantReady(t, got[0], "seen: ok")
			if rec := b.record(id); string(rec.Request) != arguments || !json.Valid(rec.Request) {
				t.Errorf("kept as %q, want %q", []byte(rec.Request), arguments)
			}
		}
	}
}

// digitsSurvive: from the model's message to the tool, to the record, to its
// digests and back to the model no number changes a digit.
func digitsSurvive(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anySize()})
	type typed struct {
		N json.Number `json:"n"`
		A any         `json:"a"`
	}
	echo := boundary.JSON(func(_ context.Context, in typed) (typed, error) { return in, nil })
	digests := map[string]string{}
	for i, number := range []string{
		"9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
		"123456789012345678901234567890", "0.10000000000000000555", "0.1", "1e400", "-0", "1.0", "1",
	} {
		arguments := fmt.Sprintf(`{"n":%s,"a":%s}`, number, number)
		id := fmt.Sprintf("c%d", i)
		var seenByTool string
		plain := boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
			seenByTool = string(in.Arguments)
			_, err := raw.Write(in.Arguments)
			return err
		})
		for name, e := range map[string]boundary.Executor{"plain": plain, "typed": echo} {
			env := b.with("", id+name, arguments)
			action := boundary.Action{Executor: e, Projector: text.New(text.Options{}), Effect: canonical.EffectRead}
			got := b.Invoke(t.Context(), b.run, env, action)
			if got.Err != nil {
				t.Fatalf("%s: %v", number, got.Err)
			}
			rec := b.record(id + name)
			for where, body := range map[string]string{"request": string(rec.Request), "raw": string(rec.Raw.Bytes), "agent result": got.Outcome.Text(), "stored agent result": string(rec.Agent)} {
				if !strings.Contains(body, `"n":`+number) || !strings.Contains(body, `"a":`+number) {
					t.Errorf("%s in the %s of a %s tool: %s", number, where, name, body)
				}
			}
			if was, ok := digests[rec.RequestSHA256]; ok && was != number {
				t.Errorf("%s and %s have one digest", number, was)
			}
			digests[rec.RequestSHA256] = number
		}
		if seenByTool != arguments {
			t.Errorf("the tool got %s, want %s", seenByTool, arguments)
		}
	}
	type whole struct {
		N int64 `json:"n"`
	}
	exact := boundary.JSON(func(_ context.Context, in whole) (whole, error) { return in, nil })
	wantReady(t, b.Invoke(t.Context(), b.run, b.with("", "int64", fmt.Sprintf(`{"n":%d}`, int64(math.MaxInt64))), reading(exact)), `seen: {"n":9223372036854775807}`)
	for _, number := range []string{"9223372036854775808", "1.5", "1e3", `"1"`} { // not rounded into the type: refused
		got := b.Invoke(t.Context(), b.run, b.with("", "refused", `{"n":`+number+`}`), reading(exact))
		wantFailed(t, got, lifecycle.InvalidInput, lifecycle.NotStarted)
	}
}

// brokenArguments: a bounded refusal that the model can read, for that id alone;
// nothing of it is stored, so nothing that is stored or listed can be broken.
func brokenArguments(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anySize()})
	tool := says("no")
	good := says("ok")
	set := b.toolset(readTool("t", tool), readTool("good", good))
	secret := "s3cr3t"
	broken := []string{
		`{"q":"` + secret, `{"q":}`, `{q:1}`, `{"q":1,}`, `{'q':1}`, `{"q":1}}`, `{"q":NaN}`, `{"q":01}`, `{"q":"` + "\n" + `"}`,
		`null`, `[]`, `7`, `true`, `"{}"`, `{"q":1} {"q":2}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}",
		strings.Repeat("[", 200), strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101),
		`{"q":"` + strings.Repeat(secret, 10<<20/len(secret)),
	}
	before := b.state()
	for i, arguments := range broken {
		calls := []boundary.Call{
			{ID: canonical.ToolCallID(fmt.Sprintf("before-%d", i)), Name: "good", Arguments: []byte(someArgs)},
			{ID: canonical.ToolCallID(fmt.Sprintf("broken-%d", i)), Name: "t", Arguments: []byte(arguments)},
			{ID: canonical.ToolCallID(fmt.Sprintf("behind-%d", i)), Name: "good", Arguments: []byte(someArgs)},
		}
		sent := bytes.Clone(calls[1].Arguments)
		got := set.Dispatch(t.Context(), b.run, calls...)
		wantReady(t, got[0], "seen: ok")
		wantReady(t, got[2], "seen: ok")
		code := lifecycle.InvalidInput
		if len(arguments) > 64<<10 {
			code = lifecycle.RequestTooLarge
		}
		wantFailed(t, got[1], code, lifecycle.NotStarted)
		if shown := got[1].Outcome.Text(); len(shown) > 1000 || !json.Valid([]byte(shown)) || strings.Contains(shown, secret) || strings.Contains(got[1].Err.Error(), secret) {
			t.Errorf("%.60q is answered with %d bytes: %.200s", arguments, len(shown), shown)
		}
		if !bytes.Equal(calls[1].Arguments, sent) {
			t.Errorf("%.60q: the host's own bytes were changed", arguments)
		}
		if _, err := d.Record(t.Context(), b.run.Key(), canonical.CallName{ID: calls[1].ID}); !errors.Is(err, canonical.ErrMissing) {
			t.Errorf("%.60q: record %v, want none", arguments, err)
		}
	}
	wantEntered(t, tool, 0)
	wantEntered(t, good, 2*int64(len(broken)))
	if got := b.state().LastSeq - before.LastSeq; got != 2*int64(len(broken)) {
		t.Errorf("%d admissions, want %d", got, 2*len(broken))
	}
	report, err := b.run.Facts(t.Context())
	encoded, bad := json.Marshal(report)
	if err != nil || bad != nil || strings.Contains(string(encoded), "broken-") {
		t.Errorf("report %v, %v, want it without the refused calls", err, bad)
	}
}
