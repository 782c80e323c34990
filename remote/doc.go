// Package remote lets tools run in another process and never guesses what became of
// a call: it is known by a receipt of the other side, or it is unknown.
//
//	model -> Toolset -> boundary -> proxy -> Transport ~~~> Server -> its own boundary -> tool
//	                       |                                   |
//	                 admission record,                   source record
//	                 observation (here)                  (there)
//
// A [Session] gives one boundary proxies for the tools of a [Server]. Each end has
// its own store, boundary and records; between them goes the protocol
// [Protocol], five methods, of which docs/remote-protocol.md has every message,
// field, limit and error. There is no other protocol to fall back to.
//
// # One call
//
//  1. The boundary here admits it. That PROJECTING record is the admission record;
//     the proxy reads it back from the session's own store before anything else, so
//     tools on another store submit nothing.
//  2. The request id follows from that record ([RequestID]). The journal is told.
//  3. The call is handed to the transport, once, ever. From here on only a receipt
//     says what became of it.
//  4. The server finds out who calls, asks its host, looks whether it knows the
//     request, and takes it through its own boundary under the effect that it
//     registered. It stores the result and reads it back before it settles.
//  5. The receipt comes with the result up to 64 KiB, or with a reference; then the
//     result is fetched in chunks and used once all of it fits its digest.
//  6. The observation (admission, what the proxy saw, receipt, whole result) is the
//     raw result of the call here; the host's projector gets the result itself.
//
// # States
//
//	admitted --> submitted --> settled_unstored --> settled
//	                  |                               ^
//	                  +------> unknown ---------------+  by a receipt only
//
// An unknown write, or unknown effect, refuses every admission of its run in every
// process: that is the barrier of the store. [Session.Reconcile] asks, stores, and
// lifts it. Nothing is ever submitted again by anybody here.
//
// # Guarantees
//
//   - A request is entered at most once by a server, however often it arrives. It
//     keeps 1,000 distinct requests apart, refuses the next, and evicts none.
//   - A refusal counts as "not run" only if it is bound to the request and says that
//     it will never be admitted; the server then withdraws the id. A receipt that
//     says "never seen" counts only from the very life of the server that the call
//     was sent to. Anything else after the hand-off is unknown: errors, aborts,
//     timeouts, malformed receipts, refusals of something in between.
//   - Who calls comes from the channel, for every method and every chunk anew. Ids,
//     fingerprints, packages and references grant nothing.
//   - Execution and storage are two questions. A result that the server could not
//     store is kept exactly, and nothing new is admitted until its host repairs it. A
//     result too large to be kept here is a success with a reference.
//   - success:false in a result is data.
//   - Late results keep their identity, on both sides.
//   - Closing, cancelling and aborting claim nothing about the other side.
//
// # Not guaranteed
//
// Exactly-once effects: a server that dies while a tool runs leaves an unknown that
// only its host can resolve ([Server.Resolve]). A server without a durable store
// forgets with its process, and answers unknown. Where a boundary redacts before it
// stores (boundary.Config.RedactBeforeStore), a result that this changes here no
// longer fits its digest and ends as PROJECTION_FAILED, and a restarted server
// cannot prove a call whose arguments it changed. For a read without a receipt the
// boundary has no ending of its own: it is an ERROR with [CodeUnknown] and "ran:
// yes"; the session says unknown. The same holds for what the other side refused:
// the proxy ran, the tool did not.
//
// # Rows that belong to the TypeScript framework alone
//
//	R05 half  a fresh toolset for each agent or child: a session has one boundary; make another
//	R15 half  normalizing null and undefined returns: results are bytes
//	R38 half  results that are not JSON: bytes of any kind are carried and kept
//	R48       proxies that keep manager and owner: there are no managers to clone
//
// # Use
//
//	server, err := remote.NewServer(remote.ServerConfig{PackageID: "billing", Boundary: boundary.Config{Store: store, ...},
//		Tools: tools, Authorize: allowed})
//	...
//	session, err := remote.NewSession(ctx, remote.SessionConfig{Transport: client, Boundary: b, Store: store,
//		Scope: scope, Package: pack, Projector: show})
//	tools, err := session.Tools(b)
//	set, err := boundary.NewToolset(b, tools...)
//	results := session.Dispatch(ctx, set, run, calls...)
//	if open, _ := run.Unresolved(ctx); len(open) > 0 {
//		_, err = session.Reconcile(ctx, run.ID(), open[0].Call)
//	}
//
// Sources: rows R01 to R60 of docs/scenarios.md, after "negotiated remote tool
// outcomes" in docs/sources.md.
package remote
