// Package logsearch searches logs for an agent: over files of an [fs.FS] and over
// anything that can be opened and read, record by record, in bounded memory.
//
//	sources ──lines──▶ records ──window, level, text──▶ page ──lines.Encoder──▶ raw document
//	(in order)   Parser                                 limit, bytes, cursor
//
// # What a record is
//
// A [Parser] says of each line whether it begins a record. Lines that do not,
// as those of a stack trace, belong to the record before them.
//
//	parser         a record begins with                          time without a zone
//	Log4j          [2016-12-19 20:39:48,918] WARN …              in Location, UTC unless set
//	RFC3339Lines   2026-01-02T03:04:05.678Z WARN …               in Location
//	JSONLines      one JSON object a line                        in Location; numbers in units of Epoch
//	PlainLines     every line                                    there is none
//
// A time that a line does not have is left out and never filled in. Times are
// turned into UTC. What stands in a file before its first record, which rotation
// leaves there, is one record without a time.
//
// # What a search is
//
// The model names text, levels, a window, sources, a limit ([Query]); each may be
// left out. Text is plain: there is no pattern language to get wrong or to spend
// time in. It is looked for in the record as it stands in the log, in all its
// lines, and in its message. The window includes both ends. A record without a
// time is never dropped by a window, since nothing shows that it is outside; the
// projector counts such records apart.
//
// Sources are read in the order in which the host gave them, and so records come:
// as they stand in the log. A source that the model makes up is refused.
//
// # How far it went
//
//	page is full, by records or bytes     cut, with a cursor
//	MaxScanBytes read                     cut, with a cursor; LOG_SCAN_LIMIT if nothing was found
//	source cannot be opened or read,      named as failed; the others are searched;
//	has not one line of its format, or    LOG_SOURCE_FAILED if nothing was found
//	a record over MaxRecordBytes, or one
//	that does not end within 2 x MaxScanBytes
//	all read                              end reached
//
// So "nothing found" comes only of a search that looked at every byte. A page that
// is exactly full has a cursor too: the next page tells whether there is more.
//
// A cursor names a source and a byte where a record begins, with a digest of the
// other arguments and of what stands before that byte. It stays good while a file
// grows, from one process to the next, and is refused with other arguments
// (INVALID_INPUT) or on a file that was cut or replaced (LOG_CURSOR_STALE). It is
// not signed: a made-up one only chooses where to begin, and the result says from
// where on was looked.
//
// # Not guaranteed
//
//   - That records are in order of time, within a file or from one to the next.
//   - That a log read while it is rotated is read whole; [Files] lists once.
//   - An end for an Open or a Read that ignores its context; it can only be left behind.
//   - Records over MaxRecordBytes are matched on their first bytes only, which the
//     result states. Messages over MaxMessageBytes are cut in it with a mark.
//
// # Use
//
//	sources, err := logsearch.Files(os.DirFS("/var/log/kafka"), logsearch.Log4j{}, "server.log.*", "server.log")
//	...
//	search, err := logsearch.New(logsearch.Config{Sources: sources})
//	...
//	b, err := boundary.New(boundary.Config{Codes: logsearch.Codes(), ...})
//	tools, err := boundary.NewToolset(b, search.Tool("search_logs"))
//
// A [Search] keeps no state and may be used by several goroutines. Errors hold no
// argument and no byte of the log.
//
// Sources: T116, T117 of docs/scenarios.md; RFC 3339.
package logsearch
