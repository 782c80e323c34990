// Package sqlagent holds the tools of the recorded SQL agent, executed for real on an SQLite database.
//
//	tool                   argument       raw result
//	sql_db_list_tables     none           names, sorted, joined by ", "
//	sql_db_schema          table_names    per table: its definition and its first three rows
//	sql_db_query_checker   query          the statement in a code block, when the engine would start it
//	sql_db_query           query          columns and rows as JSON (written by the caller of [Tools.Database])
//	search_proper_nouns    query          the nearest artist, album and genre names, with scores, as JSON
//
// The first three write byte for byte what the recorded tools printed for the same arguments, so that the recording is
// a test of them. Two differ from the recorded ones on purpose. The recorded checker asked a language model; this one
// asks the engine, which compiles the statement and runs nothing. The recorded noun search compared embeddings of a paid
// service; this one compares groups of three letters, so its further matches differ and the nearest does not.
//
// Every statement, those of these tools included, goes through package sqlread and its authorizer. A [Tools] value has
// no state of its own and may be used by several goroutines. Errors hold no argument and no row.
package sqlagent
