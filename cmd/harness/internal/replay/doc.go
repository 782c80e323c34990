// Package replay sends recorded conversations through the boundary, with a tool that returns the recorded result, and
// counts what becomes of every call.
//
//	recorded                    sent to the boundary as                 counted in
//	a conversation              one run, its calls in their order
//	a call                      an envelope with the exact id, name     calls, and one of admitted and refused
//	                            and arguments; the tool reads
//	  without an id             the same, with an empty id              no_id, and refused: INVALID_TOOL_CALL_ID
//	  with an id that was used  the same; with Options.Turns the index  refused: DUPLICATE_TOOL_CALL, where (turn, id)
//	                            of its message is the turn              repeats
//	a result                    what the tool returns, byte for byte    results, raw_bytes
//	  that the model can get    what the projector text makes of it     ready, agent_bytes
//	  that is none              nothing: the tool fails                 unanswered
//
// # What is counted
//
// Every recorded call is sent, whatever is wrong with it: it is the boundary that refuses. So a name or an id outside of
// its alphabet is in refused under the code for that, and so are arguments that are not one JSON object. Toolset is not
// used, since recorded tools have names of any form and no definitions.
//
// calls = admitted + all of refused. Admitted is counted by the store, and must be what the tools count. An admitted call
// that is not ready has failed: its tool had no result (unanswered), or the projector could not judge it, which for
// [text] is a result that is empty, an empty list without a coverage, or the tool's own error object. The text form says
// how many failed with which code; the JSON form has admitted and ready alone.
//
// raw_bytes are what the tools of admitted calls returned, kept or not; agent_bytes what the model got of the ready ones.
// A result that answers no recorded call is sent nowhere and counted nowhere.
//
// raw_mismatch: once a conversation is closed, the raw result of every ready call is read through a second store with a
// client of its own (on a local store, which is one process's, through the same), which verifies its digest, and compared
// with the recording. One that is missing, damaged or other
// than the recording counts. It must be 0.
//
// # Guarantees
//
//   - The same files give the same counts, on every store and however many conversations run at once ([Parallel]).
//     Budgets are unlimited, and limits of time are so long that a busy machine does not meet them; limits of size are
//     the defaults.
//   - A file that cannot be read is told with line and reason, nothing of it is sent, and the others go on.
//   - Nothing is left in a Redis unless asked, also after an interrupt or a failure, and no other key is touched. Memory
//     stays within a few times the largest file.
//
// # Not guaranteed
//
// That a recorded tool only read: what is replayed is its result, nothing runs, so every call goes as a read.
//
//	document, err := replay.Run(ctx, replay.Options{Files: files, Turns: true}, replay.NewText(out))
package replay
