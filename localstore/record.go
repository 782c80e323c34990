package localstore

import (
	"encoding/json"
	"slices"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// record is one stored call without its large bodies. Texts that need not be
// UTF-8 are kept as bytes. Times are milliseconds.
type record struct {
	call canonical.CallName // its key

	Claim        []byte               `json:"claim"`
	Seq          int64                `json:"seq"`
	Tool         string               `json:"tool"`
	Effect       []byte               `json:"effect"`
	Principal    canonical.Principal  `json:"principal"`
	EvidenceID   canonical.EvidenceID `json:"evidence_id"`
	OperationKey []byte               `json:"operation_key"`
	Redacted     string               `json:"redacted,omitempty"`

	State     lifecycle.State     `json:"state"`
	Code      lifecycle.Code      `json:"code,omitempty"`
	Evidence  evidence.Status     `json:"evidence,omitempty"`
	Execution lifecycle.Execution `json:"execution,omitempty"`
	Stage     []byte              `json:"stage,omitempty"`
	Outcome   string              `json:"outcome,omitempty"` // digest of the ending; empty while PROJECTING and after a sweep
	Swept     bool                `json:"swept,omitempty"`

	Request  descriptor  `json:"request"`
	Raw      *descriptor `json:"raw,omitempty"`
	Agent    *descriptor `json:"agent,omitempty"`
	Facts    []byte      `json:"facts"` // null when there are none
	Coverage []byte      `json:"coverage"`
	Reserve  int64       `json:"reserve"`

	Created int64 `json:"created_ms"`
	Due     int64 `json:"due_ms"`
	Ended   int64 `json:"ended_ms,omitempty"`
	Expires int64 `json:"expires_ms"`
}

// record reads a living record; nil where there is none. The error is exactly one
// of the package's sentinels. A record that should be there and is not is
// ErrCorrupt: its guard knows of its life.
func (r *run) record(call canonical.CallName) (*record, error) {
	value, err := r.get(prefixCall + call.String())
	if err != nil {
		return nil, err
	}
	if value == nil {
		g, err := r.guard(call)
		if err != nil || g != nil && !g.Deleted && r.t.now.Before(moment(g.Expires)) {
			return nil, canonical.ErrCorrupt
		}
		return nil, nil
	}
	rec := record{call: call}
	if json.Unmarshal(value, &rec) != nil {
		return nil, canonical.ErrCorrupt
	}
	if !r.t.now.Before(moment(rec.Expires)) {
		return nil, nil
	}
	return &rec, nil
}

func (r *run) keepRecord(rec *record) { r.store(prefixCall+rec.call.String(), rec) }

// saved reports whether the bytes of the raw result are kept.
func (rec *record) saved() bool { return rec.Raw != nil && !rec.Raw.Absent }

// held is the capacity that an ended record takes: the bytes of its bodies.
func (rec *record) held() int64 {
	sum := rec.Request.Size + int64(len(rec.Facts)+len(rec.Coverage))
	if rec.saved() {
		sum += rec.Raw.Size
	}
	if rec.Agent != nil {
		sum += rec.Agent.Size
	}
	return sum
}

// head is what progress and lists are given.
func (rec *record) head(run canonical.RunKey) canonical.Head {
	h := canonical.Head{
		Version: canonical.SchemaVersion, Identity: canonical.Identity{RunKey: run, Call: rec.call}, Seq: rec.Seq,
		Tool: rec.Tool, Effect: canonical.Effect(rec.Effect), Principal: rec.Principal, EvidenceID: rec.EvidenceID,
		OperationKey: string(rec.OperationKey), Redacted: rec.Redacted,
		State: rec.State, Code: rec.Code, Evidence: rec.Evidence, Execution: rec.Execution, Stage: canonical.Stage(rec.Stage),
		RequestSize: rec.Request.Size, RequestSHA256: rec.Request.SHA256, Raw: rec.Raw.info(),
		Facts: rec.Facts, Coverage: rec.Coverage,
		Created: moment(rec.Created), Due: moment(rec.Due), Expires: moment(rec.Expires), Strength: Strength,
	}
	if rec.State.Final() {
		h.Ended = moment(rec.Ended)
	}
	if rec.Agent != nil {
		h.AgentSize, h.AgentSHA256 = rec.Agent.Size, rec.Agent.SHA256
	}
	return h
}

// openCalls lists the calls that are PROJECTING, in order of due time. One whose
// record has expired is no longer open; nobody can end it. Fewer entries than the
// ledger counts are damage.
func (r *run) openCalls() ([]canonical.OpenCall, error) {
	var calls []canonical.OpenCall
	entries := 0
	err := r.each(prefixOpen, "", func(rest string) (bool, error) {
		entries++
		due, call, err := numbered(rest)
		if err != nil {
			return false, err
		}
		if rec, fault := r.record(call); rec != nil || fault != nil {
			calls = append(calls, canonical.OpenCall{Call: call, Due: moment(due)})
		}
		return true, nil
	})
	if err == nil && entries < r.ledger.Open {
		err = canonical.ErrCorrupt
	}
	return calls, err
}

// effectCalls lists the effects as they are told.
func effectCalls(list []effect) ([]canonical.OpenCall, error) {
	calls := make([]canonical.OpenCall, 0, len(list))
	for _, e := range list {
		call, err := canonical.ParseCallName(e.Call)
		if err != nil {
			return nil, canonical.ErrCorrupt
		}
		c := canonical.OpenCall{Call: call}
		if e.Due != 0 {
			c.Due = moment(e.Due)
		}
		calls = append(calls, c)
	}
	return calls, nil
}

func namesOf(calls []canonical.OpenCall) []canonical.CallName {
	out := make([]canonical.CallName, 0, len(calls))
	for _, c := range calls {
		out = append(out, c.Call)
	}
	return slices.Clip(out)
}
