package conversation

import "strings"

// hostCall knows the items of OpenAI Responses by which the model asks the host to run something: the member with the
// arguments, and the name of those that have none. What OpenAI runs itself (web search, file search, code interpreter,
// image generation, remote MCP, tool search) is not among them.
func hostCall(kind string) (arguments, name string, ok bool) {
	switch kind {
	case "function_call":
		return "arguments", "", true
	case "custom_tool_call":
		return "input", "", true
	case "local_shell_call", "shell_call", "computer_call":
		return "action", strings.TrimSuffix(kind, "_call"), true
	case "apply_patch_call":
		return "operation", "apply_patch", true
	}
	return "", "", false
}

// isItem tells whether an object is an item of OpenAI Responses other than a message, which is read as those of Chat are.
func isItem(o object) bool {
	kind := o.word("type")
	switch kind {
	case "reasoning", "item_reference", "compaction", "additional_tools", "tool_search_output":
		return true
	}
	return strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output")
}

// isModelItem tells whether an item is the model's. Those that stand next to each other are one message of the model. A
// response of Anthropic has the same type and role as a message item, but says why it stopped.
func isModelItem(o object) bool {
	kind := o.word("type")
	if kind == "message" {
		return o.word("role") == "assistant" && !o.has("stop_reason")
	}
	return kind == "reasoning" || strings.HasSuffix(kind, "_call")
}

// item reads one item.
func (r *reader) item(o object) []event {
	kind := o.word("type")
	if arguments, name, ok := hostCall(kind); ok {
		if given := o.text("name"); given != "" {
			name = given
		}
		return []event{{kind: called, format: responses, id: o.text("call_id"), name: name, body: recorded(o, arguments)}}
	}
	if _, _, ok := hostCall(strings.TrimSuffix(kind, "_output")); ok {
		return []event{{kind: answered, format: responses, id: o.text("call_id"), body: resultOf(o, "output")}}
	}
	return nil
}
