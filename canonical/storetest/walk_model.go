package storetest

import (
	"fmt"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// model is what a store is, in as few words as possible: maps, and a clock that
// counts from the start of the walk.
type model struct {
	now   time.Duration
	runs  map[canonical.RunKey]*modelRun
	lives int
}

type modelRun struct {
	life     int
	opening  canonical.Opening
	deadline time.Duration
	expires  time.Duration
	closed   bool
	damaged  bool
	reserved int64
	perTool  map[string]int
	order    []canonical.CallName // by sequence; the guard of every name
	calls    map[canonical.CallName]*modelCall
	effects  map[canonical.CallName]time.Duration // due; zero when known to be unknown
	late     map[canonical.CallName]*modelLate
	verdicts map[canonical.CallName]canonical.Resolution
	evidence map[canonical.EvidenceID]canonical.CallName
	share    *canonical.Use // of the scope's quota, if any
}

type modelCall struct {
	admission canonical.Admission
	seq       int64
	born      time.Duration
	due       time.Duration
	expires   time.Duration
	ended     time.Duration
	state     lifecycle.State
	verdict   lifecycle.Completion
	stage     canonical.Stage
	raw       canonical.Raw
	agent     canonical.Body
	facts     canonical.Body
	coverage  canonical.Body
	digest    string // of the owner's outcome
	swept     bool
}

type modelLate struct {
	digest  string
	verdict lifecycle.Completion
	raw     string
	agent   canonical.Body
	at      time.Duration
}

func newModel() *model { return &model{runs: map[canonical.RunKey]*modelRun{}} }

// find is the living run of a key.
func (m *model) find(key canonical.RunKey) *modelRun {
	if r := m.runs[key]; r != nil && m.now < r.expires {
		return r
	}
	return nil
}

// call is a record that is there.
func (m *model) call(r *modelRun, name canonical.CallName) *modelCall {
	if r == nil {
		return nil
	}
	if c := r.calls[name]; c != nil && m.now < c.expires {
		return c
	}
	return nil
}

func (r *modelRun) seen(name canonical.CallName) bool {
	for _, n := range r.order {
		if n == name {
			return true
		}
	}
	return false
}

func (r *modelRun) notice(seen int64) {
	if seen > int64(len(r.order)) {
		r.damaged = true
	}
}

func (r *modelRun) phase() string {
	if r.closed {
		return string(canonical.RunClosed)
	}
	if r.damaged {
		return string(canonical.RunDamaged)
	}
	return string(canonical.RunOpen)
}

func (m *model) stateText(r *modelRun) string {
	return stateText(r.phase(), int64(len(r.order)), r.reserved, at(r.deadline), at(r.expires), at(m.now))
}

// whyNot finds what stands against an admission, in the order of the contract.
func (m *model) whyNot(r *modelRun, a admitMessage) error {
	r.notice(a.Seen)
	b := r.opening.Budget
	switch {
	case r.closed:
		return canonical.ErrRunClosed
	case r.damaged:
		return canonical.ErrRunDamaged
	case m.now > a.notAfter:
		return canonical.ErrTooLate
	case m.now >= r.deadline:
		return canonical.ErrDeadline
	}
	for _, due := range r.effects {
		if m.now >= due {
			return canonical.ErrUnresolvedEffect
		}
	}
	switch {
	case b.Bytes >= 0 && r.reserved+a.Reserve > b.Bytes:
		return canonical.ErrCapacity
	case b.Calls >= 0 && len(r.order) >= b.Calls:
		return canonical.ErrRunBudget
	case b.PerTool >= 0 && r.perTool[a.Tool] >= b.PerTool, a.ToolBudget >= 0 && r.perTool[a.Tool] >= a.ToolBudget:
		return canonical.ErrToolBudget
	}
	return nil
}

func (m *model) admit(r *modelRun, a admitMessage) *modelCall {
	r.order = append(r.order, a.Call)
	r.perTool[a.Tool]++
	r.reserved += a.Reserve
	c := &modelCall{
		admission: a.Admission, seq: int64(len(r.order)), born: m.now, state: lifecycle.Projecting,
		due: min(m.now+a.Timeout, r.deadline) + a.Closing, expires: m.now + a.TTL,
	}
	r.calls[a.Call] = c
	r.evidence[a.EvidenceID] = a.Call
	if a.Effect != canonical.EffectRead {
		r.effects[a.Call] = c.due
	}
	return c
}

// end gives a call its verdict and the run what it no longer needs.
func (m *model) end(r *modelRun, c *modelCall, v lifecycle.Completion, stage canonical.Stage) {
	c.state, c.verdict, c.stage, c.ended = v.State, v, stage, m.now
	r.reserved += c.held() - c.admission.Reserve
	if _, waits := r.effects[c.admission.Call]; waits {
		delete(r.effects, c.admission.Call)
		if v.Execution == lifecycle.Unknown {
			r.effects[c.admission.Call] = 0
		}
	}
}

func (c *modelCall) held() int64 {
	return int64(len(c.admission.Request) + len(c.raw.Bytes) + len(c.agent) + len(c.facts) + len(c.coverage))
}

func (c *modelCall) headText() string {
	a := c.admission
	v := headView{
		state: string(c.state), code: string(c.verdict.Code), evidence: string(c.verdict.Evidence), execution: string(c.verdict.Execution), stage: string(c.stage),
		seq: c.seq, tool: a.Tool, effect: string(a.Effect), name: a.Call.String(), run: string(a.Run.Run), evidenceID: string(a.EvidenceID), operation: a.OperationKey,
		request: a.Request.SHA256(), facts: string(c.facts), coverage: string(c.coverage),
		raw:     fmt.Sprint(c.raw.Present(), c.raw.Size, c.raw.SHA256, c.raw.AtLeast),
		created: at(c.born), due: at(c.due), ended: "-", expires: at(c.expires),
	}
	if c.agent != nil {
		v.agent = c.agent.SHA256()
	}
	if c.state != lifecycle.Projecting {
		v.ended = at(c.ended)
	}
	return fmt.Sprintf("%+v", v)
}
