// Package rows carries SQL results: [Encode] writes a *sql.Rows as one JSON
// document without losing a digit, a NULL or a duplicate column name, and [New]
// is the projector that reads such a document.
//
//	*sql.Rows --Encode--> raw document --New(…).Project--> agent result, facts, coverage
//
// # The document
//
//	{"format":"rows/1",
//	 "database":"chinook","statement":"SELECT …","parameters":[…],"read_at":"…",   each optional
//	 "columns":[{"name":"Country","type":"NVARCHAR"},{"name":"Total","type":"NUMERIC"}],
//	 "rows":[["USA",523.06],["Canada",303.96]],
//	 "row_count":2,"truncated":false}
//
// Rows are arrays, since an object would collapse columns of one name. The end
// is written last: a document without row_count and truncated was cut on its
// way and is refused by the projector. A cell is
//
//	NULL                           null
//	integers to 64 bits, signed    number, all digits
//	uint64, decimals, big numbers  string of digits
//	floats                         number, shortest that reads back; NaN, +Inf, -Inf as strings
//	booleans                       true, false
//	text, and bytes that are text  string, exact
//	other bytes                    {"base64":"…"}
//	times                          RFC 3339 with nanoseconds, UTC
//
// What has no exact text (a driver's own struct or list) is an error that names
// the column; cast it in SQL.
//
// A cap ([Encoder]) ends the rows early and says so: truncated is true,
// truncated_by names the cap, and row_count is a lower bound that includes the
// row that did not fit. A single row over the byte cap therefore never looks
// like an empty result. More result sets than the first count as a cut too.
//
// # What the projector says
//
//	at least one row                     EVIDENCE_FOUND
//	no rows, columns, not truncated      NO_EVIDENCE with database, statement, parameters
//	no rows but truncated; no columns;   error
//	cut, unreadable, or an error object
//
// A row is an item: COUNT(*) = 0 is a reading of zero and SUM over nothing is a
// reading of null, both found. The model sees the first rows with clipped cells,
// facts name the row count ("exactly", "at least"), the columns of a single
// row, or the first few rows by their key. Text from the database is quoted
// data everywhere.
//
// Not promised: that the statement was read-only (use a read-only transaction or
// account), or that [Fingerprint] knows your dialect.
//
// Sources: T114, T115, T121 of docs/scenarios.md; RFC 8259, RFC 3339.
package rows
