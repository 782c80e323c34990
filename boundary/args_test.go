package boundary_test

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func TestArgs(t *testing.T) {
	onFake(t, []scenario{
		{"what_does_not_decode_costs_nothing", argsRefused},
		{"what_decodes_arrives", argsTaken},
		{"digits_beyond_2_to_the_53_arrive", argsDigits},
		{"decoded_afresh_for_check_and_body", argsFresh},
		{"errors_of_the_function", argsErrors},
		{"an_odd_type_of_arguments", argsOddTypes},
		{"result_as_JSON", jsonResult},
		{"result_that_JSON_cannot_hold", jsonImpossible},
		{"result_over_the_limit", jsonTooLarge},
	})
}

// query is what the tools of these tests take.
type query struct {
	Text   string            `json:"text"`
	Limit  int               `json:"limit"`
	ID     int64             `json:"id"`
	Big    uint64            `json:"big"`
	Exact  stdjson.Number    `json:"exact"`
	Raw    jsontext.Value    `json:"raw"`
	Labels map[string]string `json:"labels"`
	Nested *query            `json:"nested"`
}

// send dispatches arguments to a tool on e.
func (b *bench) send(id, arguments string, e boundary.Executor) boundary.Result {
	b.t.Helper()
	return b.toolset(readTool("tool", e)).Dispatch(b.t.Context(), b.run,
		boundary.Call{ID: boundary.ToolCallID(id), Name: "tool", Arguments: []byte(arguments)})[0]
}

func argsRefused(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	entered := 0
	tool := boundary.Args(func(context.Context, query, io.Writer) error { entered++; return nil })
	before := b.storeCalls()
	for _, arguments := range []string{
		`{"other":1}`, `{"Text":"x"}`, `{"TEXT":"x"}`, `{"text ":"x"}`, `{"hidden":"x"}`, `{"nested":{"other":1}}`,
		`{"text":1}`, `{"text":["x"]}`, `{"exact":"1"}`, `{"exact":true}`, `{"exact":[1]}`, `{"limit":"5"}`, `{"limit":5.5}`, `{"limit":true}`, `{"limit":1e3}`, `{"labels":{"a":1}}`, `{"labels":[]}`,
		`{"id":9223372036854775808}`, `{"id":-9223372036854775809}`, `{"id":1e99}`, `{"big":-1}`, `{"big":18446744073709551616}`,
		`{"text":"a","text":"b"}`, `{"labels":{"a":"1","a":"2"}}`, `{"nested":{"id":1,"id":1}}`, "{\"text\":\"\xff\"}", `{"text":"\ud800"}`,
		`{"text":"x"`, `{"text":"x"}{}`, `[]`, `null`, `"x"`, ``,
	} {
		host := wantFailed(t, b.send("c1", arguments, tool), lifecycle.InvalidInput, lifecycle.NotStarted)
		if text := host.Error(); strings.Contains(text, "other") || strings.Contains(text, "TEXT") {
			t.Errorf("%s: the host's error repeats it: %s", arguments, text)
		}
	}
	if entered != 0 || b.storeCalls() != before {
		t.Errorf("entered %d times, %d messages to the store; want neither", entered, b.storeCalls()-before)
	}
}

func argsTaken(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for i, c := range []struct{ arguments, want string }{
		{`{}`, `"" 0 map[]`},
		{`{"text":"x","limit":5,"labels":{"b":"2","a":"1"}}`, `"x" 5 map[a:1 b:2]`},
		{` { "limit" : 7 } `, `"" 7 map[]`},
		{`{"text":null,"limit":null,"labels":null,"nested":null,"exact":null,"raw":null}`, `"" 0 map[]`},
		{`{"text":"\u00e9\ud83d\ude00"}`, `"é😀" 0 map[]`},
	} {
		tool := boundary.Args(func(_ context.Context, in query, raw io.Writer) error {
			_, err := fmt.Fprintf(raw, "%q %d %v", in.Text, in.Limit, in.Labels)
			return err
		})
		wantReady(t, b.send(fmt.Sprintf("c%d", i), c.arguments, tool), "seen: "+c.want)
	}
}

func argsDigits(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := boundary.Args(func(_ context.Context, in query, raw io.Writer) error {
		_, err := fmt.Fprintf(raw, "%d %d %s %s", in.ID, in.Big, in.Exact, string(in.Raw))
		return err
	})
	arguments := `{"id":9007199254740993,"big":18446744073709551615,"exact":0.10000000000000000000001,"raw":[1E400,9007199254740993.0]}`
	want := "9007199254740993 18446744073709551615 0.10000000000000000000001 [1E400,9007199254740993.0]"
	wantReady(t, b.send("c1", arguments, tool), "seen: "+want)
	free := boundary.Args(func(_ context.Context, in map[string]any, raw io.Writer) error {
		_, err := fmt.Fprintf(raw, "%v %v %T", in["n"], in["list"], in["n"])
		return err
	})
	wantReady(t, b.send("c3", `{"n":9007199254740993,"list":[1e400,{"x":0.10}],"s":"1"}`, free),
		"seen: 9007199254740993 [1e400 map[x:0.10]] json.Number")
	echo := boundary.JSON(func(_ context.Context, in map[string]any) (any, error) { return in, nil })
	wantReady(t, b.send("c4", `{"n":9007199254740993,"list":[1e400,{"x":0.10}],"s":"1"}`, echo),
		`seen: {"list":[1e400,{"x":0.10}],"n":9007199254740993,"s":"1"}`)
	least := boundary.Args(func(_ context.Context, in query, raw io.Writer) error {
		if in.ID != math.MinInt64 {
			return errors.New("lost")
		}
		return nil
	})
	wantReady(t, b.send("c2", `{"id":-9223372036854775808}`, least), "seen: ")
}

// argsFresh: what the check decoded is thrown away, so nothing is shared between
// calls or between check and body.
func argsFresh(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	var seenMaps []map[string]string
	tool := boundary.Args(func(_ context.Context, in query, _ io.Writer) error {
		seenMaps = append(seenMaps, in.Labels)
		in.Labels["added"] = "by the body"
		return nil
	})
	set := b.toolset(readTool("tool", tool))
	for i := range 2 {
		call := boundary.Call{ID: boundary.ToolCallID(fmt.Sprintf("c%d", i)), Name: "tool", Arguments: []byte(`{"labels":{"a":"1"}}`)}
		wantReady(t, set.Dispatch(t.Context(), b.run, call)[0], "seen: ")
		if len(seenMaps[i]) != 2 {
			t.Errorf("call %d had labels %v, want a fresh map", i, seenMaps[i])
		}
	}
	checker, ok := tool.(boundary.ArgumentChecker)
	if !ok {
		t.Fatal("Args gives no ArgumentChecker")
	}
	if err := checker.CheckArguments([]byte(`{"limit":1}`)); err != nil {
		t.Errorf("CheckArguments: %v", err)
	}
	input := boundary.Input{Arguments: canonical.Body(`{"other":1}`)}
	if err := tool.Execute(t.Context(), input, io.Discard); err == nil {
		t.Error("Execute takes what CheckArguments refuses")
	}
}

func argsErrors(t *testing.T, d *deck) {
	b := newBench(t, d, setup{config: boundary.Config{Codes: map[lifecycle.Code]string{"TABLE_MISSING": "There is no such table."}}})
	cause := errors.New("x")
	got := b.send("c1", `{}`, boundary.Args(func(_ context.Context, _ query, raw io.Writer) error {
		_, _ = io.WriteString(raw, "half a result")
		return cause
	}))
	wantFailed(t, got, lifecycle.ToolExecutionFailed, lifecycle.Completed)
	if !errors.Is(got.Err, cause) || b.record("c1").Raw.Present() {
		t.Errorf("error %v, raw %v; want the cause in reach and no half of a result", got.Err, b.record("c1").Raw)
	}
	got = b.send("c2", `{}`, boundary.JSON(func(context.Context, query) (int, error) {
		return 7, boundary.Coded("TABLE_MISSING", cause)
	}))
	wantFailed(t, got, "TABLE_MISSING", lifecycle.Completed)
	got = b.send("c3", `{}`, boundary.JSON(func(context.Context, query) (int, error) { panic("x") }))
	wantFailed(t, got, lifecycle.ToolExecutionFailed, lifecycle.Completed)
}

// argsOddTypes: a type that no arguments fit refuses every call, and one that
// panics while it decodes does too.
func argsOddTypes(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantFailed(t, b.send("c1", `{}`, boundary.Args(func(context.Context, chan int, io.Writer) error { return nil })),
		lifecycle.InvalidInput, lifecycle.NotStarted)
	wantFailed(t, b.send("c1", `{}`, boundary.Args(func(context.Context, explosive, io.Writer) error { return nil })),
		lifecycle.InvalidInput, lifecycle.NotStarted)
	wantFailed(t, b.send("c1", `{"a":1}`, boundary.Args(func(context.Context, struct{}, io.Writer) error { return nil })),
		lifecycle.InvalidInput, lifecycle.NotStarted)
	wantReady(t, b.send("c1", `{}`, boundary.Args(func(context.Context, struct{}, io.Writer) error { return nil })), "seen: ")
	whole := boundary.Args(func(_ context.Context, in jsontext.Value, raw io.Writer) error {
		_, err := raw.Write(in)
		return err
	})
	wantReady(t, b.send("c2", `{"a": 1E400}`, whole), `seen: {"a": 1E400}`)
}

// explosive panics while it is decoded.
type explosive struct{}

func (*explosive) UnmarshalJSON([]byte) error { panic(marker) }

func jsonResult(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	type row struct {
		ID   int64          `json:"id"`
		Name string         `json:"name"`
		More map[string]int `json:"more"`
		List []string       `json:"list"`
	}
	tool := boundary.JSON(func(_ context.Context, in query) (row, error) {
		return row{ID: in.ID, Name: "<é>", More: map[string]int{"b": 2, "a": 1, "c": 3}}, nil
	})
	for i := range 20 { // map keys in one order every time
		got := b.toolsetOnce(fmt.Sprintf("c%d", i), tool)
		wantReady(t, got, `seen: {"id":9007199254740993,"name":"<é>","more":{"a":1,"b":2,"c":3},"list":[]}`)
	}
}

// toolsetOnce sends one call in a run of its own.
func (b *bench) toolsetOnce(id string, e boundary.Executor) boundary.Result {
	b.run = b.open(boundary.RunSpec{})
	return b.send(id, `{"id":9007199254740993}`, e)
}

func jsonImpossible(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for name, e := range map[string]boundary.Executor{
		"number":    boundary.JSON(func(context.Context, query) (stdjson.Number, error) { return "1,5", nil }),
		"NaN":       boundary.JSON(func(context.Context, query) (float64, error) { return math.NaN(), nil }),
		"not-UTF-8": boundary.JSON(func(context.Context, query) (string, error) { return "\xff", nil }),
		"function":  boundary.JSON(func(context.Context, query) (any, error) { return func() {}, nil }),
		"late": boundary.JSON(func(context.Context, query) ([]any, error) {
			return []any{strings.Repeat("x", 1<<16), make(chan int)}, nil
		}),
	} {
		wantFailed(t, b.send(name, `{}`, e), lifecycle.ToolExecutionFailed, lifecycle.Completed)
		if rec := b.record(name); rec.Raw.Present() || rec.Raw.Size != 0 {
			t.Errorf("%s: raw %v stored, want nothing of a result that could not be written", name, rec.Raw)
		}
	}
}

func jsonTooLarge(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := readTool("tool", boundary.JSON(func(context.Context, query) (string, error) { return strings.Repeat("x", 100), nil }))
	tool.MaxRawBytes = 102
	call := boundary.Call{ID: "c1", Name: "tool", Arguments: []byte(`{}`)}
	if got := b.toolset(tool).Dispatch(t.Context(), b.run, call)[0]; got.Err != nil {
		t.Errorf("exactly at the limit: %v", got.Err)
	}
	tool.MaxRawBytes, call.ID = 101, "c2"
	wantFailed(t, b.toolset(tool).Dispatch(t.Context(), b.run, call)[0], lifecycle.ResultTooLarge, lifecycle.Completed)
}
