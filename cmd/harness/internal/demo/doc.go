// Package demo shows what becomes of a tool call at the boundary, with the recorded calls of a real agent on a real
// database and with searches of real logs and of a bank's articles, and checks every word of what it shows.
//
//	recorded   the calls of three recorded conversations, exact ids and arguments, turn by turn through Toolset.Dispatch;
//	           the tools of package sqlagent run for real on the Chinook database
//	messages   four messages of our own, all calls of each in one Dispatch: broker logs (logsearch, lines), a bank's
//	           articles (docsearch, hits) and the database; with a window and counts, with nothing to be found, with a
//	           search that stops before the end, and in Chinese
//	refused    calls that must not run, or not again: a tool's budget, a DELETE, a tool that writes, an unsafe id, another
//	           run's id, an id that was used, with and without a turn, the run's budget, the run's deadline
//	facts      what the records alone say of the run, once it is closed
//	checks     everything above against what must be true; the store is looked at from outside, too
//
// The store is embedded, or the Redis that [Options] name. On the embedded one the clock is moved past the run's deadline;
// on Redis a second run is opened for a moment, since nobody's clock is moved there.
//
// # What is checked
//
// Each code and each "ran" against the script. Entries into tools, counted by the tools and once more from the entries
// file, against the admissions that the ledger counts. Each recorded call's result against the recorded one and the
// published expectation. Each stored request, raw result and agent result, read by a second client, against what was sent
// and returned, byte for byte. The database against its published digest and row counts. The keys of the run, found by
// SCAN with a client of its own: all with an expiry, one record for each admission, and none left at the end unless they
// are to be kept. Of the messages:
//
//	found              levels in a window, articles with a name, rows of a table: as published with the data
//	nothing found      counted zero and end reached, in the tool's own account; every file, every article in the coverage;
//	                   and the files read again without any of our search code
//	stopped            the same arguments, and a tool that reads a third of the log: an error with its code, no absence;
//	                   a full page: "at least"
//	at once            each tool waits inside its body for the others of its message, and leaves after those asked behind
//	                   it; the answers come in the order asked
//	turns              call_0 of each message is a call of its own: record, evidence id, operation key, place in the order
//	Chinese            the same bytes in request, raw result, agent result, facts, and as the screen prints them
//
// The messages' calls wait for each other for ten seconds at most, once in a demo: were they run one by one, the demo
// would go on and say so.
//
// What is not as it must be is a failed [Check] in the [Document], and the demo goes on, so that one run tells everything.
// An error of [Run] means that it could not go on.
//
// # What is left behind
//
// Nothing, unless asked: the keys of the run are removed, also after an interrupt and after a failure, and no key of
// anybody else is touched. A run's keys have one prefix that ends in its id, which chance makes.
//
//	document, err := demo.Run(ctx, demo.Options{Redis: address}, demo.NewText(out))
package demo
