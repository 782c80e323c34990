// Package sqltool lets an agent read a database: one statement, in a read-only
// transaction that is never committed, with caps on time, rows and bytes, over any
// driver of [database/sql].
//
//	arguments ──shape, size, one statement, Checker──▶ BeginTx(ReadOnly) ──Query──▶ rows.Encoder ──▶ raw document
//	            in preflight, costs nothing            rolled back, always          caps, types, digits
//
// # What keeps a statement from writing
//
// Three things can, and none of them is this package:
//
//	guard                    who enforces it     what it does not stop
//	an account that can      the server          nothing that the account may do
//	only read
//	the engine's authorizer  the engine, through [Checker] or on the connection   (SQLite has one)
//	a read-only transaction  the server          functions that act at once: sequences in some engines, locks, files, other servers
//
// What is here is the transaction, and the place where a guard is put: a [Checker]
// is asked about every statement, in preflight and once more before it runs. Put
// the engine's authorizer there, or a parser that knows the dialect. A test for
// the first word is no guard, and none is offered: WITH may end in DELETE, EXPLAIN
// ANALYZE runs what it explains, a SELECT may call a function that writes a file.
// Who relies on account and transaction alone writes [Unchecked] out.
//
// # One statement
//
// A read-only transaction does not outlive "COMMIT; DELETE …", and some drivers
// run all that is in a text. So a statement with a semicolon anywhere but at its
// end is refused, without reading it: quoting and comments differ between
// dialects, a byte does not. A text value with a semicolon is bound as a
// parameter. Where checker or driver refuse a second statement themselves,
// [Config.AllowSemicolons] lifts the rule. It holds for engines that separate
// statements by semicolons only; SQL Server is none of them.
//
// # Guarantees
//
//   - The host opens the database. Arguments have no data source name, no host and
//     no user, and errors and results have none either.
//   - The transaction is asked to be read-only; a driver that says it cannot fails the
//     call. It is rolled back whatever happened.
//   - Rows, bytes and time are capped. A result that met a cap says so; one whose
//     first row is over the cap is an error, never an empty table.
//   - Integers keep 64 bits, decimals their digits, in results and in parameters. A
//     number that a parameter cannot hold exactly is refused.
//   - A failure has a code, the same for all drivers where SQLSTATE or [Config.Classify]
//     tells it, and a text that never changes.
//
// # Not guaranteed
//
//   - That a driver keeps the transaction read-only when it says so; [Tool.Probe]
//     tries, with a statement that has to fail.
//   - That a driver ends a statement when its context does. One that does not is left
//     behind by the boundary.
//   - That a session is as it was: a statement that sets a variable of the session,
//     where account and checker let it, may be felt by the next on the same
//     connection.
//   - Memory of the server, and of a driver that reads a whole result at once.
//
// # Codes
//
// [Codes] are registered with the boundary. A refusal in preflight is INVALID_INPUT.
//
//	SQL_REFUSED       the checker, the account or the read-only transaction did not permit it
//	SQL_INVALID       the database could not run it: syntax, names, types
//	SQL_TIMEOUT       not done within the time of one statement
//	SQL_TOO_LARGE     one row, or the names of the columns, are over the bytes of a result
//	SQL_UNREADABLE    a column has a type without an exact text; cast it
//	SQL_UNAVAILABLE   the database could not be asked
//
// # Use
//
//	db, err := sql.Open("pgx", dsn) // an account that can only read
//	...
//	shop, err := sqltool.New(sqltool.Config{DB: db, Name: "shop", Dialect: "PostgreSQL 17", Checker: sqltool.Unchecked{}})
//	...
//	err = shop.Probe(ctx, "DELETE FROM orders WHERE 1 = 0") // is it there, and read-only
//	b, err := boundary.New(boundary.Config{Codes: sqltool.Codes(), ...})
//	tools, err := boundary.NewToolset(b, shop.Tool("query_shop"))
//
// A [Tool] keeps no state and may be used by several goroutines. What it writes is
// a document of package rows; that package's projector reads it.
//
// Sources: T114, T115 of docs/scenarios.md.
package sqltool
