// Package recording reads recorded conversations of an agent: chat messages, one conversation per JSON line.
//
//	assistant message  -> one [Call] per tool call, id and arguments exactly as recorded
//	tool message       -> the recorded result of the call with that id
//	last message       -> the answer that the agent gave
//
// Nothing is repaired: an id or an argument string is never trimmed, folded or parsed. What is not understood is an
// error with the number of the line; the text itself stays out of it. A call without a recorded result is kept and says
// so, since the recording lost some.
//
//	conversations, err := recording.Parse(text)
//	for _, call := range conversations[0].Calls { fmt.Println(call.ID, call.Tool, call.Arguments) }
package recording
