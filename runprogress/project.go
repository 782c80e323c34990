package runprogress

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolharness/harness/canonical"
)

// Sizes of what is asked of a store at once.
const (
	batchCalls = 250 // heads: at most 2 MB of facts and coverage with default limits
	pageCalls  = 500 // entries of the order
)

// Reader is what a report needs of a store: the run's state and the heads of its
// records. A canonical.Store is one.
type Reader interface {
	Inspect(context.Context, canonical.RunKey) (canonical.RunState, error)
	Heads(context.Context, canonical.RunKey, []canonical.CallName) ([]canonical.Head, error)
}

// OrderedReader is a Reader that also has the order of a run's admissions. A
// canonical.Store is one.
type OrderedReader interface {
	Reader
	Order(ctx context.Context, run canonical.RunKey, after int64, max int) ([]canonical.Numbered, error)
}

// ContractError says that a store answered what no store may: too few heads, an
// order with a hole. It is an error and not a shorter report, since what is
// missing could be anything.
type ContractError struct{ Op, Reason string }

// Error names the method and what is wrong with its answer, on one line; nothing
// that the store said is repeated but numbers.
func (e *ContractError) Error() string {
	return "runprogress: the store's answer to " + e.Op + " cannot be: " + e.Reason
}

// Project reports on the given calls of run, from their records, in order of
// sequence and each call once. It costs one round trip for the run and one for
// each 250 calls, and moves no raw.
//
// Malformed arguments are a *canonical.NameError or *canonical.ArgumentError
// before anything is asked. An error of the store is returned with its cause;
// canonical.ErrRunMissing when the run is gone.
func Project(ctx context.Context, store Reader, run canonical.RunKey, calls []canonical.Numbered) (Report, error) {
	calls, err := checkCalls(run, calls)
	if err != nil {
		return Report{}, err
	}
	state, err := inspect(ctx, store, run)
	if err != nil {
		return Report{}, err
	}
	b := newBuilder(state, run, 0)
	if err := b.resolve(ctx, store, calls); err != nil {
		return Report{}, err
	}
	return b.finish(), nil
}

// FromStore reports on all calls of run, found in the store's own order, so that
// any process can do it. For a run whose every call was noted by one tracker it
// equals what [Project] makes of that tracker.
func FromStore(ctx context.Context, store OrderedReader, run canonical.RunKey) (Report, error) {
	report, _, err := Continue(ctx, store, run, Cursor{})
	return report, err
}

// Cursor is where the next report on a run that goes on begins. The zero Cursor
// is the beginning. It holds a number and no secret, and may be kept as JSON.
type Cursor struct {
	After int64 `json:"after"` // every call up to this sequence has ended and was reported
}

// Continue reports on the calls behind cursor, as [FromStore] does on all, and
// returns the cursor for the next time: it stands before the lowest call that is
// still open, so that no ending is missed. Ended calls behind an open one are
// therefore reported again.
func Continue(ctx context.Context, store OrderedReader, run canonical.RunKey, cursor Cursor) (Report, Cursor, error) {
	if err := run.Validate(); err != nil {
		return Report{}, cursor, err
	}
	state, err := inspect(ctx, store, run)
	if err != nil {
		return Report{}, cursor, err
	}
	if cursor.After < 0 || cursor.After > state.LastSeq && state.Phase != canonical.RunDamaged {
		return Report{}, cursor, &canonical.ArgumentError{Op: "continue", Field: "cursor.after",
			Reason: "not a sequence of this run", Size: cursor.After, Limit: state.LastSeq}
	}
	b := newBuilder(state, run, cursor.After)
	if err := b.walk(ctx, store); err != nil {
		return Report{}, cursor, err
	}
	next := Cursor{After: max(cursor.After, b.last)}
	if b.open > 0 {
		next.After = b.open - 1
	}
	return b.finish(), next, nil
}

// walk adds the admissions behind the report's After, page by page, to the end
// of the order as it is found.
func (b *builder) walk(ctx context.Context, store OrderedReader) error {
	after := b.report.After
	for {
		page, err := store.Order(ctx, b.run, after, pageCalls)
		if err != nil {
			return fmt.Errorf("runprogress: order: %w", err)
		}
		if err := b.checkPage(page, after); err != nil {
			return err
		}
		if err := b.resolve(ctx, store, page); err != nil {
			return err
		}
		if len(page) > 0 {
			after = page[len(page)-1].Seq
		}
		if len(page) < pageCalls {
			return b.checkEnd(after)
		}
	}
}

// checkPage holds the store to an order without holes. A damaged run is let off:
// its ledger was put back, so numbers may have been given twice.
func (b *builder) checkPage(page []canonical.Numbered, after int64) error {
	if len(page) > pageCalls {
		return &ContractError{Op: "order", Reason: fmt.Sprintf("%d entries, at most %d were asked for", len(page), pageCalls)}
	}
	damaged := b.report.Phase == canonical.RunDamaged
	for i, n := range page {
		want := after + int64(i) + 1
		if i > 0 && damaged {
			want = max(page[i-1].Seq, after+1)
		}
		if n.Seq < want || n.Seq != want && !damaged {
			return &ContractError{Op: "order", Reason: fmt.Sprintf("sequence %d where %d was due", n.Seq, want)}
		}
	}
	return nil
}

func (b *builder) checkEnd(last int64) error {
	if admitted := b.report.Totals.Admitted; last < admitted && b.report.Phase != canonical.RunDamaged {
		return &ContractError{Op: "order", Reason: fmt.Sprintf("it ends at %d of %d admissions", last, admitted)}
	}
	return nil
}

// resolve adds the records of calls, which are sorted, batch by batch.
func (b *builder) resolve(ctx context.Context, store Reader, calls []canonical.Numbered) error {
	for batch := range slices.Chunk(calls, batchCalls) {
		names := make([]canonical.CallName, len(batch))
		for i, n := range batch {
			names[i] = n.Call
		}
		heads, err := store.Heads(ctx, b.run, names)
		if err != nil {
			return fmt.Errorf("runprogress: heads: %w", err)
		}
		if len(heads) != len(batch) {
			return &ContractError{Op: "heads", Reason: fmt.Sprintf("%d heads for %d names", len(heads), len(batch))}
		}
		for i, n := range batch {
			b.add(n, heads[i])
		}
	}
	return nil
}

func inspect(ctx context.Context, store Reader, run canonical.RunKey) (canonical.RunState, error) {
	if store == nil {
		return canonical.RunState{}, &canonical.ArgumentError{Op: "project", Field: "store", Reason: "missing"}
	}
	state, err := store.Inspect(ctx, run)
	if err != nil {
		return state, fmt.Errorf("runprogress: inspect: %w", err)
	}
	switch state.Phase {
	case canonical.RunOpen, canonical.RunClosed, canonical.RunDamaged:
	default:
		return state, &ContractError{Op: "inspect", Reason: "a phase that no run has"}
	}
	if state.LastSeq < 0 {
		return state, &ContractError{Op: "inspect", Reason: "a sequence below zero"}
	}
	return state, nil
}

// checkCalls refuses malformed names and returns the calls sorted, each once.
func checkCalls(run canonical.RunKey, calls []canonical.Numbered) ([]canonical.Numbered, error) {
	if err := run.Validate(); err != nil {
		return nil, err
	}
	var once Tracker
	for i, n := range calls {
		if err := n.Call.Validate(); err != nil {
			return nil, err
		}
		if n.Seq < 1 {
			return nil, &canonical.ArgumentError{Op: "project", Field: fmt.Sprintf("calls[%d].seq", i), Reason: "below 1"}
		}
		once.Completed(n.Call, n.Seq)
	}
	return once.Calls(), nil
}
