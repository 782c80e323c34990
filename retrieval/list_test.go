package retrieval_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/retrieval"
)

func TestList(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"S43_E41_250_records_are_three_pages_of_metadata", threePages},
		{"S44_foreign_and_malformed_cursors_are_refused", badCursors},
		{"E41_a_cursor_survives_calls_and_runs_that_come_in_between", inserts},
		{"E41_filters_by_run_tool_status_and_state", filters},
		{"S11_E18_calls_of_the_reading_tools_are_not_listed", readingTools},
		{"E44_deleted_and_expired_records_leave_the_list", leaving},
	})
}

// pages lists everything in pages of limit.
func pages(t *testing.T, r *retrieval.Reader, f retrieval.Filter, limit int) (entries []retrieval.Entry, count int) {
	t.Helper()
	for after := ""; ; {
		page, err := r.List(t.Context(), f, after, limit)
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		if count++; count > 1000 {
			t.Fatal("the list has no end")
		}
		entries = append(entries, page.Entries...)
		if after = page.Next; after == "" {
			return entries, count
		}
	}
}

// ids are the call ids of entries, in order.
func ids(entries []retrieval.Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, string(e.Call.ID))
	}
	return strings.Join(out, " ")
}

func threePages(t *testing.T, d *deck) {
	b := newBench(t, d)
	second := b.open("run-2", testScope())
	for i := range 250 {
		run := b.run
		if i >= 130 {
			run = second
		}
		b.kept(run, fmt.Sprintf("c%03d", i), "result-77aa")
	}
	entries, count := pages(t, b.Reader, retrieval.Filter{}, 100)
	if len(entries) != 250 || count != 3 {
		t.Fatalf("%d entries on %d pages, want 250 on 3", len(entries), count)
	}
	for i, e := range entries {
		if string(e.Call.ID) != fmt.Sprintf("c%03d", i) || e.Tool != "search" || e.State != lifecycle.Ready || !e.HasResult || e.ResultBytes != 11 ||
			e.RequestBytes != int64(len(someArgs)) || e.Status != evidence.Found || e.Created.IsZero() || e.Ended.IsZero() || e.Expires.IsZero() {
			t.Fatalf("entry %d: %+v", i, e)
		}
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, "argument-5c1e") || strings.Contains(text, "result-77aa") {
			t.Fatalf("entry %d shows a body: %s", i, text)
		}
	}
	one, _ := pages(t, b.Reader, retrieval.Filter{}, 1)
	if ids(one) != ids(entries) {
		t.Error("pages of one give another order")
	}
}

func badCursors(t *testing.T, d *deck) {
	b := newBench(t, d)
	for _, id := range []string{"c1", "c2", "c3"} {
		b.kept(b.run, id, "x")
	}
	page, err := b.List(t.Context(), retrieval.Filter{}, "", 1)
	if err != nil || page.Next == "" {
		t.Fatalf("List: %+v, %v", page, err)
	}
	other := mustIn(t, b.Reader, canonical.Scope{Tenant: "acme", Owner: "op", Namespace: "stests"})
	plain, _ := base64.RawURLEncoding.DecodeString(page.Next)
	list := func(r *retrieval.Reader, f retrieval.Filter, after string) error {
		got, err := r.List(t.Context(), f, after, 1)
		if err != nil && (len(got.Entries) > 0 || got.Next != "") {
			t.Errorf("a refused cursor gives %+v", got)
		}
		return err
	}
	want(t, "of another scope", list(other, retrieval.Filter{}, page.Next), retrieval.ErrCursor)
	want(t, "of another filter", list(b.Reader, retrieval.Filter{Tool: "search"}, page.Next), retrieval.ErrCursor)
	want(t, "of another run", list(b.Reader, retrieval.Filter{Run: "run-1"}, page.Next), retrieval.ErrCursor)
	want(t, "of pruning", list(b.Reader, retrieval.Filter{}, pruneCursor(t, b)), retrieval.ErrCursor)
	for _, text := range []string{
		"x", "1", "0", page.Next + "A", page.Next[1:], page.Next + "=", strings.ToUpper(page.Next), " " + page.Next, string(plain),
		base64.RawURLEncoding.EncodeToString(append([]byte("2"), plain[1:]...)),
		base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(plain), "/1/run-1/", "/2/run-1/", 1))),
		base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(plain), "/run-1/", "/run-2/", 1))),
	} {
		want(t, "cursor "+text, list(b.Reader, retrieval.Filter{}, text), retrieval.ErrCursor)
	}
	want(t, "endless cursor", list(b.Reader, retrieval.Filter{}, strings.Repeat("A", 513)), retrieval.ErrArgument)
	for i := range len(page.Next) { // no altered cursor is another place
		altered := []byte(page.Next)
		altered[i] ^= 1
		want(t, "altered", list(b.Reader, retrieval.Filter{}, string(altered)), retrieval.ErrCursor)
	}
	if err := list(b.Reader, retrieval.Filter{}, page.Next); err != nil {
		t.Errorf("the cursor itself: %v", err)
	}
}

func pruneCursor(t *testing.T, b *bench) string {
	t.Helper()
	out, err := b.Prune(t.Context(), retrieval.Pruning{Age: 24 * time.Hour, Look: 1})
	if err != nil || out.Next == "" {
		t.Fatalf("Prune: %+v, %v", out, err)
	}
	return out.Next
}

// inserts: runs are listed by the end of their life, so a run that is opened later
// with the same duration comes later; one with a shorter life may lie before the
// cursor and is not seen by this list any more.
func inserts(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.kept(b.run, "a1", "x")
	b.kept(b.run, "a2", "x")
	page, err := b.List(t.Context(), retrieval.Filter{}, "", 1)
	if err != nil || ids(page.Entries) != "a1" {
		t.Fatalf("first page: %v, %v", page.Entries, err)
	}
	b.kept(b.run, "a3", "x")
	d.advance(t, 5*time.Millisecond)
	second := b.open("run-0", testScope())
	b.kept(second, "b1", "x")
	var rest []retrieval.Entry
	for after := page.Next; after != ""; {
		next, err := b.List(t.Context(), retrieval.Filter{}, after, 1)
		if err != nil {
			t.Fatal(err)
		}
		rest, after = append(rest, next.Entries...), next.Next
	}
	if ids(rest) != "a2 a3 b1" {
		t.Errorf("the rest is %q, want a2 a3 b1, each once", ids(rest))
	}
	if again, err := b.List(t.Context(), retrieval.Filter{}, rest[0].After, 100); err != nil || ids(again.Entries) != "a3 b1" {
		t.Errorf("behind an entry: %q, %v", ids(again.Entries), err)
	}
}

func filters(t *testing.T, d *deck) {
	b := newBench(t, d)
	second := b.open("run-2", testScope())
	b.kept(b.run, "a1", "x")
	b.calls(b.run, tried{id: "a2", tool: "sql", fails: errors.New("no")})
	b.calls(b.run, tried{id: "a3", raw: []byte("x"), unclear: true})
	b.calls(second, tried{id: "b1", tool: "sql", raw: []byte("x")})
	for want, f := range map[string]retrieval.Filter{
		"a1 a2 a3 b1": {},
		"a1 a2 a3":    {Run: "run-1"},
		"a2 b1":       {Tool: "sql"},
		"a2":          {Tool: "sql", Run: "run-1"},
		"a2 a3":       {Status: evidence.Failed},
		"a1 b1":       {State: lifecycle.Ready},
		"b1":          {Tool: "sql", Status: evidence.Found},
		"":            {Tool: "shell"},
	} {
		if got, _ := pages(t, b.Reader, f, 1); ids(got) != want {
			t.Errorf("%+v: %q, want %q", f, ids(got), want)
		}
	}
	for field, f := range map[string]retrieval.Filter{
		"run_id": {Run: "a/b"}, "tool": {Tool: "a b"}, "status": {Status: "FOUND"}, "state": {State: "DONE"},
	} {
		_, err := b.List(t.Context(), f, "", 0)
		if e := want(t, field, err, retrieval.ErrArgument); e.Field != field {
			t.Errorf("field %q, want %q", e.Field, field)
		}
	}
	for _, limit := range []int{-1, 101} {
		_, err := b.List(t.Context(), retrieval.Filter{}, "", limit)
		if e := want(t, "limit", err, retrieval.ErrArgument); e.Field != "limit" || e.Got != int64(limit) || e.Limit != retrieval.MaxPage {
			t.Errorf("limit %d: %+v", limit, e)
		}
	}
	_, err := b.List(t.Context(), retrieval.Filter{Run: "run-3"}, "", 0)
	want(t, "a run that is not there", err, retrieval.ErrMissing)
}

func readingTools(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.kept(b.run, "a1", "x")
	var ref evidence.Reference
	for i := range 20 {
		tool := []string{retrieval.ToolRead, retrieval.ToolList}[i%2]
		got := b.calls(b.run, tried{id: fmt.Sprint("r", i), tool: tool, raw: []byte("page")})
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		ref, _ = got.Outcome.Reference()
	}
	if got, _ := pages(t, b.Reader, retrieval.Filter{}, 7); ids(got) != "a1" {
		t.Errorf("listed %q, want a1 alone", ids(got))
	}
	_, err := b.Read(t.Context(), ref, retrieval.Part{})
	want(t, "reading what was read", err, retrieval.ErrMissing)
	_, err = b.Find(t.Context(), "run-1", canonical.EvidenceID(ref.EvidenceID))
	want(t, "finding it", err, retrieval.ErrMissing)
	again := b.calls(b.run, tried{id: "r3", tool: retrieval.ToolList, raw: []byte("page")})
	if again.Outcome.Code() != lifecycle.DuplicateToolCall {
		t.Errorf("its id again: %v, want a duplicate like any other", again.Outcome.Code())
	}
}

func leaving(t *testing.T, d *deck) {
	b := newBench(t, d)
	gone := b.kept(b.run, "a1", "x")
	b.kept(b.run, "a2", "x")
	if err := b.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if got, _ := pages(t, b.Reader, retrieval.Filter{}, 1); ids(got) != "a2" {
		t.Errorf("listed %q, want a2", ids(got))
	}
}

func TestFind(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"P32_E42_S45_in_its_run_in_another_and_in_a_store_of_2000", findsWithinBounds},
	})
}

// counting counts what is asked of a store.
type counting struct {
	canonical.Store
	lists int
}

func (c *counting) ListRuns(ctx context.Context, scope canonical.Scope, after canonical.ListedRun, max int) ([]canonical.ListedRun, error) {
	c.lists++
	return c.Store.ListRuns(ctx, scope, after, max)
}

func findsWithinBounds(t *testing.T, d *deck) {
	b := newBench(t, d)
	store := &counting{Store: d.Store}
	r := reader(t, retrieval.Config{Store: store})
	ref := b.kept(b.run, "c1", "x")
	id := canonical.EvidenceID(ref.EvidenceID)
	other := b.open("run-2", testScope())
	for _, run := range []canonical.RunID{"run-1", ""} {
		e, err := r.Find(t.Context(), run, id)
		if got, ok := e.Reference(); err != nil || !ok || got != ref {
			t.Errorf("in run %q: %+v, %v", run, got, err)
		}
	}
	_, err := r.Find(t.Context(), other.Key().Run, id)
	want(t, "in another run", err, retrieval.ErrMissing)
	_, err = r.Find(t.Context(), "", "no-such-id")
	want(t, "nowhere, of few runs", err, retrieval.ErrMissing)
	_, err = r.Find(t.Context(), "", "a b")
	want(t, "no id", err, retrieval.ErrArgument)

	last := fill(t, b, 2, retrieval.FindPages*retrieval.FindPerPage)
	store.lists = 0
	if e, err := r.Find(t.Context(), "", last); err != nil || e.EvidenceID != last {
		t.Errorf("in the 1,000th of 1,000 runs: %v", err)
	}
	if store.lists > retrieval.FindPages {
		t.Errorf("%d pages of runs, want %d at most", store.lists, retrieval.FindPages)
	}
	_, err = r.Find(t.Context(), "", "no-such-id")
	want(t, "nowhere, of 1,000 runs", err, retrieval.ErrMissing)

	last = fill(t, b, 1000, 2000)
	for _, id := range []canonical.EvidenceID{last, "no-such-id"} {
		store.lists = 0
		_, err = r.Find(t.Context(), "", id)
		if e := want(t, "in a store of 2,000", err, retrieval.ErrLookupBudget); errors.Is(err, retrieval.ErrMissing) || e.Limit != 1000 {
			t.Errorf("%v: a budget that ended is no absence", err)
		}
		if store.lists > retrieval.FindPages {
			t.Errorf("%d pages of runs, want %d at most", store.lists, retrieval.FindPages)
		}
	}
	if e, err := r.Find(t.Context(), "fill-1999", last); err != nil || e.EvidenceID != last {
		t.Errorf("in its run: %v", err)
	}
}

// fill opens runs of one call each until there are that many, each later than the
// one before, and is the evidence id of the last.
func fill(t *testing.T, b *bench, from, to int) canonical.EvidenceID {
	t.Helper()
	for i := from; i < to-1; i++ {
		if _, err := b.boundary.OpenRun(t.Context(), runSpec(canonical.RunID(fmt.Sprintf("fill-%04d", i)), testScope())); err != nil {
			t.Fatal(err)
		}
	}
	b.deck.advance(t, 5*time.Millisecond)
	ref := b.kept(b.open(canonical.RunID(fmt.Sprintf("fill-%04d", to-1)), testScope()), "c1", "x")
	return canonical.EvidenceID(ref.EvidenceID)
}
