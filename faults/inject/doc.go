// Package inject takes whole calls through the boundary, a store and a real
// redis-server while one message of theirs is spoiled, or while something is done
// to the server at exactly that message.
//
//	tool ── boundary ── redisstore ── proxy ──────> redis-server
//	 │                                  └ strikes the n-th message of one script
//	 └ appends a line to the file of entries
//
//	Wire    each script x each place x cut, slow, half-open, once and for good
//	Server  restart with and without AOF, SCRIPT FLUSH, maxmemory, a record that
//	        expires between two pieces, a ledger put back, a process killed inside
//	        a write, CLIENT PAUSE, a busy script, foreign types
//
// Each injection has a run, a client and a boundary of its own, so nothing of
// one is seen by another. What the section itself expects beyond what the checker
// knows (a fault that strikes once must not be seen by the model at all) is
// written into the line as "broken".
//
// # Guarantees
//
// The seed of an injection decides everything but the interleaving of goroutines
// and the client's own back-off: where a bulk is cut, how long something is late,
// effect and size of the call. Every wait has a limit. A fault that did not
// strike is not counted as injected.
//
// # Not guaranteed
//
// Late messages are late by up to half a second, not by minutes.
package inject
