package demo

import (
	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/executors/logsearch"
)

// message is one message of a model, written for the demo: a question and the calls that are to answer it, all at once.
//
// The ids count from call_0 in every message, as some providers number them. Turn is the message's place in the run, and
// keeps call_0 of one message apart from call_0 of the next.
type message struct {
	turn     canonical.Turn
	question string
	searches []search
}

// search is one call of a message and how it must end.
type search struct {
	tool      string
	arguments string
	evidence  evidence.Status
	code      boundary.Code // of one that must end as an error
	chinese   string        // a text in the arguments that must come back byte for byte; empty: none
}

// The turns, by what their messages are for.
const (
	turnFound   canonical.Turn = "m1"
	turnNothing canonical.Turn = "m2"
	turnPart    canonical.Turn = "m3"
	turnChinese canonical.Turn = "m4"
)

// What is searched for, where a check compares it with the published counts or with the files.
const (
	incidentFrom = "2016-12-19T18:00:00Z"
	incidentTo   = "2016-12-19T20:00:00Z"
	namedTool    = "open_bank_account_4821" // a name that only some articles have
	noSuchText   = "OutOfMemory"            // in no log file
	noSuchWord   = "yacht"                  // in no article
	noSuchArtist = "Nobody"
	pageRecords  = 10 // of a page that is full before the end of the log

	chineseQuestion = "青松卡的年费是多少？"
	chineseRare     = "姓名生僻字𠮷" // the last has four bytes in UTF-8
	chineseLog      = "连接超时"
	chineseArtist   = "邓丽君"
)

// chineseAnswers are the articles that must be found first for a text.
var chineseAnswers = map[string]string{chineseQuestion: "zh_qingsong_card_fee", chineseRare: "zh_rare_names"}

// messages are sent in this order, after the recorded conversations.
func messages() []message {
	const sql, none, found = sqlagent.NameQuery, evidence.None, evidence.Found
	return []message{
		{turnFound, "Which warnings and errors from 18:00 to 20:00, which articles name " + namedTool + ", how many artists?", []search{
			{tool: nameSearchLogs, arguments: `{"levels":["WARN","ERROR"],"from":"` + incidentFrom + `","to":"` + incidentTo + `","limit":200}`, evidence: found},
			{tool: nameSearchArticles, arguments: `{"query":"` + namedTool + `","top_k":10}`, evidence: found},
			{tool: sql, arguments: `{"query":"SELECT COUNT(*) AS artists FROM Artist"}`, evidence: found},
		}},
		{turnNothing, "Did a broker run out of memory, does the bank finance yachts, is there an artist called Nobody?", []search{
			{tool: nameSearchLogs, arguments: `{"text":"` + noSuchText + `"}`, evidence: none},
			{tool: nameSearchArticles, arguments: `{"query":"` + noSuchWord + `"}`, evidence: none},
			{tool: sql, arguments: `{"query":"SELECT ArtistId FROM Artist WHERE Name = '` + noSuchArtist + `'"}`, evidence: none},
		}},
		{turnPart, "The same text with a tool that reads a third of the log; and one short page of warnings.", []search{
			{tool: nameSearchPart, arguments: `{"text":"` + noSuchText + `"}`, evidence: evidence.Failed, code: logsearch.CodeScanLimit},
			{tool: nameSearchLogs, arguments: `{"levels":["WARN"],"limit":` + number(pageRecords) + `}`, evidence: found},
		}},
		{turnChinese, chineseQuestion + "日志里有没有“" + chineseLog + "”？店里有" + chineseArtist + "的唱片吗？", []search{
			{tool: nameSearchArticles, arguments: `{"query":"` + chineseQuestion + `","top_k":3,"filters":{"lang":"zh"}}`, evidence: found, chinese: chineseQuestion},
			{tool: nameSearchArticles, arguments: `{"query":"` + chineseRare + `","top_k":1}`, evidence: found, chinese: chineseRare},
			{tool: nameSearchLogs, arguments: `{"text":"` + chineseLog + `"}`, evidence: none, chinese: chineseLog},
			{tool: sql, evidence: found, chinese: chineseArtist, arguments: `{"query":"SELECT '` + chineseArtist +
				`' AS 歌手, COUNT(*) AS 唱片 FROM Album JOIN Artist USING (ArtistId) WHERE Artist.Name = '` + chineseArtist + `'"}`},
		}},
	}
}

// calls are the calls of a message as a model's reply has them.
func (m message) calls() []boundary.Call {
	calls := make([]boundary.Call, len(m.searches))
	for i, s := range m.searches {
		calls[i] = boundary.Call{ID: callID(i), Turn: m.turn, Name: s.tool, Arguments: []byte(s.arguments)}
	}
	return calls
}

// callID is the id of the call that was asked at this place of a message.
func callID(place int) canonical.ToolCallID {
	return canonical.ToolCallID("call_" + number(int64(place)))
}

// name is the name of the call at this place.
func (m message) name(place int) canonical.CallName {
	return canonical.CallName{Turn: m.turn, ID: callID(place)}
}

// ready is how many of the calls must end READY.
func (m message) ready() int {
	count := 0
	for _, s := range m.searches {
		if s.code == "" {
			count++
		}
	}
	return count
}

// messageOf is the message of a turn.
func messageOf(turn canonical.Turn) message {
	for _, m := range messages() {
		if m.turn == turn {
			return m
		}
	}
	return message{}
}

// label is the name of a call for people: its id, behind its turn where it has one.
func label(name canonical.CallName) string {
	if name.Turn == "" {
		return string(name.ID)
	}
	return name.String()
}
