// Package data is the input of the demo: a real database, the recorded calls of a real agent on it, a real log, and the
// articles of a bank, in English as published and in Chinese as written here.
//
//	chinook/               the Chinook sample database, one SQLite file        MIT
//	langchain-sql-agent/   nine recorded conversations with their tool calls   MIT
//	own-chinese/           eight articles, written for this demo               Apache-2.0
//	kafka-logs             ten log files of two Kafka brokers                  Apache-2.0   beside executors/logsearch
//	rho-bank-kb            698 articles of an invented bank                    MIT          beside executors/docsearch
//
// Each folder carries its licence and its SOURCE.md (repository, commit, what was changed), and what was published has
// expected.json, the true answers counted from the files themselves. Of Chinook only the database file was taken, not the
// SQL script that SOURCE.md and expected.json also name. The last two are kept once, where the tests of the executors are.
//
// The files are part of the program, so that the demo runs from a fresh clone and needs no path. They are returned as
// strings because nobody can change a string: a demo that writes to its own database cannot be hidden.
package data

import (
	_ "embed"
	"io/fs"

	articles "github.com/toolharness/harness/executors/docsearch/testdata"
	logs "github.com/toolharness/harness/executors/logsearch/testdata"
)

var (
	//go:embed chinook/Chinook_Sqlite.sqlite
	chinookImage string
	//go:embed chinook/expected.json
	chinookExpected string
	//go:embed langchain-sql-agent/conversations.jsonl
	conversations string
	//go:embed langchain-sql-agent/expected.json
	conversationsExpected string
	//go:embed own-chinese/articles.jsonl
	chineseArticles string
)

// Chinook is the database file, 1,007,616 bytes, exactly as published.
func Chinook() string { return chinookImage }

// ChinookExpected is the JSON object with the digest of [Chinook], its row counts and one sum.
func ChinookExpected() string { return chinookExpected }

// Conversations are the recorded conversations, one JSON object a line. Those in lines 1 to 3 are of the SQL agent.
func Conversations() string { return conversations }

// ConversationsExpected is the JSON array with the number of calls per conversation and the results of its queries.
func ConversationsExpected() string { return conversationsExpected }

// KafkaLogs has the ten log files, *.log, and expected.json with their counts.
func KafkaLogs() fs.FS { return logs.KafkaLogs() }

// KafkaExpected is the JSON object with the counts of each file of [KafkaLogs].
func KafkaExpected() string {
	text, _ := fs.ReadFile(logs.KafkaLogs(), "expected.json") // is embedded
	return string(text)
}

// BankArticles are the articles, one JSON object a line: id, title, content.
func BankArticles() string { return articles.BankArticles() }

// BankExpected is the JSON object with the number of [BankArticles] and of those in which a text occurs.
func BankExpected() string { return articles.BankExpected() }

// ChineseArticles are the articles in Chinese, in the form of [BankArticles].
func ChineseArticles() string { return chineseArticles }
