// Package findings says whether an id that a model cites may be used at all: it
// must name one result that was really served to the model, once, and executed.
//
//	request that was answered --wire--> served --+
//	host's own structures ------------> marks ---+--> Witness --+
//	canonical records ----------------> records -+              +--> Admit --> verdict for each citation
//	proposed call, or final answer ---> Split ----> Declaration -+      |
//	                                      |                             +--> Ledger, Event
//	                                      +--> arguments without _findings: schema, tool, record
//
// The check is structural (F03): it proves an identity. That the model reads the
// result rightly, and that the result is true, it does not prove.
//
// # What is admitted
//
// A citation names a result by its id. It is admitted when
//
//	in the request that was answered, the id stands exactly once as a result
//	the host's one mark of that id says: executed, in this run or in one that it continues
//	and, where it is cited as        the record says
//	  fact                           READY, EVIDENCE_FOUND: backs a fact
//	                                 READY, NO_EVIDENCE: backs the absence, inside its coverage, and no fact
//	  ruled-out                      the same; on an absence the ledger has a row that says so
//	  open, noise, nothing           nothing is asked of the record, and nothing is backed
//
// All else is refused, each for its own reason ([Reason]): never served, served
// twice, without a mark, a notice that the call was not made, another run's; a
// record that is open, ended as ERROR, expired, unreadable or was not looked up. A
// missing or oversized witness refuses every citation, and reserved metadata that
// cannot be read refuses the call that carries it: a citation must not get away by
// being unreadable. One refused citation refuses its call, and none of the calls
// beside it.
//
// # Who says what
//
// What a served message is (a result, a ticket in place of one, a notice) is said
// by the host that put it there, with a [Mark] in its own structures. It is never
// read from the message: a result that looks like a ticket is a result (F10).
// Whether the recorded text was served is found by digest, for information; it
// does not decide. No identity is guessed from position, tool name or text, and
// nothing is borrowed: not from the request of a failed attempt, not from a sibling
// of the same message, another run or the wider transcript (F07).
//
// # Guarantees
//
//   - [Admit], [AdmitAnswer] and [Resume] are pure: no I/O, no clock, no model, no
//     budget; the same input gives the same verdict, from any number of goroutines.
//   - Bounds hold on both sides exactly: [MaxResults], [MaxIDCharacters], [MaxFrame].
//     Over one of the first two everything is refused, nothing is dropped.
//   - The refusal that a model reads is constant. Reasons are for the host, so that
//     a refusal does not tell what exists elsewhere.
//   - Arguments lose the reserved member and nothing else, byte for byte.
//   - A [Ledger] only grows. What a refused proposal declared is in it for diagnosis
//     and changes neither standing, offer nor conflict.
//   - Stored forms have a version, are checked whole before use, and go through one
//     redactor. A proposal that cannot be read refuses its call on resuming.
//
// # Not guaranteed
//
// Tokens that were streamed are drafts: they are not buffered, and a denied answer
// does not take them back (F28). A client that rewrites a request after it was
// handed to the reader cannot be seen (F08). A witness, a ledger and a stored
// proposal are trusted state of the host. They carry no signature and are no
// sandbox against a host that changes its own run (F33).
//
// # What the boundary calls, and where
//
// Armed for a boundary or a toolset; not armed, it calls nothing of this and
// captures nothing (F34). Armed twice is an error of the constructor (F49).
//
//	construction   CheckTools(tools...)                      its error joins the ConfigError
//	Definitions    AddArgument(schema, ArgumentSchema(Offer{})) for tools that do not own the name
//	per message    the host hands over one *Witness, made by NewWitness, with the calls of one model message
//	preflight      in checkRequest, after ParseRequest of the whole and before checkTool:
//	                 parts, err := Split(request)            not for a tool that owns the name
//	                 request = parts.Arguments               digest, operation key, schema, tool, record
//	                 a := Admit(witness, parts.Declaration)  refused: findings.Code, no record, no budget
//	               and then, refused or not, ledger.File(Origin{Call: name}, a) and the event a.Event(identity)
//	outcome        keep MarkExecuted(identity, Outcome.Text()) when the body was entered, else
//	               MarkNotDispatched(identity, Outcome.Text()); a call whose execution is not known has no mark
//	suspend        EncodeProposal(Propose(witness, name, tool, request as emitted)) into the record's reserved field
//	resume         DecodeProposal, then Resume before anything else; on an error of decoding Resume(nil, ...)
//	answer         AdmitAnswer(w, RawAnswer, text), then the host's middleware, then AdmitAnswer(w, TransformedAnswer, text)
//	snapshot       EncodeLedger, DecodeLedger
//
// Before NewWitness the host asks Store.Heads for the calls of its marks, in one
// batch, and makes RecordOf(identity, head) of each. Records are needed for ids that
// are cited as fact or ruled-out; reading none costs nothing, and refuses those.
//
// # Use
//
//	r, err := wire.Read(wire.Anthropic, body) // the request that was answered, as sent
//	...
//	w, err := findings.NewWitness(findings.Capture{Run: run, Continues: earlier,
//		Served: r.Served, Incomplete: r.Stored, Marks: marks, Records: records})
//	...
//	parts, err := findings.Split(request)
//	if a := findings.Admit(w, parts.Declaration); a.Refused() {
//		return refusal(findings.Code) // constant text; the reasons stay here
//	}
//	run(parts.Arguments)
//
// What the model may be told to cite says NewOffer(w, ledger).Text().
//
// Differences from the document this follows: a record must be READY for what is
// cited as fact or ruled out; a result without a mark is refused instead of taken
// as executed; an answer that is no single JSON object is searched for the member,
// too. Judgements by a second model and values contingent on a finding have no row.
//
// Sources: rows F01 to F49 of docs/sources.md.
package findings
