package localstore

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolharness/harness/canonical"
)

// ledger is what a run is judged by, beside the guards of its names. Times are
// milliseconds of the store's time.
type ledger struct {
	Token      string         `json:"token_sha256"`
	Parameters parameters     `json:"parameters"`
	Deadline   int64          `json:"deadline_ms"`
	Expires    int64          `json:"expires_ms"`
	Closed     bool           `json:"closed,omitempty"`
	Damaged    bool           `json:"damaged,omitempty"`
	LastSeq    int64          `json:"last_seq"`
	Reserved   int64          `json:"reserved"`
	Open       int            `json:"open"` // calls that are PROJECTING
	Tools      map[string]int `json:"tools"`
}

// parameters are what a run was opened with.
type parameters struct {
	Principal canonical.Principal `json:"principal"`
	Duration  int64               `json:"duration_ns"`
	Budget    storedBudget        `json:"budget"`
	Limits    storedLimits        `json:"limits"`
	Continues []canonical.RunID   `json:"continues,omitempty"`
}

type storedBudget struct {
	Calls   int   `json:"calls"`
	PerTool int   `json:"per_tool"`
	Bytes   int64 `json:"bytes"`
}

type storedLimits struct {
	RecordTTL        int64 `json:"record_ttl_ns"`
	RequestBytes     int64 `json:"request_bytes"`
	RawBytes         int64 `json:"raw_bytes"`
	AgentBytes       int64 `json:"agent_bytes"`
	FactsBytes       int64 `json:"facts_bytes"`
	RecordBytes      int64 `json:"record_bytes"`
	ToolTimeout      int64 `json:"tool_timeout_ns"`
	ProjectorTimeout int64 `json:"projector_timeout_ns"`
	ClosingTimeout   int64 `json:"closing_timeout_ns"`
}

func parametersOf(o canonical.Opening) parameters {
	l := o.Limits
	return parameters{
		Principal: o.Principal, Duration: int64(o.Duration), Continues: slices.Clone(o.Continues),
		Budget: storedBudget{Calls: o.Budget.Calls, PerTool: o.Budget.PerTool, Bytes: o.Budget.Bytes},
		Limits: storedLimits{
			RecordTTL: int64(l.RecordTTL), RequestBytes: l.RequestBytes, RawBytes: l.RawBytes, AgentBytes: l.AgentBytes,
			FactsBytes: l.FactsBytes, RecordBytes: l.RecordBytes, ToolTimeout: int64(l.ToolTimeout),
			ProjectorTimeout: int64(l.ProjectorTimeout), ClosingTimeout: int64(l.ClosingTimeout),
		},
	}
}

func (p parameters) equal(other parameters) bool {
	return p.Principal == other.Principal && p.Duration == other.Duration && p.Budget == other.Budget &&
		p.Limits == other.Limits && slices.Equal(p.Continues, other.Continues)
}

func (p parameters) limits() canonical.Limits {
	l := p.Limits
	return canonical.Limits{
		RecordTTL: time.Duration(l.RecordTTL), RequestBytes: l.RequestBytes, RawBytes: l.RawBytes, AgentBytes: l.AgentBytes,
		FactsBytes: l.FactsBytes, RecordBytes: l.RecordBytes, ToolTimeout: time.Duration(l.ToolTimeout),
		ProjectorTimeout: time.Duration(l.ProjectorTimeout), ClosingTimeout: time.Duration(l.ClosingTimeout),
	}
}

// newLedger sets every time of the run. No later message changes one. The ledger
// outlives the last record that can be admitted before the deadline.
func newLedger(o canonical.Opening, now time.Time) ledger {
	deadline := now.Add(o.Duration.Truncate(time.Millisecond))
	return ledger{
		Token: o.Token.Digest(), Parameters: parametersOf(o), Tools: map[string]int{},
		Deadline: deadline.UnixMilli(), Expires: deadline.Add(o.Limits.RecordTTL.Truncate(time.Millisecond)).UnixMilli(),
	}
}

func (l *ledger) phase() canonical.Phase {
	switch {
	case l.Closed:
		return canonical.RunClosed
	case l.Damaged:
		return canonical.RunDamaged
	default:
		return canonical.RunOpen
	}
}

// notice marks the run when a message knows of an admission that the ledger does
// not (K08). It reports whether that is new.
func (l *ledger) notice(seen int64) bool {
	if seen <= l.LastSeq || l.Damaged {
		return false
	}
	l.Damaged = true
	return true
}

func (r *run) state() canonical.RunState {
	l, p := &r.ledger, r.ledger.Parameters
	return canonical.RunState{
		Run: r.key, Phase: l.phase(), Principal: p.Principal, Limits: p.limits(), Continues: p.Continues,
		Budget: canonical.Budget{Calls: p.Budget.Calls, PerTool: p.Budget.PerTool, Bytes: p.Budget.Bytes},
		Now:    r.t.now, Left: moment(l.Deadline).Sub(r.t.now), Deadline: moment(l.Deadline), Expires: moment(l.Expires),
		LastSeq: l.LastSeq, Reserved: l.Reserved,
	}
}

// keep writes the ledger.
func (r *run) keep() { r.store(keyLedger, r.ledger) }

// effect is one effect that is not known: of an open call by its due time, of an
// ended one with zero.
type effect struct {
	Call string `json:"call"`
	Due  int64  `json:"due_ms"`
}

// effects reads the barrier. It is one value, so that a damaged one cannot look
// like a smaller one.
func (r *run) effects() (list []effect, err error) {
	if err := r.load(keyEffects, &list); err != nil {
		return nil, canonical.ErrCorrupt
	}
	return list, nil
}

// keepEffects writes the barrier in order of due time, equal ones by name.
func (r *run) keepEffects(list []effect) {
	slices.SortFunc(list, func(a, b effect) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Call, b.Call)) })
	r.store(keyEffects, list)
}

// waits is the place of a call among effects, or -1.
func waits(list []effect, call canonical.CallName) int {
	name := call.String()
	return slices.IndexFunc(list, func(e effect) bool { return e.Call == name })
}

// without is a list of effects without one of them.
func without(list []effect, call canonical.CallName) []effect {
	name := call.String()
	return slices.DeleteFunc(list, func(e effect) bool { return e.Call == name })
}

// guard is what is kept of a name for as long as its run lives.
type guard struct {
	Seq     int64 `json:"seq"`
	Expires int64 `json:"expires_ms"` // of the record
	Deleted bool  `json:"deleted,omitempty"`
}

// guard reads the guard of a name; nil where it was never admitted.
func (r *run) guard(call canonical.CallName) (*guard, error) {
	value, err := r.get(prefixGuard + call.String())
	if err != nil || value == nil {
		return nil, err
	}
	var g guard
	if json.Unmarshal(value, &g) != nil {
		return nil, canonical.ErrCorrupt
	}
	return &g, nil
}
