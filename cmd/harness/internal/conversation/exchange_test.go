package conversation_test

import (
	"encoding/base64"
	"strings"
	"testing"
)

// exchangesOf is a recording: requests and responses in turn.
func exchangesOf(bodies ...string) string {
	var all []string
	for i := 0; i < len(bodies); i += 2 {
		all = append(all, `{"method":"POST","request":`+bodies[i]+`,"response":`+bodies[i+1]+`}`)
	}
	return `{"name":"r","exchanges":[` + strings.Join(all, ",") + `]}`
}

// request is the body of a chat with these messages behind the question.
func request(messages ...string) string {
	return `{"model":"m","messages":[` + strings.Join(append([]string{`{"role":"user","content":"q"}`}, messages...), ",") + `]}`
}

func choice(message string) string {
	return `{"id":"c","choices":[{"index":0,"message":` + message + `}]}`
}

// ask and give are messages of a chat with one call and its result.
func ask(id, name, arguments string) string {
	return `{"role":"assistant","tool_calls":[{"id":"` + id + `","function":{"name":"` + name + `","arguments":` + quote(arguments) + `}}]}`
}

func give(id, text string) string {
	return `{"role":"tool","tool_call_id":"` + id + `","content":"` + text + `"}`
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	use := func(id, city string) string {
		return `{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"f","input":{"c": "` + city + `"}}]}`
	}
	used := func(id string) string {
		return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"r"}]}`
	}
	a, b := ask("a", "f", `{"n":1}`), ask("b", "f", `{"n":2}`)
	for name, test := range map[string]struct{ text, want string }{
		"each call once though every request repeats it": {exchangesOf(
			request(), choice(a), request(a, give("a", "1")), choice(b), request(a, give("a", "1"), b, give("b", "2")), choice(`{"role":"assistant","content":"done"}`)), `
			line 1
			1 "a" f({"n":1}) -> 1
			3 "b" f({"n":2}) -> 2`},
		"a call that only a response has is outside": {exchangesOf(request(a, give("a", "1")), choice(b)), `
			line 1 unmatched 0 outside 1
			1 "a" f({"n":1}) -> 1`},
		"the response is the only one that has calls": {exchangesOf(request(), choice(a), request(), choice(a)), `
			line 1
			0 "a" f({"n":1}) no result
			line 1
			0 "a" f({"n":1}) no result`},
		"no calls at all": {exchangesOf(request(), choice(`{"role":"assistant","content":"x"}`)), `line 1`},
		"other endpoints": {exchangesOf(`{"input":"text","model":"e"}`, `{"data":[1]}`, `null`, `"<html>"`, `"a=b&c=d"`, `"[DONE]"`), `line 1`},
		"two conversations in one recording, one id in both": {exchangesOf(request(a, give("a", "1")), `null`, request(ask("a", "g", "{}"), give("a", "x")), `null`), `
			line 1
			1 "a" f({"n":1}) -> 1
			line 1
			1 "a" g({}) -> x`},
		"a history whose start was dropped is joined": {exchangesOf(
			request(a, give("a", "1"), b, give("b", "2")), `null`,
			request(b, give("b", "2"), ask("c", "f", `{"n":3}`), give("c", "3")), `null`), `
			line 1
			1 "a" f({"n":1}) -> 1
			3 "b" f({"n":2}) -> 2
			4 "c" f({"n":3}) -> 3`},
		"a result that came with a later request": {exchangesOf(request(a, b, give("b", "2")), `null`, request(a, b, give("b", "2"), give("a", "1")), `null`), `
			line 1
			1 "a" f({"n":1}) -> 1
			2 "b" f({"n":2}) -> 2`},
		"one call made twice stays two, arguments spelled anew are the same": {exchangesOf(
			request(a, give("a", "1")), `null`,
			request(ask("a", "f", `{ "n" : 1 }`), give("a", "1"), a, give("a", "2")), `null`), `
			line 1
			1 "a" f({"n":1}) -> 1
			3 "a" f({"n":1}) -> 2`},
		"another provider goes on, the history with the most calls is taken": {exchangesOf(
			request(ask("a", "f", `{"c":"x"}`), give("a", "r")), `null`,
			request(use("a", "x"), used("a"), use("b", "y"), used("b")), `null`), `
			line 1
			1 "a" f({"c": "x"}) -> r
			3 "b" f({"c": "y"}) -> r`},
		"another provider goes on, the first among equals": {exchangesOf(
			request(ask("a", "f", `{"c":"x"}`), give("a", "r"), ask("c", "f", `{"c":"z"}`), give("c", "r")), `null`,
			request(use("a", "x"), used("a"), use("b", "y"), used("b")), `null`), `
			line 1 unmatched 0 outside 1
			1 "a" f({"c":"x"}) -> r
			3 "c" f({"c":"z"}) -> r`},
		"a host gave an id to a call that had none": {exchangesOf(
			`{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"c": "x"}}}]},{"parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`, `null`,
			request(ask("made", "f", `{"c":"x"}`), give("made", "r"), b, give("b", "2")), `null`), `
			line 1
			1 "made" f({"c":"x"}) -> r
			3 "b" f({"n":2}) -> 2`},
		"the call without an id comes last": {exchangesOf(
			request(ask("made", "f", `{"c":"x"}`), give("made", "r"), b, give("b", "2")), `null`,
			`{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"c": "x"}}}]}]}`, `null`), `
			line 1
			1 "made" f({"c":"x"}) -> r
			3 "b" f({"n":2}) -> 2`},
		"stored responses": {exchangesOf(
			`{"model":"m","input":"q"}`, `{"id":"r1","object":"response","output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`,
			`{"model":"m","previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"a","output":"1"}]}`,
			quote(sse([]string{`{"type":"response.created","response":{"id":"r2"}}`, `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}}`})),
			`{"model":"m","previous_response_id":"r2","input":[{"type":"function_call_output","call_id":"b","output":"2"}]}`, `{"id":"r3","object":"response","output":[]}`), `
			line 1
			1 "a" f({}) -> 1
			3 "b" g({}) -> 2`},
		"a stored response that was not recorded": {exchangesOf(
			`{"model":"m","previous_response_id":"r0","input":[{"type":"function_call_output","call_id":"z","output":"1"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`, `null`), `
			line 1 unmatched 1 outside 0
			1 "a" f({}) no result`},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			check(t, test.text, test.want)
			lines := strings.TrimSuffix(strings.TrimPrefix(test.text, `{"name":"r","exchanges":[`), `]}`)
			check(t, `[`+lines+`]`, test.want)
		})
	}
}

// Recorders keep the same bodies in many ways.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	body := request(ask("a", "f", "{}"), give("a", "1"))
	want := "line 1\n1 \"a\" f({}) -> 1"
	encoded := base64.StdEncoding.EncodeToString([]byte(body))
	for name, text := range map[string]string{
		"VCR.py":               `{"version":1,"interactions":[{"request":{"body":` + quote(body) + `,"uri":"u"},"response":{"body":{"string":"{}"}}}]}`,
		"VCR.py in base64":     `{"interactions":[{"request":{"body":{"base64_string":"` + encoded + `"}},"response":{}}]}`,
		"VCR.py parsed":        `{"interactions":[{"request":{"body":"","parsed_body":` + body + `},"response":{"status":{"code":200}}}]}`,
		"VCR.rb":               `{"http_interactions":[{"request":{"method":"post","body":{"encoding":"UTF-8","string":` + quote(body) + `}},"response":{"body":{"encoding":"UTF-8","string":""}}}]}`,
		"VCR.rb in base64":     `{"http_interactions":[{"request":{"body":{"encoding":"base64","string":"x","base64_string":"` + encoded + `"}},"response":null}]}`,
		"HAR":                  `{"log":{"version":"1.2","entries":[{"request":{"method":"POST","postData":{"mimeType":"application/json","text":` + quote(body) + `}},"response":{"status":200,"content":{"mimeType":"text/html","text":"<p>"}}}]}}`,
		"one exchange":         `{"request":` + body + `,"response":null}`,
		"exchanges in lines":   `{"request":` + request() + `,"response":1}` + "\n" + `{"request":` + body + `,"response":2}`,
		"request and response": `{"model":"m","messages":[{"role":"user","content":"q"},` + ask("a", "f", "{}") + `,` + give("a", "1") + `],"response":` + choice(ask("a", "f", "{}")) + `}`,
		"messages as the body": `{"request":[{"role":"user","content":"q"},` + ask("a", "f", "{}") + `,` + give("a", "1") + `],"response":{}}`,
		"body as one line":     `{"request":` + quote("\n"+body+"\n") + `,"response":{}}`,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if name == "exchanges in lines" {
				check(t, text, "line 2\n1 \"a\" f({}) -> 1")
				return
			}
			check(t, text, want)
		})
	}
}

// A chain of stored responses, and a log that repeats its history, cost no more than their text.
func TestLongRecordings(t *testing.T) {
	t.Parallel()
	var bodies []string
	for i := range 3000 {
		id := itoa(i)
		bodies = append(bodies,
			`{"model":"m","previous_response_id":"r`+itoa(i-1)+`","input":[{"type":"function_call_output","call_id":"`+itoa(i-1)+`","output":"x"}]}`,
			`{"id":"r`+id+`","object":"response","output":[{"type":"function_call","call_id":"`+id+`","name":"f","arguments":"{}"}]}`)
	}
	var want strings.Builder
	want.WriteString("line 1 unmatched 1 outside 1\n")
	for i := range 2999 {
		want.WriteString(itoa(2*i+1) + ` "` + itoa(i) + `" f({}) -> x` + "\n")
	}
	check(t, exchangesOf(bodies...), want.String())
}
