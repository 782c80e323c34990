package localstore

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Outstanding implements [canonical.Effects].
func (s *Store) Outstanding(ctx context.Context, key canonical.RunKey) (canonical.Outstanding, error) {
	const op = "outstanding"
	var out canonical.Outstanding
	if err := prepared(ctx, op, key.Validate); err != nil {
		return out, err
	}
	err := s.view(ctx, op, func(t *tx) error {
		r, err := t.ledgered(op, key, canonical.CallName{}, canonical.ErrRunMissing)
		if err != nil {
			return err
		}
		out.Now = t.now
		out.Open, out.Effects, err = r.outstanding(op)
		return err
	})
	if err != nil {
		return canonical.Outstanding{}, err
	}
	return out, nil
}

// outstanding lists open calls and effects.
func (r *run) outstanding(op string) (open, effects []canonical.OpenCall, err error) {
	open, err = r.openCalls()
	if err == nil {
		var list []effect
		if list, err = r.effects(); err == nil {
			effects, err = effectCalls(list)
		}
	}
	if err != nil {
		return nil, nil, refuse(op, canonical.CallName{}, err)
	}
	return open, effects, nil
}

// Sweep implements [canonical.Effects]. One transaction.
func (s *Store) Sweep(ctx context.Context, m canonical.Sweeping) ([]canonical.Swept, error) {
	if err := prepared(ctx, "sweep", m.Validate); err != nil {
		return nil, err
	}
	var swept []canonical.Swept
	err := s.write(ctx, "sweep", func(t *tx) (err error) {
		swept, err = t.sweep(m)
		return err
	})
	if err != nil {
		return nil, err
	}
	return swept, nil
}

func (t *tx) sweep(m canonical.Sweeping) ([]canonical.Swept, error) {
	const op = "sweep"
	r, err := t.ledgered(op, m.Run, canonical.CallName{}, canonical.ErrRunMissing)
	if err != nil {
		return nil, err
	}
	calls, fault := r.openCalls()
	if fault != nil {
		return nil, refuse(op, canonical.CallName{}, fault)
	}
	var swept []canonical.Swept
	for _, call := range calls {
		if len(swept) == m.Max || !t.now.After(call.Due.Add(m.Grace)) {
			break
		}
		rec, fault := r.record(call.Call)
		if fault != nil || rec.State.Final() {
			continue // cannot be ended by this version
		}
		effects, fault := r.effects()
		if fault != nil {
			return nil, refuse(op, canonical.CallName{}, fault)
		}
		verdict := abandoned(rec)
		rec.Swept, rec.Stage = true, []byte(canonical.StageSweep)
		r.ended(rec, verdict, effects)
		swept = append(swept, canonical.Swept{Call: call.Call, Code: verdict.Code, Execution: verdict.Execution})
	}
	return swept, nil
}

// abandoned is the verdict on a call that nobody ended (K51).
func abandoned(rec *record) lifecycle.Completion {
	switch {
	case rec.saved():
		return lifecycle.Fail(lifecycle.ProjectionFailed, lifecycle.Completed)
	case canonical.Effect(rec.Effect).Read():
		return lifecycle.Fail(lifecycle.Orphaned, lifecycle.Unknown)
	default:
		return lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown)
	}
}
