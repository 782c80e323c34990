// Package canonical says what a call is called, what it was asked, what its one
// record holds, and what every store of such records promises.
//
// # Names
//
// A call is named by its turn and its tool_call_id inside one run; a run by its
// id inside one scope. Names are used exactly as the framework gave them. They
// are never trimmed, folded, hashed, shortened, repaired or invented: whoever
// cites the id later must find the record, and two ids that differ must never
// meet. So the parsers refuse what would not survive a key, a log line or a
// wire, and say which rule was broken without repeating the text.
//
//	tool_call_id   1 to 512 bytes of A-Z a-z 0-9 . _ : | / + = @ ~ -
//	turn           0 to 32 bytes of A-Z a-z 0-9 . _ -
//	run id         1 to 128 bytes of A-Z a-z 0-9 . _ -
//	scope fields   0 to 256 bytes of valid UTF-8 each, not all three empty
//
// Where a provider uses an id twice in one run, a host that sets the turn makes
// (turn, id) the name of the call. Unset, the id alone names it.
//
// # Requests
//
// A [Request] is exactly one JSON object, kept byte for byte as it was sent and
// digested over those bytes. Numbers are never decoded. Duplicate member names,
// invalid UTF-8 and lone surrogates are refused at any depth, so that no two
// parsers can read two different calls from one text (RFC 8259 leaves all three
// open; RFC 7493 forbids them as we do).
//
// # Records
//
// There are three views of one record, and they are three types. [Head] holds
// small metadata, facts and coverage; [View] adds the agent result; [Record]
// adds request and raw result and is for the host alone. A type that has no raw
// field cannot leak it.
//
// # The store
//
// [Store] is the contract, in numbered clauses K01 to K71 on its parts. Package
// storetest runs one subtest for each clause against any implementation. All
// deciding is done by the store, atomically, in the store's own time; clients'
// clocks are compared with nothing.
//
// Sources: rows C02, C04, C08 to C11, C13 to C15, C22 to C29 of docs/sources.md.
package canonical
