package records

import (
	"context"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/retrieval"
)

// CallList is a page of the calls of a run, in the order of admission.
type CallList struct {
	Scope canonical.Scope `json:"scope"`
	Run   canonical.RunID `json:"run_id"`
	Calls []Call          `json:"calls"`
	Next  string          `json:"next,omitempty"` // where the page behind begins; empty at the end
}

// Call is what a list tells of a call.
type Call struct {
	Seq        int64                `json:"seq"`  // place in its run, from 1
	Name       string               `json:"call"` // what names it to show and read
	Turn       canonical.Turn       `json:"turn,omitempty"`
	ID         canonical.ToolCallID `json:"tool_call_id"`
	EvidenceID canonical.EvidenceID `json:"evidence_id,omitempty"`
	Tool       string               `json:"tool,omitempty"`
	Effect     canonical.Effect     `json:"effect,omitempty"`
	State      lifecycle.State      `json:"state,omitempty"`
	Code       lifecycle.Code       `json:"code,omitempty"`
	Evidence   evidence.Status      `json:"evidence_status,omitempty"`
	Ran        string               `json:"ran,omitempty"` // no, yes, unknown; none while the call is open
	HasResult  bool                 `json:"has_result"`    // a raw result is kept; an empty one is a result
	RawBytes   int64                `json:"raw_bytes"`
	ModelBytes int64                `json:"model_bytes"`
	Request    int64                `json:"request_bytes"`
	Created    time.Time            `json:"created,omitzero"`
	Ended      time.Time            `json:"ended,omitzero"`
	Expires    time.Time            `json:"expires,omitzero"`
	Fault      string               `json:"fault,omitempty"` // why the record cannot be read; then only its name and place stand beside it
}

// Calls lists the calls of the run that the filter names: open and unreadable ones included, deleted and expired ones not.
// A page may be short, or empty, and have one behind it.
func (r *Reader) Calls(ctx context.Context, filter retrieval.Filter, at Place) (CallList, error) {
	page, err := r.reader.List(ctx, filter, at.After, at.Limit)
	if err != nil {
		return CallList{}, r.told(err, "run")
	}
	list := CallList{Scope: r.scope, Run: filter.Run, Calls: []Call{}, Next: page.Next}
	for _, e := range page.Entries {
		list.Calls = append(list.Calls, callOf(e))
	}
	return list, nil
}

func callOf(e retrieval.Entry) Call {
	return Call{
		Seq: e.Seq, Name: NameOf(e.Call), Turn: e.Call.Turn, ID: e.Call.ID, EvidenceID: e.EvidenceID, Tool: e.Tool, Effect: e.Effect,
		State: e.State, Code: e.Code, Evidence: e.Status, Ran: ran(e.Execution), HasResult: e.HasResult, RawBytes: e.ResultBytes,
		ModelBytes: e.AgentBytes, Request: e.RequestBytes, Created: utc(e.Created), Ended: utc(e.Ended), Expires: utc(e.Expires), Fault: faultOf(e.Fault),
	}
}

// ran is the word on the tool's body; none for a call that is open.
func ran(x lifecycle.Execution) string {
	if x == "" {
		return ""
	}
	return x.Ran()
}

// utc leaves the zero time what it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
