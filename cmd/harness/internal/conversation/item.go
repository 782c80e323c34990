package conversation

import "strings"

// itemCalls are the items of OpenAI Responses by which the model asks the host to run something: the member with the
// arguments, and the name where the item has none. What OpenAI runs itself (web search, file search, code interpreter,
// image generation, remote MCP, tool search) is not among them.
var itemCalls = map[string]struct{ arguments, name string }{
	"function_call":    {"arguments", ""},
	"custom_tool_call": {"input", ""},
	"local_shell_call": {"action", "local_shell"},
	"shell_call":       {"action", "shell"},
	"apply_patch_call": {"operation", "apply_patch"},
	"computer_call":    {"action", "computer"},
}

// isItem tells whether an object is an item of OpenAI Responses.
func isItem(o object) bool {
	kind := o.word("type")
	switch kind {
	case "reasoning", "item_reference", "compaction", "additional_tools":
		return true
	case "message":
		return o.has("role")
	}
	return strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output") || kind == "tool_search_output"
}

// item reads one item. Reasoning between two calls does not part them, since one response holds all three.
func (r *reader) item(o object) []event {
	kind := o.word("type")
	if call, ok := itemCalls[kind]; ok {
		name := call.name
		if given := o.text("name"); given != "" {
			name = given
		}
		return []event{{kind: called, format: responses, id: o.text("call_id"), name: name, body: r.optional(o, call.arguments)}}
	}
	if _, ok := itemCalls[strings.TrimSuffix(kind, "_output")]; ok {
		return []event{{kind: answered, format: responses, id: o.text("call_id"), body: r.content0(o, "output")}}
	}
	return nil
}
