package boundary_test

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// fuzzed is one boundary on a store of its own, whose only tool answers with its
// arguments.
type fuzzed struct {
	t       *testing.T
	store   *fakes.Store
	run     *boundary.Run
	set     *boundary.Toolset
	gate    *boundary.ToolBoundary
	action  boundary.Action
	entered int
}

func newFuzzed(t *testing.T) *fuzzed {
	f := &fuzzed{t: t}
	clock := fakes.NewClock()
	f.store = fakes.NewStore(clock)
	var err error
	f.gate, err = boundary.New(boundary.Config{Store: f.store, Authorizer: boundary.AllowAll{}, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	f.run, err = f.gate.OpenRun(t.Context(), boundary.RunSpec{ID: "r1", Scope: testScope()})
	if err != nil {
		t.Fatal(err)
	}
	f.action = boundary.Action{Effect: canonical.EffectRead, Executor: boundary.ExecutorFunc(
		func(_ context.Context, in boundary.Input, raw io.Writer) error {
			f.entered++
			_, err := raw.Write(in.Arguments)
			return err
		}), Projector: projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		// cut anywhere, so that a result that is no text is the one failure after the tool
		return projector.Projection{Result: append([]byte("seen: "), in.Raw[:min(len(in.Raw), 999)]...), Status: evidence.Found}, nil
	})}
	f.set, err = boundary.NewToolset(f.gate, boundary.Tool{
		Name: someTool, Effect: canonical.EffectRead, Executor: f.action.Executor, Projector: f.action.Projector,
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// kept is everything that a call could have left behind.
func (f *fuzzed) kept() any {
	state, err := f.store.Inspect(context.Background(), f.run.Key())
	if err != nil {
		f.t.Fatal(err)
	}
	return []any{state, f.store.Entries(f.run.Key())}
}

// FuzzInvoke: whatever a framework hands over, nothing panics, the model's text
// is the projector's or the table's, and a refusal leaves the store as it was.
func FuzzInvoke(f *testing.F) {
	f.Add("call_1", "r1", "", someTool, []byte(`{"q":"x"}`))
	f.Add("call_x|fc_y", "r1", "t.1", someTool, []byte(" {\"n\":9007199254740993,\"m\":{\"a\":[1e400,null]}} \n"))
	f.Add("call_1 ", "r1", "", someTool, []byte(`{}`))
	f.Add("a", "r2", "", someTool, []byte(`{}`))
	f.Add("a", "r1", ":", someTool, []byte(`{}`))
	f.Add("a", "r1", "", "other", []byte(`{"a":1,"a":2}`))
	f.Add("a", "r1", "", someTool, bytes.Repeat([]byte("["), 200))
	for _, v := range vectors.JSONTestSuite(f) {
		f.Add("c", "r1", "", someTool, v.Bytes)
		f.Add("c", "r1", "", someTool, append(append([]byte(`{"v":`), v.Bytes...), '}'))
	}
	for _, text := range vectors.NaughtyStrings(f) {
		f.Add(text, "r1", "", someTool, []byte(`{}`))
		f.Add("c", text, text, text, []byte(text))
	}
	f.Fuzz(func(t *testing.T, id, run, turn, tool string, input []byte) {
		env := boundary.Envelope{
			RunID: canonical.RunID(run), ToolCallID: canonical.ToolCallID(id), Turn: canonical.Turn(turn), Tool: tool,
			Input: input, Authorized: true, ReadOnly: true,
		}
		sent := bytes.Clone(input)
		direct := newFuzzed(t)
		direct.check(env, func() boundary.Result { return direct.gate.Invoke(t.Context(), direct.run, env, direct.action) })
		if !bytes.Equal(sent, input) {
			t.Errorf("the caller's bytes were changed to %q", input)
		}
		env.RunID = "r1" // a toolset takes the run's
		through := newFuzzed(t)
		through.check(env, func() boundary.Result {
			return through.set.Dispatch(t.Context(), through.run,
				boundary.Call{ID: env.ToolCallID, Turn: env.Turn, Name: tool, Arguments: input})[0]
		})
		if tool != someTool && through.entered != 0 {
			t.Errorf("tool %q was entered as %q", someTool, tool)
		}
	})
}

// check invokes, and holds the result against what the names and the input are.
func (f *fuzzed) check(env boundary.Envelope, invoke func() boundary.Result) {
	f.t.Helper()
	before := f.kept()
	got := invoke()
	text := got.Outcome.Text()
	if got.Outcome.IsError() {
		f.checkRefused(env, got, before)
		return
	}
	if got.Err != nil || text != "seen: "+string(env.Input[:min(len(env.Input), 999)]) || f.entered != 1 {
		f.t.Fatalf("READY with text %q, error %v, %d entries", text, got.Err, f.entered)
	}
	var object map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal(env.Input, &object); err != nil {
		f.t.Errorf("%q ran and is no object to another parser: %v", env.Input, err)
	}
	name := canonical.CallName{Turn: env.Turn, ID: env.ToolCallID}
	rec, err := f.store.Record(f.t.Context(), f.run.Key(), name)
	if err != nil || rec.State != lifecycle.Ready || !bytes.Equal(rec.Request, env.Input) || !bytes.Equal(rec.Raw.Bytes, env.Input) ||
		rec.Identity.Call != name || rec.Tool != env.Tool || string(rec.Agent) != text {
		f.t.Errorf("record %+v, %v; want all as it was sent", rec, err)
	}
	before = f.kept()
	again := invoke()
	if again.Outcome.Code() != lifecycle.DuplicateToolCall || f.entered != 1 {
		f.t.Errorf("the same again: %v, %d entries", again.Outcome, f.entered)
	}
	f.checkRefused(env, again, before)
}

func (f *fuzzed) checkRefused(env boundary.Envelope, got boundary.Result, before any) {
	f.t.Helper()
	code := got.Outcome.Code()
	info, known := code.Info()
	want := `{"error":{"code":"` + string(code) + `","message":"` + info.Message + `","ran":"` + got.Outcome.Execution().Ran() + `"}}`
	if !known || got.Outcome.Text() != want || !stdjson.Valid([]byte(want)) {
		f.t.Errorf("text %s, want the table's %s", got.Outcome.Text(), want)
	}
	var host *boundary.Error
	if !errors.As(got.Err, &host) || host.Code != code {
		f.t.Fatalf("error %v, want a *boundary.Error with %s", got.Err, code)
	}
	line := got.Err.Error()
	if len(line) > 1200 || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
		f.t.Errorf("the host's error is no line of text: %.1300q", line)
	}
	if got.Outcome.Execution() == lifecycle.NotStarted {
		if after := f.kept(); !reflect.DeepEqual(before, after) {
			f.t.Errorf("a refusal changed the store from\n%+v to\n%+v", before, after)
		}
	}
	if f.entered > 0 != (got.Outcome.Execution() == lifecycle.Completed || code == lifecycle.DuplicateToolCall) {
		f.t.Errorf("%s, ran: %s, but the body was entered %d times", code, got.Outcome.Execution().Ran(), f.entered)
	}
}

// FuzzSchema: any schema is taken or refused, any arguments fit it or do not;
// nothing panics, turns in a circle, or repeats what it was given.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"integer"}},"required":["a"]}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"$ref":"#"}`), []byte(`{}`))
	f.Add([]byte(`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"allOf":[{"$ref":"#/$defs/a"}]}`), []byte(`{"a":{}}`))
	f.Add([]byte(`{"$dynamicRef":"#x","$dynamicAnchor":"x","items":{"$dynamicRef":"#x"}}`), []byte(`{"a":[[[]]]}`))
	f.Add([]byte(`{"$ref":"other.json"}`), []byte(`{}`))
	f.Add([]byte(`{"patternProperties":{"^(a+)+$":{"multipleOf":0.01}},"unevaluatedProperties":false}`), []byte(`{"aaaaaaaaaaaaaaaaaaaaaaa!":1e999999}`))
	f.Add([]byte(`{"anyOf":[{"oneOf":[{"not":{}}]},{"if":{},"then":false}],"propertyNames":{"maxLength":1}}`), []byte(`{"4111111111111111":[1,2]}`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","format":"email","contentMediaType":"application/json"}`), []byte(`{"a":"b"}`))
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		fresh := newFuzzed(t)
		tool := readTool("tool", says("1"))
		tool.Schema = schema
		set, err := boundary.NewToolset(fresh.gate, tool)
		if err != nil {
			if _, ok := errors.AsType[*boundary.SchemaError](err); !ok || len(err.Error()) > 200 {
				t.Errorf("refused as %v", err)
			}
			return
		}
		got := set.Dispatch(t.Context(), fresh.run, boundary.Call{ID: "c1", Name: "tool", Arguments: arguments})[0]
		if code := got.Outcome.Code(); got.Outcome.IsError() && code != lifecycle.InvalidInput && code != lifecycle.RequestTooLarge {
			t.Errorf("%v", got.Err)
		}
		if got.Err != nil && (!utf8.ValidString(got.Err.Error()) || strings.ContainsFunc(got.Err.Error(), unicode.IsControl)) {
			t.Errorf("the host's error is no line of text: %q", got.Err.Error())
		}
	})
}
