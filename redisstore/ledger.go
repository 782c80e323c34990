package redisstore

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
)

// parameters are what a run was opened with, as the ledger's field pm has them:
// JSON that only Go writes and reads. Times are in nanoseconds. The digest over
// these bytes tells a repeated opening from a different one.
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

// encodeParameters writes the parameters of an opening.
func encodeParameters(o canonical.Opening) ([]byte, error) {
	l := o.Limits
	return json.Marshal(parameters{
		Principal: o.Principal, Duration: int64(o.Duration), Continues: o.Continues,
		Budget: storedBudget{Calls: o.Budget.Calls, PerTool: o.Budget.PerTool, Bytes: o.Budget.Bytes},
		Limits: storedLimits{
			RecordTTL: int64(l.RecordTTL), RequestBytes: l.RequestBytes, RawBytes: l.RawBytes, AgentBytes: l.AgentBytes,
			FactsBytes: l.FactsBytes, RecordBytes: l.RecordBytes, ToolTimeout: int64(l.ToolTimeout),
			ProjectorTimeout: int64(l.ProjectorTimeout), ClosingTimeout: int64(l.ClosingTimeout),
		},
	}, json.Deterministic(true))
}

// decodeParameters reads them into the state of a run.
func decodeParameters(meta string, state *canonical.RunState) error {
	var p parameters
	if err := json.Unmarshal([]byte(meta), &p); err != nil {
		return canonical.ErrCorrupt
	}
	l := p.Limits
	state.Principal, state.Continues = p.Principal, p.Continues
	state.Budget = canonical.Budget{Calls: p.Budget.Calls, PerTool: p.Budget.PerTool, Bytes: p.Budget.Bytes}
	state.Limits = canonical.Limits{
		RecordTTL: time.Duration(l.RecordTTL), RequestBytes: l.RequestBytes, RawBytes: l.RawBytes, AgentBytes: l.AgentBytes,
		FactsBytes: l.FactsBytes, RecordBytes: l.RecordBytes, ToolTimeout: time.Duration(l.ToolTimeout),
		ProjectorTimeout: time.Duration(l.ProjectorTimeout), ClosingTimeout: time.Duration(l.ClosingTimeout),
	}
	return nil
}

// ledgerFields are what a reader needs of a ledger, as open answers it too.
var ledgerFields = [...]string{"st", "op", "dl", "ex", "sq", "rs", "pm"}

// decodeLedger reads the values of ledgerFields, in that order.
func decodeLedger(run canonical.RunKey, now time.Time, values []string) (canonical.RunState, error) {
	state := canonical.RunState{Run: run, Phase: canonical.Phase(values[0]), Now: now}
	if state.Phase != canonical.RunOpen && state.Phase != canonical.RunClosed && state.Phase != canonical.RunDamaged {
		return canonical.RunState{}, canonical.ErrCorrupt
	}
	var n numbers
	state.Deadline, state.Expires = n.time(values[2]), n.time(values[3])
	state.LastSeq, state.Reserved = n.int(values[4]), n.int(values[5])
	if n.bad {
		return canonical.RunState{}, canonical.ErrCorrupt
	}
	state.Left = state.Deadline.Sub(now)
	if err := decodeParameters(values[6], &state); err != nil {
		return canonical.RunState{}, err
	}
	return state, nil
}

// numbers reads stored decimals and remembers whether one was none.
type numbers struct{ bad bool }

func (n *numbers) int(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n.bad = true
	}
	return value
}

// time reads milliseconds since 1970.
func (n *numbers) time(text string) time.Time { return time.UnixMilli(n.int(text)).UTC() }
