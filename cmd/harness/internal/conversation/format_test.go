package conversation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/conversation"
)

// show writes the calls one a line, so that a difference is seen at once.
func show(all []conversation.Conversation) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "line %d", c.Line)
		if c.Unmatched > 0 || c.Outside > 0 {
			fmt.Fprintf(&b, " unmatched %d outside %d", c.Unmatched, c.Outside)
		}
		b.WriteString("\n")
		for _, call := range c.Calls {
			result := "no result"
			if call.HasResult {
				result = "-> " + string(call.Result)
				if len(call.Result) == 0 {
					result = "-> nothing"
				}
			}
			fmt.Fprintf(&b, "%d %q %s(%s) %s\n", call.Turn, call.ID, call.Name, call.Arguments, result)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// check reads a text and compares; both sides may be indented.
func check(t *testing.T, text, want string) {
	t.Helper()
	all, err := conversation.Read("test.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(want)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	if got := show(all); got != strings.Join(lines, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(lines, "\n"))
	}
}

// formats are the same small conversations in every provider's own words.
func formats() map[string][2]string {
	return map[string][2]string{
		"chat": {`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},
			{"role":"assistant","content":null,"tool_calls":[
			 {"id":" a ","type":"function","function":{"name":"find","arguments":"{ \"n\": 9007199254740993 }"}},
			 {"id":"b","type":"function","function":{"name":"find","arguments":""}}]},
			{"role":"tool","tool_call_id":"b","content":[{"type":"text", "text":"two"}]},
			{"role":"tool","tool_call_id":" a ","content":"one\n\u00e9"},
			{"role":"assistant","content":"done"}]}`, `
			line 1
			2 " a " find({ "n": 9007199254740993 }) -> one` + "\n" + `é
			2 "b" find() -> [{"type":"text", "text":"two"}]`},
		"chat with arguments as an object": {`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a": 1e400}}}]},
			{"role":"tool","content":"r"}]}`, `
			line 1
			0 "" f({"a": 1e400}) -> r`},
		"chat legacy functions": {`[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
			{"role":"function","name":"f","content":"1"},{"role":"assistant","content":"","function_call":{"name":"f","arguments":"{}"}},
			{"role":"function","name":"f","content":null}]`, `
			line 1
			1 "" f({}) -> 1
			3 "" f({}) -> nothing`},
		"chat custom tool": {`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"code","input":"print(1)"}}]},
			{"role":"tool","tool_call_id":"c","content":"1"}]}`, `
			line 1
			0 "c" code(print(1)) -> 1`},
		"chat with empty members that do not apply": {`{"messages":[{"role":"assistant","function_call":{"name":"","arguments":""},
			"tool_calls":[{"id":"c","custom":{"name":"","input":""},"function":{"name":"f","arguments":"{}"}}]}]}`, `
			line 1
			0 "c" f({}) no result`},
		"chat of SWE-agent": {`{"history":[{"role":"assistant","content":"t","tool_calls":[{"id":"c","function":{"name":"ls","arguments":"{}"}}]},
			{"role":"tool","content":"out","tool_call_ids":["c"]}]}`, `
			line 1
			0 "c" ls({}) -> out`},
		"responses": {`{"model":"m","input":[{"role":"user","content":"q"},{"type":"reasoning","summary":[]},
			{"type":"function_call","id":"fc_1","call_id":"a","name":"find","arguments":"{\"x\":1}"},{"type":"reasoning","summary":[]},
			{"type":"function_call","call_id":"b","name":"find","arguments":"{}"},
			{"type":"function_call_output","call_id":"a","output":"one"},
			{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"two"}]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]},
			{"type":"custom_tool_call","call_id":"c","name":"code","input":"print(1)"},
			{"type":"custom_tool_call_output","call_id":"c","output":"1"},
			{"type":"shell_call","call_id":"d","action":{"commands":["ls"]}},
			{"type":"shell_call_output","call_id":"d","output":[]},
			{"type":"apply_patch_call","call_id":"e","operation":{"type":"delete_file"}}]}`, `
			line 1
			1 "a" find({"x":1}) -> one
			1 "b" find({}) -> [{"type":"input_text","text":"two"}]
			7 "c" code(print(1)) -> 1
			10 "d" shell({"commands":["ls"]}) -> []
			12 "e" apply_patch({"type":"delete_file"}) no result`},
		"responses leaves out what the provider runs": {`{"input":[{"type":"tool_search_call","call_id":"s","arguments":{}},{"type":"tool_search_output","call_id":"s","tools":[]},
			{"type":"web_search_call","id":"ws"},{"type":"mcp_call","id":"m","name":"x","arguments":"{}","output":"o"},
			{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`, `
			line 1
			2 "a" f({}) no result`},
		"anthropic": {`{"messages":[{"role":"user","content":"q"},
			{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"a","name":"find","input":{"x": 1, "x": 2}},
			 {"type":"tool_use","id":"b","name":"find","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"one"},{"type":"image","source":{"data":"AA"}}]},
			 {"type":"tool_result","tool_use_id":"b","content":"two"},{"type":"tool_result","tool_use_id":"z"}]}]}`, `
			line 1 unmatched 1 outside 0
			1 "a" find({"x": 1, "x": 2}) -> [{"type":"text","text":"one"},{"type":"image","source":{"data":"AA"}}]
			1 "b" find({}) -> two`},
		"anthropic leaves out what the provider runs": {`{"messages":[{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web","input":{}},
			{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"mcp_tool_use","id":"m","name":"x","input":{}},
			{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, `
			line 1
			0 "a" f({}) -> nothing`},
		"bedrock": {`{"messages":[{"role":"user","content":[{"text":"q"}]},
			{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"find","input":{"x":1}}},{"toolUse":{"toolUseId":"b","name":"find"}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"b","status":"error","content":[{"json":{"y":2}}]}},{"toolResult":{"toolUseId":"a","content":[{"text":"1"}]}}]}]}`, `
			line 1
			1 "a" find({"x":1}) -> [{"text":"1"}]
			1 "b" find() -> [{"json":{"y":2}}]`},
		"gemini without ids": {`{"contents":[{"role":"user","parts":[{"text":"q"}]},
			{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":1}}},{"functionCall":{"name":"g","args":{}}},{"functionCall":{"name":"f","args":{"n":2}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"r":1}}},{"functionResponse":{"name":"f","response":{"r":2}}},{"functionResponse":{"name":"g","response":{"r":3}}}]}]}`, `
			line 1
			1 "" f({"n":1}) -> {"r":1}
			1 "" g({}) -> {"r":3}
			1 "" f({"n":2}) -> {"r":2}`},
		"gemini with ids": {`{"contents":[{"parts":[{"functionCall":{"id":"a","name":"f","args":{}}},{"functionCall":{"id":"b","name":"f","args":{}}}]},
			{"parts":[{"functionResponse":{"id":"b","name":"f","response":{"r":"b"}}},{"functionResponse":{"id":"a","name":"f","response":{"r":"a"}}}]}]}`, `
			line 1
			0 "a" f({}) -> {"r":"a"}
			0 "b" f({}) -> {"r":"b"}`},
		"sessions of ADK": {"{\n \"app_name\": \"x\",\n \"state\": {\"k\": [1]},\n \"events\": [\n" + `  {"author":"user","content":{"role":"user","parts":[{"text":"q"}]}},
			{"author":"agent","actions":{}},
			{"author":"agent","content":{"role":"model","parts":[{"function_call":{"args":{"a":1},"name":"f"}}]}},
			{"author":"agent","content":{"role":"user","parts":[{"function_response":{"name":"f","response":{"s":"ok"}}}]}}]}`, `
			line 5
			2 "" f({"a":1}) -> {"s":"ok"}`},
	}
}

func TestReadEveryFormat(t *testing.T) {
	t.Parallel()
	for name, test := range formats() {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			check(t, test[0], test[1])
		})
	}
}

// The bytes that Read returns are the caller's: changing the file afterwards, or one call, changes no other.
func TestReadReturnsItsOwnBytes(t *testing.T) {
	t.Parallel()
	data := []byte(`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"k":1}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":["r"]}]}]}`)
	all, err := conversation.Read("f", data)
	if err != nil {
		t.Fatal(err)
	}
	before := show(all)
	clear(data)
	call := all[0].Calls[0]
	_ = append(call.Arguments, "more"...)
	if got := show(all); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
}
