package history

import (
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// tri is a condition that may depend on a time which is not known exactly.
type tri int

const (
	no tri = iota
	maybe
	yes
)

func certain(b bool) tri {
	if b {
		return yes
	}
	return no
}

// passed says whether the operation was decided after a time that lies between
// from and to.
func (o timed) passed(from, to int64) tri {
	switch {
	case o.from > to:
		return yes
	case o.to <= from:
		return no
	}
	return maybe
}

// reason is one thing that may stand against an admission.
type reason struct {
	sentinel error
	holds    tri
}

// against lists them in the order of the contract.
func (s *state) against(o timed) []reason {
	in, b := o.Input, s.budget
	barrier := no
	for _, c := range s.calls {
		switch c.effect {
		case unknownEffect:
			barrier = yes
		case waitingEffect:
			barrier = max(barrier, o.passed(c.dueFrom-1, c.dueTo-1)) // due counts from its own millisecond on
		}
	}
	used := s.used(in.Tool)
	return []reason{
		{canonical.ErrRunMissing, certain(!s.exists)},
		{canonical.ErrRunClosed, certain(s.closed)},
		{canonical.ErrTooLate, o.passed(in.NotAfter, in.NotAfter)},
		{canonical.ErrUnresolvedEffect, barrier},
		{canonical.ErrCapacity, certain(b.Bytes >= 0 && s.reserved+in.Reserve > b.Bytes)},
		{canonical.ErrRunBudget, certain(b.Calls >= 0 && len(s.calls) >= b.Calls)},
		{canonical.ErrToolBudget, certain(b.PerTool >= 0 && used >= b.PerTool || in.ToolBudget >= 0 && used >= in.ToolBudget)},
	}
}

func (s *state) admit(o timed) (bool, *state) {
	in := o.Input
	if at := s.find(in.Call); at >= 0 {
		return s.admitAgain(o, at)
	}
	created := true
	for _, r := range s.against(o) {
		if o.Answered() && o.Output.Text == textNo(r.sentinel, "") {
			return r.holds != no, s
		}
		if r.holds == yes {
			created = false
			break
		}
	}
	seq := int64(len(s.calls)) + 1
	switch {
	case !o.Answered() && !created:
		return true, s
	case o.Answered() && (!created || o.Output.Text != textAdmitted(false, seq, in.Evidence, lifecycle.Projecting, "")):
		return false, s
	}
	c := call{
		name: in.Call, claim: in.Claim, evidence: in.Evidence, tool: in.Tool, read: in.Read, state: lifecycle.Projecting,
		reserve: in.Reserve, request: in.Request, effect: waitingEffect,
		dueFrom: o.from + in.Timeout + in.Closing, dueTo: min(o.to, in.NotAfter) + in.Timeout + in.Closing,
	}
	if in.Read {
		c.effect = noEffect
	}
	next := s.plus(c)
	if !o.Answered() {
		return true, next
	}
	return next.learnDue(len(s.calls), c, o.Output.Due)
}

// admitAgain answers an admission of a name that was seen.
func (s *state) admitAgain(o timed, at int) (bool, *state) {
	c := s.calls[at]
	switch {
	case !o.Answered():
		return true, s // our own or not, it changes nothing
	case c.gone:
		return o.Output.Text == textNo(canonical.ErrDuplicate, ""), s
	case c.claim != o.Input.Claim:
		return o.Output.Text == textNo(canonical.ErrDuplicate, c.state), s
	case o.Output.Text != textAdmitted(true, int64(at)+1, c.evidence, c.state, c.code):
		return false, s
	}
	return s.learnDue(at, c, o.Output.Due)
}

// sweep is of one call that a sweep says it ended, or, without an answer, may
// have ended.
func (s *state) sweep(o timed) (bool, *state) {
	at, c, ok := s.record(o.Input.Call)
	able := ok && c.state == lifecycle.Projecting && o.passed(c.dueFrom, c.dueTo) != no
	if !able {
		return !o.Answered(), s
	}
	code, x := lifecycle.OutcomeUnknown, lifecycle.Unknown
	switch {
	case c.raw != "":
		code, x = lifecycle.ProjectionFailed, lifecycle.Completed
	case c.read:
		code = lifecycle.Orphaned
	}
	if o.Answered() && o.Output.Text != textSwept(code, x) {
		return false, s
	}
	c.swept = true
	return true, s.ended(at, c, lifecycle.Error, code, x)
}
