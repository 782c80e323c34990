// Package history asks of the store on Redis whether everything that several
// processes saw of it at once can be explained by one order of the messages.
//
//	parent            opens runs, starts workers, drops the script cache now and then
//	  worker 1..5     processes, two clients each, over connections that lose
//	                  requests and replies; every delivery is one operation
//	parent            sweeps what is left, reads everything, checks
//
// The [Model] is the Store contract of package canonical in a few hundred lines:
// one run, its calls in order, its counters. porcupine looks for an order of all
// operations that the model agrees with, in which no operation comes before one
// that had returned when it was sent. A history without such an order is proof of
// a broken clause.
//
// # What is in a history
//
// Admissions, savings, completions, sweeps, closings, deletions, settlements,
// resolutions and reads of one run after the other by ten clients, five
// operations each in each of four runs: 200 in all and the reads at the end. Two
// claims and six names a run are shared by everybody, so the clients meet: they
// repeat each other's messages, end each other's calls, and use up the budgets.
//
// # Operations without an answer
//
// A client that got no answer does not know whether its message arrived, or will.
// Its operation returns at the end of the history, so the checker may put it
// anywhere behind its sending, or last, where nobody can tell: behind a mark for
// the end of all that was answered, so that no time goes into the places at which
// it would have had no effect. The client's own
// retries are off; a message that is sent again is an operation of its own.
//
// # Time
//
// Whether a call is overdue is decided by the server's clock. Server and clients
// run on one machine and read one clock, so the time at which an operation was
// decided lies between its sending and its answer, and the model knows for most
// of them whether a due time had passed; for the rest it takes either answer.
//
// # What is not said
//
// A sweep looks first and ends afterwards, one call at a time: each call that it
// ended is an operation; that it left one out is checked only at the end, when
// nothing else runs. Reads that take two trips are made only then, too. Expiry is
// not in the model, nothing lives long enough; package storetest has it.
//
// # How it is known to find anything
//
// The tests run the same histories on stores with one line of one script broken,
// and each must be rejected.
//
// # What runs when
//
//	go test ./history              50 histories, and every broken clause
//	FAULTS=full go test ./history  500 histories
package history
