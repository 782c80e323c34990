package retrieval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/retrieval"
)

func TestProtected(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"S62_E79_what_has_no_verified_result_is_protected", protection},
		{"S63_S74_E83_E88_a_settled_result_lifts_protection", settledLifts},
		{"S66_E84_E85_S30_E54_acknowledgements_that_are_refused", refusedAcks},
	})
}

func pair(id, tool string) retrieval.Pair {
	return retrieval.Pair{Run: "run-1", Call: named(id), Tool: tool}
}

func protection(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.kept(b.run, "text", "x")
	b.kept(b.run, "null", "null")
	b.kept(b.run, "empty", "")
	b.calls(b.run, tried{id: "failed", fails: errors.New("no")})
	b.calls(b.run, tried{id: "unclear", raw: []byte("x"), unclear: true})
	deleted := b.kept(b.run, "deleted", "x")
	if err := b.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		pair retrieval.Pair
		want bool
		why  string
	}{
		{pair("text", "search"), false, "a result"},
		{pair("null", "search"), false, "null is a result"},
		{pair("empty", "search"), false, "so is an empty text"},
		{pair("unclear", "search"), false, "the result is there, whatever became of its projection"},
		{pair("failed", "search"), true, "a status alone"},
		{pair("deleted", "search"), true, "gone"},
		{pair("never", "search"), true, "never stored"},
		{pair("text", "sql"), true, "another tool's"},
		{retrieval.Pair{Run: "run-2", Call: named("text"), Tool: "search"}, true, "another run's"},
		{retrieval.Pair{Run: "run-1", Call: canonical.CallName{Turn: "1", ID: "text"}, Tool: "search"}, true, "another turn's"},
	} {
		got, err := b.Protected(t.Context(), row.pair)
		if err != nil || got != row.want {
			t.Errorf("%s: protected %t, %v, want %t", row.why, got, err, row.want)
		}
	}
	elsewhere := mustIn(t, b.Reader, canonical.Scope{Owner: "somebody"})
	if got, err := elsewhere.Protected(t.Context(), pair("text", "search")); err != nil || !got {
		t.Errorf("of another scope: protected %t, %v", got, err)
	}
	got, err := b.Protected(t.Context(), retrieval.Pair{Run: "run-1", Call: named("text")})
	if want(t, "no tool", err, retrieval.ErrArgument); !got {
		t.Error("a pair that means nothing is not protected")
	}
}

// settledLifts: the result of a call could not be stored. It is protected until it
// is settled; nothing runs again.
func settledLifts(t *testing.T, d *deck) {
	faulty := fakes.NewFaulty(d.Store, "marker")
	front := *d
	front.Store = faulty
	b := newBench(t, &front)
	receipts, err := retrieval.NewReceipts(testScope(), retrieval.DefaultReceipts)
	if err != nil {
		t.Fatal(err)
	}
	faulty.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
	ran := b.calls(b.run, tried{id: "c1", raw: []byte("kept by the host")})
	if ran.Outcome.Code() != lifecycle.ResultNotStored {
		t.Fatalf("the call is %v", ran.Outcome.Code())
	}
	if err := receipts.Note(retrieval.Receipt{Run: "run-1", ToolCallID: "c1", Tool: "search", Code: ran.Outcome.Code(), Execution: ran.Outcome.Execution()}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Protected(t.Context(), pair("c1", "search")); err != nil || !got {
		t.Errorf("not stored: protected %t, %v", got, err)
	}
	faulty.Heal(fakes.MethodComplete)
	b.settle()
	if got, err := b.Protected(t.Context(), pair("c1", "search")); err != nil || got {
		t.Errorf("settled: protected %t, %v", got, err)
	}
	ref, err := b.GetReference(t.Context(), "run-1", named("c1"))
	if err != nil {
		t.Fatal(err)
	}
	if !receipts.Protected(pair("c1", "search")) {
		t.Error("not acknowledged, and not protected")
	}
	if err := receipts.Acknowledge(t.Context(), b.Reader, pair("c1", "search"), ref); err != nil || receipts.Protected(pair("c1", "search")) {
		t.Errorf("acknowledged: %v", err)
	}
	if old := receipts.Recent()[0]; old.Code != lifecycle.ResultNotStored {
		t.Errorf("the receipt says %q now, it said RESULT_NOT_STORED", old.Code)
	}
	if raw, err := b.Open(t.Context(), ref); err != nil || string(raw) != "kept by the host" {
		t.Errorf("the result: %q, %v", []byte(raw), err)
	}
}

func refusedAcks(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "x")
	other := b.kept(b.run, "c2", "x")
	b.calls(b.run, tried{id: "failed", fails: errors.New("no")})
	b.kept(b.run, "null", "null")
	forged := ref
	forged.EvidenceID = other.EvidenceID
	status := ref
	status.ToolCallID = "failed"
	page, _ := pages(t, b.Reader, retrieval.Filter{}, 100)
	status.EvidenceID = string(page[2].EvidenceID)
	for _, row := range []struct {
		what string
		from *retrieval.Reader
		pair retrieval.Pair
		ref  evidence.Reference
		err  error
	}{
		{"its own", b.Reader, pair("c1", "search"), ref, nil},
		{"again", b.Reader, pair("c1", "search"), ref, nil},
		{"of another call", b.Reader, pair("c1", "search"), other, retrieval.ErrAcknowledge},
		{"of another run", b.Reader, retrieval.Pair{Run: "run-2", Call: named("c1"), Tool: "search"}, ref, retrieval.ErrAcknowledge},
		{"of another tool", b.Reader, pair("c1", "sql"), ref, retrieval.ErrAcknowledge},
		{"of another execution", b.Reader, pair("c1", "search"), forged, retrieval.ErrReference},
		{"of a status alone", b.Reader, pair("failed", "search"), status, retrieval.ErrNoResult},
		{"of another scope", mustIn(t, b.Reader, canonical.Scope{Owner: "x"}), pair("c1", "search"), ref, retrieval.ErrMissing},
		{"of no tool", b.Reader, pair("c1", ""), ref, retrieval.ErrArgument},
	} {
		err := row.from.Acknowledge(t.Context(), row.pair, row.ref)
		if row.err == nil && err != nil {
			t.Errorf("%s: %v", row.what, err)
		}
		if row.err != nil {
			want(t, row.what, err, row.err)
		}
	}
	null, err := b.GetReference(t.Context(), "run-1", named("null"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Acknowledge(t.Context(), pair("null", "search"), null); err != nil {
		t.Errorf("null: %v", err)
	}
	_, err = b.GetReference(t.Context(), "run-1", named("failed"))
	want(t, "reference of a status", err, retrieval.ErrNoResult)
}

func TestReceipts(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"S75_S76_S79_E47_E48_E49_E51_snapshots_are_checked_whole", snapshots},
		{"S78_E50_a_smaller_list_keeps_the_newest", smaller},
		{"S80_E56_a_snapshot_has_what_is_pending_and_is_detached", pending},
		{"S81_E57_the_checkpoint_wins_and_the_record_acknowledges_again", checkpoint},
		{"S67_E84_a_receipt_that_changes_while_the_store_is_asked", moving},
	})
}

func newReceipts(t *testing.T, limit int) *retrieval.Receipts {
	t.Helper()
	r, err := retrieval.NewReceipts(testScope(), limit)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// receiptOf is what a host notes of a call that went well.
func receiptOf(ref evidence.Reference) retrieval.Receipt {
	return retrieval.Receipt{
		Run: canonical.RunID(ref.RunID), ToolCallID: canonical.ToolCallID(ref.ToolCallID), Tool: "search",
		Execution: lifecycle.Completed, Reference: &ref,
	}
}

func note(t *testing.T, r *retrieval.Receipts, list ...retrieval.Receipt) {
	t.Helper()
	for _, receipt := range list {
		if err := r.Note(receipt); err != nil {
			t.Fatalf("Note: %v", err)
		}
	}
}

func saved(t *testing.T, r *retrieval.Receipts) string {
	t.Helper()
	data, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func snapshots(t *testing.T, d *deck) {
	b := newBench(t, d)
	live := newReceipts(t, 20)
	note(t, live, receiptOf(b.kept(b.run, "c1", "result-77aa")), receiptOf(b.kept(b.run, "c2", "result-77aa")))
	good := saved(t, live)
	for _, secret := range []string{"result-77aa", "argument-5c1e", "harness:", "query"} {
		if strings.Contains(good, secret) {
			t.Errorf("the snapshot has %q: %s", secret, good)
		}
	}
	into := newReceipts(t, 20)
	note(t, into, receiptOf(b.kept(b.run, "c3", "x")))
	before := saved(t, into)
	replace := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the snapshot has no %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	last := strings.LastIndex(good, `"tool":"search"`)
	for what, row := range map[string]struct {
		data string
		err  error
	}{
		"another scope":     {replace(`"tenant":"acme"`, `"tenant":"acm"`), retrieval.ErrScope},
		"version 99":        {replace(`"version":1`, `"version":99`), retrieval.ErrVersion},
		"no version":        {replace(`"version":1,`, ``), retrieval.ErrVersion},
		"one bad receipt":   {good[:last] + `"tool":"a b"` + good[last+len(`"tool":"search"`):], retrieval.ErrSnapshot},
		"an unknown member": {replace(`"scope":`, `"redactor":"x","scope":`), retrieval.ErrSnapshot},
		"a member twice":    {replace(`"scope":`, `"version":1,"scope":`), retrieval.ErrSnapshot},
		"a receipt twice":   {replace(`"tool_call_id":"c2"`, `"tool_call_id":"c1"`), retrieval.ErrSnapshot},
		"another's digest":  {replace(`"bytes":11`, `"bytes":-1`), retrieval.ErrSnapshot},
		"cut":               {good[:len(good)-1], retrieval.ErrSnapshot},
		"more behind it":    {good + "{}", retrieval.ErrSnapshot},
		"null":              {"null", retrieval.ErrVersion},
		"far too large":     {strings.Repeat(" ", retrieval.MaxSnapshot) + good, retrieval.ErrSnapshot},
		"a reading tool":    {good[:last] + `"tool":"evidence_read"` + good[last+len(`"tool":"search"`):], retrieval.ErrSnapshot},
	} {
		want(t, what, into.Restore([]byte(row.data)), row.err)
		if now := saved(t, into); now != before {
			t.Errorf("%s was refused and changed the receipts", what)
		}
	}
	if err := into.Restore([]byte(good)); err != nil || saved(t, into) != good {
		t.Errorf("the snapshot itself: %v", err)
	}
	if err := into.Restore(nil); err != nil || len(into.Recent()) != 0 {
		t.Errorf("a session without: %v, %d receipts", err, len(into.Recent()))
	}
	for _, limit := range []int{-1, 101} {
		_, err := retrieval.NewReceipts(testScope(), limit)
		want(t, "limit", err, retrieval.ErrArgument)
	}
}

func smaller(t *testing.T, d *deck) {
	b := newBench(t, d)
	large := newReceipts(t, 20)
	for i := range 25 {
		note(t, large, receiptOf(b.kept(b.run, "c"+string(rune('a'+i)), "x")))
	}
	if got := large.Recent(); len(got) != 20 || got[0].ToolCallID != "cy" || got[19].ToolCallID != "cf" {
		t.Fatalf("%d receipts, from %s to %s", len(got), got[0].ToolCallID, got[len(got)-1].ToolCallID)
	}
	small := newReceipts(t, 5)
	if err := small.Restore([]byte(saved(t, large))); err != nil {
		t.Fatal(err)
	}
	if got := small.Recent(); len(got) != 5 || got[0].ToolCallID != "cy" || got[4].ToolCallID != "cu" {
		t.Errorf("%d receipts, want the newest five", len(got))
	}
	none := newReceipts(t, 0)
	if err := none.Restore([]byte(saved(t, large))); err != nil || len(none.Recent()) != 0 {
		t.Errorf("a list of none: %d receipts, %v", len(none.Recent()), err)
	}
	if got, _ := pages(t, b.Reader, retrieval.Filter{}, 100); len(got) != 25 {
		t.Errorf("%d are listed, want all 25", len(got))
	}
}

func pending(t *testing.T, d *deck) {
	b := newBench(t, d)
	live := newReceipts(t, 20)
	note(t, live, retrieval.Receipt{Run: "run-1", ToolCallID: "p1", Tool: "search", Code: lifecycle.ResultNotStored, Execution: lifecycle.Completed})
	note(t, live, receiptOf(b.kept(b.run, "c1", "x")))
	data, err := live.Snapshot()
	if err != nil || !strings.Contains(string(data), `"p1"`) {
		t.Fatalf("the snapshot lacks what is pending: %s, %v", data, err)
	}
	before := saved(t, live)
	for i := range data {
		data[i] = 'x'
	}
	recent := live.Recent()
	recent[0].Acknowledged, recent[0].Reference.EvidenceID = true, "changed"
	if saved(t, live) != before || !live.Protected(pair("p1", "search")) || !live.Protected(pair("c1", "search")) {
		t.Error("a copy that was changed changed the receipts")
	}
	state, err := d.Inspect(t.Context(), b.run.Key())
	if err != nil || state.LastSeq != 1 {
		t.Errorf("the run has %d calls, %v, want 1", state.LastSeq, err)
	}
}

func checkpoint(t *testing.T, d *deck) {
	b := newBench(t, d)
	live := newReceipts(t, 20)
	ref := b.kept(b.run, "c1", "x")
	note(t, live, receiptOf(ref))
	old := saved(t, live)
	p := pair("c1", "search")
	for range 2 {
		if err := live.Acknowledge(t.Context(), b.Reader, p, ref); err != nil || live.Protected(p) {
			t.Fatalf("acknowledged: %v, protected %t", err, live.Protected(p))
		}
		if err := live.Restore([]byte(old)); err != nil || !live.Protected(p) {
			t.Fatalf("restored: %v, protected %t", err, live.Protected(p))
		}
	}
	other := b.kept(b.run, "c2", "x")
	want(t, "of no receipt", live.Acknowledge(t.Context(), b.Reader, pair("c2", "search"), other), retrieval.ErrAcknowledge)
	want(t, "of another tool", live.Acknowledge(t.Context(), b.Reader, pair("c1", "sql"), ref), retrieval.ErrAcknowledge)
	want(t, "by a reader of another scope", live.Acknowledge(t.Context(), mustIn(t, b.Reader, canonical.Scope{Owner: "x"}), p, ref), retrieval.ErrScope)
	if !live.Protected(p) {
		t.Error("a refused acknowledgement was taken")
	}
}

// during does something while a raw result is read.
type during struct {
	canonical.Store
	do func()
}

func (s during) RawPart(ctx context.Context, run canonical.RunKey, call canonical.CallName, offset int64, max int) (canonical.RawPart, error) {
	s.do()
	return s.Store.RawPart(ctx, run, call, offset, max)
}

func moving(t *testing.T, d *deck) {
	b := newBench(t, d)
	live := newReceipts(t, 20)
	ref := b.kept(b.run, "c1", "x")
	note(t, live, receiptOf(ref))
	slow := reader(t, retrieval.Config{Store: during{d.Store, func() {
		if err := live.Restore(nil); err != nil {
			t.Error(err)
		}
	}}})
	want(t, "meanwhile restored", live.Acknowledge(t.Context(), slow, pair("c1", "search"), ref), retrieval.ErrAcknowledge)
	if len(live.Recent()) != 0 {
		t.Error("half of it was changed")
	}

	// Another receipt of the same call in its place is not the one that was asked about.
	note(t, live, receiptOf(ref))
	other := newReceipts(t, 20)
	unstored := receiptOf(ref)
	unstored.Code, unstored.Reference = lifecycle.ResultNotStored, nil
	note(t, other, unstored)
	older := saved(t, other)
	slow = reader(t, retrieval.Config{Store: during{d.Store, func() {
		if err := live.Restore([]byte(older)); err != nil {
			t.Error(err)
		}
	}}})
	want(t, "meanwhile another", live.Acknowledge(t.Context(), slow, pair("c1", "search"), ref), retrieval.ErrAcknowledge)
	if saved(t, live) != older || !live.Protected(pair("c1", "search")) {
		t.Error("half of it was changed")
	}
}

func TestRemoving(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"S48_E45_delete_takes_one", deletesOne},
		{"S126_R50_what_is_unresolved_or_open_is_not_deleted", keepsUnresolved},
		{"E45_prune_takes_what_is_old_or_acknowledged_and_says_so", prunes},
		{"S51_reading_moves_no_expiry", readsLeaveExpiries},
		{"E45_what_is_deleted_is_given_back_to_the_quota", givesBack},
	})
}

func deletesOne(t *testing.T, d *deck) {
	b := newBench(t, d)
	one, two := b.kept(b.run, "c1", "x"), b.kept(b.run, "c2", "x")
	foreign := b.foreign(canonical.Scope{Owner: "somebody"}, "c3")
	want(t, "of another scope", b.Delete(t.Context(), foreign), retrieval.ErrMissing)
	if err := b.Delete(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	want(t, "again", b.Delete(t.Context(), one), retrieval.ErrMissing)
	_, err := b.Open(t.Context(), one)
	want(t, "deleted", err, retrieval.ErrMissing)
	if _, err := b.Open(t.Context(), two); err != nil {
		t.Errorf("the other one: %v", err)
	}
	if _, err := mustIn(t, b.Reader, canonical.Scope{Owner: "somebody"}).Open(t.Context(), foreign); err != nil {
		t.Errorf("the other scope's: %v", err)
	}
	if again := b.calls(b.run, tried{id: "c1", raw: []byte("x")}); again.Outcome.Code() != lifecycle.DuplicateToolCall {
		t.Errorf("its id again: %v, want a duplicate", again.Outcome.Code())
	}
}

func keepsUnresolved(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "x")
	b.calls(b.run, tried{id: "w1", effect: canonical.EffectWrite, fails: errors.New("unclear")})
	n, err := b.DeleteRun(t.Context(), "run-1")
	if e := want(t, "unresolved", err, retrieval.ErrUnresolved); n != 0 || e.Got != 1 {
		t.Errorf("deleted %d, %+v", n, e)
	}
	if _, err := b.Open(t.Context(), ref); err != nil {
		t.Errorf("something was taken: %v", err)
	}
	out, err := b.Prune(t.Context(), retrieval.Pruning{Only: func(e retrieval.Entry) bool { return e.Call == named("w1") }})
	if err != nil || out.Unresolved != 1 || len(out.Taken) != 0 {
		t.Errorf("pruned %+v, %v", out, err)
	}
	err = d.Resolve(t.Context(), canonical.Resolution{Run: b.run.Key(), Call: named("w1"), Verdict: canonical.NotApplied, Evidence: "ticket 1"})
	if err != nil {
		t.Fatal(err)
	}
	open := b.open("run-open", testScope())
	admitOnly(t, d, open.Key(), "c9")
	n, err = b.DeleteRun(t.Context(), "run-open")
	if e := want(t, "open", err, retrieval.ErrOpen); n != 0 || e.Got != 1 {
		t.Errorf("deleted %d, %+v", n, e)
	}
	n, err = b.DeleteRun(t.Context(), "run-1")
	if err != nil || n != 2 {
		t.Errorf("resolved: deleted %d, %v, want 2", n, err)
	}
	if got, _ := pages(t, b.Reader, retrieval.Filter{Run: "run-1"}, 10); len(got) != 0 {
		t.Errorf("left: %s", ids(got))
	}
	_, err = b.DeleteRun(t.Context(), "run-7")
	want(t, "a run that is not there", err, retrieval.ErrMissing)
	settled, err := d.SettlementOf(t.Context(), b.run.Key(), named("w1"))
	if err != nil || settled.Resolved == nil {
		t.Errorf("the verdict went, too: %v", err)
	}
}

// admitOnly admits a call that nobody ends.
func admitOnly(t *testing.T, d *deck, run canonical.RunKey, id string) {
	t.Helper()
	state, err := d.Inspect(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Admit(t.Context(), canonical.Admission{
		Run: run, Call: named(id), Claim: "claim-1", EvidenceID: "evidence-1", Tool: "search", Effect: canonical.EffectRead,
		OperationKey: canonical.Identity{RunKey: run, Call: named(id)}.OperationKey([]byte(someArgs)),
		Request:      canonical.Body(someArgs), ToolBudget: canonical.Unlimited, Reserve: 1000,
		NotAfter: state.Now.Add(time.Minute), Timeout: time.Second, Closing: time.Second, TTL: state.Limits.RecordTTL,
	})
	if err != nil {
		t.Fatalf("Admit: %v", err)
	}
}

func prunes(t *testing.T, d *deck) {
	b := newBench(t, d)
	acked := newReceipts(t, 20)
	for _, id := range []string{"a1", "a2", "a3"} {
		note(t, acked, receiptOf(b.kept(b.run, id, "12345")))
	}
	admitOnly(t, d, b.run.Key(), "a4")
	d.advance(t, 300*time.Millisecond)
	b.kept(b.open("run-2", testScope()), "b1", "12345")
	ref, err := b.GetReference(t.Context(), "run-1", named("a2"))
	if err != nil {
		t.Fatal(err)
	}
	if err := acked.Acknowledge(t.Context(), b.Reader, pair("a2", "search"), ref); err != nil {
		t.Fatal(err)
	}
	prune := func(p retrieval.Pruning) (out retrieval.Pruned) {
		for {
			part, err := b.Prune(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			out.Taken, out.Bytes, out.Open = append(out.Taken, part.Taken...), out.Bytes+part.Bytes, out.Open+part.Open
			if p.After = part.Next; p.After == "" {
				return out
			}
		}
	}
	if out := prune(retrieval.Pruning{Only: acked.Acknowledged, Look: 1}); ids(out.Taken) != "a2" || out.Bytes != 5+int64(len(someArgs)+len("5 bytes")) || out.Open != 1 {
		t.Errorf("acknowledged: %s, %d bytes, %d open", ids(out.Taken), out.Bytes, out.Open)
	}
	if out := prune(retrieval.Pruning{Age: time.Hour}); len(out.Taken) != 0 {
		t.Errorf("nothing is so old: %s", ids(out.Taken))
	}
	if out := prune(retrieval.Pruning{Age: 200 * time.Millisecond}); ids(out.Taken) != "a1 a3" {
		t.Errorf("old: %s, want a1 a3", ids(out.Taken))
	}
	if got, _ := pages(t, b.Reader, retrieval.Filter{}, 10); ids(got) != "a4 b1" {
		t.Errorf("left: %s, want a4 b1", ids(got))
	}
	for field, p := range map[string]retrieval.Pruning{
		"age or only": {}, "age": {Age: -1}, "look": {Age: 1, Look: 1001}, "run_id": {Run: "a b", Age: 1},
	} {
		_, err := b.Prune(t.Context(), p)
		if e := want(t, field, err, retrieval.ErrArgument); e.Field != field {
			t.Errorf("field %q, want %q", e.Field, field)
		}
	}
}

func readsLeaveExpiries(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "x")
	before, err := b.Record(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	ends := expiries(t, d)
	for range 50 {
		readAll(t, b.Reader, ref, 1)
		pages(t, b.Reader, retrieval.Filter{}, 1)
		if _, err := b.Find(t.Context(), "", canonical.EvidenceID(ref.EvidenceID)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Protected(t.Context(), pair("c1", "search")); err != nil {
			t.Fatal(err)
		}
	}
	after, err := b.Record(t.Context(), ref)
	if err != nil || !after.Expires.Equal(before.Expires) {
		t.Errorf("expires %v, %v, it was %v", after.Expires, err, before.Expires)
	}
	for key, end := range expiries(t, d) {
		if end > ends[key] {
			t.Errorf("a key lives longer than before: %v, %v", end, ends[key])
		}
	}
}

// expiries are the lives of all keys, where the store has keys.
func expiries(t *testing.T, d *deck) map[string]time.Duration {
	t.Helper()
	out := map[string]time.Duration{}
	if d.client == nil {
		return out
	}
	keys, err := d.client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("KEYS: %d, %v", len(keys), err)
	}
	for _, key := range keys {
		if out[key], err = d.client.PTTL(t.Context(), key).Result(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// S49: no slot is waited for.
func TestBusy(t *testing.T) {
	onStores(t, backends(), []scenario{{"S49_E63_all_read_slots_taken_is_busy_at_once", busy}})
}

func busy(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "x")
	inside, leave := make(chan struct{}), make(chan struct{})
	r := reader(t, retrieval.Config{Slots: 2, Store: during{d.Store, func() { inside <- struct{}{}; <-leave }}})
	done := make(chan error, 2)
	for range 2 {
		go func() { _, err := r.Open(t.Context(), ref); done <- err }()
		<-inside
	}
	elsewhere := mustIn(t, r, canonical.Scope{Owner: "x"}) // shares the slots
	for verb, act := range map[string]func() error{
		"read":        func() error { _, err := r.Read(t.Context(), ref, retrieval.Part{}); return err },
		"open":        func() error { _, err := r.Open(t.Context(), ref); return err },
		"record":      func() error { _, err := elsewhere.Record(t.Context(), ref); return err },
		"acknowledge": func() error { return r.Acknowledge(t.Context(), pair("c1", "search"), ref) },
		"export":      func() error { _, err := r.Export(t.Context(), &strings.Builder{}, "run-1"); return err },
	} {
		if e := want(t, verb, act(), retrieval.ErrBusy); e.Op != verb || e.Limit != 2 {
			t.Errorf("%s: %+v", verb, e)
		}
	}
	if got, err := r.Protected(t.Context(), pair("c1", "search")); !got || !errors.Is(err, retrieval.ErrBusy) {
		t.Errorf("protected %t, %v: what cannot be asked is protected", got, err)
	}
	if _, err := r.List(t.Context(), retrieval.Filter{}, "", 0); err != nil {
		t.Errorf("a list moves no body: %v", err)
	}
	close(leave)
	for range 2 {
		if err := <-done; err != nil {
			t.Errorf("who had a slot: %v", err)
		}
	}
	go func() { <-inside }()
	if _, err := r.Open(t.Context(), ref); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// givesBack: the records of a closed run count against its scope's quota until
// they are deleted.
func givesBack(t *testing.T, d *deck) {
	b := newBench(t, d)
	limits, err := canonical.Limits{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	key := canonical.RunKey{Scope: testScope(), Run: "quota-1"}
	_, err = d.OpenRun(t.Context(), canonical.Opening{
		Run: key, Token: "token-1", Duration: time.Minute, Limits: limits,
		Budget: canonical.Budget{Calls: 10, PerTool: 10, Bytes: 100 << 20}, Quota: canonical.Quota{Bytes: 1 << 30},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.boundary.JoinRun(t.Context(), boundary.RunTicket{Run: key, Token: "token-1"})
	if err != nil {
		t.Fatal(err)
	}
	ref := b.kept(run, "c1", strings.Repeat("x", 5000))
	for _, id := range []string{"c2", "c3"} {
		b.kept(run, id, strings.Repeat("x", 5000))
	}
	if err := run.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	held := func() int64 {
		use, err := d.ScopeUse(t.Context(), key.Scope)
		if err != nil {
			t.Fatal(err)
		}
		return use.Bytes
	}
	before := held()
	if err := b.Delete(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	after := held()
	if before < 15000 || before-after < 5000 {
		t.Errorf("%d bytes held before the first is deleted, %d after", before, after)
	}
	out, err := b.Prune(t.Context(), retrieval.Pruning{Run: key.Run, Only: func(e retrieval.Entry) bool { return e.Call == named("c2") }})
	if err != nil || len(out.Taken) != 1 || after-held() < 5000 {
		t.Errorf("pruned %d, %v: %d bytes held, %d before", len(out.Taken), err, held(), after)
	}
	if n, err := b.DeleteRun(t.Context(), key.Run); err != nil || n != 3 || held() != 0 {
		t.Errorf("deleted %d, %v: %d bytes held", n, err, held())
	}
}
