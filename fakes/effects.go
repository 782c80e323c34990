package fakes

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// settlement is what became known after a record's end, with the digest by
// which a repeated message is recognized.
type settlement struct {
	late     *canonical.LateResult
	outcome  string
	resolved *canonical.Resolution
}

// Outstanding implements [canonical.Effects].
func (s *Store) Outstanding(ctx context.Context, key canonical.RunKey) (canonical.Outstanding, error) {
	r, now, leave, err := s.living(ctx, "outstanding", key)
	if err != nil {
		return canonical.Outstanding{}, err
	}
	defer leave()
	return canonical.Outstanding{Now: now, Open: r.openCalls(), Effects: byDue(r.effects)}, nil
}

// Sweep implements [canonical.Effects].
func (s *Store) Sweep(ctx context.Context, m canonical.Sweeping) ([]canonical.Swept, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	r, now, leave, err := s.living(ctx, "sweep", m.Run)
	if err != nil {
		return nil, err
	}
	defer leave()
	var swept []canonical.Swept
	for _, call := range r.openCalls() {
		if len(swept) == m.Max || !now.After(call.Due.Add(m.Grace)) {
			break
		}
		rec := r.record(call.Call)
		verdict := abandoned(rec)
		rec.swept = true
		r.ended(rec, verdict, canonical.StageSweep, now)
		swept = append(swept, canonical.Swept{Call: call.Call, Code: verdict.Code, Execution: verdict.Execution})
	}
	return swept, nil
}

// abandoned is the verdict on a call that nobody ended (K51).
func abandoned(rec *record) lifecycle.Completion {
	switch {
	case rec.raw.Present():
		return lifecycle.Fail(lifecycle.ProjectionFailed, lifecycle.Completed)
	case rec.head.Effect.Read():
		return lifecycle.Fail(lifecycle.Orphaned, lifecycle.Unknown)
	default:
		return lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown)
	}
}

// Settle implements [canonical.Effects].
func (s *Store) Settle(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	return s.end(ctx, "settle", e, func(r *run, rec *record, now time.Time) (canonical.Ended, error) {
		if !rec.swept || e.RawSaved && rec.raw.SHA256 != e.Raw.SHA256 {
			return canonical.Ended{}, standing("settle", rec, canonical.ErrConflict)
		}
		set := r.settlement(e.Call)
		if set.late != nil && set.outcome != e.Digest() {
			return canonical.Ended{}, standing("settle", rec, canonical.ErrConflict)
		}
		if set.late != nil {
			return canonical.Ended{Repeat: true, Strength: Strength}, nil
		}
		raw := e.Raw
		raw.Bytes = raw.Bytes.Clone()
		if e.RawSaved {
			raw = rec.raw
		}
		set.late, set.outcome = &canonical.LateResult{Verdict: e.Verdict, Raw: raw, Agent: e.Agent.Clone(), At: now}, e.Digest()
		return canonical.Ended{Strength: Strength}, nil
	})
}

// Resolve implements [canonical.Effects].
func (s *Store) Resolve(ctx context.Context, m canonical.Resolution) error {
	if err := m.Validate(); err != nil {
		return err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r := s.find(m.Run, s.now())
	if r == nil {
		return refuse("resolve", m.Call, canonical.ErrMissing)
	}
	if err := r.usable("resolve", m.Call); err != nil {
		return err
	}
	rec := r.record(m.Call)
	switch {
	case rec == nil:
		return refuse("resolve", m.Call, canonical.ErrMissing)
	case rec.head.State == lifecycle.Projecting:
		return standing("resolve", rec, canonical.ErrStillOpen)
	case rec.head.Execution != lifecycle.Unknown:
		return standing("resolve", rec, canonical.ErrConflict)
	}
	set := r.settlement(m.Call)
	if set.resolved != nil && *set.resolved != m {
		return standing("resolve", rec, canonical.ErrConflict)
	}
	set.resolved = &m
	delete(r.effects, m.Call)
	return nil
}

// settlement returns the settlement of call, which it adds when there is none.
func (r *run) settlement(call canonical.CallName) *settlement {
	if r.settled[call] == nil {
		r.settled[call] = &settlement{}
	}
	return r.settled[call]
}

// living enters the store for a method that needs the run (K64).
func (s *Store) living(ctx context.Context, op string, key canonical.RunKey) (r *run, now time.Time, leave func(), err error) {
	if err := key.Validate(); err != nil {
		return nil, time.Time{}, nil, err
	}
	leave, err = s.enter(ctx)
	if err != nil {
		return nil, time.Time{}, nil, err
	}
	now = s.now()
	if r = s.find(key, now); r == nil {
		err = refuse(op, canonical.CallName{}, canonical.ErrRunMissing)
	} else {
		err = r.ledger.readable(op)
	}
	if err != nil {
		leave()
		return nil, time.Time{}, nil, err
	}
	return r, now, leave, nil
}

// openCalls lists the calls that are PROJECTING. One whose record has expired is
// no longer open; nobody can end it.
func (r *run) openCalls() []canonical.OpenCall {
	calls := byDue(r.open)
	return slices.DeleteFunc(calls, func(c canonical.OpenCall) bool { return r.record(c.Call) == nil })
}

// byDue sorts by due time, equal ones by name, so that every answer is in one
// order.
func byDue(due map[canonical.CallName]time.Time) []canonical.OpenCall {
	calls := make([]canonical.OpenCall, 0, len(due))
	for name, at := range due {
		calls = append(calls, canonical.OpenCall{Call: name, Due: at})
	}
	slices.SortFunc(calls, func(a, b canonical.OpenCall) int {
		if c := a.Due.Compare(b.Due); c != 0 {
			return c
		}
		return cmp.Compare(a.Call.String(), b.Call.String())
	})
	return calls
}

func names(calls []canonical.OpenCall) []canonical.CallName {
	out := make([]canonical.CallName, 0, len(calls))
	for _, c := range calls {
		out = append(out, c.Call)
	}
	return out
}
