package runprogress_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/runprogress"
)

// scripted answers what a test says, which no honest store would.
type scripted struct {
	state canonical.RunState
	order []canonical.Numbered
	fail  string // the method that fails
	most  int    // entries of a page; 0: what was asked for
	short int    // heads that are left out
}

var errDown = errors.New("connection refused")

func (s scripted) Inspect(context.Context, canonical.RunKey) (canonical.RunState, error) {
	if s.fail == "inspect" {
		return canonical.RunState{}, errDown
	}
	return s.state, nil
}

func (s scripted) Heads(_ context.Context, _ canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
	if s.fail == "heads" {
		return nil, errDown
	}
	return make([]canonical.Head, max(0, len(names)-s.short)), nil
}

func (s scripted) Order(_ context.Context, _ canonical.RunKey, after int64, most int) ([]canonical.Numbered, error) {
	if s.fail == "order" {
		return nil, errDown
	}
	if s.most > 0 {
		most = s.most
	}
	var page []canonical.Numbered
	for _, n := range s.order {
		if n.Seq > after && len(page) < most {
			page = append(page, n)
		}
	}
	return page, nil
}

func numbered(seqs ...int64) []canonical.Numbered {
	var out []canonical.Numbered
	for i, seq := range seqs {
		out = append(out, canonical.Numbered{Seq: seq, Call: call(fmt.Sprintf("call_%d", i))})
	}
	return out
}

func upTo(n int64) []int64 {
	var seqs []int64
	for i := range n {
		seqs = append(seqs, i+1)
	}
	return seqs
}

func someRun() canonical.RunKey {
	return canonical.RunKey{Scope: canonical.Scope{Owner: "o"}, Run: "r1"}
}

// A24: an outage must never read as "nothing was observed".
func TestProject_trouble_is_an_error(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"inspect", "heads", "order"} {
		store := scripted{state: canonical.RunState{Phase: canonical.RunOpen, LastSeq: 2}, order: numbered(1, 2), fail: method}
		r, err := runprogress.FromStore(t.Context(), store, someRun())
		if !errors.Is(err, errDown) || r.Run != "" {
			t.Errorf("FromStore with %s down = %v, %v; want no report and the cause", method, r, err)
		}
		if method == "order" {
			continue
		}
		r, err = runprogress.Project(t.Context(), store, someRun(), numbered(1, 2))
		if !errors.Is(err, errDown) || r.Run != "" {
			t.Errorf("Project with %s down = %v, %v; want no report and the cause", method, r, err)
		}
	}
}

func TestProject_trouble_in_a_later_batch_is_an_error(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t))
	ctx, cancel := context.WithCancel(t.Context())
	store := &asked{Store: b.Store, alter: func(h []canonical.Head) []canonical.Head {
		cancel() // the caller leaves after the first batch
		return h
	}}
	if r, err := runprogress.Project(ctx, store, b.run, numbered(upTo(300)...)); !errors.Is(err, context.Canceled) || r.Run != "" {
		t.Errorf("Project = %v, %v; want no report and %v", r, err, context.Canceled)
	}
}

func TestProject_a_store_that_breaks_the_contract(t *testing.T) {
	t.Parallel()
	open := func(last int64) canonical.RunState {
		return canonical.RunState{Phase: canonical.RunOpen, LastSeq: last}
	}
	for _, c := range []struct {
		name, op string
		store    scripted
	}{
		{"a phase nobody knows", "inspect", scripted{state: canonical.RunState{Phase: "x\ny"}}},
		{"no phase", "inspect", scripted{}},
		{"a sequence below zero", "inspect", scripted{state: open(-1)}},
		{"an order that is empty", "order", scripted{state: open(2)}},
		{"an order that ends early", "order", scripted{state: open(3), order: numbered(1, 2)}},
		{"an order with a hole", "order", scripted{state: open(3), order: numbered(1, 3)}},
		{"an order that begins late", "order", scripted{state: open(3), order: numbered(2, 3)}},
		{"an order with a number twice", "order", scripted{state: open(3), order: numbered(1, 1, 2, 3)}},
		{"an order that runs backwards", "order", scripted{state: open(3), order: numbered(3, 2, 1)}},
		{"a page that is too long", "order", scripted{state: open(501), order: numbered(upTo(501)...), most: 1000}},
		{"a damaged order that runs backwards", "order", scripted{state: canonical.RunState{Phase: canonical.RunDamaged}, order: numbered(3, 2)}},
		{"a head too few", "heads", scripted{state: open(2), order: numbered(1, 2), short: 1}},
		{"no head at all", "heads", scripted{state: open(1), order: numbered(1), short: 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := runprogress.FromStore(t.Context(), c.store, someRun())
			broken, ok := errors.AsType[*runprogress.ContractError](err)
			if !ok || broken.Op != c.op || r.Run != "" {
				t.Errorf("FromStore = %v, %v; want no report and a contract error of %s", r, err, c.op)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error of more than one line: %q", err)
			}
		})
	}
}

// A damaged run's ledger was put back, so a number may have been given twice.
func TestFromStore_damaged_order_may_repeat_a_number(t *testing.T) {
	t.Parallel()
	store := scripted{state: canonical.RunState{Phase: canonical.RunDamaged, LastSeq: 1}, order: numbered(1, 2, 2, 3, 9)}
	r, err := runprogress.FromStore(t.Context(), store, someRun())
	if err != nil || r.Totals.Calls != 5 || r.Totals.Admitted != 9 || r.Complete {
		t.Errorf("FromStore = %+v, %v; want 5 calls of 9, not complete", r.Totals, err)
	}
}

func TestFromStore_pages_to_the_end(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 499, 500, 501, 1000, 1234} {
		store := scripted{state: canonical.RunState{Phase: canonical.RunClosed, LastSeq: n}, order: numbered(upTo(n)...)}
		r, err := runprogress.FromStore(t.Context(), store, someRun())
		if err != nil || int64(r.Totals.Calls) != n || !r.Complete {
			t.Errorf("%d admissions: %d looked at, complete %v, %v", n, r.Totals.Calls, r.Complete, err)
		}
	}
}

// Admissions may follow while the order is read; they belong to the report.
func TestFromStore_admissions_behind_the_look_at_the_run(t *testing.T) {
	t.Parallel()
	store := scripted{state: canonical.RunState{Phase: canonical.RunOpen, LastSeq: 2}, order: numbered(1, 2, 3)}
	r, next, err := runprogress.Continue(t.Context(), store, someRun(), runprogress.Cursor{})
	if err != nil || r.Totals.Calls != 3 || r.Totals.Admitted != 3 || next.After != 3 {
		t.Errorf("Continue = %+v, %v, %v; want 3 of 3 and the cursor at 3", r.Totals, next, err)
	}
}

func TestProject_refuses_malformed_arguments(t *testing.T) {
	t.Parallel()
	down := scripted{fail: "inspect"} // whatever is asked of it fails: the refusal comes first
	good := numbered(1)
	for _, c := range []struct {
		name  string
		run   canonical.RunKey
		calls []canonical.Numbered
		field string
	}{
		{"no scope", canonical.RunKey{Run: "r1"}, good, "scope"},
		{"no run", canonical.RunKey{Scope: someRun().Scope}, good, "run_id"},
		{"a run with a brace", canonical.RunKey{Scope: someRun().Scope, Run: "{r}"}, good, "run_id"},
		{"no id", someRun(), []canonical.Numbered{{Seq: 1}}, "tool_call_id"},
		{"an id with a line feed", someRun(), []canonical.Numbered{{Seq: 1, Call: canonical.CallName{ID: "a\nb"}}}, "tool_call_id"},
		{"a turn with a colon", someRun(), []canonical.Numbered{{Seq: 1, Call: canonical.CallName{Turn: "a:", ID: "b"}}}, "turn"},
		{"no sequence", someRun(), []canonical.Numbered{{Seq: 1, Call: call("a")}, {Call: call("b")}}, "calls[1].seq"},
	} {
		_, err := runprogress.Project(t.Context(), down, c.run, c.calls)
		if got := fieldOf(err); got != c.field {
			t.Errorf("%s: %v names %q, want %q", c.name, err, got, c.field)
		}
	}
	for _, run := range []canonical.RunKey{{}, {Scope: someRun().Scope}} {
		if _, err := runprogress.FromStore(t.Context(), down, run); fieldOf(err) == "" {
			t.Errorf("FromStore of %v = %v, want a typed refusal", run, err)
		}
	}
	if _, err := runprogress.Project(t.Context(), nil, someRun(), good); fieldOf(err) != "store" {
		t.Errorf("Project without a store = %v", err)
	}
	if _, err := runprogress.FromStore(t.Context(), nil, someRun()); fieldOf(err) != "store" {
		t.Errorf("FromStore without a store = %v", err)
	}
	live := scripted{state: canonical.RunState{Phase: canonical.RunOpen}}
	for _, after := range []int64{-1, 1} {
		c := runprogress.Cursor{After: after}
		if _, same, err := runprogress.Continue(t.Context(), live, someRun(), c); fieldOf(err) != "cursor.after" || same != c {
			t.Errorf("Continue behind %d = %v, %v; want the cursor back and its refusal", after, same, err)
		}
	}
}

func fieldOf(err error) string {
	if e, ok := errors.AsType[*canonical.NameError](err); ok {
		return e.Field
	}
	if e, ok := errors.AsType[*canonical.ArgumentError](err); ok {
		return e.Field
	}
	return ""
}
