package storetest_test

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func (s *odd) Admit(ctx context.Context, a canonical.Admission) (out canonical.Admitted, err error) {
	if err := a.Validate(); err != nil {
		return out, err
	}
	a.Request = a.Request.Clone()
	err = s.with(ctx, a.Run, func(r *oddRun) error {
		c := r.there(a.Call)
		own := c != nil && c.a.Claim == a.Claim
		if !own {
			if err := s.refusal(r, a, c); err != nil {
				return err
			}
			s.note(r, a.Call, a)
			r.apply(s.log[len(s.log)-1])
			c = r.calls[a.Call]
		}
		out = canonical.Admitted{Own: own, State: c.state(), Code: c.verdict.Code, Seq: c.seq, EvidenceID: c.a.EvidenceID, Now: elsewhere(r.now),
			Left: r.deadline.Sub(r.now), Due: elsewhere(c.due(r)), Expires: elsewhere(c.expires()), Strength: synced}
		return nil
	})
	return out, err
}

func (s *odd) refusal(r *oddRun, a canonical.Admission, there *oddCall) error {
	if r.calls[a.Call] != nil {
		first := lifecycle.State("")
		if there != nil {
			first = there.state()
		}
		return no(canonical.ErrDuplicate, first)
	}
	if r.isClosed {
		return no(canonical.ErrRunClosed, "")
	}
	s.notice(r, a.Seen)
	perTool, b := 0, r.opening.Budget
	barrier := false
	for _, c := range r.calls {
		if c.a.Tool == a.Tool {
			perTool++
		}
		due, waits := c.pending(r)
		barrier = barrier || waits && !r.now.Before(due)
	}
	over := func(limit, used int64) bool { return limit != canonical.Unlimited && used > limit }
	switch {
	case r.isLost:
		return no(canonical.ErrRunDamaged, "")
	case r.now.After(a.NotAfter):
		return no(canonical.ErrTooLate, "")
	case !r.now.Before(r.deadline):
		return no(canonical.ErrDeadline, "")
	case barrier:
		return no(canonical.ErrUnresolvedEffect, "")
	case over(b.Bytes, r.reserved+a.Reserve):
		return no(canonical.ErrCapacity, "")
	case over(int64(b.Calls), int64(len(r.order)+1)):
		return no(canonical.ErrRunBudget, "")
	case over(int64(b.PerTool), int64(perTool+1)), over(int64(a.ToolBudget), int64(perTool+1)):
		return no(canonical.ErrToolBudget, "")
	}
	return nil
}

// about finds the record of a message that needs one.
func (s *odd) about(ctx context.Context, key canonical.RunKey, name canonical.CallName, do func(*oddRun, *oddCall) error) error {
	if err := key.Validate(); err != nil {
		return err
	}
	if err := name.Validate(); err != nil {
		return err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r := s.read(key)
	c := r.there(name)
	if c == nil {
		return no(canonical.ErrMissing, "")
	}
	return do(r, c)
}

func (s *odd) Save(ctx context.Context, m canonical.Saving) (out canonical.Ended, err error) {
	if err := m.Validate(); err != nil {
		return out, err
	}
	m.Raw.Bytes = m.Raw.Bytes.Clone()
	err = s.about(ctx, m.Run, m.Call, func(r *oddRun, c *oddCall) error {
		if c.a.Claim != m.Claim {
			return no(canonical.ErrConflict, c.state())
		}
		s.notice(r, m.Seen)
		out = canonical.Ended{Repeat: c.raw.Present() && c.raw.SHA256 == m.Raw.SHA256, Strength: synced}
		if out.Repeat {
			return nil
		}
		if c.raw.Present() || c.state() != lifecycle.Projecting {
			return no(canonical.ErrConflict, c.state())
		}
		s.note(r, m.Call, m)
		return nil
	})
	return out, err
}

func (s *odd) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	return s.end(ctx, e, false)
}

func (s *odd) Settle(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	return s.end(ctx, e, true)
}

func (s *odd) end(ctx context.Context, e canonical.Ending, late bool) (out canonical.Ended, err error) {
	if err := e.Validate(); err != nil {
		return out, err
	}
	e.Raw.Bytes, e.Agent, e.Facts, e.Coverage = e.Raw.Bytes.Clone(), e.Agent.Clone(), e.Facts.Clone(), e.Coverage.Clone()
	out.Strength = synced
	err = s.about(ctx, e.Run, e.Call, func(r *oddRun, c *oddCall) error {
		conflict := no(canonical.ErrConflict, c.state())
		if c.a.Claim != e.Claim {
			return conflict
		}
		s.notice(r, e.Seen)
		before, isLate := r.late[e.Call]
		fits := !e.RawSaved || c.raw.SHA256 == e.Raw.SHA256
		switch {
		case c.state() == lifecycle.Projecting:
			if !fits || c.raw.Present() && e.Raw.SHA256 != "" && c.raw.SHA256 != e.Raw.SHA256 {
				return conflict
			}
			s.note(r, e.Call, e)
			return nil
		case !c.bySweep && c.ending.Digest() == e.Digest(), late && isLate && canonical.Ending(before.what.(settled)).Digest() == e.Digest():
			out.Repeat = true
			return nil
		case late && c.bySweep && !isLate && fits:
			s.note(r, e.Call, settled(e))
			return nil
		}
		return conflict
	})
	return out, err
}

func (s *odd) Sweep(ctx context.Context, m canonical.Sweeping) (out []canonical.Swept, err error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	err = s.with(ctx, m.Run, func(r *oddRun) error {
		open, _ := r.waiting()
		for _, w := range open {
			c := r.calls[w.Call]
			if len(out) == m.Max || !r.now.After(w.Due.Add(m.Grace)) {
				break
			}
			v := lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown)
			if c.a.Effect.Read() {
				v.Code = lifecycle.Orphaned
			}
			if c.raw.Present() {
				v = lifecycle.Fail(lifecycle.ProjectionFailed, lifecycle.Completed)
			}
			s.note(r, w.Call, swept(v))
			out = append(out, canonical.Swept{Call: w.Call, Code: v.Code, Execution: v.Execution})
		}
		return nil
	})
	return out, err
}

func (s *odd) Resolve(ctx context.Context, m canonical.Resolution) error {
	if err := m.Validate(); err != nil {
		return err
	}
	return s.about(ctx, m.Run, m.Call, func(r *oddRun, c *oddCall) error {
		before, resolved := r.verdicts[m.Call]
		switch {
		case c.state() == lifecycle.Projecting:
			return no(canonical.ErrStillOpen, c.state())
		case c.verdict.Execution != lifecycle.Unknown || resolved && before != m:
			return no(canonical.ErrConflict, c.state())
		case !resolved:
			s.note(r, m.Call, m)
		}
		return nil
	})
}

func (s *odd) Delete(ctx context.Context, key canonical.RunKey, name canonical.CallName) error {
	err := s.about(ctx, key, name, func(r *oddRun, c *oddCall) error {
		if c.state() == lifecycle.Projecting {
			return no(canonical.ErrStillOpen, c.state())
		}
		if _, waits := c.pending(r); waits {
			return no(canonical.ErrUnresolvedEffect, c.state())
		}
		s.note(r, name, deleted{})
		return nil
	})
	if isMissing(err) {
		return nil
	}
	return err
}
