// Package spider runs executors/sqltool on a real SQLite database file that could
// be written, with the engine's authorizer as its checker. It holds tests only;
// they are here because the root module has no SQL engine.
//
// The 62 questions of Spider on this database and 84 queries for another schema
// are a check on data that stays outside the project (CC BY-SA): it runs where
// SHARED_DATA names the folder of the sets, as make check-data does.
package spider
