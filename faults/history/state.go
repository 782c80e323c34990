package history

import (
	"slices"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// state is one run. It is never changed: a step makes another one.
type state struct {
	exists   bool
	closed   bool
	over     bool // everything that was answered has been placed
	budget   canonical.Budget
	reserved int64
	calls    []call // by sequence; a name is never taken out
}

// effect is what the barrier knows of a call.
type effect byte

const (
	noEffect      effect = iota // a read, or known, or resolved
	waitingEffect               // raises the barrier once it is due
	unknownEffect               // raises it
)

// call is one admitted call. It has nothing but values, so that states can be
// compared.
type call struct {
	name, claim, evidence, tool string
	read                        bool
	state                       lifecycle.State
	code                        lifecycle.Code
	execution                   lifecycle.Execution
	dueFrom, dueTo              int64 // the due time lies between these two
	reserve, request            int64
	raw                         string // digest of what was saved or came with the end
	rawSize, agentSize          int64
	outcome                     string // digest of the owner's ending
	swept, gone                 bool
	effect                      effect
	late, lateOutcome           string // what was settled after a sweep
	grounds                     string // of the verdict
}

func (c call) held() int64 { return c.request + c.rawSize + c.agentSize }

func (c call) open() bool { return !c.gone && c.state == lifecycle.Projecting }

func (s *state) equal(other *state) bool {
	return s.exists == other.exists && s.closed == other.closed && s.over == other.over && s.budget == other.budget &&
		s.reserved == other.reserved && slices.Equal(s.calls, other.calls)
}

// find is the place of a name in the order, or -1.
func (s *state) find(name string) int {
	return slices.IndexFunc(s.calls, func(c call) bool { return c.name == name })
}

// record is the record of a name, if there is one.
func (s *state) record(name string) (at int, c call, ok bool) {
	at = s.find(name)
	if at < 0 || s.calls[at].gone {
		return at, call{}, false
	}
	return at, s.calls[at], true
}

// with is s with another call in one place.
func (s *state) with(at int, c call) *state {
	next := *s
	next.calls = slices.Clone(s.calls)
	next.calls[at] = c
	return &next
}

// plus is s with one call more.
func (s *state) plus(c call) *state {
	next := *s
	next.calls = append(slices.Clone(s.calls), c)
	next.reserved += c.reserve
	return &next
}

// ended is s after the call in one place ended. c has its bodies already.
func (s *state) ended(at int, c call, state lifecycle.State, code lifecycle.Code, x lifecycle.Execution) *state {
	c.state, c.code, c.execution = state, code, x
	switch {
	case c.effect == waitingEffect && x == lifecycle.Unknown:
		c.effect = unknownEffect
	case c.effect == waitingEffect:
		c.effect = noEffect
	}
	next := s.with(at, c)
	next.reserved += c.held() - c.reserve
	return next
}

func (s *state) used(tool string) int {
	n := 0
	for _, c := range s.calls {
		if c.tool == tool {
			n++
		}
	}
	return n
}

func (s *state) names(which func(call) bool) []string {
	var out []string
	for _, c := range s.calls {
		if which(c) {
			out = append(out, c.name)
		}
	}
	return out
}

func (s *state) phase() canonical.Phase {
	if s.closed {
		return canonical.RunClosed
	}
	return canonical.RunOpen
}
