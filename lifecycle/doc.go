// Package lifecycle is the life of one call's record: its three states, the only
// two transitions between them, and the closed list of codes in which every
// other ending is told. It is pure; it does no I/O and knows no store.
//
//	   admitted
//	      |
//	      v
//	+------------+   result projected    +-------+
//	| PROJECTING | --------------------> | READY |
//	+------------+                       +-------+
//	      |
//	      |   failed, too large, unknown,   +-------+
//	      +-------------------------------> | ERROR |
//	          orphaned, cancelled           +-------+
//
// READY and ERROR are final. READY carries EVIDENCE_FOUND or NO_EVIDENCE and no
// code; ERROR carries the evidence status ERROR and a code. What becomes known
// later (a late result, a host's verdict on an unknown effect) is a settlement
// beside the record and never changes it.
//
// Apart from its state a call has an [Execution]: was the tool's body entered,
// and is it known how that ended. It has three values, and Unknown never turns
// into Completed by itself:
//
//	NotStarted   the body was not entered and will not be       ran: no
//	Completed    the body was entered and has ended             ran: yes
//	Unknown      it may have run, or may still be running       ran: unknown
//
// Each [Code] has a fixed text for the model in which nothing is interpolated,
// says who must act and whether a new call can help, and names the executions
// that it may be reported with. A code with more than one (CANCELLED) is told
// apart by the execution beside it.
//
// Sources: rows C13 to C21, C31, C32, A17 of docs/sources.md.
package lifecycle
