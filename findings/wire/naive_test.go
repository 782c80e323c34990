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
		id, _ := get(holder, member).(string)
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
			switch {
			case is(m, "type", "function_call_output", "custom_tool_call_output", "shell_call_output", "computer_call_output", "apply_patch_call_output"):
				note(m, "call_id")
			case is(m, "type", "local_shell_call_output") && (get(m, "call_id") == nil || get(m, "call_id") == ""):
				note(m, "id")
			case is(m, "type", "local_shell_call_output"):
				note(m, "call_id")
			}
		}
	case wire.Anthropic:
		for _, m := range list(request["messages"]) {
			for _, b := range list(get(m, "content")) {
				if is(b, "type", "tool_result") {
					note(b, "tool_use_id")
				}
			}
		}
	case wire.Bedrock:
		for _, m := range list(request["messages"]) {
			for _, b := range list(get(m, "content")) {
				if r := get(b, "toolResult"); r != nil {
					note(r, "toolUseId")
				}
			}
		}
	case wire.Gemini:
		for _, m := range list(request["contents"]) {
			for _, b := range list(get(m, "parts")) {
				for _, name := range []string{"functionResponse", "function_response"} {
					if r := get(b, name); r != nil {
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

func get(v any, member string) any {
	m, _ := v.(map[string]any)
	return m[member]
}

func is(v any, member string, words ...string) bool {
	for _, word := range words {
		if get(v, member) == word {
			return true
		}
	}
	return false
}
