package localstore

import (
	"context"
	"crypto/subtle"

	"github.com/toolharness/harness/canonical"
)

// OpenRun implements [canonical.Runs]. One transaction.
func (s *Store) OpenRun(ctx context.Context, o canonical.Opening) (canonical.RunState, error) {
	if err := prepared(ctx, "open", o.Validate); err != nil {
		return canonical.RunState{}, err
	}
	var state canonical.RunState
	err := s.write(ctx, "open", func(t *tx) (err error) {
		state, err = t.open(o)
		return err
	})
	if err != nil {
		return canonical.RunState{}, err
	}
	return state, nil
}

func (t *tx) open(o canonical.Opening) (canonical.RunState, error) {
	const op = "open"
	r, err := t.find(o.Run)
	switch {
	case err != nil:
		return canonical.RunState{}, refuse(op, canonical.CallName{}, err)
	case r != nil:
		return r.reopen(o)
	}
	if err := t.mayReserve(o); err != nil {
		return canonical.RunState{}, err
	}
	name := nameOf(o.Run)
	t.forget(o.Run)
	b, err := t.bucket(bucketRuns).CreateBucket([]byte(name))
	if err != nil {
		return canonical.RunState{}, err
	}
	bodies, err := b.CreateBucket([]byte(keyBodies))
	if err != nil {
		return canonical.RunState{}, err
	}
	t.dirty = true
	r = &run{t: t, key: o.Run, name: name, b: b, bodies: bodies, ledger: newLedger(o, t.now)}
	r.keep()
	r.keepEffects([]effect{})
	t.lists(endOfRun(name, r.ledger.Expires))
	r.keepShare(shareOf(o))
	return r.state(), nil
}

// reopen answers an opening of a run that is there.
func (r *run) reopen(o canonical.Opening) (canonical.RunState, error) {
	const op = "open"
	switch {
	case r.fault != nil:
		return canonical.RunState{}, refuse(op, canonical.CallName{}, r.fault)
	case !r.owned(o.Token):
		return canonical.RunState{}, refuse(op, canonical.CallName{}, canonical.ErrRunTaken)
	case !r.ledger.Parameters.equal(parametersOf(o)):
		return canonical.RunState{}, refuse(op, canonical.CallName{}, canonical.ErrRunConflict)
	}
	return r.state(), nil
}

func (r *run) owned(token canonical.Token) bool {
	return subtle.ConstantTimeCompare([]byte(r.ledger.Token), []byte(token.Digest())) == 1
}

// JoinRun implements [canonical.Runs].
func (s *Store) JoinRun(ctx context.Context, key canonical.RunKey, token canonical.Token) (canonical.RunState, error) {
	return s.state(ctx, "join", key, func(r *run) bool { return r.owned(token) })
}

// Inspect implements [canonical.Runs].
func (s *Store) Inspect(ctx context.Context, key canonical.RunKey) (canonical.RunState, error) {
	return s.state(ctx, "inspect", key, func(*run) bool { return true })
}

func (s *Store) state(ctx context.Context, op string, key canonical.RunKey, mine func(*run) bool) (canonical.RunState, error) {
	if err := prepared(ctx, op, key.Validate); err != nil {
		return canonical.RunState{}, err
	}
	var state canonical.RunState
	err := s.view(ctx, op, func(t *tx) error {
		r, err := t.ledgered(op, key, canonical.CallName{}, canonical.ErrRunMissing)
		if err != nil {
			return err
		}
		if !mine(r) {
			return refuse(op, canonical.CallName{}, canonical.ErrRunTaken)
		}
		state = r.state()
		return nil
	})
	if err != nil {
		return canonical.RunState{}, err
	}
	return state, nil
}

// CloseRun implements [canonical.Runs]. One transaction, and no wait for the disk
// where the run was closed before and has nothing to give back.
func (s *Store) CloseRun(ctx context.Context, c canonical.Closing) (canonical.ClosedRun, error) {
	if err := prepared(ctx, "close", c.Run.Validate); err != nil {
		return canonical.ClosedRun{}, err
	}
	var closed canonical.ClosedRun
	err := s.write(ctx, "close", func(t *tx) (err error) {
		closed, err = t.close(c)
		return err
	})
	if err != nil {
		return canonical.ClosedRun{}, err
	}
	return closed, nil
}

func (t *tx) close(c canonical.Closing) (canonical.ClosedRun, error) {
	const op = "close"
	none := canonical.CallName{}
	r, err := t.ledgered(op, c.Run, none, canonical.ErrRunMissing)
	if err != nil {
		return canonical.ClosedRun{}, err
	}
	if !r.owned(c.Token) {
		return canonical.ClosedRun{}, refuse(op, none, canonical.ErrRunTaken)
	}
	open, effects, err := r.outstanding(op)
	if err != nil {
		return canonical.ClosedRun{}, err
	}
	share, err := r.share()
	if err != nil {
		return canonical.ClosedRun{}, refuse(op, none, err)
	}
	if noticed := r.ledger.notice(c.Seen); noticed || !r.ledger.Closed {
		r.ledger.Closed = true
		r.keep()
	}
	r.release(share)
	return canonical.ClosedRun{LastSeq: r.ledger.LastSeq, Open: namesOf(open), Unresolved: namesOf(effects)}, nil
}
