// Package wire reads from a provider's request, byte for byte as it was sent,
// which tool results it served.
//
//	format          a result is                                       its id is      its text is
//	OpenAIChat      a message of role tool                            tool_call_id   content, a string or parts of text
//	OpenAIResponses an item of input, function_call_output and the    call_id        output, likewise
//	                others by which a host answers
//	Anthropic       a tool_result block in the content of a message   tool_use_id    content, likewise
//	Gemini          a functionResponse part, also spelled in snake    id             response: its bytes, or its only
//	                case                                                             member that is a string
//	Bedrock         a toolResult block in the content of a message    toolUseId      content: parts of text, or one of JSON
//
// The format is said by the caller, who made the request, and never guessed.
//
// # Guarantees
//
//   - Ids are exact: decoded from JSON, never trimmed, folded or repaired. A result
//     without an id is read as one with an empty id, which nothing can cite.
//   - Every result counts, also where an id repeats or no call of that id stands
//     before it. Text that looks like a result is text.
//   - A request that is not strict JSON (a member twice, invalid UTF-8), or is not
//     of the format, is an error that quotes nothing. There is then no witness.
//   - Where the provider keeps a part of the conversation, Stored says so, and a
//     witness made of it refuses every citation.
//
// # Not guaranteed
//
// What a provider's tools did on its own side (web search, code execution, remote
// MCP) is no result of the host and is not read. A client that changes the body
// after it was handed to us without saying so cannot be seen (F08). Bodies other
// than JSON are refused.
//
// # Use
//
//	r, err := wire.Read(wire.Anthropic, body) // the body of the request that was answered
//	if err != nil {
//		return err // no witness: every citation will be refused
//	}
//	w, err := findings.NewWitness(findings.Capture{Run: run, Served: r.Served, Incomplete: r.Stored, Marks: marks, Records: records})
//
// Where each request goes on from a response that the provider keeps, join the
// readings of all requests since the first: r.After(earlier).
//
// # Counted
//
// At each request of each recorded conversation every id of the whole set was cited
// as a fact. The host's part, a mark and a READY record for each result so far, came
// from a count that shares no code with this package, and so did the verdict that
// was expected of each citation. Admitted were exactly those served once.
//
//	                        conversations
//	                              requests
//	                                     results that they serve
//	                                           cited and admitted
//	                                                  refused: served twice
//	                                                         not yet served
//	                                                               never in it
//	tau-bench-airline         150  1808   6743    6155    292  6483 222110
//	pi-coding-sessions          1   436  99729   99729      0 95163   1308
//	openai-chat               117   249    207     204      0   169  43202
//	openai-responses           60   127    106     106      0    83  10860
//	anthropic-messages         49   110    117     117      0    99   8584
//	gemini-generate-content    33    81     82      54      0    45   2817
//	bedrock-converse           23    48     39      39      0    33   1608
//
// 31 results have no id: 28 of Gemini, and 3 in the set of openai-chat, where a
// recording goes on with Gemini. The last five lines are provider-recordings.
//
// Sources: rows F06 to F09, F15 to F17, F42 of docs/sources.md.
package wire
