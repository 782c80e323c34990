// Package sqlagent holds the tools of the recorded SQL agent, executed for real on an SQLite database, and what a model
// gets of each.
//
//	tool                   argument       raw result                                             the model gets
//	sql_db_list_tables     none           names, sorted, joined by ", "                          the same text
//	sql_db_schema          table_names    per table: its definition and its first three rows     the same text
//	sql_db_query_checker   query          the statement in a code block, when the engine would   the same text
//	                                      start it
//	sql_db_query           query          columns and rows as JSON                               the first rows
//	search_proper_nouns    query          the nearest artist, album and genre names, with        the names, or where
//	                                      scores, as JSON                                        was looked in vain
//
// The first three write byte for byte what the recorded tools printed for the same arguments, so that the recording is
// a test of them. Two differ from the recorded ones on purpose. The recorded checker asked a language model; this one
// asks the engine, which compiles the statement and runs nothing. The recorded noun search compared embeddings of a paid
// service; this one compares groups of three letters, so its further matches differ and the nearest does not. A query's
// result is written with its types and its digits rather than as the text of a Python list.
//
// A text that does not fit the limit of an agent result, or that holds characters that act on whoever prints it, becomes
// a JSON list that says how much was left out. Nothing is ever cut inside.
//
// # Failures
//
// [Codes] are registered with the boundary, so that a model learns why its statement had no result:
//
//	SQL_REFUSED            the authorizer did not permit a step; nothing of the statement ran
//	SQL_STATEMENT_FAILED   not exactly one statement that the engine compiles and runs
//	SQL_LIMIT_REACHED      time, size or memory of one statement; there is no part of a result
//	SQL_NO_SUCH_TABLE      at least one asked table does not exist
//	SQL_NOTHING_ASKED      an empty argument
//
// # Use
//
//	tools, err := boundary.NewToolset(b, sqlagent.New("chinook", db).ForBoundary()...) // b with Config.Codes: sqlagent.Codes()
//
// Every statement, those of these tools included, goes through package sqlread and its authorizer. A [Tools] value has
// no state of its own and may be used by several goroutines. Errors hold no argument and no row.
//
// Rows of a table are text that anybody may have written. Where such a text looks so much like the start of the next
// table's definition that the two cannot be told apart, the result of sql_db_schema is refused as unreadable.
package sqlagent
