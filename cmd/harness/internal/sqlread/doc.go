// Package sqlread runs the SQL that a model wrote on an SQLite database, so that it can read and do nothing else.
//
// Looking at the first word of a statement is advice, not a guard: WITH may end in DELETE, PRAGMA may write, a function
// may load code. Here the database engine itself asks about every step of a statement while it compiles it, and what is
// not on the list of permitted steps fails the whole statement before its first row.
//
//	layer                     refuses                                                  proved
//	authorizer                every step that is not a read, by default                alone, on a writable file
//	compiled statement        one that the engine does not call read only              with the layers below
//	read-only transaction     writes, with query_only pinned when the connection opens with the layers above
//	image                     the database is a string in memory; it cannot be written by the type of its file
//	temporary files           none on disk; a bounded piece of memory for a sort       LimitError
//	limits                    time, rows, bytes of a result, bytes of one value        LimitError, Table.Cut
//
// # Guarantees
//
//   - A statement that would write, attach, change a setting or leave its transaction is a [*RefusedError]; nothing of it ran.
//   - Exactly one statement runs per call. A second one behind a semicolon is refused and the first does not run.
//   - A statement ends at the time limit or with its context, whichever comes first, even when it would never end.
//   - A [Table] that is not whole says so and why. A first row that is too large is an error, never an empty table.
//   - Text comes back as it is stored: a date stays the text that the database holds.
//   - Errors hold no part of a statement and none of the engine's messages, which quote statements.
//
// # Not guaranteed
//
// Memory of the engine is bounded by its page cache, the limit on one value and the limit on temporary bytes, not by one
// single number. The authorizer knows the tables that existed when the database was opened. A statement that is legal can
// still be slow up to the time limit.
//
// # Use
//
//	db, err := sqlread.OpenImage(image, sqlread.Limits{})
//	...
//	defer db.Close()
//	table, err := db.Table(ctx, "SELECT Name FROM Artist WHERE ArtistId = ?", 1)
//	...
//	err = db.Read(ctx, statement, func(rs *sql.Rows) error { return encode(w, rs) })
//
// The engine is SQLite compiled to Go, so a machine with Go alone can build it. A [Database] may be used by several
// goroutines; each call has a connection of its own.
package sqlread
