package localstore

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

// Heads implements [canonical.Reader].
func (s *Store) Heads(ctx context.Context, key canonical.RunKey, calls []canonical.CallName) ([]canonical.Head, error) {
	if err := prepared(ctx, "heads", key.Validate); err != nil {
		return nil, err
	}
	for _, call := range calls {
		if err := call.Validate(); err != nil {
			return nil, err
		}
	}
	heads := make([]canonical.Head, len(calls))
	err := s.view(ctx, "heads", func(t *tx) error {
		r, err := t.find(key)
		if err != nil {
			return refuse("heads", canonical.CallName{}, err)
		}
		if r == nil {
			return nil
		}
		for i, call := range calls {
			if rec, fault := r.record(call); fault != nil {
				heads[i] = canonical.Head{Identity: canonical.Identity{RunKey: key, Call: call}, Fault: fault}
			} else if rec != nil {
				heads[i] = rec.head(key)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return heads, nil
}

// View implements [canonical.Reader].
func (s *Store) View(ctx context.Context, key canonical.RunKey, call canonical.CallName) (canonical.View, error) {
	const op = "view"
	var out canonical.View
	err := s.stored(ctx, op, key, call, func(r *run, rec *record) (err error) {
		out, err = r.viewOf(op, rec)
		return err
	})
	if err != nil {
		return canonical.View{}, err
	}
	return out, nil
}

func (r *run) viewOf(op string, rec *record) (canonical.View, error) {
	out := canonical.View{Head: rec.head(r.key)}
	if rec.Agent != nil {
		agent, err := r.readBody(*rec.Agent)
		if err != nil {
			return canonical.View{}, standing(op, rec, err)
		}
		out.Agent = agent
	}
	return out, nil
}

// Record implements [canonical.Reader].
func (s *Store) Record(ctx context.Context, key canonical.RunKey, call canonical.CallName) (canonical.Record, error) {
	const op = "record"
	var out canonical.Record
	err := s.stored(ctx, op, key, call, func(r *run, rec *record) (err error) {
		if out.View, err = r.viewOf(op, rec); err != nil {
			return err
		}
		if out.Request, err = r.readBody(rec.Request); err != nil {
			return standing(op, rec, err)
		}
		if out.Raw, err = r.rawOf(rec.Raw); err != nil {
			return standing(op, rec, err)
		}
		return nil
	})
	if err != nil {
		return canonical.Record{}, err
	}
	return out, nil
}

// stored reads what a method needs of one record. The ledger is not asked: a
// record can be read as long as it lives.
func (s *Store) stored(ctx context.Context, op string, key canonical.RunKey, call canonical.CallName, read func(*run, *record) error) error {
	if err := prepared(ctx, op, key.Validate, call.Validate); err != nil {
		return err
	}
	return s.view(ctx, op, func(t *tx) error {
		r, fault := t.find(key)
		if r == nil && fault == nil {
			fault = canonical.ErrMissing
		}
		var rec *record
		if fault == nil {
			rec, fault = r.record(call)
		}
		if rec == nil && fault == nil {
			fault = canonical.ErrMissing
		}
		if fault != nil {
			return refuse(op, call, fault)
		}
		return read(r, rec)
	})
}

// Order implements [canonical.Reader]. A place that is missing in the order is
// damage: sequences have no gaps.
func (s *Store) Order(ctx context.Context, key canonical.RunKey, after int64, most int) ([]canonical.Numbered, error) {
	const op = "order"
	if err := prepared(ctx, op, key.Validate); err != nil {
		return nil, err
	}
	if most < 1 {
		return nil, &canonical.ArgumentError{Op: op, Field: "max", Reason: "below one"}
	}
	var out []canonical.Numbered
	err := s.view(ctx, op, func(t *tx) error {
		r, err := t.ledgered(op, key, canonical.CallName{}, canonical.ErrRunMissing)
		if err != nil {
			return err
		}
		if out, err = r.order(after, most); err != nil {
			return refuse(op, canonical.CallName{}, canonical.ErrCorrupt)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (r *run) order(after int64, most int) (out []canonical.Numbered, err error) {
	after = max(after, 0)
	last := after
	err = r.each(prefixOrder, number(after), func(rest string) (bool, error) {
		seq, call, err := numbered(rest)
		if err != nil || seq > last+1 {
			return false, canonical.ErrCorrupt
		}
		if seq > after {
			out = append(out, canonical.Numbered{Seq: seq, Call: call})
			last = seq
		}
		return len(out) < most, nil
	})
	if err == nil && len(out) < most && last < r.ledger.LastSeq {
		err = canonical.ErrCorrupt
	}
	return out, err
}
