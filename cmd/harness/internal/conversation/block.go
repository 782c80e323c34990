package conversation

// block reads a call or a result of Anthropic Messages or Bedrock Converse. Blocks of tools that the provider runs
// itself (server_tool_use, mcp_tool_use and their results) are no calls of the host. Bedrock marks such a call only
// inside its toolUse, and its host is shown it as any other, so it counts.
func (r *reader) block(o object) []event {
	switch o.word("type") {
	case "tool_use":
		return []event{{kind: called, format: blocks, id: o.text("id"), name: o.text("name"), body: recorded(o, "input")}}
	case "tool_result":
		return []event{{kind: answered, format: blocks, id: o.text("tool_use_id"), body: resultOf(o, "content")}}
	}
	if use := o.child("toolUse"); len(use.members) > 0 {
		return []event{{kind: called, format: blocks, id: use.text("toolUseId"), name: use.text("name"), body: recorded(use, "input")}}
	}
	if result := o.child("toolResult"); len(result.members) > 0 {
		return []event{{kind: answered, format: blocks, id: result.text("toolUseId"), body: resultOf(result, "content")}}
	}
	return nil
}

// part reads a call or a result of Gemini, in the spelling of the wire or of the Python SDK. A toolCall is of a tool
// that the provider runs itself.
func (r *reader) part(o object) []event {
	for _, name := range [...]string{"functionCall", "function_call"} {
		if call := o.child(name); len(call.members) > 0 {
			return []event{{kind: called, format: parts, id: call.text("id"), name: call.text("name"), body: recorded(call, "args")}}
		}
	}
	for _, name := range [...]string{"functionResponse", "function_response"} {
		if result := o.child(name); len(result.members) > 0 {
			return []event{{kind: answered, format: parts, id: result.text("id"), name: result.text("name"), body: resultOf(result, "response")}}
		}
	}
	return nil
}
