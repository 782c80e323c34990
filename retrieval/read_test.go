package retrieval_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/retrieval"
)

func TestRead(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"S34_E39_chunks_of_every_size_are_the_view", everySize},
		{"S36_offsets_and_sizes_at_and_beyond_their_limits", limitsOfRead},
		{"S40_a_reference_that_does_not_fit_is_refused", misfits},
		{"S41_E36_E46_foreign_missing_and_deleted_look_the_same", sameMissing},
		{"S46_E43_what_is_handed_out_is_detached", detached},
		{"S50_E74_a_stronger_reader_raises_no_strength", strengths},
		{"S82_S83_S86_E90_E91_views_have_no_credentials_and_the_raw_keeps_them", redactedView},
		{"B99_E44_a_reference_to_expired_evidence_is_missing", expiredEvidence},
		{"S85_E92_a_failing_policy_withholds_the_view_and_hurts_no_record", failingPolicy},
		{"E91_B75_a_policy_that_changes_between_two_chunks", changedPolicy},
		{"B75_ranges_of_what_a_model_saw_only_in_part", ranges},
	})
}

// hard is text in which every kind of cut can go wrong.
func hard() string {
	return strings.Repeat("日本\"語\\ é 😀\u0001 e\u0301 <&> ", 9) + "end"
}

func everySize(t *testing.T, d *deck) {
	b := newBench(t, d)
	for i, text := range []string{"", "a", "null", hard()} {
		ref := b.kept(b.run, fmt.Sprintf("c%d", i), text)
		for max := 1; max <= len(text)+1; max++ {
			if got := readAll(t, b.Reader, ref, max); got != text {
				t.Fatalf("chunks of %d of text %d give %q", max, i, got)
			}
		}
		if got := readAll(t, b.Reader, ref, 0); got != text {
			t.Errorf("the largest chunk gives %q", got)
		}
	}
}

func limitsOfRead(t *testing.T, d *deck) {
	b := newBench(t, d)
	text := "ab日"
	ref := b.kept(b.run, "c1", text)
	read := func(p retrieval.Part) (retrieval.Chunk, error) { return b.Read(t.Context(), ref, p) }
	c, err := read(retrieval.Part{Offset: 5})
	if err != nil || c.Text != "" || c.Next != retrieval.LastChunk || c.ViewBytes != 5 {
		t.Errorf("at the end: %+v, %v", c, err)
	}
	for _, row := range []struct {
		part  retrieval.Part
		field string
		got   int64
		limit int64
	}{
		{retrieval.Part{Offset: 6}, "offset", 6, 5},
		{retrieval.Part{Offset: 3}, "offset", 3, 5}, // within a character
		{retrieval.Part{Offset: -1}, "offset", 0, 0},
		{retrieval.Part{Max: -1}, "max", -1, retrieval.DefaultChunk},
		{retrieval.Part{Max: retrieval.DefaultChunk + 1}, "max", retrieval.DefaultChunk + 1, retrieval.DefaultChunk},
		{retrieval.Part{View: "abc"}, "view", 0, 0},
		{retrieval.Part{View: strings.Repeat("G", 64)}, "view", 0, 0},
	} {
		_, err := read(row.part)
		if e := want(t, fmt.Sprintf("%+v", row.part), err, retrieval.ErrArgument); e.Field != row.field || e.Got != row.got || e.Limit != row.limit {
			t.Errorf("%+v: field %q got %d limit %d, want %q %d %d", row.part, e.Field, e.Got, e.Limit, row.field, row.got, row.limit)
		}
	}
	if c, err := read(retrieval.Part{Offset: 2, Max: 1}); err != nil || c.Text != "日" {
		t.Errorf("less than a character: %q, %v, want one character", c.Text, err)
	}
}

func misfits(t *testing.T, d *deck) {
	b := newBench(t, d)
	good := b.kept(b.run, "c1", "something")
	other := b.kept(b.run, "c2", "something else")
	for _, row := range []struct {
		field string
		alter func(*evidence.Reference)
		err   error
	}{
		{"reference.version", func(r *evidence.Reference) { r.Version = 99 }, retrieval.ErrVersion},
		{"reference.sha256", func(r *evidence.Reference) { r.SHA256 = other.SHA256 }, retrieval.ErrReference},
		{"reference.bytes", func(r *evidence.Reference) { r.Bytes++ }, retrieval.ErrReference},
		{"reference.pieces", func(r *evidence.Reference) { r.Pieces = other.SHA256 }, retrieval.ErrReference},
		{"reference.evidence_id", func(r *evidence.Reference) { r.EvidenceID = other.EvidenceID }, retrieval.ErrReference},
		{"", func(r *evidence.Reference) { r.ToolCallID = "c3" }, retrieval.ErrMissing},
		{"", func(r *evidence.Reference) { r.Turn = "1" }, retrieval.ErrMissing},
		{"", func(r *evidence.Reference) { r.RunID = "run-2" }, retrieval.ErrMissing},
		{"reference.sha256", func(r *evidence.Reference) { r.SHA256 = strings.ToUpper(r.SHA256) }, retrieval.ErrArgument},
		{"reference.run_id", func(r *evidence.Reference) { r.RunID = "../run" }, retrieval.ErrArgument},
		{"reference.tool_call_id", func(r *evidence.Reference) { r.ToolCallID = "" }, retrieval.ErrArgument},
		{"reference.bytes", func(r *evidence.Reference) { r.Bytes = -1 }, retrieval.ErrArgument},
		{"reference.evidence_id", func(r *evidence.Reference) { r.EvidenceID = "a b" }, retrieval.ErrArgument},
	} {
		ref := good
		row.alter(&ref)
		for verb, act := range map[string]func() error{
			"read":   func() error { _, err := b.Read(t.Context(), ref, retrieval.Part{}); return err },
			"open":   func() error { _, err := b.Open(t.Context(), ref); return err },
			"record": func() error { _, err := b.Record(t.Context(), ref); return err },
			"delete": func() error { return b.Delete(t.Context(), ref) },
		} {
			if e := want(t, verb+" "+row.field, act(), row.err); e.Field != row.field || e.Op != verb {
				t.Errorf("%s: op %q field %q, want field %q", verb, e.Op, e.Field, row.field)
			}
		}
	}
	if raw, err := b.Open(t.Context(), good); err != nil || string(raw) != "something" {
		t.Errorf("afterwards: %q, %v", []byte(raw), err)
	}
}

// sameMissing: another scope's evidence, evidence that was deleted and evidence
// that never was give equal errors, in every field and text, by every verb.
func sameMissing(t *testing.T, d *deck) {
	b := newBench(t, d)
	foreign := canonical.Scope{Tenant: "acme", Owner: "ops", Namespace: "test"}
	deleted := b.kept(b.run, "gone", "something")
	if err := b.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	never := deleted
	never.ToolCallID = "never"
	for verb, act := range map[string]func(evidence.Reference) error{
		"read":   func(ref evidence.Reference) error { _, err := b.Read(t.Context(), ref, retrieval.Part{}); return err },
		"open":   func(ref evidence.Reference) error { _, err := b.Open(t.Context(), ref); return err },
		"record": func(ref evidence.Reference) error { _, err := b.Record(t.Context(), ref); return err },
		"delete": func(ref evidence.Reference) error { return b.Delete(t.Context(), ref) },
		"find": func(ref evidence.Reference) error {
			_, err := b.Find(t.Context(), canonical.RunID(ref.RunID), canonical.EvidenceID(ref.EvidenceID))
			return err
		},
		"reference": func(ref evidence.Reference) error {
			_, err := b.GetReference(t.Context(), canonical.RunID(ref.RunID), named(ref.ToolCallID))
			return err
		},
	} {
		first := want(t, verb, act(never), retrieval.ErrMissing)
		for what, ref := range map[string]evidence.Reference{"foreign": b.foreign(foreign, verb), "deleted": deleted} {
			if e := want(t, verb+" "+what, act(ref), retrieval.ErrMissing); *e != *first || e.Error() != first.Error() {
				t.Errorf("%s %s: %+v, missing is %+v", verb, what, *e, *first)
			}
		}
	}
	if raw, err := mustIn(t, b.Reader, foreign).Open(t.Context(), b.foreign(foreign, "again")); err != nil || string(raw) != "theirs" {
		t.Errorf("the other scope's own reader: %q, %v", []byte(raw), err)
	}
}

// foreign is a call of another scope.
func (b *bench) foreign(scope canonical.Scope, id string) evidence.Reference {
	b.t.Helper()
	return b.kept(b.open(canonical.RunID("x-"+id), scope), id, "theirs")
}

func mustIn(t *testing.T, r *retrieval.Reader, scope canonical.Scope) *retrieval.Reader {
	t.Helper()
	out, err := r.In(scope)
	if err != nil || out.Scope() != scope {
		t.Fatalf("In: %v", err)
	}
	return out
}

func expiredEvidence(t *testing.T, d *deck) {
	b := newBench(t, d)
	short := shortLived(t, b, "short")
	ref := short.kept(short.run, "c1", "soon gone")
	if _, err := b.Read(t.Context(), ref, retrieval.Part{}); err != nil {
		t.Fatal(err)
	}
	d.advance(t, shortLife)
	_, err := b.Read(t.Context(), ref, retrieval.Part{}) // its view may still be kept
	first := want(t, "read", err, retrieval.ErrMissing)
	ref.ToolCallID = "never"
	if _, err = b.Read(t.Context(), ref, retrieval.Part{}); *want(t, "never", err, retrieval.ErrMissing) != *first {
		t.Errorf("expired is told as %v, missing as %v", first, err)
	}
	page, err := b.List(t.Context(), retrieval.Filter{}, "", 100)
	if err != nil || len(page.Entries) != 0 {
		t.Errorf("listed %d entries, %v; expired ones leave the list", len(page.Entries), err)
	}
}

func detached(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "as it was")
	record, err := b.Record(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Open(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []canonical.Body{record.Raw.Bytes, record.Request, record.Agent, record.Facts, raw} {
		for i := range body {
			body[i] = '!'
		}
	}
	again, err := b.Record(t.Context(), ref)
	if err != nil || string(again.Raw.Bytes) != "as it was" || string(again.Request) != someArgs {
		t.Errorf("record again: %q %q, %v", []byte(again.Raw.Bytes), []byte(again.Request), err)
	}
	if got := readAll(t, b.Reader, ref, 0); got != "as it was" {
		t.Errorf("read again: %q", got)
	}
}

func strengths(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "x")
	strong := ref
	strong.Strength = "replicas:2"
	if _, err := b.Open(t.Context(), strong); err != nil {
		t.Errorf("a reference of greater strength: %v", err)
	}
	page, err := b.List(t.Context(), retrieval.Filter{}, "", 0)
	if err != nil || len(page.Entries) != 1 {
		t.Fatalf("List: %d entries, %v", len(page.Entries), err)
	}
	if listed, ok := page.Entries[0].Reference(); !ok || listed != ref || listed.Strength != evidence.StrengthMemory {
		t.Errorf("listed %+v, want %+v", listed, ref)
	}
}

func redactedView(t *testing.T, d *deck) {
	b := newBench(t, d)
	raw := `{"a":[{"clientSecret":"hunter2","max_tokens":10,"deep":{"API_KEY":"k-1","primaryKey":9007199254740993}}],"password":7}`
	shown := `{"a":[{"clientSecret":"[REDACTED]","max_tokens":10,"deep":{"API_KEY":"[REDACTED]","primaryKey":9007199254740993}}],"password":"[REDACTED]"}`
	ref := b.kept(b.run, "c1", raw)
	for _, max := range []int{1, 7, 0} {
		if got := readAll(t, b.Reader, ref, max); got != shown {
			t.Errorf("view in chunks of %d: %s", max, got)
		}
	}
	if got, err := b.Open(t.Context(), ref); err != nil || string(got) != raw {
		t.Errorf("Open: %s, %v", []byte(got), err)
	}
}

func ranges(t *testing.T, d *deck) {
	b := newBench(t, d)
	text := strings.Repeat(hard(), 400)
	ref := b.kept(b.run, "c1", text)
	first, err := b.Read(t.Context(), ref, retrieval.Part{Max: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{first.Next, int64(len(hard())), int64(len(hard())) * 399} {
		c, err := b.Read(t.Context(), ref, retrieval.Part{Offset: want, Max: 50, View: first.ViewSHA256[:16]})
		if err != nil || c.Text == "" || text[want:want+int64(len(c.Text))] != c.Text {
			t.Errorf("at %d: %q, %v", want, c.Text, err)
		}
	}
}

// Bytes that are no text: each run of them is one U+FFFD of the view, and Open has
// them as they are.
func TestRead_bytes_that_are_not_UTF8(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeDeck(t))
	raw := []byte("{\"password\":\"a\xff\xfeb\"}\n\xc3(\x00 日\xe6\x97")
	got := b.calls(b.run, tried{id: "c1", raw: raw})
	ref, _ := got.Outcome.Reference()
	for _, max := range []int{1, 2, 3, 5, 0} {
		text := readAll(t, b.Reader, ref, max)
		if !utf8.ValidString(text) || text != "{\"password\":\"[REDACTED]\"}\n\uFFFD(\x00 日\uFFFD" {
			t.Errorf("view in chunks of %d: %q", max, text)
		}
	}
	if got, err := b.Open(t.Context(), ref); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("Open: %q, %v", []byte(got), err)
	}
}

// policy is a host's own redaction, of a version.
type policy struct {
	version string
	with    string
	fails   bool
}

func (p policy) Version() string { return p.version }

func (p policy) Redact(_ context.Context, _ redact.Kind, value []byte) ([]byte, error) {
	if p.fails {
		return nil, context.DeadlineExceeded
	}
	return bytes.ReplaceAll(value, []byte("name"), []byte(p.with)), nil
}

func withPolicy(t *testing.T, d *deck, p policy) *retrieval.Reader {
	t.Helper()
	r, err := redact.New(redact.Config{Policy: p, Limits: redact.Limits{Policy: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return reader(t, retrieval.Config{Store: d.Store, Redactor: r})
}

func changedPolicy(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "some name and another name")
	before := withPolicy(t, d, policy{version: "1", with: "who"})
	after := withPolicy(t, d, policy{version: "2", with: "person"})
	first, err := before.Read(t.Context(), ref, retrieval.Part{Max: 6})
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{first.ViewSHA256, first.ViewSHA256[:16]} {
		c, err := after.Read(t.Context(), ref, retrieval.Part{Offset: first.Next, View: view})
		want(t, "other policy", err, retrieval.ErrViewChanged)
		if c != (retrieval.Chunk{}) {
			t.Errorf("served %+v", c)
		}
		if _, err := before.Read(t.Context(), ref, retrieval.Part{Offset: first.Next, View: view}); err != nil {
			t.Errorf("same policy: %v", err)
		}
	}
	if same := withPolicy(t, d, policy{version: "3", with: "who"}); readAll(t, same, ref, 6) != "some who and another who" {
		t.Error("a policy that shows the same gives another view")
	}
}

func failingPolicy(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "some name")
	withheld := withPolicy(t, d, policy{version: "4", fails: true})
	_, err := withheld.Read(t.Context(), ref, retrieval.Part{})
	want(t, "failing policy", err, retrieval.ErrWithheld)
	if raw, err := withheld.Open(t.Context(), ref); err != nil || len(raw) == 0 {
		t.Errorf("Open under a failing policy: %v", err)
	}
}
