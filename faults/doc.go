// Package faults breaks the way between Harness and Redis on purpose, and counts
// what became of every call.
//
//	proxy       between client and server: loses, cuts, delays or swallows exactly one message
//	inject      whole calls through the proxy, one message or the server itself spoiled
//	kill        processes killed and frozen in the middle of their calls
//	report      writes one line an injection, one line an entry of a tool body
//	checker     recounts both files and the Redis contents with code of its own; prints the table
//	cmd/faults  runs all sections of injections, then the checker; "make faults"
//	history, race, soak  concurrent histories against a model, races for the last of something,
//	            and minutes of everything at once; they run as tests
//
// # The report
//
// One JSON object a line. "kind" is one of three.
//
//	{"kind":"plan", section, fault, script, place, "asked":200}
//	{"kind":"not tested", section, fault, script, place, "reason":"..."}
//	{"kind":"call", section, fault, script, place, seed, ...}
//
// section and fault name a row of the table, script and place the combinations
// within it. A plan says how many injections a combination shall have; with
// fewer it is printed as not tested. A call has:
//
//	seed             repeats the injection
//	part             0, or the number of a further call of the same injection
//	base             what all keys of the run begin with: harness:v1:{<scope>:<run>}:
//	call             <turn>:<tool_call_id>; empty where no call was made
//	effect           read, write or unknown
//	sha256           of what the tool returns once it is entered
//	told, ran        READY or the code that the model was told, and whether the tool
//	                 ran: no, yes, unknown; both empty where nobody was told
//	agent_sha256     of the text of a READY
//	again            what a second call of the same name was told afterwards
//	listed           the run named the call as open or unresolved at the end
//	entries          of the tool body, as the runner counted
//	state, code      of the record at the end, as the runner saw it
//	retained         why the host holds the result: not_stored, late, conflict, expired
//	retained_sha256  of the bytes it holds
//	settled          what storing them later ended with; "ok" for success
//	gone             the injection itself took the record away, or the server's memory:
//	                 expired, foreign, server, put back
//	broken           what the section itself found wrong
//
// The file of entries has one line for each entry of a tool body, appended by
// the tool: base, a space, name.
//
// # What the words of the table mean
//
// Places: combinations of script and place with as many injections as were asked,
// and least: how many the one that has the fewest got. Injected: calls with part 0.
// Ran 0x and 1x: calls by the number of their lines in the file of entries.
//
// Doubled: calls with two lines or more there.
//
// Lost is a call for which any of these holds:
//
//   - the model was told READY, and the record is not READY with the very bytes:
//     agent result by the digest of what was told, raw by the digest of what the
//     tool returned. A record that the injection itself took away is no excuse;
//   - it was admitted (the ledger has its guard), and its record is neither ended
//     nor listed in the set of open calls; unless "gone" says why there is none, or
//     that the keys which would list it are somebody else's now;
//   - its tool was entered and returned a result, which is neither in the record,
//     nor in its settlement, nor in the host's hands with the same digest. A call
//     of which nobody was told, and one that the record calls unknown, ORPHANED or
//     open, is unknown instead: its process was killed, and the result with it.
//
// Unknown: calls whose model was told "unknown", or whose record has an unknown
// execution or is still open, after all that the library does by itself.
//
// Without TTL: keys on the server without an expiry, or with another expiry than
// the one that the record or ledger was born with.
//
// Wrong: everything else that is not as it should be. What was told of "ran"
// does not agree with the entries; a first call was told that it is a duplicate,
// or a second one was not; the runner's count differs from the file; budgets and
// sequence differ from the admissions; a field of a record that it does not
// name; a key that belongs to no run of the report; an entry that belongs to no
// call; what the section itself found.
//
// Lost, doubled, without TTL and wrong must be zero.
package faults
