package records_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/records"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/retrieval"
)

func TestNamesAreReadInOneWay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]canonical.CallName{
		"call_1": {ID: "call_1"}, "m1:call_1": {Turn: "m1", ID: "call_1"}, ":a:b": {ID: "a:b"}, "m1:a:b": {Turn: "m1", ID: "a:b"}, ":": {}, "": {}, "a b": {}, "m/1:a": {},
	} {
		got, err := records.ParseName(text)
		if got != want || (err != nil) != (want == canonical.CallName{}) {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
		if err == nil && records.NameOf(got) != text {
			t.Errorf("%q: shown as %q", text, records.NameOf(got))
		}
	}
}

func TestRunsInPagesThatNothingMoves(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var want []string
	for i := range 5 {
		id := canonical.RunID(fmt.Sprintf("run-%d", i))
		run := b.open(t, id)
		if i == 1 {
			if err := run.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, string(id))
		b.clock.Advance(time.Second)
	}
	var got []string
	place := records.Place{Limit: 2}
	for pages := 1; ; pages++ {
		list, err := b.reader.Runs(t.Context(), place)
		if err != nil || list.Scope != scope || len(list.Runs) > 2 {
			t.Fatalf("got %+v, %v", list, err)
		}
		for _, r := range list.Runs {
			got = append(got, string(r.ID))
			closed := r.ID == "run-1"
			if (r.Phase == canonical.RunClosed) != closed || r.Principal.Agent != "tester" || r.Fault != "" || !r.Expires.After(r.Deadline) {
				t.Errorf("got %+v", r)
			}
		}
		b.open(t, canonical.RunID(fmt.Sprintf("later-%d", pages))) // at the end, where it belongs
		if pages == 2 {
			want = append(want, "later-1", "later-2")
		}
		if pages == 3 {
			break
		}
		place.After = list.Next
	}
	if want = append(want[:5:5], "later-1"); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, bad := range []records.Place{{After: "x"}, {After: "!"}, {After: "cjEvMS8"}, {Limit: -1}, {Limit: 101}} {
		if _, err := b.reader.Runs(t.Context(), bad); !errors.Is(err, retrieval.ErrCursor) && !errors.Is(err, retrieval.ErrArgument) {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

func TestRunsOfNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	list, err := b.reader.Runs(t.Context(), records.Place{})
	if err != nil || list.Runs == nil || len(list.Runs) != 0 || list.Next != "" {
		t.Errorf("got %+v, %v, want an empty list", list, err)
	}
	if _, err := records.New(b.store, canonical.Scope{}); !errors.Is(err, retrieval.ErrArgument) {
		t.Errorf("got %v, want no default scope", err)
	}
	if _, err := b.reader.Calls(t.Context(), retrieval.Filter{Run: "nobody"}, records.Place{}); !errors.Is(err, retrieval.ErrMissing) ||
		err.Error() != `no such run in the scope tenant "acme", namespace "shop": it was never there, was deleted, or has expired` {
		t.Errorf("got %v", err)
	}
}

func TestCallsOfARun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(t)
	var got []string
	place := records.Place{Limit: 3}
	for {
		list, err := b.reader.Calls(t.Context(), retrieval.Filter{Run: "run-1"}, place)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Calls {
			got = append(got, fmt.Sprint(c.Seq, c.Name, c.Tool, c.State, c.Code, c.Evidence, c.Ran, c.HasResult, c.RawBytes, c.ModelBytes))
		}
		if place.After = list.Next; place.After == "" {
			break
		}
	}
	want := []string{
		fmt.Sprint(1, "call_1", "accounts", "READY", "", "EVIDENCE_FOUND", "yes", true, len(secret), 11),
		fmt.Sprint(2, "m1:call:2", "blobs", "READY", "", "EVIDENCE_FOUND", "yes", true, len(binary), 11),
		fmt.Sprint(3, "call_3", "accounts", "ERROR", "TOOL_EXECUTION_FAILED", "ERROR", "yes", false, 0, 0),
		fmt.Sprint(4, ":mail:4", "send_mail", "ERROR", "OUTCOME_UNKNOWN", "ERROR", "unknown", false, 0, 0),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	list, err := b.reader.Calls(t.Context(), retrieval.Filter{Run: "run-1", Tool: "accounts", Status: evidence.Failed}, records.Place{})
	if err != nil || len(list.Calls) != 1 || list.Calls[0].Name != "call_3" {
		t.Errorf("got %+v, %v, want call_3 alone", list.Calls, err)
	}
}

// A record without Raw has every fact and no body, in neither of its faces.
func TestRecordShowsBodiesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(t)
	for _, raw := range []bool{false, true} {
		r, err := b.reader.Record(t.Context(), records.Ask{Run: "run-1", Call: plain, Raw: raw})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Facts) != 1 || r.Facts[0].Value != "7.50" || r.Coverage == nil || r.Coverage.LookedFor != "customer Müller" || r.RawBytes != int64(len(secret)) ||
			r.RawSHA256 != canonical.Body(secret).SHA256() || r.State != lifecycle.Ready || r.Settled != nil || !r.Due.IsZero() {
			t.Errorf("got %+v", r)
		}
		encoded, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, face := range []string{string(encoded), printed(t, r)} {
			for _, body := range []string{"hunter2", "one account", `customer\":\"Müller`} {
				if shown := strings.Contains(strings.ReplaceAll(face, `"customer":"Müller"`, `customer\":\"Müller`), body); shown != raw {
					t.Errorf("raw %t: %q is shown: %t\n%s", raw, body, shown, face)
				}
			}
		}
	}
}

// Facts and coverage hold what a tool returned and what a model asked for, so credentials in them are replaced.
func TestRecordHidesCredentialsInFactsAndCoverage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.open(t, "run-1")
	b.project = projector.Projection{
		Result: []byte("x"), Status: evidence.Found, Coverage: evidence.Searched(`{"api_key":"marker_7","name":"x"}`, "accounts"),
		Facts: []evidence.Fact{
			evidence.NewFact(evidence.Subject{Kind: "user", ID: "1"}, "db.password", `"marker_7"`),
			evidence.NewFact(evidence.Subject{Kind: "url", ID: "postgres://u:marker_7@h/db"}, "reached", "yes, password=marker_7"),
			evidence.NewFact(evidence.Subject{Kind: "user", ID: "1"}, "max_tokens", "4096"),
		},
	}
	b.call(t, run, plain, "accounts", "x")
	for _, raw := range []bool{false, true} {
		r, err := b.reader.Record(t.Context(), records.Ask{Run: "run-1", Call: plain, Raw: raw})
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{false: 0, true: 4}[raw]
		if got := strings.Count(string(encoded), "marker_7"); got != want || strings.Count(printed(t, r), "marker_7") != want || r.Facts[2].Value != "4096" ||
			r.Facts[0].Predicate != "db.password" || r.Coverage.Checked[0] != "accounts" || !strings.Contains(r.Coverage.LookedFor, `"name":"x"`) {
			t.Errorf("raw %t: got %d, want %d: %s", raw, got, want, encoded)
		}
	}
}

func TestRecordOfACallWithoutAResult(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(t)
	r, err := b.reader.Record(t.Context(), records.Ask{Run: "run-1", Call: failed, Raw: true})
	if err != nil || r.State != lifecycle.Error || r.Code != lifecycle.ToolExecutionFailed || r.Stage != canonical.StageExecute || r.RawBody != nil ||
		r.RequestBody == nil || r.Facts == nil || r.Settled != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	r, err = b.reader.Record(t.Context(), records.Ask{Run: "run-1", Call: unknown})
	if err != nil || r.Ran != "unknown" || r.Settled == nil || r.Settled.Verdict != canonical.NotApplied || r.Settled.Grounds != "mail log: no such message" {
		t.Errorf("got %+v, %v", r, err)
	}
	if text := printed(t, r); !strings.Contains(text, "\nKnown later\n  verdict  not_applied\n  grounds  mail log: no such message\n") {
		t.Errorf("got\n%s", text)
	}
	for _, ask := range []records.Ask{{Run: "run-1", Call: failed}, {Run: "run-1", Call: canonical.CallName{ID: "none"}}, {Run: "none", Call: plain}} {
		if _, err := b.reader.Read(t.Context(), ask, records.Part{}); errors.Is(err, retrieval.ErrNoResult) != (ask.Call == failed) || err == nil {
			t.Errorf("%+v: got %v", ask, err)
		}
	}
}

func TestRecordByItsEvidenceID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(t)
	b.open(t, "run-2")
	want, err := b.reader.Record(t.Context(), records.Ask{Run: "run-1", Call: inTurn})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []canonical.RunID{"", "run-1"} {
		got, err := b.reader.Record(t.Context(), records.Ask{Run: run, EvidenceID: want.EvidenceID})
		if err != nil || got.Name != "m1:call:2" || got.Run != "run-1" {
			t.Errorf("in %q: got %+v, %v", run, got, err)
		}
	}
	if _, err := b.reader.Record(t.Context(), records.Ask{Run: "run-2", EvidenceID: want.EvidenceID}); !errors.Is(err, retrieval.ErrMissing) {
		t.Errorf("in another run: got %v", err)
	}
}

// Parts of every size, put together, are the view, and no part shows what the view hides.
func TestReadInPartsIsTheView(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(t)
	ask := records.Ask{Run: "run-1", Call: plain}
	whole, err := b.reader.Read(t.Context(), ask, records.Part{})
	if err != nil || string(whole.Content()) != view || whole.Next != 0 || *whole.ViewBytes != int64(len(view)) || whole.ViewSHA256 != canonical.Body(view).SHA256() {
		t.Fatalf("got %q, %+v, %v", whole.Content(), whole, err)
	}
	for size := int64(1); size <= int64(len(view)); size++ {
		var all []byte
		part := records.Part{Bytes: size}
		for {
			read, err := b.reader.Read(t.Context(), ask, part)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, read.Content()...)
			if part.Offset, part.View = read.Next, read.ViewSHA256; read.Next == 0 {
				break
			}
		}
		if string(all) != view {
			t.Errorf("in parts of %d: got %q", size, all)
		}
	}
	for _, part := range []records.Part{{Offset: -1}, {Offset: 1000}, {Offset: 16}, {Bytes: -1}, {Bytes: retrieval.MaxChunk + 1}, {View: "x"}} {
		if _, err := b.reader.Read(t.Context(), ask, part); !errors.Is(err, retrieval.ErrArgument) || strings.Contains(err.Error(), "retrieval") {
			t.Errorf("%+v: got %v", part, err)
		}
	}
	if _, err := b.reader.Read(t.Context(), ask, records.Part{View: strings.Repeat("0", 16)}); !errors.Is(err, retrieval.ErrViewChanged) {
		t.Errorf("of another view: got %v", err)
	}
}

func TestRawBytesAreThoseOfTheTool(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(t)
	for call, want := range map[canonical.CallName]string{plain: secret, inTurn: binary} {
		var all []byte
		part := records.Part{Bytes: 3}
		for {
			read, err := b.reader.Read(t.Context(), records.Ask{Run: "run-1", Call: call, Raw: true}, part)
			if err != nil || *read.RawBytes != int64(len(want)) || read.RawSHA256 != canonical.Body(want).SHA256() || read.ViewSHA256 != "" {
				t.Fatalf("got %+v, %v", read, err)
			}
			all = append(all, read.Content()...)
			if part.Offset = read.Next; read.Next == 0 {
				break
			}
		}
		if string(all) != want {
			t.Errorf("%s: got %q, want %q", call, all, want)
		}
	}
	if _, err := b.reader.Read(t.Context(), records.Ask{Run: "run-1", Call: plain, Raw: true}, records.Part{Offset: 1000}); !errors.Is(err, retrieval.ErrArgument) {
		t.Errorf("behind the end: got %v", err)
	}
	read, err := b.reader.Read(t.Context(), records.Ask{Run: "run-1", Call: inTurn}, records.Part{})
	if err != nil || string(read.Content()) != "a\uFFFDb" {
		t.Errorf("the view of bytes that are not UTF-8: got %q, %v", read.Content(), err)
	}
}

func TestExportedFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(t)
	name := filepath.Join(t.TempDir(), "run.jsonl")
	made, err := b.reader.ExportFile(t.Context(), name, "run-1")
	if err != nil || !made.OK || made.File != name || made.Run != "run-1" || *made.Scope != scope || *made.Calls != 4 || *made.Gone != 0 || *made.Settlements != 1 || *made.Complete {
		t.Fatalf("got %+v, %v", made, err)
	}
	if info, err := os.Stat(name); err != nil || info.Size() != *made.Bytes || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.reader.ExportFile(t.Context(), name, "run-1"); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a file: got %v", err)
	}
	if again, err := os.ReadFile(name); err != nil || !bytes.Equal(again, content) {
		t.Error("the file was changed")
	}
	gone := filepath.Join(t.TempDir(), "gone.jsonl")
	if _, err := b.reader.ExportFile(t.Context(), gone, "nobody"); !errors.Is(err, retrieval.ErrMissing) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was left: %v", err)
	}
	if _, err := records.Verify(name, strings.Repeat("0", 64)); !errors.Is(err, retrieval.ErrExport) {
		t.Errorf("another digest: got %v", err)
	}
	var wrong *retrieval.FileError
	for flipped := 0; flipped < len(content); flipped += 17 { // package retrieval tries every byte
		altered := bytes.Clone(content)
		altered[flipped] ^= 1
		if err := os.WriteFile(gone, altered, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := records.Verify(gone, "")
		line := bytes.Count(content[:flipped], []byte("\n")) + 1
		if !errors.As(err, &wrong) || found.OK || found.Line != line || found.Reason == "" || line < 6 && found.Record == "" {
			t.Fatalf("byte %d: got %+v, %v, want line %d", flipped, found, err, line)
		}
	}
}

type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// A disk that is full is no trouble with the store.
func TestExportToAWriterThatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(t)
	_, err := b.reader.Export(t.Context(), fullDisk{}, "run-1")
	if trouble := new(*records.FileTrouble); !errors.As(err, trouble) || err.Error() != errFull.Error() || !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
