// Package kill ends processes with SIGKILL in the middle of their calls, and
// looks afterwards, from outside, at what they left.
//
//	parent  opens a run ── ticket ──> child 1  joins, makes call 1 ... killed in call 1
//	                                  child 2  makes call 1 again, then call 2 ... killed
//	                                  ...
//	                                  last     makes all of them again, looks each up
//	parent  waits until all are overdue; lists, sweeps, resolves; restarts Redis from
//	        its append-only file; the checker recounts report, entries and contents
//
// A child is the program itself, started again (package workers). It tells each
// phase of the call in which it is to die through a pipe, before it goes on: the
// phases are told from inside the body and the projector, from around the store,
// and from below the Redis client, where half a message is on the wire. Half of
// the children stop in the phase that was drawn and are killed there; the others
// go on, and are killed within 1.5 milliseconds. The histogram counts all of them
// by the last word that was heard.
//
// # What must hold
//
//   - A tool body was entered at most once for each id, by the file to which it
//     appends a line before it does anything else, whoever asked again.
//   - Every admitted call is READY, ERROR, or listed as open. READY has the very
//     bytes that the tool returned.
//   - A process that was started again is told that the call is a duplicate, and
//     Lookup gives it the stored answer, byte for byte.
//   - Outstanding and Unresolved name exactly the open calls that Redis has, with
//     their due times. A sweep ends each as what it must be: ORPHANED, or
//     OUTCOME_UNKNOWN, or PROJECTION_FAILED where the result had been saved.
//   - A run admits nothing while an effect is overdue or unknown, and admits again
//     once it was resolved.
//   - Budgets, sequence, order and bytes equal what was admitted; every key has
//     the expiry it was born with. The checker of this module counts that.
//
// [Frozen] is the other half: an owner that is not dead but slow. Its process is
// stopped until its calls are overdue, and goes on while somebody sweeps.
//
// # What runs when
//
//	go test ./kill              100 kills, 24 frozen calls
//	FAULTS=full go test ./kill  2,000 kills, 200 frozen calls
//
// # Not shown
//
// The machine itself does not lose power: what the kernel has, it keeps. That is
// the matter of appendfsync, which redisstore/doc.go has a table about.
package kill
