package conversation_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// pieces are the data of the streams of every provider, one JSON text an element.
func streams() map[string]struct {
	pieces []string
	want   string
} {
	type stream = struct {
		pieces []string
		want   string
	}
	return map[string]stream{
		"chat": {[]string{
			`{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{ \"k"}}]}}]}`,
			`{"id":"x","choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"other","function":{"name":"f","arguments":"{}"}}]}}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}},{"index":0,"function":{"arguments":"\":1}"}}]}}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			`{"id":"x","choices":[],"usage":{}}`,
		}, `0 "a" f({ "k":1}) no result
			0 "b" g({}) no result`},
		"chat where every whole call has one index": {[]string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}}]}`,
		}, `0 "a" f({}) no result
			0 "b" f({}) no result`},
		"chat where whole calls have neither id nor index": {[]string{
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{\"n\":1}"}}]}}]}`,
		}, `0 "" f({}) no result
			0 "" f({"n":1}) no result`},
		"chat that repeats id and name in each piece": {[]string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}}]}`,
		}, `0 "a" f({"n":1}) no result`},
		"chat whose id comes late": {[]string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]}}]}`,
		}, `0 "a" f({}) no result`},
		"chat legacy function": {[]string{
			`{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{"}}}]}`,
			`{"choices":[{"delta":{"function_call":{"arguments":"}"}}}]}`,
		}, `0 "" f({}) no result`},
		"chat whose message comes whole": {[]string{
			`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`,
		}, `0 "a" f({}) no result`},
		"responses": {[]string{
			`{"type":"response.created","response":{"id":"r1","output":[]}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs"}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"fc","delta":"{\"k"}`,
			`{"type":"response.output_item.added","output_index":2,"item":{"type":"custom_tool_call","id":"ct","call_id":"b","name":"code","input":""}}`,
			`{"type":"response.custom_tool_call_input.delta","output_index":2,"delta":"print("}`,
			`{"type":"response.custom_tool_call_input.delta","output_index":2,"delta":"1)"}`,
			`{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{\"k\":1}"}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":"{\"k\":1}"}}`,
			`{"type":"response.completed","response":{"id":"r1","output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{\"k\":1}"}]}}`,
		}, `0 "a" f({"k":1}) no result
			0 "b" code(print(1)) no result`},
		"responses without places": {[]string{
			`{"type":"response.output_item.added","item":{"type":"function_call","id":"x","call_id":"a","name":"f","arguments":""}}`,
			`{"type":"response.output_item.added","item":{"type":"function_call","id":"y","call_id":"b","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"x","delta":"{}"}`,
			`{"type":"response.output_item.done","item":{"type":"function_call","id":"y","call_id":"b","name":"f","arguments":"[]"}}`,
		}, `0 "a" f({}) no result
			0 "b" f([]) no result`},
		"responses with nothing but the end": {[]string{
			`{"type":"response.completed","response":{"id":"r1","output":[{"type":"reasoning"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}}`,
		}, `0 "a" f({}) no result`},
		"anthropic": {[]string{
			`{"type":"message_start","message":{"role":"assistant","content":[]}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"t"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
			`{"type":"ping"}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"k\": "}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"g","input":{ }}}`,
			`{"type":"content_block_stop","index":2}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","name":"web","input":{}}}`,
			`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`,
		}, `0 "a" f({"k": 1}) no result
			0 "b" g({ }) no result`},
		"gemini": {[]string{
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"t"},{"functionCall":{"name":"f","args":{"k": 1}}}]}}]}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{"k": 2}}}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"functionCall":{"name":"g"}}]}}]}`,
			`{"candidates":[],"usageMetadata":{}}`,
		}, `0 "" f({"k": 1}) no result
			0 "" f({"k": 2}) no result`},
		"cohere": {[]string{
			`{"type":"message-start","delta":{"message":{"role":"assistant","tool_calls":[]}}}`,
			`{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I"}}}`,
			`{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","type":"function","function":{"name":"f","arguments":""}}}}}`,
			`{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"k\""}}}}}`,
			`{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":":1}"}}}}}`,
			`{"type":"tool-call-end","index":0}`,
			`{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"b","function":{"name":"g","arguments":""}}}}}`,
			`{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}`,
		}, `0 "a" f({"k":1}) no result
			0 "b" g() no result`},
		"bedrock": {[]string{
			`{"messageStart":{"role":"assistant"}}`,
			`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"t"}}}`,
			`{"contentBlockStart":{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}}`,
			`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"k\""}}}}`,
			`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolUse":{"input":": 1}"}}}}`,
			`{"contentBlockStop":{"contentBlockIndex":1}}`, `{"messageStop":{"stopReason":"tool_use"}}`,
		}, `0 "a" f({"k": 1}) no result`},
		"ollama": {[]string{
			`{"model":"m","message":{"role":"assistant","content":"t"},"done":false}`,
			`{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"k":1}}}]},"done":true}`,
		}, `0 "" f({"k":1}) no result`},
	}
}

func sse(pieces []string) string {
	var b strings.Builder
	b.WriteString(": comment\n\n")
	for _, piece := range pieces {
		b.WriteString("event: e\ndata: " + piece + "\n\n")
	}
	b.WriteString("data: [DONE]\n\n")
	return b.String()
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// Each stream is read from a body of events, from a body of lines, from a list, and from a file of its own.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, test := range streams() {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			ask := `{"request":{"body":{"messages":[{"role":"user","content":"q"}]}},"response":`
			check(t, ask+quote(sse(test.pieces))+`}`, "line 1\n"+test.want)
			check(t, ask+`{"body":{"string":`+quote(strings.Join(test.pieces, "\n"))+`}}}`, "line 1\n"+test.want)
			check(t, ask+`{"content":[`+strings.Join(test.pieces, ",")+`]}}`, "line 1\n"+test.want)
			check(t, ask+`{"content":{"encoding":"base64","text":"`+base64.StdEncoding.EncodeToString([]byte(sse(test.pieces)))+`"}}}`, "line 1\n"+test.want)
			if name == "ollama" {
				return // on its own, a file of messages
			}
			check(t, sse(test.pieces), "line 4\n"+test.want)
			check(t, strings.ReplaceAll(sse(test.pieces), "\n", "\r\n"), "line 4\n"+test.want)
			check(t, strings.Join(test.pieces, "\n"), "line 1\n"+test.want)
			check(t, "["+strings.Join(test.pieces, ",\n")+"]", "line 1\n"+test.want)
		})
	}
}

// Whole responses that stand alone are conversations of their own, since ids repeat between them.
func TestResponsesAlone(t *testing.T) {
	t.Parallel()
	chat := func(id string) string {
		return `{"id":"` + id + `","choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`
	}
	want := "\n0 \"a\" f({}) no result"
	check(t, chat("x")+"\n"+chat("y"), "line 1"+want+"\nline 2"+want)
	check(t, `{"object":"response","output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`, "line 1"+want)
	check(t, `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}}}`, "line 1"+want)
	check(t, `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"a","name":"f","args":{}}}]}}]}`, "line 1"+want)
	check(t, `{"id":"x","type":"message","role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`, "line 1"+want)
	check(t, `{"custom_id":"1","response":{"status_code":200,"body":`+chat("x")+`}}`+"\n"+
		`{"custom_id":"2","response":{"status_code":200,"body":`+chat("y")+`}}`, "line 1"+want+"\nline 2"+want)
	starts := `{"type":"message_start","message":{"role":"assistant","content":[]}}`
	block := `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`
	check(t, sse([]string{starts, block, starts, block}), "line 4"+want+"\nline 10"+want)
}

// One event may carry its data in several lines, and a line may end in three ways.
func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	whole := `{"choices":[{"delta":{"tool_calls":[` + "\n" + `{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`
	for _, end := range []string{"\n", "\r\n", "\r"} {
		lines := []string{"retry: 1", ":", "", "id: 7"}
		for part := range strings.Lines(whole) {
			lines = append(lines, "data:"+strings.TrimSuffix(part, "\n"))
		}
		lines = append(lines, "", "data: ping", "", "data")
		all := strings.Join(lines, end)
		line := 1 + bytes.Count([]byte(all[:strings.Index(all, "data:")]), []byte("\n"))
		check(t, all, "line "+itoa(line)+"\n0 \"a\" f({}) no result")
	}
}
