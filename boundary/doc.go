// Package boundary is the gate through which every tool call of an agent goes,
// once.
//
// # One call
//
// [ToolBoundary.Invoke] takes a [Run], an [Envelope] (the call as the framework
// and the host gave it) and an [Action] (what to run), and gives one [Result]:
//
//  1. Preflight, without I/O, first failure wins: id and turn; the envelope's run
//     is this run; the request is one JSON object; what it cites, where findings
//     are armed ([Config].Findings); the tool's own check of its arguments;
//     authorized; effect allowed; run active; deadline; context.
//  2. Admit, one script in the store: duplicates, deadline, barrier, capacity and
//     budgets are decided there, in the store's time, and the record is created
//     with everything else. A refusal leaves nothing behind.
//  3. Execute, at most once per admission, under the earliest of run deadline,
//     tool timeout and the caller's context. Panics are caught.
//  4. Raw over its limit ends the call as RESULT_TOO_LARGE. For effects other
//     than read the raw result is saved before anything else happens to it.
//  5. Project, on a private copy, under its own time limit.
//  6. Complete, one script: PROJECTING to READY or ERROR with all the rest.
//  7. The run's tracker notes the name; the outcome is what was stored.
//
// A caller who goes away strands nothing: the writes that admit and end a call
// run on a context of their own with a short limit.
//
// # Two faces
//
// Every ending has two. [Outcome] is for the model: the projected result, or a
// code with its fixed text and whether the tool ran. No field, method or format
// verb of it leads to raw data, a cause, a key or a stack. [*Error] is for the
// host: code, operation, identity, and the cause behind Unwrap. Neither text
// ever has arguments, tool output or the text of a foreign error.
//
// # Guarantees
//
//   - A tool body is entered at most once per admission, and a call name is
//     admitted at most once per run, from any number of processes.
//   - The calls of one message ([Toolset.Dispatch]) are admitted in its order, so
//     that budgets, duplicates and reports do not depend on which was faster.
//     k reads of it that start at once and end together take two trips in all.
//   - Every outcome says whether the tool ran: no, yes or unknown. Unknown never
//     becomes success by itself.
//   - An effect whose outcome is unknown stops all further calls of its run until
//     a host resolves it ([Run.Resolve]).
//   - A result that could not be stored is handed to the host ([Retained]) and
//     listed by [ToolBoundary.Shutdown] until [ToolBoundary.Settle] stores it.
//
// # No guarantees
//
// Effects in the outside world are not exactly-once: hand [Input.OperationKey]
// to services that can de-duplicate. An executor that ignores its context cannot
// be stopped, only left behind; its late result reaches Config.OnRetained.
// Nothing protects a host from what it tells the boundary itself.
//
// # Where this differs from its source documents
//
// The turn is part of a call's name where the host sets it. Raw results of read
// calls are stored with their completion, not before, which saves a round trip.
// A denial is an event for the [Observer], not a record. There is no default
// scope. A raw result over its limit is an error without raw.
//
// Use: see Example. Test your own program on redisstore/embedded or on package
// fakes.
package boundary
