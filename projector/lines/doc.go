// Package lines carries the results of log searches: [Encoder] writes what a
// search returned as one JSON document, and [New] is the projector that reads
// such a document.
//
//	records --Encoder.Begin, Add, Close--> raw document --New(…).Project--> agent result, facts, coverage
//
// # The document
//
//	{"format":"lines/1",
//	 "sources":["application-logs"],                       what was really searched; at least one
//	 "window":{"from":"2026-01-02T03:00:00Z","to":"…"},    as resolved; null: no filter on time
//	 "query":"level:ERROR","query_is_default":true,        as it ran; "" is every record
//	 "limit":100,"order":"newest_first",                   limit of the page; left out: none
//	 "retained_from":"…","cannot_cover":[{"what":"…","reason":"…"}],"mock":true,    each optional
//	 "records":[{"time":"…","level":"ERROR","service":"checkout","instance":"i-1","id":"…","message":"…"}],
//	 "returned":1,
//	 "failed":[{"source":"…","reason":"…"}],"cursor":"…","cut_by":"limit",          each optional
//	 "end_reached":true}
//
// The end is written last: a document without returned and end_reached was cut
// on its way and is refused. Of a record only the message is required. A time
// that the log does not have is left out and never invented: "now" is not when
// something was logged. A message that is no UTF-8 travels as "message_base64".
// Other members are allowed and not looked at.
//
// # What counts as what
//
//	at least one record                              EVIDENCE_FOUND
//	none, end reached, nothing cut or failed         NO_EVIDENCE with sources, window and query
//	none otherwise; "error"; "success":false with    error
//	records or without the end; mock data; unreadable
//
// Log tools like to answer "success":false both when nothing matched and when
// they failed. Here the two differ in type: only a whole document with
// end_reached and no error is an absence, whatever it says of success.
//
// Returned is what the page holds and never what the log holds. It is "exact"
// only when the end was reached on a page that is not full, with nothing cut or
// failed; else "at least". A full page counts as cut even if the service claims
// the end, since many derive that claim from the number they were asked for;
// ask for one record more than you expect.
//
// The model sees window, counts by level, service and message pattern, and the
// first records. A pattern is a message with its numbers, hexadecimal words and
// UUIDs masked. Facts state the same counts with first and last time. Text from
// the log is quoted data everywhere.
//
// # Limits
//
// Shown are 20 records of 240 bytes a message, 10 levels, 10 services and 8
// patterns unless set; less where the limits of the call ask for it, and then the
// result says what is missing. Mock data, which tools without a backend produce,
// is refused unless [Options.AllowMock] is set, and is marked then.
//
// Not promised: that the service's filter worked. Records outside the window are
// counted as outside_window, since a tool that ignores its window looks like one
// that found something.
//
// Sources: T116, T117, T121 of docs/scenarios.md; RFC 3339.
package lines
