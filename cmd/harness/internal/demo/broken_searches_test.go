package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/demo"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/internal/redistest"
)

func TestPublishedCountsThatAreNotMet(t *testing.T) {
	t.Parallel()
	logs, articles := data.KafkaExpected(), data.BankExpected()
	none := demo.Options{}
	const found = "  \"contains\": \"OutOfMemory\",\n    \"matching_lines\": "
	for name, c := range map[string]struct {
		options demo.Options
		detail  string
		checks  []string
	}{
		"another level count":        {none.ExpectingLogs(replaced(t, logs, `"WARN": 137`, `"WARN": 138`)), "map[ERROR:14 WARN:141] records in 10 files, want map[ERROR:14 WARN:142]", []string{checkPublished}},
		"another last time":          {none.ExpectingLogs(replaced(t, logs, "2016-12-19 18:56:53,612", "2016-12-19 20:00:01,000")), "kafka0_controller-2016-12-19-18.log lies in the window only in part", []string{checkPublished}},
		"a file more":                {none.ExpectingLogs(replaced(t, logs, "{\n", "{\n \"more.log\": {\"first_time\": \"2016-12-19 10:00:00,000\", \"last_time\": \"2016-12-19 11:00:00,000\"},\n")), "in 11, to the end", []string{checkPublished, checkAbsences}},
		"fewer warnings than a page": {none.ExpectingLogs(strings.ReplaceAll(replaced(t, logs, `"WARN": 137`, `"WARN": 1`), `"WARN": 4`, `"WARN": 0`)), "10 records of 4, want 10", []string{checkPublished}},
		"a line with the text":       {none.ExpectingLogs(replaced(t, logs, found+"0", found+"1")), "1 lines with the text are published for kafka0_server-2016-12-19-16.log", []string{checkAbsences}},
		"no count of the text":       {none.ExpectingLogs(replaced(t, logs, "OutOfMemory", "OutOfPatience")), "9 of 10 files have a published count", []string{checkAbsences}},
		"unreadable logs":            {none.ExpectingLogs("x"), "the expectations of the logs cannot be read", []string{checkPublished, checkAbsences}},
		"another article count":      {none.ExpectingArticles(replaced(t, articles, `"open_bank_account_4821": 4`, `"open_bank_account_4821": 5`)), "4 of 698 articles, the model is told of exact 4, want 5 of 698", []string{checkPublished}},
		"another number of articles": {none.ExpectingArticles(replaced(t, articles, `"documents": 698`, `"documents": 699`)), "want 4 of 699", []string{checkPublished}},
		"unreadable articles":        {none.ExpectingArticles("{}"), "the expectations of the articles cannot be read", []string{checkPublished}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustFail(t, c.options, c.detail, c.checks...)
		})
	}
}

// of replaces what runs for one call of a message.
func of(turn canonical.Turn, id canonical.ToolCallID, body func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error) demo.Options {
	return bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
		if in.Identity.Call == (canonical.CallName{Turn: turn, ID: id}) {
			return body(ctx, in, raw, real)
		}
		return real.Execute(ctx, in, raw)
	})
}

// asking runs the tool with other arguments than the model sent.
func asking(turn canonical.Turn, id canonical.ToolCallID, arguments string) demo.Options {
	return of(turn, id, func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
		in.Arguments = []byte(arguments)
		return real.Execute(ctx, in, raw)
	})
}

// edited changes what the tool returned, in every place.
func edited(turn canonical.Turn, id canonical.ToolCallID, old, fresh string) demo.Options {
	return of(turn, id, func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
		var returned bytes.Buffer
		if err := real.Execute(ctx, in, &returned); err != nil {
			return err
		}
		text := strings.ReplaceAll(returned.String(), old, fresh)
		if text == returned.String() {
			return errors.New("the passage is not there")
		}
		_, err := io.WriteString(raw, text)
		return err
	})
}

// returning writes a result of its own beside the tool's, which is thrown away, error and all.
func returning(turn canonical.Turn, id canonical.ToolCallID, document string) demo.Options {
	return of(turn, id, func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
		_ = real.Execute(ctx, in, io.Discard)
		_, err := io.WriteString(raw, document)
		return err
	})
}

// Log and articles as they answer when nothing is found; the places are left out.
const (
	noRecords = `{"format":"lines/1","sources":[SOURCES],"window":null,"query":"text \"OutOfMemory\"","limit":100,"records":[],"returned":0,"end_reached":true}`
	noHits    = `{"format":"hits/1","status":"no_results","query":"QUERY","collections":["bank-kb"],"top_k":6,"legs":[{"name":"bm25","hits":0}],"hits":[],"returned":0}`
)

// endOfPage is how the result of a search ends that did not reach the end.
var endOfPage = regexp.MustCompile(`"cursor":.*"end_reached":false}\s*$`)

func TestSearchesThatDoNotLook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options demo.Options
		detail  string
		checks  []string
	}{
		// Absences that were not proved.
		"one file of ten": {returning("m2", "call_0", strings.Replace(noRecords, "SOURCES", `"kafka0_server-2016-12-19-16.log"`, 1)),
			"m2:call_0: 1 of 10 files were searched for the text", []string{checkAbsences, checkRecords}},
		"another text": {asking("m2", "call_0", `{"text":"no such text"}`), "m2:call_0: 10 of 10 files were searched for the text", []string{checkAbsences}},
		"another word": {returning("m2", "call_1", strings.Replace(noHits, "QUERY", "ship", 1)),
			"m2:call_1: the collection was not searched for the word", []string{checkAbsences, checkRecords}},
		"an end that was not reached": {edited("m2", "call_0", `"end_reached":true`, `"end_reached":false`),
			"m2:call_0: got ERROR PROJECTION_FAILED, ran yes, want NO_EVIDENCE", []string{checkVerdicts, checkAbsences, checkRecords, checkFacts}},
		"an error for an absence": {of("m2", "call_2", func(context.Context, boundary.Input, io.Writer, boundary.Executor) error {
			return errors.New("marker_7")
		}),
			"m2:call_2: the record says ERROR ERROR", []string{checkVerdicts, checkEntries, checkAbsences, checkTogether, checkFacts}},
		"something found": {asking("m2", "call_1", `{"query":"account"}`),
			"m2:call_1: got EVIDENCE_FOUND none, ran yes, want NO_EVIDENCE none", []string{checkVerdicts, checkAbsences}},
		// The search that stopped, told as one that reached the end.
		"an end that is claimed": {returning("m3", "call_0", strings.Replace(noRecords, "SOURCES", `"kafka0_server-2016-12-19-16.log"`, 1)),
			"m3:call_0: a search that stopped before the end is taken for more than an error", []string{checkVerdicts, checkAbsences, checkRecords, checkFacts}},
		"a page that is all": {of("m3", "call_1", func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
			var page bytes.Buffer
			err := real.Execute(ctx, in, &page)
			_, _ = io.WriteString(raw, endOfPage.ReplaceAllString(strings.Replace(page.String(), `"limit":10`, `"limit":11`, 1), `"end_reached":true}`))
			return err
		}),
			"m3:call_1: a full page", []string{checkAbsences, checkRecords}},
		// Counts that are not those of the files.
		"one level less":    {asking("m1", "call_0", `{"levels":["ERROR"],"from":"2016-12-19T18:00:00Z","to":"2016-12-19T20:00:00Z","limit":200}`), "m1:call_0: map[ERROR:14] records in 10 files", []string{checkPublished}},
		"another window":    {asking("m1", "call_0", `{"levels":["WARN","ERROR"],"limit":200}`), "m1:call_0: a record of another time", []string{checkPublished}},
		"one hit less":      {asking("m1", "call_1", `{"query":"open_bank_account_4821","top_k":3}`), "m1:call_1: 3 of 698 articles, the model is told of at least 3", []string{checkPublished}},
		"another table":     {asking("m1", "call_2", `{"query":"SELECT COUNT(*) AS artists FROM Album"}`), "m1:call_2: [[347]] artists", []string{checkPublished}},
		"another page":      {asking("m3", "call_1", `{"levels":["INFO"],"limit":10}`), "m3:call_1: 10 records of 144, want 10", []string{checkPublished}},
		"a shorter page":    {asking("m3", "call_1", `{"levels":["WARN"],"limit":9}`), "m3:call_1: 9 records of 144, want 10", []string{checkPublished, checkAbsences}},
		"another character": {edited("m4", "call_0", "青松卡", "靑松卡"), "m4:call_0: the text in the raw result is another", []string{checkChinese, checkRecords}},
		"a lost character":  {edited("m4", "call_1", "𠮷", "\ufffd"), "m4:call_1: the text in the agent result is another", []string{checkChinese, checkRecords}},
		"escapes for text":  {edited("m4", "call_3", "邓", `\u9093`), "m4:call_3: the text in the raw result is another", []string{checkChinese, checkRecords}},
		"part of an article": {edited("m4", "call_0", "首年免收", "首年"),
			"m4:call_0: the first article is not the one that answers, or not whole", []string{checkChinese, checkRecords}},
		"another article": {asking("m4", "call_0", `{"query":"挂失","top_k":3,"filters":{"lang":"zh"}}`),
			"m4:call_0: the first article is not the one that answers", []string{checkChinese}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustFail(t, c.options, c.detail, c.checks...)
		})
	}
}

func TestTurnsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	t.Run("one after the other", func(t *testing.T) {
		t.Parallel()
		var one sync.Mutex
		mustFail(t, bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
			one.Lock()
			defer one.Unlock()
			return real.Execute(ctx, in, raw)
		}).Waiting(200*time.Millisecond), "the tools of m1 were not all entered before the first of them ended", checkTogether)
	})
	t.Run("answers in the order of their ends", func(t *testing.T) {
		t.Parallel()
		mustFail(t, demo.Options{}.Answering(func(results []boundary.Result) []boundary.Result {
			slices.Reverse(results)
			return results
		}), "the answers are not in the order asked", checkVerdicts, checkTogether, checkRecords)
	})
	t.Run("without turns", func(t *testing.T) {
		t.Parallel()
		// The second message's calls look like the first one's again.
		mustFail(t, demo.Options{}.Asking(func(calls []boundary.Call) []boundary.Call {
			calls = slices.Clone(calls)
			for i := range calls {
				if calls[i].Turn == "m2" {
					calls[i].Turn = "m1"
				}
			}
			return calls
		}), "m2:call_0: got ERROR DUPLICATE_TOOL_CALL, ran no", checkVerdicts, checkRefusals, checkEntries, checkAbsences, checkTogether, checkTurns, checkFacts, checkKeys)
	})
}

// What is changed on the server is seen by the second client.
func TestServersThatMixCallsUp(t *testing.T) {
	t.Parallel()
	record := func(run canonical.RunKey, turn canonical.Turn, id canonical.ToolCallID) string {
		return demo.RecordOf(run, canonical.CallName{Turn: turn, ID: id})
	}
	for name, c := range map[string]struct {
		do     func(ctx context.Context, client *redis.Client, run canonical.RunKey) error
		detail string
		checks []string
	}{
		"a request in other characters": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			return client.HSet(ctx, record(run, "m4", "call_2"), "rq", `{"text":"連接超時"}`).Err()
		}, "m4:call_2", []string{checkAbsences, checkTurns, checkChinese, checkRecords}},
		"a call that became one of another turn": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			return client.Copy(ctx, record(run, "m1", "call_2"), record(run, "m2", "call_2"), client.Options().DB, true).Err()
		}, "m2:call_2", []string{checkAbsences, checkTurns, checkRecords}},
		"an absence that is gone": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			return client.Del(ctx, record(run, "m2", "call_1")).Err()
		}, "m2:call_1", []string{checkAbsences, checkTurns, checkRecords, checkKeys}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := redistest.Shared(t)
			mustFail(t, demo.Options{Redis: db.URL()}.BeforeChecks(func(ctx context.Context, runs []canonical.RunKey) {
				if err := c.do(ctx, db.Client(), runs[0]); err != nil {
					t.Error(err)
				}
			}), c.detail, c.checks...)
			if left := keysOf(t, db.Client()); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
