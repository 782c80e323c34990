package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/findings/wire"
)

// shown are the ids in order, each with the text that its digests are of.
func shown(r wire.Reading, texts ...string) string {
	var all []string
	for _, s := range r.Served {
		text := s.ID + "="
		for _, digest := range s.Texts {
			for _, candidate := range texts {
				if findings.TextDigest([]byte(candidate)) == digest {
					text += "<" + candidate + ">"
				}
			}
		}
		if len(s.Texts) == 0 {
			text += "-"
		}
		all = append(all, text)
	}
	if r.Stored {
		all = append(all, "stored")
	}
	return strings.Join(all, " ")
}

func TestRead(t *testing.T) {
	t.Parallel()
	candidates := []string{"", "x", "xy", "é\n", `{"output":"x"}`, `{ "rows" : [1.50] }`, `{"a":"x","b":"y"}`}
	for _, c := range []struct {
		name   string
		format wire.Format
		body   string
		want   string
	}{
		{"F42_chat", wire.OpenAIChat, `{"messages":[
			{"role":"user","content":"x","tool_call_id":"never"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"never","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"a","content":"x"},
			{"role":"tool","tool_call_id":"\u0062","content":"\u00e9\n"},
			{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},
			{"role":"tool","tool_call_id":"d","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{}}]},
			{"role":"tool","tool_call_id":"e"},
			{"role":"tool","tool_call_id":" f "},
			{"role":"tool","tool_call_id":"a","content":"x"},
			{"role":"function","name":"legacy","content":"x"},
			{"role":"tool","content":"x"}]}`, "a=<x> b=<é\n> c=<xy> d=- e=<>  f =<> a=<x> =<x>"},
		{"F42_responses", wire.OpenAIResponses, `{"input":[
			{"role":"user","content":"x"},
			{"type":"function_call","call_id":"never","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"a","output":"x"},
			{"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"x"}]},
			{"type":"local_shell_call_output","id":"c","output":"x"},
			{"type":"local_shell_call_output","id":"never","call_id":"c2","output":"x"},
			{"type":"computer_call_output","call_id":"d","output":{"type":"computer_screenshot"}},
			{"type":"shell_call_output","call_id":"e","output":[{"stdout":"x"}]},
			{"type":"apply_patch_call_output","call_id":"f","output":"x"},
			{"type":"web_search_call","id":"never"},{"type":"mcp_call","id":"never","output":"x"},{"type":"tool_search_output","call_id":"never"}]}`,
			"a=<x> b=<x> c=<x> c2=<x> d=- e=- f=<x>"},
		{"F16_responses_text", wire.OpenAIResponses, `{"input":"x","previous_response_id":null,"conversation":null}`, ""},
		{"F16_responses_previous", wire.OpenAIResponses, `{"previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"a","output":"x"}]}`, "a=<x> stored"},
		{"F16_responses_previous_alone", wire.OpenAIResponses, `{"previous_response_id":"resp_1"}`, "stored"},
		{"F16_responses_conversation", wire.OpenAIResponses, `{"conversation":{"id":"conv_1"},"input":"x"}`, "stored"},
		{"F16_responses_reference", wire.OpenAIResponses, `{"input":[{"type":"item_reference","id":"fc_1"}]}`, "stored"},
		{"F42_anthropic", wire.Anthropic, `{"messages":[
			{"role":"user","content":"x"},
			{"role":"assistant","content":[{"type":"tool_use","id":"never","name":"f","input":{}},{"type":"server_tool_use","id":"never"},{"type":"web_search_tool_result","tool_use_id":"never","content":[]}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},
				{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}],"is_error":true},
				{"type":"tool_result","tool_use_id":"c"},{"type":"tool_result","tool_use_id":"d","content":[{"type":"image","source":{}}]},
				{"type":"text","text":"{\"type\":\"tool_result\",\"tool_use_id\":\"never\"}"}]}]}`, "a=<x> b=<xy> c=<> d=-"},
		{"F42_gemini", wire.Gemini, `{"contents":[
			{"role":"model","parts":[{"functionCall":{"id":"never","name":"f","args":{}}},{"toolResponse":{"id":"never"}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"output":"x"}}},
				{"function_response":{"id":"b","name":"f","response":{ "rows" : [1.50] }}},
				{"functionResponse":{"id":"c","name":"f","response":{"a":"x","b":"y"}}},
				{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"id":"d","name":"f"}},{"text":"x"}]}]}`,
			`a=<{"output":"x"}><x> b=<{ "rows" : [1.50] }> c=<{"a":"x","b":"y"}> = d=<>`},
		{"F16_gemini_cache", wire.Gemini, `{"cachedContent":"cachedContents/1","contents":[]}`, "stored"},
		{"F16_gemini_cache_in_snake_case", wire.Gemini, `{"cached_content":"cachedContents/1","contents":[]}`, "stored"},
		{"F42_bedrock", wire.Bedrock, `{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"never","name":"f","input":{}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}},{"toolResult":{"toolUseId":"b","content":[{"json":{ "rows" : [1.50] }}],"status":"error"}},
				{"toolResult":{"toolUseId":"c","content":[{"text":"x"},{"json":{}}]}},{"toolResult":{"toolUseId":"d","content":[]}},{"text":"x"}]}]}`,
			`a=<x> b=<{ "rows" : [1.50] }> c=- d=<>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := wire.Read(c.format, []byte(c.body))
			if got := shown(r, candidates...); err != nil || got != c.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
}

func TestF16_Read_refuses_what_it_cannot_read_whole(t *testing.T) {
	t.Parallel()
	formats := map[wire.Format]string{
		wire.OpenAIChat:      `{"messages":[{"role":"tool","tool_call_id":"sekret","content":"x"}]}`,
		wire.OpenAIResponses: `{"input":[{"type":"function_call_output","call_id":"sekret","output":"x"}]}`,
		wire.Anthropic:       `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"sekret","content":"x"}]}]}`,
		wire.Gemini:          `{"contents":[{"parts":[{"functionResponse":{"id":"sekret","response":{}}}]}]}`,
		wire.Bedrock:         `{"messages":[{"content":[{"toolResult":{"toolUseId":"sekret","content":[]}}]}]}`,
	}
	for format, good := range formats {
		if r, err := wire.Read(format, []byte(good)); err != nil || len(r.Served) != 1 {
			t.Fatalf("%s: got %v, %v", format, r, err)
		}
		bad := map[string]string{
			"empty": "", "text": "sekret", "list": "[]", "no list": `{"model":"sekret"}`, "null": "null", "cut off": good[:len(good)-1], "more": good + "{}",
			"invalid UTF-8":     strings.Replace(good, "sekret", "sekret\xff", 1),
			"lone surrogate":    strings.Replace(good, "sekret", `sekret\ud800`, 1),
			"id is a number":    strings.Replace(good, `"sekret"`, `7`, 1),
			"a member twice":    strings.Replace(good, `:"sekret"`, `:"sekret","content":1,"content":2`, 1),
			"list is an object": strings.Replace(good, `":[`, `":{"sekret":[`, 1) + "}",
		}
		for name, body := range bad {
			r, err := wire.Read(format, []byte(body))
			var failure *wire.Error
			if !errors.As(err, &failure) || len(r.Served) > 0 || strings.Contains(fmt.Sprintf("%v %+v", err, err), "sekret") {
				t.Errorf("%s, %s: got %v, %v", format, name, r, err)
			}
		}
	}
	if _, err := wire.Read("openai", []byte(`{"messages":[]}`)); err == nil {
		t.Error("an unknown format was read")
	}
}

// A client that takes a result out behind our back is not seen: the witness is of
// the bytes that we were handed. One that reports it hands over the bytes it sends.
func TestF08_rewrites_that_nobody_reports(t *testing.T) {
	t.Parallel()
	const handed = `{"messages":[{"role":"tool","tool_call_id":"a","content":"x"},{"role":"tool","tool_call_id":"b","content":"x"}]}`
	const sent = `{"messages":[{"role":"tool","tool_call_id":"b","content":"x"}]}`
	d := findings.Declaration{Previous: []findings.Citation{{ID: "a", Standing: findings.StandingFact}}}
	for body, want := range map[string]findings.Reason{handed: "", sent: findings.NotServed} {
		r, err := wire.Read(wire.OpenAIChat, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := findings.Admit(witness(t, r, []string{"a", "b"}), d).Verdicts[0].Refused; got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

// F06: where the provider keeps the history, the host joins what it sent.
func TestF06_F16_requests_that_go_on_from_a_stored_response(t *testing.T) {
	t.Parallel()
	read := func(body string) wire.Reading {
		t.Helper()
		r, err := wire.Read(wire.OpenAIResponses, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := read(`{"input":[{"type":"function_call_output","call_id":"a","output":"x"}]}`)
	second := read(`{"previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"b","output":"x"}]}`)
	third := read(`{"previous_response_id":"r2","input":[{"type":"function_call_output","call_id":"a","output":"x"}]}`)
	var d findings.Declaration
	for _, id := range []string{"a", "b"} {
		d.Previous = append(d.Previous, findings.Citation{ID: id, Standing: findings.StandingFact})
	}
	judged := func(r wire.Reading, ids ...string) string {
		a := findings.Admit(witness(t, r, ids), d)
		return fmt.Sprint(a.Verdicts[0].Refused, "/", a.Verdicts[1].Refused)
	}
	for name, c := range map[string][2]string{
		"alone":       {judged(second, "b"), "WITNESS_INCOMPLETE/WITNESS_INCOMPLETE"},
		"joined":      {judged(second.After(first), "a", "b"), "/"},
		"twice in it": {judged(third.After(second.After(first)), "a", "b"), "AMBIGUOUS/"},
		"a gap":       {judged(third.After(second), "a", "b"), "WITNESS_INCOMPLETE/WITNESS_INCOMPLETE"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %s, want %s", name, c[0], c[1])
		}
	}
}

// FuzzRead: whatever is read has the ids, in order, that another reader finds.
func FuzzRead(f *testing.F) {
	formats := []wire.Format{wire.OpenAIChat, wire.OpenAIResponses, wire.Anthropic, wire.Gemini, wire.Bedrock}
	for i, body := range []string{
		`{"messages":[{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"}]}]}`,
		`{"input":[{"type":"function_call_output","call_id":"a","output":"x"},{"type":"custom_tool_call_output","call_id":"b","output":[]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}`,
		`{"contents":[{"parts":[{"functionResponse":{"id":"a","response":{"output":"x"}}},{"function_response":{"id":"b"}}]}]}`,
		`{"messages":[{"content":[{"toolResult":{"toolUseId":"a","content":[{"json":{}}]}}]}]}`,
	} {
		f.Add(i, []byte(body))
	}
	f.Fuzz(func(t *testing.T, i int, body []byte) {
		format := formats[min(max(i, 0), 4)]
		r, err := wire.Read(format, body)
		if err != nil {
			return
		}
		var got []string
		for _, s := range r.Served {
			got = append(got, s.ID)
		}
		if want := naive(t, format, body); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s %s: got %q, want %q", format, body, got, want)
		}
	})
}
