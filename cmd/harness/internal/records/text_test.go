package records_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/records"
	"github.com/toolharness/harness/evidence"
)

func TestTextOfRuns(t *testing.T) {
	t.Parallel()
	list := records.RunList{Scope: scope, Next: "CURSOR", Runs: []records.Run{
		{ID: "run-1", Phase: canonical.RunClosed, Calls: 24, Deadline: at(1), Expires: at(2), Principal: canonical.Principal{Agent: "青松 \x1b[2J"}},
		{ID: "a-longer-run", Expires: at(3), Fault: records.FaultVersion},
	}}
	want := strings.TrimPrefix(`
run           phase                calls  deadline              expires               agent
run-1         closed                  24  2026-01-02 03:04:01Z  2026-01-02 03:04:02Z  青松 �[2J
a-longer-run  unreadable: version                               2026-01-02 03:04:03Z

There is more: --after CURSOR
`, "\n")
	if got := printed(t, list); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := printed(t, records.RunList{Scope: scope}), "no runs in the scope tenant \"acme\", namespace \"shop\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextOfCalls(t *testing.T) {
	t.Parallel()
	list := records.CallList{Scope: scope, Run: "run-1", Calls: []records.Call{
		{Seq: 9, Name: "call_1", Tool: "sql", State: "READY", Evidence: "EVIDENCE_FOUND", Ran: "yes", HasResult: true, RawBytes: 76782, ModelBytes: 0},
		{Seq: 10, Name: "m1:call_0", Tool: "search_logs", State: "ERROR", Code: "TOOL_TIMEOUT", Evidence: "ERROR", Ran: "unknown"},
		{Seq: 11, Name: "m1:call_1", Tool: "sql", State: "PROJECTING"},
		{Seq: 12, Name: "m1:call_2", Fault: records.FaultCorrupt},
	}}
	want := strings.TrimPrefix(`
seq  call       tool         state                evidence        ran      raw bytes  to the model
  9  call_1     sql          READY                EVIDENCE_FOUND  yes          76782             0
 10  m1:call_0  search_logs  ERROR TOOL_TIMEOUT   ERROR           unknown
 11  m1:call_1  sql          PROJECTING
 12  m1:call_2               unreadable: corrupt
`, "\n")
	if got := printed(t, list); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := printed(t, records.CallList{Run: "run-1"}), "no such calls in run run-1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// shown is a record with everything that one can have.
func shown() records.Record {
	raw, request := "{\"a\":1}\nzwei\x1b[0m\n", "{}"
	return records.Record{
		Scope: scope, Run: "run-1",
		Call: records.Call{
			Seq: 7, Name: "m1:call_0", Turn: "m1", ID: "call_0", EvidenceID: "0d9d814a-8ef9-47e4-b95a-fc5cd9b2406c", Tool: "search_logs", Effect: "read",
			State: "ERROR", Code: "RESULT_TOO_LARGE", Evidence: "ERROR", Ran: "yes", RawBytes: 4194304, Request: 2, Created: at(1), Ended: at(2), Expires: at(3),
		},
		Principal: canonical.Principal{User: "u1", Agent: "a \"b\""}, OperationKey: "0c6e", Stage: canonical.StageRaw, RequestSHA256: "44136f", RawSHA256: "aa11", RawAtLeast: true,
		Strength: "memory", Redacted: "f00d",
		Facts: []evidence.Fact{{Subject: evidence.Subject{Kind: "table", ID: "邓丽君"}, Predicate: "rows", Value: "3"}, {Subject: evidence.Subject{Kind: "log"}, Predicate: "hits", Value: "0"}},
		Coverage: &evidence.Coverage{
			LookedFor: "OutOfMemory", Checked: []string{"a.log", "b.log"}, Unchecked: []string{"c.log"}, Uncovered: []evidence.Gap{{What: "d.log", Reason: "gone"}},
			Window: &evidence.Window{From: at(1), To: at(2)}, Filters: []string{"level ERROR"}, SameOnRetry: true, TryInstead: "a window",
		},
		Settled:     &records.Settled{State: "READY", At: at(4), RawBytes: 5, Verdict: canonical.Applied, Grounds: "receipt 9"},
		RequestBody: &records.Body{Bytes: 2, SHA256: "44136f", Text: &request},
		RawBody:     &records.Body{Bytes: 17, SHA256: "aa11", Text: &raw},
		ModelBody:   &records.Body{Bytes: 2, SHA256: "bb22", Base64: []byte{0xff, 0xfe}},
	}
}

func TestTextOfARecord(t *testing.T) {
	t.Parallel()
	want := strings.TrimPrefix(`
run            run-1
call           m1:call_0
seq            7
tool           search_logs, read
state          ERROR RESULT_TOO_LARGE
evidence       ERROR
ran            yes
failed at      raw
request        2 bytes, sha256 44136f
raw result     at least 4194304 bytes, sha256 aa11, not kept
admitted       2026-01-02 03:04:01Z
ended          2026-01-02 03:04:02Z
expires        2026-01-02 03:04:03Z
on behalf of   user "u1", agent "a "b""
evidence id    0d9d814a-8ef9-47e4-b95a-fc5cd9b2406c
operation key  0c6e
strength       memory
redacted by    f00d

Facts
  table 邓丽君: rows = 3
  log: hits = 0

Coverage
  looked for    OutOfMemory
  checked       a.log, b.log
  not checked   c.log
  out of reach  d.log (gone)
  window        2026-01-02 03:04:01Z to 2026-01-02 03:04:02Z
  filters       level ERROR
  to the end    no
  asking again  would give the same
  try instead   a window

Known later
  result   READY at 2026-01-02 03:04:04Z, 5 bytes raw
  verdict  applied
  grounds  receipt 9

Request
  {}

Raw result
  {"a":1}
  zwei�[0m

To the model
  2 bytes that are not UTF-8; read --raw writes them, -o json shows them in base64
`, "\n")
	if got := printed(t, shown()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// On a terminal of any width no line is wider than it, and nothing is lost.
func TestTextOfARecordOnATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	shown().Text(console.New(&out, 50))
	for line := range strings.Lines(out.String()) {
		if n := console.Cells(strings.TrimSuffix(line, "\n")); n > 50 {
			t.Errorf("%d cells: %q", n, line)
		}
	}
	if got, want := strings.Join(strings.Fields(out.String()), ""), strings.Join(strings.Fields(printed(t, shown())), ""); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextOfAManifest(t *testing.T) {
	t.Parallel()
	yes, four, one, size := false, int64(4), int64(1), int64(1234)
	m := records.Manifest{OK: true, File: "run.jsonl", Scope: &scope, Run: "run-1", Complete: &yes, Calls: &four, Gone: &one, Settlements: &one, Bytes: &size, SHA256: "ab"}
	want := strings.TrimPrefix(`
file         run.jsonl
run          run-1
scope        tenant "acme", namespace "shop"
calls        4, of them 1 deleted or expired
settlements  1
complete     no, the run was not closed or a call was open
bytes        1234
sha256       ab
Every record fits its digests, and every line the manifest.
`, "\n")
	if got := printed(t, m); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := printed(t, records.Manifest{Line: 3}); got != "" {
		t.Errorf("got %q, want nothing beside the error", got)
	}
}

// The members are those that scripts know: added to, never renamed.
func TestMembersOfDocuments(t *testing.T) {
	t.Parallel()
	text := "x"
	n := int64(0)
	for want, d := range map[string]any{
		`{"scope":{"tenant":"","owner":"","namespace":""},"runs":[{"run_id":"r","phase":"open","calls":0,"reserved_bytes":0,"deadline":"2026-01-02T03:04:01.5Z","expires":"2026-01-02T03:04:02.5Z"}],"next":"c"}`: records.RunList{
			Runs: []records.Run{{ID: "r", Phase: canonical.RunOpen, Deadline: at(1), Expires: at(2)}}, Next: "c"},
		`{"scope":{"tenant":"","owner":"","namespace":""},"run_id":"r","calls":[{"seq":1,"call":"t:i","turn":"t","tool_call_id":"i","has_result":false,"raw_bytes":0,"model_bytes":0,"request_bytes":0,"fault":"corrupt"}]}`: records.CallList{
			Run: "r", Calls: []records.Call{{Seq: 1, Name: "t:i", Turn: "t", ID: "i", Fault: "corrupt"}}},
		`{"scope":{"tenant":"","owner":"","namespace":""},"run_id":"r","call":"i","tool_call_id":"i","offset":3,"next":4,"view_sha256":"ab","view_bytes":0,"text":"x"}`: records.Read{
			Run: "r", Name: "i", ID: "i", Offset: 3, Next: 4, ViewSHA256: "ab", ViewBytes: &n, Text: &text},
		`{"scope":{"tenant":"","owner":"","namespace":""},"run_id":"r","call":"i","tool_call_id":"i","offset":0,"raw_sha256":"ab","raw_bytes":0,"base64":"/w=="}`: records.Read{
			Run: "r", Name: "i", ID: "i", RawSHA256: "ab", RawBytes: &n, Base64: []byte{0xff}},
		`{"ok":false,"file":"f","line":2,"record":"call :i","reason":"w"}`: records.Manifest{File: "f", Line: 2, Record: "call :i", Reason: "w"},
		`{"scope":{"tenant":"","owner":"","namespace":""},"run_id":"r","seq":1,"call":"i","tool_call_id":"i","has_result":false,"raw_bytes":0,"model_bytes":0,"request_bytes":0,"operation_key":"k","request_sha256":"s","facts":[],"settled":{"raw_bytes":0,"verdict":"applied","grounds":"g"}}`: records.Record{
			Run: "r", Call: records.Call{Seq: 1, Name: "i", ID: "i"}, OperationKey: "k", RequestSHA256: "s", Facts: []evidence.Fact{}, Settled: &records.Settled{Verdict: canonical.Applied, Grounds: "g"}},
	} {
		if got, err := json.Marshal(d); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
