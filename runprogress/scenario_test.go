package runprogress_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

func TestReport(t *testing.T) {
	t.Parallel()
	for _, on := range backends() {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				name string
				run  func(*testing.T, *deck)
			}{
				{"T65_three_groups_in_order", threeGroups},
				{"T66_order_of_admission", orderOfAdmission},
				{"T67_only_READY_of_this_run", onlyReady},
				{"T69_absence_is_no_fact", absenceIsNoFact},
				{"T70_named_twice_reported_once", namedTwice},
				{"T71_caps_are_counted", capsAreCounted},
				{"T73_the_tracker_leaves_nothing_in_the_store", trackerWritesNothing},
				{"T75_twice_equal", twiceEqual},
				{"T76_batches_without_raw", batches},
				{"P48_from_the_order", fromTheOrder},
				{"live_run_is_followed", liveRun},
			} {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, on.start(t))
				})
			}
		})
	}
}

func threeGroups(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.answered("call_a", "query", rows("Artist", "275"), rows("Album", "347"))
	b.answered("call_b", "search", rows("docs", "3"))
	b.answered("call_c", "query", rows("Track", "3503"))
	r := b.report()
	if got, want := factIDs(r), "1:query:call_a 1:query:call_a 2:search:call_b 3:query:call_c "; got != want {
		t.Errorf("facts of %q, want %q", got, want)
	}
	if r.Facts[1].Value != "347" || r.Facts[1].Subject.ID != "Album" || r.Facts[1].ObservedAt.IsZero() {
		t.Errorf("second fact %+v, want Album rows 347 with a time", r.Facts[1])
	}
	if len(r.Excluded) != 0 || len(r.Absences) != 0 || r.Omitted != (runprogress.Omitted{}) {
		t.Errorf("excluded %v, absences %v, omitted %v, want none", r.Excluded, r.Absences, r.Omitted)
	}
	if r.Complete {
		t.Error("complete, but the run is open")
	}
}

func orderOfAdmission(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.admit("A", "slow")
	b.admit("B", "fast")
	b.found("B", rows("b", "1"))
	b.found("A", rows("a", "1"))
	if got, want := factIDs(b.report()), "1:slow:A 2:fast:B "; got != want {
		t.Errorf("facts of %q, want %q", got, want)
	}
}

func onlyReady(t *testing.T, d *deck) {
	b := newBench(t, d)
	other := openBench(t, d, canonical.RunKey{Scope: b.run.Scope, Run: "r2"})
	other.answered("theirs", "query", rows("theirs", "1"))

	b.answered("ready", "query", rows("mine", "1"))
	b.admit("failed", "query")
	b.fail("failed", lifecycle.ToolTimeout, lifecycle.Unknown)
	b.admit("open", "query")
	b.done.Completed(call("open"), b.admitted[call("open")].Seq) // a host that noted too early
	b.answered("deleted", "query", rows("gone", "1"))
	if err := b.Delete(t.Context(), b.run, call("deleted")); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	b.done.Completed(call("theirs"), 5) // names a call that only another run has

	r := b.report()
	if got, want := factIDs(r), "1:query:ready "; got != want {
		t.Errorf("facts of %q, want %q", got, want)
	}
	want := "2:failed:errorTOOL_TIMEOUT 3:open:projecting 4:deleted:missing_or_expired 5:theirs:missing_or_expired "
	if got := excluded(r); got != want {
		t.Errorf("excluded %q, want %q", got, want)
	}
	if x := r.Excluded[0]; x.Execution != lifecycle.Unknown || x.Tool != "query" {
		t.Errorf("failed call %+v, want execution unknown and its tool", x)
	}
	for _, name := range []string{"theirs =", "gone", "projecting ="} {
		if strings.Contains(r.Text(), name) {
			t.Errorf("text has %q:\n%s", name, r.Text())
		}
	}
}

func absenceIsNoFact(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.admit("call_a", "search")
	c := evidence.Searched("AC/DC", "docs", "wiki")
	c.Unchecked = []string{"mail"}
	b.absent("call_a", c)
	r := b.report()
	if len(r.Facts) != 0 || len(r.Absences) != 1 {
		t.Fatalf("%d facts and %d absences, want 0 and 1", len(r.Facts), len(r.Absences))
	}
	if got := r.Absences[0].Coverage; !reflect.DeepEqual(got, c) {
		t.Errorf("coverage %+v, want %+v", got, c)
	}
	want := `1 search call_a: found nothing: "searched docs, wiki for AC/DC; not checked: mail"`
	if got := r.Text(); !strings.Contains(got, want+"\n") || strings.Contains(got, " = ") {
		t.Errorf("text\n%s\nwant the line\n%s\nand no fact", got, want)
	}
}

func namedTwice(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.answered("call_a", "query", rows("Artist", "275"))
	b.done.Completed(call("call_a"), 1)
	b.done.Completed(call("call_a"), 1)
	r, err := runprogress.Project(t.Context(), b, b.run, append(b.done.Calls(), b.done.Calls()...))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := factIDs(r), "1:query:call_a "; got != want || r.Totals.Calls != 1 {
		t.Errorf("facts of %q, %d calls, want %q and 1", got, r.Totals.Calls, want)
	}
}

func capsAreCounted(t *testing.T, d *deck) {
	b := newBench(t, d)
	const calls, each = 50, 200 // 10,000 facts
	facts := make([]evidence.Fact, each)
	for i := range calls {
		for j := range facts {
			facts[j] = rows(fmt.Sprintf("t%d", i), fmt.Sprint(j))
		}
		b.answered(fmt.Sprintf("call_%d", i), "query", facts...)
	}
	r := b.report()
	if got := len(r.Facts); got != runprogress.MaxObservations {
		t.Errorf("%d facts, want %d", got, runprogress.MaxObservations)
	}
	for i, f := range r.Facts {
		call, at := i/runprogress.MaxFactsPerCall, i%runprogress.MaxFactsPerCall
		if f.Seq != int64(call+1) || f.Value != fmt.Sprint(at) {
			t.Fatalf("fact %d is %d:%s, want %d:%d", i, f.Seq, f.Value, call+1, at)
		}
	}
	o := r.Omitted
	if o.FactsOverCall != calls*(each-16) || o.FactsOverRun != calls*16-128 || o.FactsOverSize != 0 {
		t.Errorf("omitted %+v, want %d over a call and %d over the run", o, calls*(each-16), calls*16-128)
	}
	if text := r.Text(); len(text) > runprogress.MaxBytes || !strings.Contains(text, "omitted: 9200 facts over 16 of one call\nomitted: 672 facts over 128 observations\n") {
		t.Errorf("text of %d bytes ends %q, want both omissions", len(text), text[max(0, len(text)-200):])
	}
}

func trackerWritesNothing(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.answered("call_a", "query", rows("Artist", "275"))
	watched := &asked{Store: d.Store}
	before, err := watched.Record(t.Context(), b.run, call("call_a"))
	if err != nil {
		t.Fatal(err)
	}
	var tracker runprogress.Tracker
	tracker.Completed(call("call_a"), 1)
	if n := watched.heads + watched.orders + watched.inspects; n != 0 {
		t.Errorf("noting a call asked the store %d times, want 0", n)
	}
	after, err := watched.Record(t.Context(), b.run, call("call_a"))
	if err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("record changed: %v, %v", after.Head, err)
	}
	state, err := b.Inspect(t.Context(), b.run)
	if err != nil || state.LastSeq != 1 || state.Reserved != b.mustInspect().Reserved {
		t.Errorf("run changed: %+v, %v", state, err)
	}
}

func (b *bench) mustInspect() canonical.RunState {
	b.t.Helper()
	state, err := b.Inspect(b.t.Context(), b.run)
	if err != nil {
		b.t.Fatal(err)
	}
	return state
}

func twiceEqual(t *testing.T, d *deck) {
	b := newBench(t, d)
	mixed(b)
	first, second := b.report(), b.report()
	if first.Text() != second.Text() || encoded(t, first) != encoded(t, second) {
		t.Errorf("first\n%s\nsecond\n%s", encoded(t, first), encoded(t, second))
	}
}

// mixed is a run with a bit of everything that a tracker can know.
func mixed(b *bench) {
	b.t.Helper()
	b.admit("2:call_a", "slow")
	b.answered("2:call_b", "query", rows("Artist", "275"), rows("Album", "347"))
	b.admit("call_c", "search")
	b.absent("call_c", evidence.Searched("x", "docs"))
	b.found("2:call_a", rows("slow", "9007199254740993"))
	b.admit("call_d", "query")
	b.fail("call_d", lifecycle.ToolExecutionFailed, lifecycle.Completed)
	b.answered("call_e", "note")
}

func batches(t *testing.T, d *deck) {
	b := newBench(t, d)
	const calls = 500
	for i := range calls {
		b.answered(fmt.Sprintf("call_%d", i), "query", rows("t", fmt.Sprint(i)))
	}
	watched := &asked{Store: d.Store}
	r, err := runprogress.Project(t.Context(), watched, b.run, b.done.Calls())
	if err != nil {
		t.Fatal(err)
	}
	if r.Totals.Ready != calls || watched.heads != 2 || watched.most != 250 || watched.inspects != 1 || watched.orders != 0 {
		t.Errorf("%d ready with %d reads of heads (at most %d), %d of the run, %d of the order; want 500 with 2 (250), 1, 0",
			r.Totals.Ready, watched.heads, watched.most, watched.inspects, watched.orders)
	}
	watched = &asked{Store: d.Store}
	if r, err = runprogress.FromStore(t.Context(), watched, b.run); err != nil {
		t.Fatal(err)
	}
	if r.Totals.Ready != calls || watched.heads != 2 || watched.orders != 2 || watched.inspects != 1 {
		t.Errorf("from the order: %d ready with %d reads of heads, %d of the order, %d of the run; want 500 with 2, 2, 1",
			r.Totals.Ready, watched.heads, watched.orders, watched.inspects)
	}
}

func fromTheOrder(t *testing.T, d *deck) {
	b := newBench(t, d)
	mixed(b)
	b.close()
	ours, theirs := b.report(), b.elsewhere()
	if a, z := encoded(t, ours), encoded(t, theirs); a != z {
		t.Errorf("tracker\n%s\norder\n%s", a, z)
	}
	if ours.Text() != theirs.Text() {
		t.Errorf("tracker\n%s\norder\n%s", ours.Text(), theirs.Text())
	}
	if !theirs.Complete || theirs.Totals.Calls != 5 || theirs.Totals.Ready != 4 {
		t.Errorf("complete %v, totals %+v, want true, 5 calls, 4 ready", theirs.Complete, theirs.Totals)
	}
	if empty, err := runprogress.Project(t.Context(), b, b.run, nil); err != nil || empty.Complete {
		t.Errorf("a report on none of five calls: complete %v, %v, want false", empty.Complete, err)
	}
}

func liveRun(t *testing.T, d *deck) {
	b := newBench(t, d)
	follow := func(c runprogress.Cursor, facts string, next int64, complete bool) runprogress.Cursor {
		t.Helper()
		r, to, err := runprogress.Continue(t.Context(), b, b.run, c)
		if err != nil {
			t.Fatal(err)
		}
		if got := factIDs(r); got != facts || to.After != next || r.Complete != complete || r.After != c.After {
			t.Errorf("behind %d: facts of %q, next %d, complete %v; want %q, %d, %v", c.After, got, to.After, r.Complete, facts, next, complete)
		}
		return to
	}
	c := follow(runprogress.Cursor{}, "", 0, false)
	b.answered("a", "q", rows("a", "1"))
	b.admit("b", "q")
	b.answered("c", "q", rows("c", "1"))
	c = follow(c, "1:q:a 3:q:c ", 1, false) // b is open: start there again
	b.found("b", rows("b", "1"))
	c = follow(c, "2:q:b 3:q:c ", 3, false)
	c = follow(c, "", 3, false)
	b.admit("d", "q")
	b.close()
	c = follow(c, "", 3, false)
	b.found("d", rows("d", "1"))
	c = follow(c, "4:q:d ", 4, true)
	follow(c, "", 4, true)
	if _, _, err := runprogress.Continue(t.Context(), b, b.run, runprogress.Cursor{After: 5}); err == nil {
		t.Error("a cursor behind the last call was taken")
	}
}

// Where time moves when told: a record that has expired is missing, a run that
// has is an error.
func TestReport_after_its_life(t *testing.T) {
	t.Parallel()
	for _, on := range []backend{fakeBackend(), {"embedded", embeddedDeck}} {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			expiredRun(t, on.start(t))
		})
	}
}

func expiredRun(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.answered("a", "q", rows("a", "1"))
	b.close()
	b.advance(24*time.Hour + time.Second) // the record's life, not the run's
	r := b.report()
	if got, want := excluded(r), "1:a:missing_or_expired "; got != want || len(r.Facts) != 0 {
		t.Errorf("excluded %q, %d facts, want %q and none", got, len(r.Facts), want)
	}
	b.advance(48 * time.Hour)
	for name, err := range map[string]error{
		"Project":   second(runprogress.Project(t.Context(), b, b.run, b.done.Calls())),
		"FromStore": second(runprogress.FromStore(t.Context(), b, b.run)),
	} {
		if !isRunMissing(err) {
			t.Errorf("%s = %v, want %v", name, err, canonical.ErrRunMissing)
		}
	}
}
