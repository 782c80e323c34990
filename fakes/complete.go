package fakes

import (
	"context"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Save implements [canonical.Calls].
func (s *Store) Save(ctx context.Context, m canonical.Saving) (canonical.Ended, error) {
	if err := m.Validate(); err != nil {
		return canonical.Ended{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.Ended{}, err
	}
	defer leave()
	r, rec, err := s.claimed("save", m.Run, m.Call, m.Claim)
	if err != nil {
		return canonical.Ended{}, err
	}
	r.ledger.notice(m.Seen)
	if rec.raw.Present() && rec.raw.SHA256 == m.Raw.SHA256 {
		return canonical.Ended{Repeat: true, Strength: Strength}, nil
	}
	if rec.raw.Present() || rec.head.State != lifecycle.Projecting {
		return canonical.Ended{}, standing("save", rec, canonical.ErrConflict)
	}
	rec.keepRaw(m.Raw)
	delete(r.effects, m.Call)
	return canonical.Ended{Strength: Strength}, nil
}

// Complete implements [canonical.Calls].
func (s *Store) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	return s.end(ctx, "complete", e, func(_ *run, rec *record, _ time.Time) (canonical.Ended, error) {
		return canonical.Ended{}, standing("complete", rec, canonical.ErrConflict)
	})
}

// end is what Complete and Settle share; late answers an ending that differs
// from the one that the record has.
func (s *Store) end(ctx context.Context, op string, e canonical.Ending,
	late func(*run, *record, time.Time) (canonical.Ended, error)) (canonical.Ended, error) {
	if err := e.Validate(); err != nil {
		return canonical.Ended{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.Ended{}, err
	}
	defer leave()
	r, rec, err := s.claimed(op, e.Run, e.Call, e.Claim)
	if err != nil {
		return canonical.Ended{}, err
	}
	r.ledger.notice(e.Seen)
	switch {
	case rec.outcome == e.Digest():
		return canonical.Ended{Repeat: true, Strength: Strength}, nil
	case rec.head.State.Final():
		return late(r, rec, s.now())
	case !rec.acceptsRaw(e):
		return canonical.Ended{}, standing(op, rec, canonical.ErrConflict)
	}
	rec.outcome = e.Digest()
	rec.accept(e)
	r.ended(rec, e.Verdict, e.Stage, s.now())
	return canonical.Ended{Strength: Strength}, nil
}

// claimed returns the record of a message whose sender holds its claim.
func (s *Store) claimed(op string, key canonical.RunKey, call canonical.CallName, claim canonical.Claim) (*run, *record, error) {
	r := s.find(key, s.now())
	if r == nil {
		return nil, nil, refuse(op, call, canonical.ErrMissing)
	}
	if err := r.usable(op, call); err != nil {
		return nil, nil, err
	}
	rec := r.record(call)
	if rec == nil {
		return nil, nil, refuse(op, call, canonical.ErrMissing)
	}
	if rec.claim != claim {
		return nil, nil, standing(op, rec, canonical.ErrConflict)
	}
	return r, rec, nil
}

// acceptsRaw: a raw that was saved is not replaced, and one that was not saved
// cannot be referred to.
func (rec *record) acceptsRaw(e canonical.Ending) bool {
	if rec.raw.Present() {
		return e.Raw.SHA256 == "" || e.Raw.SHA256 == rec.raw.SHA256
	}
	return !e.RawSaved
}

func (rec *record) keepRaw(raw canonical.Raw) {
	raw.Bytes = raw.Bytes.Clone()
	rec.raw = raw
	rec.head.Raw = canonical.RawInfo{Stored: raw.Present(), Size: raw.Size, SHA256: raw.SHA256, AtLeast: raw.AtLeast}
}

// accept takes over the bodies of an ending.
func (rec *record) accept(e canonical.Ending) {
	if !rec.raw.Present() {
		rec.keepRaw(e.Raw)
	}
	rec.agent = e.Agent.Clone()
	rec.head.Facts, rec.head.Coverage = e.Facts.Clone(), e.Coverage.Clone()
	if rec.agent != nil {
		rec.head.AgentSize, rec.head.AgentSHA256 = int64(len(rec.agent)), rec.agent.SHA256()
	}
}

// ended gives a record its verdict and the run its capacity back.
func (r *run) ended(rec *record, v lifecycle.Completion, stage canonical.Stage, now time.Time) {
	h := &rec.head
	h.State, h.Code, h.Evidence, h.Execution = v.State, v.Code, v.Evidence, v.Execution
	h.Stage, h.Ended = stage, now
	r.ledger.reserved += rec.held() - rec.reserve
	name := h.Identity.Call
	delete(r.open, name)
	if _, waits := r.effects[name]; !waits {
		return
	}
	if v.Execution == lifecycle.Unknown {
		r.effects[name] = time.Time{}
	} else {
		delete(r.effects, name)
	}
}
