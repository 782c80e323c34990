package demo_test

import (
	"strings"
	"testing"
	"unicode/utf8"

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

  what must be refused                   id                             tool                code                   ran
  one call more than the tool may have   demo_tool_budget               sql_db_list_tables  TOOL_BUDGET_EXHAUSTED  no
  a DELETE, sent to the tool that reads  demo_delete                    sql_db_query        SQL_REFUSED            yes
  a tool that writes                     demo_write                     add_artist          NOT_READ_ONLY          no
  an id that would break a log line      "demo_unsafe\r\n"              sql_db_query        INVALID_TOOL_CALL_ID   no
  a call that names another run          demo_other_run                 sql_db_query        RUN_MISMATCH           no
  the id of a call that ran              call_WkHRiPcBoGN9bc58MIupRHKP  sql_db_query        DUPLICATE_TOOL_CALL    no
  one call more than the run may have    demo_run_budget                sql_db_query        RUN_BUDGET_EXHAUSTED   no
  a call after the run's deadline        demo_too_late                  sql_db_query        RUN_DEADLINE_EXCEEDED  no

The run's facts, from its records alone
`

const checked = `
Checked
  ok      every recorded call is READY: 11 calls
  ok      every refusal has its code and says whether the tool ran: 8 calls
  ok      a tool was entered once for each admission: 12 admissions, 12 entries
  ok      results are those that were recorded: 6 texts byte for byte, 2 query results, 2 searches; 1 recorded without a result
  ok      records hold what was sent and returned, byte for byte: 12 records, 4475 bytes raw
  ok      the database is unchanged: 15607 rows in 11 tables, sha256 7651ba378ac2fcd0…
  ok      the facts are complete and count every call: 30 facts, 4111 bytes of text
  ok      every key of the run expires: 14 keys, 12 of them records
  ok      no result is left outside the store: the boundary is shut down
  ok      nothing of the run is left: its keys are removed

All 10 checks passed.
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
	if n := strings.Count(facts, "\n"); !strings.HasPrefix(facts, "  run RUN, closed: 12 calls admitted") || n != 32 {
		t.Errorf("got %d lines of facts:\n%s\nwant 32", n, facts)
	}
	for _, line := range strings.Split(tables, "\n") {
		if n := utf8.RuneCountInString(line); n > 120 {
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
	_, look, found := strings.Cut(got, "15 keys are left in Redis until they expire. To look at one record:\n  redis-cli -h 127.0.0.1 -p ")
	if !found || !strings.Contains(look, "HGETALL 'harness:v1:{") || !strings.HasSuffix(got, "\nAll 9 checks passed.\n") {
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
		"\n2 of 10 checks failed.\n",
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
	screen.Refused(demo.Refusal{What: "w", ID: "i \x1b", Tool: "t", Code: "", Ran: "yes", WantCode: "CODE", WantRan: "no"})
	screen.End(demo.Document{Checks: []demo.Check{{What: "w", Detail: "\x1b[2J"}}})
	got := out.String()
	for _, want := range []string{
		"what\ufffd[2J now\n",
		"  i   t     ERROR CODE  ERROR                   0             7\n",
		"  w                     \"i \\x1b\"  t     none                   yes\n    must be CODE, ran no\n",
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
	for _, want := range []string{
		"9 of 11: sql_db_list_tables and search_proper_nouns\r\x1b[K", "8 of 8: a call after the run's deadline\r\x1b[K",
		"\x1b[1mChecked\x1b[0m\n", "\x1b[31m  FAILED  the database", "\x1b[31m1 of 10 checks failed.\x1b[0m\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%q\nwant %q in it", got, want)
		}
	}
}
