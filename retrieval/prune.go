package retrieval

import (
	"context"
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Pruning says which bodies may go. At least one of Age and Only must be given;
// where both are, both must hold.
type Pruning struct {
	Run canonical.RunID // empty: all runs of the scope

	// Age is how long ago a call must have ended at least, by the store's clock.
	Age time.Duration

	// Only is asked about every ended record that is old enough, as for
	// [Receipts.Acknowledged]. It must not call the reader.
	Only func(Entry) bool

	After string // Pruned.Next of an earlier act of the same kind; empty: from the beginning
	Look  int    // records to look at, 1 to MaxPrune; zero means MaxPrune
}

// MaxPrune is how many records one act looks at.
const MaxPrune = 1000

// Pruned is what an act of pruning took and what it left.
type Pruned struct {
	Taken []Entry // as they were
	Bytes int64   // of their requests, raw and agent results

	Open       int // left: the call has not ended
	Unresolved int // left: its effect is unresolved
	Unreadable int // left: the record cannot be read, or is of a newer version

	Next string // go on with this; empty when all was looked at
}

// Prune deletes the bodies of ended records, and gives back what closed runs hold
// of a quota and do not use any more. It is an act of the host: nothing else in
// this module takes evidence away before its life is over. Work and
// memory of one act are bounded; go on with Pruned.Next until it is empty. With an
// error, Pruned still tells what was taken.
func (r *Reader) Prune(ctx context.Context, p Pruning) (Pruned, error) {
	const op = "prune"
	if p.Look == 0 {
		p.Look = MaxPrune
	}
	switch {
	case p.Look < 1 || p.Look > MaxPrune:
		return Pruned{}, outside(op, "look", int64(p.Look), MaxPrune)
	case p.Age < 0:
		return Pruned{}, fail(op, "age", ErrArgument)
	case p.Age == 0 && p.Only == nil:
		return Pruned{}, fail(op, "age or only", ErrArgument)
	}
	f := Filter{Run: p.Run, reading: true}
	if err := f.check(op); err != nil {
		return Pruned{}, err
	}
	bound := binding("prune", r.bound(f))
	at, err := readCursor(op, p.After, bound)
	if err != nil {
		return Pruned{}, err
	}
	l := lister{Reader: r, op: op, filter: f, limit: p.Look, look: p.Look, runs: maxRuns, bound: bound}
	walk := l.all
	if p.Run != "" {
		walk = l.one
	}
	page, err := walk(ctx, at)
	if err != nil {
		return Pruned{}, err
	}
	out := Pruned{Next: page.Next}
	if err = r.prune(ctx, op, p, page.Entries, &out); err == nil {
		err = r.releasedAll(ctx, op, page.Entries)
	}
	return out, err
}

// releasedAll gives back what the runs that were looked at do not use any more,
// also what an earlier act that was cut short did not.
func (r *Reader) releasedAll(ctx context.Context, op string, entries []Entry) error {
	var last canonical.RunID
	for _, e := range entries { // the calls of a run stand together
		if e.Run == last {
			continue
		}
		last = e.Run
		if err := r.released(ctx, op, e.Run); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) prune(ctx context.Context, op string, p Pruning, entries []Entry, out *Pruned) error {
	now := map[canonical.RunID]time.Time{}
	for _, e := range entries {
		switch {
		case e.Fault != nil:
			out.Unreadable++
			continue
		case e.State == lifecycle.Projecting:
			out.Open++
			continue
		}
		if _, asked := now[e.Run]; !asked {
			state, err := r.store.Inspect(ctx, r.key(e.Run))
			if err != nil && !isMissing(of(op, err)) {
				return of(op, err)
			}
			now[e.Run] = state.Now
		}
		if e.Ended.Add(p.Age).After(now[e.Run]) || p.Only != nil && !p.Only(e) {
			continue
		}
		switch err := of(op, r.store.Delete(ctx, r.key(e.Run), e.Call)); {
		case err == nil:
			out.Taken = append(out.Taken, e)
			out.Bytes += e.RequestBytes + e.AgentBytes
			if e.HasResult {
				out.Bytes += e.ResultBytes
			}
		case errors.Is(err, ErrUnresolved):
			out.Unresolved++
		default:
			return err
		}
	}
	return nil
}
