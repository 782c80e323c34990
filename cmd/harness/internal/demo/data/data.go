// Package data is the input of the demo: one real database and the recorded calls of a real agent on it.
//
//	chinook/               the Chinook sample database, one SQLite file        MIT
//	langchain-sql-agent/   nine recorded conversations with their tool calls   MIT
//
// Each folder carries its licence, its SOURCE.md (repository, commit, what was changed) and expected.json, the true
// answers counted from the files themselves. Of Chinook only the database file was taken, not the SQL script that
// SOURCE.md and expected.json also name.
//
// The files are part of the program, so that the demo runs from a fresh clone and needs no path. They are returned as
// strings because nobody can change a string: a demo that writes to its own database cannot be hidden.
package data

import _ "embed"

var (
	//go:embed chinook/Chinook_Sqlite.sqlite
	chinookImage string
	//go:embed chinook/expected.json
	chinookExpected string
	//go:embed langchain-sql-agent/conversations.jsonl
	conversations string
	//go:embed langchain-sql-agent/expected.json
	conversationsExpected string
)

// Chinook is the database file, 1,007,616 bytes, exactly as published.
func Chinook() string { return chinookImage }

// ChinookExpected is the JSON object with the digest of [Chinook], its row counts and one sum.
func ChinookExpected() string { return chinookExpected }

// Conversations are the recorded conversations, one JSON object a line. Those in lines 1 to 3 are of the SQL agent.
func Conversations() string { return conversations }

// ConversationsExpected is the JSON array with the number of calls per conversation and the results of its queries.
func ConversationsExpected() string { return conversationsExpected }
