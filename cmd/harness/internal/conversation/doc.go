// Package conversation reads recorded conversations of anyone's agent, as they are, for their tool calls and results.
//
//	provider format           a call is                          its result is
//	OpenAI Chat Completions   an element of tool_calls           a message of role tool, by tool_call_id
//	  and its copies          function_call (legacy, no id)      a message of role function, by name
//	OpenAI Responses          function_call, custom_tool_call,   the item of that type with _output, by call_id
//	                          shell, apply_patch, computer
//	Anthropic Messages        a tool_use block                   a tool_result block, by tool_use_id
//	Bedrock Converse          a toolUse block                    a toolResult block, by toolUseId
//	Gemini                    a functionCall part                a functionResponse part, by id, else name and order
//
//	container                 what becomes a conversation
//	messages, items, events   each list of them; also one a line, all lines together; also wrapped one by one
//	objects with such a list  each object; where they name a model, one that goes on from an earlier one replaces it
//	exchanges                 a request and a response each, as objects or as texts: VCR and HAR in JSON, plain logs
//	responses                 each response, whole or as server-sent events whose pieces are put together
//
// The format is found from the content, never from the name. Lists of several formats may stand in one file.
//
// # Exchanges
//
// Each later request repeats the history, so a call is counted once however many requests carry it. What counts is what
// the host reported back: the calls in its requests. Requests that share a call are one conversation; requests that
// share none are several, even in one recording. Where a conversation moves to another provider's format, the history
// with the most calls is taken, the first among equals. A call that only a response has was not gone on with and is
// counted in Outside; only where no request carries any call are the calls of responses read, without results.
// A request that goes on from a stored response (previous_response_id) is joined with it.
//
// # Guarantees
//
//   - Ids, names, arguments and results are exact: a text is decoded, never trimmed, folded or repaired; an object or
//     array is the bytes that stand in the file. An id is never invented.
//   - Calls that share an id stay separate. A result goes to the latest batch of calls that still waits for one of that
//     id (without ids: of that name), and inside the batch to the first.
//   - What cannot be exact is an error of the file: a string that is no valid Unicode, a member that occurs twice.
//   - An error names file, line and reason and quotes nothing. Nothing panics. Memory stays within a small multiple of the file.
//
// # Not guaranteed
//
// Tools that a provider runs itself (web search, MCP on its side, server_tool_use, toolCall) are no calls of the host
// and are left out; Bedrock marks them only inside an ordinary toolUse, so there they count. Of several choices or
// candidates the first is read. YAML is refused. AWS event streams in binary are not read; as JSON they are. A result is what the
// model was given, so a block list stays a block list. A conversation without ids that drops the start of its history
// between two requests cannot be told from one that repeats a call.
//
// # Use
//
//	all, err := conversation.Read(name, data)
//	if err != nil { return err } // conversation: chat.jsonl: line 7: not valid JSON
//	for _, c := range all {
//		for _, call := range c.Calls {
//			fmt.Println(call.Turn, call.ID, call.Name, len(call.Arguments), call.HasResult, len(call.Result))
//		}
//	}
package conversation
