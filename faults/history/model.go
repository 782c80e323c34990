package history

import (
	"hash/maphash"

	"github.com/anishathalye/porcupine"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// clockSlack is added on both sides of the time in which an operation was
// decided, in ms: times are cut to whole milliseconds, and clocks are corrected.
const clockSlack = 3

// timed is an operation with the time in which it was decided, in ms.
type timed struct {
	Operation
	from, to int64
}

// answer is what the model says to an operation, and the state behind it.
type answer struct {
	text string
	next *state
}

// Model is the store's contract as porcupine takes it: one run a partition.
func Model() porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Partition: byRun,
		Init:      func() any { return &state{} },
		Step: func(s, input, _ any) (bool, any) {
			ok, next := step(s.(*state), input.(timed))
			return ok, next
		},
		Equal: func(a, b any) bool { return a.(*state).equal(b.(*state)) },
		Hash: func(s any) uint64 {
			st := s.(*state)
			var h uint64
			for _, c := range st.calls {
				h = h*31 + maphash.Comparable(seed, c)
			}
			return h*31 + uint64(st.reserved)
		},
		DescribeOperation: func(input, _ any) string { return input.(timed).String() },
	}
}

func byRun(history []porcupine.Operation) [][]porcupine.Operation {
	var runs [][]porcupine.Operation
	for _, o := range history {
		run := o.Input.(timed).Input.Run
		for len(runs) <= run {
			runs = append(runs, nil)
		}
		runs[run] = append(runs[run], o)
	}
	return runs
}

// step says whether an operation could have been answered as it was, and what
// the run is afterwards.
//
// One without an answer counts where it changes something, or else behind the
// end, where it changes nothing any more. That loses no order, and spares the
// checker every place at which it would have been without effect.
func step(s *state, o timed) (bool, *state) {
	if o.Answered() {
		return try(s, o)
	}
	if s.over {
		return true, s
	}
	_, next := try(s, o)
	return !next.equal(s), next
}

func try(s *state, o timed) (bool, *state) {
	switch o.Input.Kind {
	case end:
		next := *s
		next.over = true
		return true, &next
	case Admit:
		return s.admit(o)
	case Sweep:
		return s.sweep(o)
	case SweptOut:
		for _, c := range s.calls {
			if c.open() && c.dueTo < o.from {
				return false, s // nobody stood in the sweep's way
			}
		}
		return true, s
	case Head:
		return s.head(o)
	}
	a := s.predict(o.Input)
	return a.text == o.Output.Text, a.next
}

// predict answers what does not depend on time.
func (s *state) predict(in Input) answer {
	switch in.Kind {
	case Open:
		return s.openRun(in)
	case Save:
		return s.save(in)
	case Complete, Settle:
		return s.complete(in)
	case Delete:
		return s.remove(in)
	case Resolve:
		return s.resolve(in)
	case Close:
		next := *s
		next.closed = true
		waits := s.names(func(c call) bool { return c.effect != noEffect })
		return answer{textClosed(int64(len(s.calls)), waits), &next}
	case Inspect:
		return answer{textRun(s.phase(), int64(len(s.calls)), s.reserved), s}
	case Outstanding:
		return answer{textOutstanding(s.names(call.open),
			s.names(func(c call) bool { return c.effect == waitingEffect }),
			s.names(func(c call) bool { return c.effect == unknownEffect })), s}
	case Settlement:
		return s.settlement(in)
	}
	panic("history: unknown kind " + string(in.Kind))
}

func (s *state) openRun(in Input) answer {
	if !s.exists {
		s = &state{exists: true, budget: in.Budget}
	}
	return answer{textRun(s.phase(), int64(len(s.calls)), s.reserved), s}
}

// holder is the record of a message, or why it is not its sender's.
func (s *state) holder(in Input) (at int, c call, no string) {
	at, c, ok := s.record(in.Call)
	switch {
	case !ok:
		return at, c, textNo(canonical.ErrMissing, "")
	case c.claim != in.Claim:
		return at, c, textNo(canonical.ErrConflict, c.state)
	}
	return at, c, ""
}

func (s *state) save(in Input) answer {
	at, c, no := s.holder(in)
	switch {
	case no != "":
		return answer{no, s}
	case c.raw != "" && c.raw == in.Raw:
		return answer{textEnded(true), s}
	case c.raw != "" || c.state != lifecycle.Projecting:
		return answer{textNo(canonical.ErrConflict, c.state), s}
	}
	c.raw, c.rawSize, c.effect = in.Raw, in.RawSize, noEffect
	return answer{textEnded(false), s.with(at, c)}
}

func (s *state) complete(in Input) answer {
	at, c, no := s.holder(in)
	conflict := answer{textNo(canonical.ErrConflict, c.state), s}
	switch {
	case no != "":
		return answer{no, s}
	case c.outcome == in.Outcome:
		return answer{textEnded(true), s}
	case in.Kind == Settle && c.swept:
		return s.settleLate(at, c, in, conflict)
	case c.state != lifecycle.Projecting:
		return conflict
	case c.raw != "" && in.Raw != "" && in.Raw != c.raw, c.raw == "" && in.RawSaved:
		return conflict
	}
	if c.raw == "" {
		c.raw, c.rawSize = in.Raw, in.RawSize
	}
	c.outcome, c.agentSize = in.Outcome, in.AgentLen
	return answer{textEnded(false), s.ended(at, c, in.Verdict.State, in.Verdict.Code, in.Verdict.Execution)}
}

func (s *state) settleLate(at int, c call, in Input, conflict answer) answer {
	switch c.lateOutcome {
	case "":
		if in.RawSaved && in.Raw != c.raw {
			return conflict
		}
		c.lateOutcome, c.late = in.Outcome, textLate(in.Verdict, in.Raw, in.Agent)
		return answer{textEnded(false), s.with(at, c)}
	case in.Outcome:
		return answer{textEnded(true), s}
	}
	return conflict
}

func (s *state) remove(in Input) answer {
	at, c, ok := s.record(in.Call)
	switch {
	case !ok:
		return answer{textDone, s}
	case c.state == lifecycle.Projecting:
		return answer{textNo(canonical.ErrStillOpen, c.state), s}
	case c.effect != noEffect:
		return answer{textNo(canonical.ErrUnresolvedEffect, c.state), s}
	}
	c.gone, c.late, c.lateOutcome = true, "", ""
	next := s.with(at, c)
	next.reserved -= c.held()
	return answer{textDone, next}
}

func (s *state) resolve(in Input) answer {
	at, c, ok := s.record(in.Call)
	switch {
	case !ok:
		return answer{textNo(canonical.ErrMissing, ""), s}
	case c.state == lifecycle.Projecting:
		return answer{textNo(canonical.ErrStillOpen, c.state), s}
	case c.execution != lifecycle.Unknown:
		return answer{textNo(canonical.ErrConflict, c.state), s}
	case c.grounds == in.Grounds:
		return answer{textDone, s}
	case c.grounds != "":
		return answer{textNo(canonical.ErrConflict, c.state), s}
	}
	c.grounds, c.effect = in.Grounds, noEffect
	return answer{textDone, s.with(at, c)}
}

func (s *state) settlement(in Input) answer {
	at := s.find(in.Call)
	if at < 0 {
		return answer{textSettlement("", ""), s}
	}
	return answer{textSettlement(s.calls[at].late, s.calls[at].grounds), s}
}

func (s *state) head(o timed) (bool, *state) {
	at, c, ok := s.record(o.Input.Call)
	switch {
	case !o.Answered():
		return true, s
	case !ok:
		return o.Output.Text == textNo(canonical.ErrMissing, ""), s
	}
	if o.Output.Text != textHead(int64(at)+1, c.state, c.code, c.execution, c.raw) {
		return false, s
	}
	return s.learnDue(at, c, o.Output.Due)
}

// learnDue narrows a due time down to what was answered.
func (s *state) learnDue(at int, c call, due int64) (bool, *state) {
	if due < c.dueFrom || due > c.dueTo {
		return false, s
	}
	if c.dueFrom == c.dueTo {
		return true, s
	}
	c.dueFrom, c.dueTo = due, due
	return true, s.with(at, c)
}
