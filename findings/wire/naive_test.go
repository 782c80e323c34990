package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/toolharness/harness/findings/wire"
)

// naive counts the results of a request in another way than the package does: the
// whole body as maps and lists of the standard library, looked through by name. It
// gives the ids in order, empty where there is none.
func naive(t testing.TB, f wire.Format, body []byte) []string {
	t.Helper()
	var request map[string]any
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	note := func(holder any, member string) {
		id, _ := holder.(map[string]any)[member].(string)
		ids = append(ids, id)
	}
	switch f {
	case wire.OpenAIChat:
		for _, m := range list(request["messages"]) {
			if is(m, "role", "tool") {
				note(m, "tool_call_id")
			}
		}
	case wire.OpenAIResponses:
		for _, m := range list(request["input"]) {
			if is(m, "type", "function_call_output", "custom_tool_call_output") {
				note(m, "call_id")
			}
		}
	case wire.Anthropic:
		for _, m := range list(request["messages"]) {
			for _, b := range list(m.(map[string]any)["content"]) {
				if is(b, "type", "tool_result") {
					note(b, "tool_use_id")
				}
			}
		}
	case wire.Bedrock:
		for _, m := range list(request["messages"]) {
			for _, b := range list(m.(map[string]any)["content"]) {
				if r := b.(map[string]any)["toolResult"]; r != nil {
					note(r, "toolUseId")
				}
			}
		}
	case wire.Gemini:
		for _, m := range list(request["contents"]) {
			for _, b := range list(m.(map[string]any)["parts"]) {
				for _, name := range []string{"functionResponse", "function_response"} {
					if r := b.(map[string]any)[name]; r != nil {
						note(r, "id")
					}
				}
			}
		}
	}
	return ids
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func is(v any, member string, words ...string) bool {
	m, _ := v.(map[string]any)
	for _, word := range words {
		if m[member] == word {
			return true
		}
	}
	return false
}
