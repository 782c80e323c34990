package demo_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/demo"
	"github.com/toolharness/harness/internal/redistest"
)

const tables = `11 recorded calls of a SQL agent, run again on the Chinook database through the boundary
store embedded, run RUN

  id                             tool                  state  evidence        raw bytes  to the model
Which country's customers spent the most?
  call_tFp7HYD6sAAmCShgeqkVZH6Q  sql_db_list_tables    READY  EVIDENCE_FOUND        105           105
  call_KJZ1Jx6JazyDdJa0uH1UeiOz  sql_db_schema         READY  EVIDENCE_FOUND       1863          1863
  call_AQuTGbgH63u4gPgyV723yrjX  sql_db_query_checker  READY  EVIDENCE_FOUND        170           170
  call_B88EwU44nwwpQL5M9nlcemSU  sql_db_query          READY  EVIDENCE_FOUND        341           142
Describe the playlisttrack table
  call_fMF8eTmX5TJDJjc3Mhdg52TI  sql_db_list_tables    READY  EVIDENCE_FOUND        105           105
  call_W8Vkk4NEodkAAIg8nexAszUH  sql_db_schema         READY  EVIDENCE_FOUND        337           337
How many albums does alis in chain have?
  call_8ryjsRPLAr79mM3Qvnq6gTOH  search_proper_nouns   READY  EVIDENCE_FOUND        380           327
  call_NJjtCpU89MBMplssjn1z0xzq  sql_db_list_tables    READY  EVIDENCE_FOUND        105           105
  call_1BfrueC9koSIyi4OfMu2Ao8q  search_proper_nouns   READY  EVIDENCE_FOUND        319           264
  call_Kn09w9jd9swcNzIZ1b5MlKID  sql_db_schema         READY  EVIDENCE_FOUND        530           530
  call_WkHRiPcBoGN9bc58MIupRHKP  sql_db_query          READY  EVIDENCE_FOUND        220           119

Messages of our own, the calls of each at once: Kafka broker logs, a bank's articles, Chinook

  id         tool              state                 evidence        raw bytes  to the model
Which warnings and errors from 18:00 to 20:00, which articles name open_bank_account_4821, how many artists?
  m1:call_0  search_logs       READY                 EVIDENCE_FOUND      76782         11864
    exactly 155 records in 10 files from 2016-12-19T18:00:00Z to 2016-12-19T20:00:00Z, end reached. WARN=141,
        ERROR=14. kafka.controller.ControllerChannelManager=54, kafka.controller.KafkaController=51,
        kafka.controller.RequestSendThread=32, kafka.server.ReplicaFetcherThread=18. Most often: [Channel manager on
        controller <n>]: Not sending request {controller_id=<n>,controller_epoch=<n>,… (50)
  m1:call_1  search_articles   READY                 EVIDENCE_FOUND      13098          2006
    exactly 4 articles: Internal: Opening Personal Checking Accounts; Internal: Opening Business Checking Accounts;
        Internal: Opening Business Savings Accounts; Internal: Opening Personal Savings Accounts
  m1:call_2  sql_db_query      READY                 EVIDENCE_FOUND        171           120
    1 row of artists: [275]
Did a broker run out of memory, does the bank finance yachts, is there an artist called Nobody?
  m2:call_0  search_logs       READY                 NO_EVIDENCE           484           740
    nothing, counted to the end: searched log kafka0_controller-2016-12-19-18.log, log
        kafka0_server-2016-12-19-16.log, log kafka0_server-2016-12-19-18.log and 7 more for {"text":"OutOfMemory"}
        where query text "OutOfMemory", no filter on time, limit 100
  m2:call_1  search_articles   READY                 NO_EVIDENCE           150           230
    nothing, counted to the end: searched collection bank-kb by bm25 for {"query":"yacht"} where query yacht, top 6
  m2:call_2  sql_db_query      READY                 NO_EVIDENCE           188           289
    nothing, counted to the end: searched database chinook for {"query":"SELECT ArtistId FROM Artist WHERE Name =
        'Nobody'"} where statement SELECT ArtistId FROM Artist WHERE Name = ?
The same text with a tool that reads a third of the log; and one short page of warnings.
  m3:call_0  search_logs_part  ERROR LOG_SCAN_LIMIT  ERROR                   0           154
    not an absence: the model is told LOG_SCAN_LIMIT, and that the tool ran: yes
  m3:call_1  search_logs       READY                 EVIDENCE_FOUND      10586          5512
    at least 10 records in 10 files at any time, the end was not reached. WARN=10.
        kafka.controller.RequestSendThread=10. Most often: [Controller-<n>-to-broker-<n>-send-thread], Controller
        <n>'s connection to broker kafka<n>:<n> (i… (9)
青松卡的年费是多少？日志里有没有“连接超时”？店里有邓丽君的唱片吗？
  m4:call_0  search_articles   READY                 EVIDENCE_FOUND       1485           921
    at least 3 articles: 青松卡年费; 挂失与补卡; 跨境汇款
  m4:call_1  search_articles   READY                 EVIDENCE_FOUND        569           388
    at least 1 article: 姓名中的生僻字
  m4:call_2  search_logs       READY                 NO_EVIDENCE           485           743
    nothing, counted to the end: searched log kafka0_controller-2016-12-19-18.log, log
        kafka0_server-2016-12-19-16.log, log kafka0_server-2016-12-19-18.log and 7 more for {"text":"连接超时"}
        where query text "连接超时", no filter on time, limit 100
  m4:call_3  sql_db_query      READY                 EVIDENCE_FOUND        260           138
    1 row of 歌手, 唱片: [邓丽君 0]

  what must be refused                   id                             tool                code                   ran
  one call more than the tool may have   demo_tool_budget               sql_db_list_tables  TOOL_BUDGET_EXHAUSTED  no
  a DELETE, sent to the tool that reads  demo_delete                    sql_db_query        SQL_REFUSED            yes
  a tool that writes                     demo_write                     add_artist          NOT_READ_ONLY          no
  an id that would break a log line      "demo_unsafe\r\n"              sql_db_query        INVALID_TOOL_CALL_ID   no
  a call that names another run          demo_other_run                 sql_db_query        RUN_MISMATCH           no
  the id of a call that ran              call_WkHRiPcBoGN9bc58MIupRHKP  sql_db_query        DUPLICATE_TOOL_CALL    no
  the id of a call of the same turn      m2:call_0                      search_logs         DUPLICATE_TOOL_CALL    no
  one call more than the run may have    demo_run_budget                sql_db_query        RUN_BUDGET_EXHAUSTED   no
  a call after the run's deadline        demo_too_late                  sql_db_query        RUN_DEADLINE_EXCEEDED  no

The run's facts, from its records alone
`

const checked = `
Checked
  ok      every recorded call is READY: 11 calls
  ok      every search has its verdict: 11 calls of 4 messages READY, 1 an error
  ok      every refusal has its code and says whether the tool ran: 9 calls
  ok      a tool was entered once for each admission: 24 admissions, 24 entries
  ok      results are those that were recorded: 6 texts byte for byte, 2 query results, 2 searches; 1 without one
  ok      searches found what is published: 155 records by level and time, 4 articles with a name, one count
  ok      nothing found was searched to the end: 4 absences; a search that stopped is none, nor a full page
  ok      calls of a message ran at once, answered in order: 4 messages, 12 answers; the tools ended in reverse
  ok      an id in another turn is another call: 3 ids used again in other turns, 12 calls, as many records
  ok      Chinese text is the same everywhere, byte for byte: 4 texts at 20 places, 8 articles searched
  ok      records hold what was sent and returned, byte for byte: 24 records, 108733 bytes raw
  ok      the database is unchanged: 15607 rows in 11 tables, sha256 7651ba378ac2fcd0…
  ok      the facts are complete and count every call: 64 facts, 4 absences, 11746 bytes of text
  ok      every key of the run expires: 26 keys, 24 of them records
  ok      no result is left outside the store: the boundary is shut down
  ok      nothing of the run is left: its keys are removed

All 16 checks passed.
`

func TestTextInAPipe(t *testing.T) {
	t.Parallel()
	got := text(t, demo.Options{})
	_, run, _ := strings.Cut(got, "store embedded, run ")
	run, _, _ = strings.Cut(run, "\n")
	shown := strings.ReplaceAll(got, run, "RUN")
	if !strings.HasPrefix(shown, tables) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", shown, tables)
	}
	if !strings.HasSuffix(shown, checked) {
		t.Errorf("got\n%s\nwant it to end with\n%s", shown, checked)
	}
	facts := strings.TrimSuffix(strings.TrimPrefix(shown, tables), checked)
	if n := strings.Count(facts, "\n"); !strings.HasPrefix(facts, "  run RUN, closed: 24 calls admitted") || n != 71 {
		t.Errorf("got %d lines of facts:\n%s\nwant 71", n, facts)
	}
	for _, line := range strings.Split(tables+checked, "\n") {
		if n := console.Cells(line); n > 120 {
			t.Errorf("%d columns, want at most 120: %s", n, line)
		}
	}
	if i := strings.IndexFunc(got, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
		t.Errorf("a control character at byte %d: %q", i, got[i:min(i+40, len(got))])
	}
}

func TestTextSaysHowToLook(t *testing.T) {
	t.Parallel()
	got := text(t, demo.Options{Redis: redistest.Shared(t).URL(), Keep: true})
	_, look, found := strings.Cut(got, "27 keys are left in Redis until they expire. To look at one record:\n  redis-cli -h 127.0.0.1 -p ")
	if !found || !strings.Contains(look, "HGETALL 'harness:v1:{") || !strings.HasSuffix(got, "\nAll 15 checks passed.\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestTextNeverHasThePassword(t *testing.T) {
	t.Parallel()
	server := redistest.Server(t, "--requirepass", "marker_7")
	got := text(t, demo.Options{Redis: "redis://:marker_7@" + server.Addr(), Keep: true})
	if strings.Contains(got, "marker_7") || !strings.Contains(got, "\n  with the password in REDISCLI_AUTH\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestTextOfAFailure(t *testing.T) {
	t.Parallel()
	got := text(t, demo.Options{}.ExpectingConversations("[]").ExpectingDatabase("{}"))
	for _, want := range []string{
		"\n  FAILED  results are those that were recorded: call_B88EwU44nwwpQL5M9nlcemSU: no result is published for this query; ",
		"\n  FAILED  the database is unchanged: the expectations cannot be read\n",
		"\n2 of 16 checks failed.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
}

// A row that is not as it must be says so at once, and nothing that comes from elsewhere acts on the terminal.
func TestTextOfOddRows(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	screen := demo.NewText(console.New(&out, 0))
	screen.Begin(demo.Document{Store: "redis", Run: "r", Refused: []demo.Refusal{{What: "w", ID: "i", Tool: "t", WantCode: "CODE"}}})
	screen.Question("what\x1b[2J\nnow")
	screen.Call(demo.Call{ID: "i", Tool: "t", State: "ERROR", Code: "CODE", Evidence: "ERROR", ModelBytes: 7})
	screen.Message(demo.Message{Question: "青\x1b[2J?"})
	screen.Searched(demo.Search{Call: demo.Call{ID: "i", Turn: "m", Tool: "t", State: "READY", Evidence: "NO_EVIDENCE", Ran: "yes"}, Found: "x\x1b", WantEvidence: "EVIDENCE_FOUND", WantCode: "CODE"})
	screen.Refused(demo.Refusal{What: "w", ID: "i \x1b", Tool: "t", Code: "", Ran: "yes", WantCode: "CODE", WantRan: "no"})
	screen.End(demo.Document{Checks: []demo.Check{{What: "w", Detail: "\x1b[2J"}}})
	got := out.String()
	for _, want := range []string{
		"what\ufffd[2J now\n",
		"  i   t     ERROR CODE  ERROR                   0             7\n",
		"  w                     \"i \\x1b\"  t     none                   yes\n    must be CODE, ran no\n",
		"\n青\ufffd[2J?\n", "\n    x\ufffd\n    must be EVIDENCE_FOUND ERROR CODE\n",
		"  FAILED  w: \ufffd[2J\n",
		"1 of 1 checks failed.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("got an escape: %q", got)
	}
}

func TestTextOnATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := console.New(&out, 100)
	c.Colour(true)
	if _, err := demo.Run(t.Context(), demo.Options{}.ExpectingDatabase("{}"), demo.NewText(c)); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for line := range strings.Lines(got) {
		if at := strings.LastIndex(line, "\x1b[K"); at >= 0 {
			line = line[at+len("\x1b[K"):] // behind the status that was there before
		}
		line = strings.NewReplacer("\x1b[1m", "", "\x1b[31m", "", "\x1b[0m", "").Replace(line)
		if n := console.Cells(strings.TrimSuffix(line, "\n")); n > 120 {
			t.Errorf("%d columns, want at most 120: %s", n, line)
		}
	}
	for _, want := range []string{
		"9 of 11: sql_db_list_tables and search_proper_nouns\r\x1b[K", "1 of 4: search_logs and search_articles and sql_db_query\r\x1b[K", "9 of 9: a call after the run's deadline\r\x1b[K",
		"\x1b[1mChecked\x1b[0m\n", "\x1b[31m  FAILED  the database", "\x1b[31m1 of 16 checks failed.\x1b[0m\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%q\nwant %q in it", got, want)
		}
	}
}
