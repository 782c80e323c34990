// Package retrieval reads what calls left behind: it lists, finds and reads
// results in verified chunks, exports whole runs, and answers whether a host may
// drop its own copy of one. It has no way to a tool.
//
//	                     who      what is served                     verified
//	List, Find           host     metadata, no bodies                form
//	GetReference         host     the reference of a call            form
//	Read                 anybody  chunks of the redacted view        the whole raw result, before the first byte
//	Open, Record         host     raw bytes, the whole record        the same; ledger, order, operation key (unless redacted before storing)
//	Protected,           host     may the host's copy go?            the same; ledger, order
//	Acknowledge
//	Delete, DeleteRun,   host     bodies go, guard and order stay    reference and record fit
//	Prune
//	Export, Verify       host     a run as one file, checked offline everything
//
// A [Reader] is bound to one scope by the host. An [evidence.Reference] identifies
// and grants nothing: of another scope, of another run, never stored, deleted and
// expired are one and the same [ErrMissing], equal in every field. Package
// retrieval/tools has the two tools that a model may be given.
//
// # Views
//
// What a reader sees of a raw result is its view: bytes that are not UTF-8 as
// U+FFFD, one for each run of them, then redacted. Offsets count bytes of the view
// and lie between characters; a chunk has at least one character, so that every
// size makes progress. The chunks of any size, put together, are the view, whose
// digest is in each of them. Who gives that digest back with the next offset
// never gets text of another view: a changed policy or rule is [ErrViewChanged].
// Where redaction fails there is no view, [ErrWithheld]; the record stays.
//
//	view, at := "", int64(0)
//	for at != retrieval.LastChunk {
//		c, err := reader.Read(ctx, ref, retrieval.Part{Offset: at, Max: 4096, View: view})
//		if err != nil {
//			return err
//		}
//		use(c.Text)
//		at, view = c.Next, c.ViewSHA256
//	}
//
// # Guarantees
//
//   - Closed: bytes that do not match what was recorded of them are [ErrCorrupt]
//     before one of them is served, by every verb.
//   - Bounded: pages (100 entries, 1,000 calls looked at), chunks, the size of a
//     raw result, kept views, receipts, snapshots and cursors. Read slots do not
//     queue: [ErrBusy].
//   - A look-up by id without a run asks 1,000 runs at most. [ErrLookupBudget] is
//     not [ErrMissing], and is never told as it.
//   - Cursors survive what is admitted and opened in between, and are refused by
//     any other list.
//   - Evidence goes at the end of its life or by an explicit act, never to make
//     room. What is unresolved or open is not deleted.
//   - An acknowledgement needs a stored result (null is one, a status is none) of
//     this very call, tool and scope. It is read anew and verified, and nothing is
//     written by it.
//   - Errors are [*Error] or [*FileError]: field, number and limit, never a body.
//   - The file of an export shows any altered, missing, added or exchanged byte
//     or line, and which record is the first that does not fit.
//
// # Not guaranteed
//
// The store keeps no digest over a call's tool, principal, effect, failing stage
// and times, nor over which of facts and coverage there are: a flipped byte there
// is found only where it makes the record unreadable. A digest is no signature:
// whoever can write the store or the file can write digests too; keep
// Manifest.SHA256 elsewhere. A view hides what its redactor finds and no more.
// Calls that are admitted into a run that a list has passed are not in that list.
// An expiry is the store's; between two chunks a record may go, and then the
// second is ErrMissing. Several readers have their slots and views each; those
// made by [Reader.In] share them.
//
// # Calls of the reading tools
//
// evidence_read and evidence_list are ordinary tools: each call has a record, a
// budget unit and a guard, as any call has. But what they return is a copy of
// evidence and not evidence: this package does not list, find, read, or
// acknowledge calls of tools with these names. Export has them, since it is the
// whole run; DeleteRun and Prune take them.
//
// # Where the source documents disagree, and what holds here
//
//	C1   raw to the model on a fallback: never, unless the host allows it where it projects
//	C2   writes: refused unless the host's policy admits them; then the barrier holds
//	C3   one record: what was stored at birth and at the end never changes, the state moves once
//	C4   refusals are events for the observer and no records, so nothing here lists them
//	C5   bytes go at the end of a record's life; what was reserved of a scope is counted
//	     until its run's life is over, the run is closed, or its records are deleted
//	C6   a result that could not be stored is RESULT_NOT_STORED for the model; the host has
//	     it, and Protected stays true until it is settled
//	C7   a used id is a duplicate; an answer is looked up, not served again by calling
//	C8   limits and offsets are both in bytes of UTF-8, and no character is ever split
//	C9   reading tools are off unless the host adds them, serve the view alone, and fit the
//	     model's limit; raw is for the host
//	C10  raw is kept verbatim for the host and redacted for every reader; a host that may
//	     not keep it redacts before storing, and the digest is over what is stored
//
// # What belongs to the TypeScript framework alone
//
//	E06            precedence among plugins: there are none
//	E07            registry of storages: the store is an argument
//	E28, E32 half  identity and in-place changes of result objects: results are bytes, copied once
//	E33, E80, E86, E87 half  queues and continuation of asynchronous tools: no such tools here;
//	               late results go to Config.OnRetained of the boundary
//	E35            direct model calls: this module makes none
//	E52, E53, E55  authenticity by object identity: an outcome is a value that only the
//	               boundary makes; here correlation is by evidence id, call, tool and scope
//	E57, E58, E95  commits, compaction and roll-over of a conversation: the host owns it and asks
//	               Protected; snapshots have receipts, not messages
//	E59            deliberate clearing: the host's own act on its own copy
//	E62            coordination inside one process: the store coordinates all of them
//	E66, E67, E70, E71  serialization hints and incremental encoding: raw bytes are not encoded,
//	               and counted as they are written
//	E96 half       hand-over at the end of a runtime: Shutdown of the boundary lists what is left
//
// Sources: rows E36 to E51, E54, E63, E64, E74, E83 to E85, E88, E91 of
// "durable tool evidence"; see docs/sources.md.
package retrieval
