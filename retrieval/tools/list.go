package tools

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/retrieval"
)

const listDescription = `Lists stored tool results: ids, tools, states and sizes, no contents. ` +
	`To go on, repeat the call with after = next of the reply, until there is no next.`

const listSchema = `{"type":"object","additionalProperties":false,"properties":{` +
	`"run":{"type":"string","minLength":1,"maxLength":128,"description":"a run_id; the current run unless given"},` +
	`"tool":{"type":"string","minLength":1,"maxLength":64,"description":"results of this tool alone"},` +
	`"status":{"type":"string","enum":["EVIDENCE_FOUND","NO_EVIDENCE","ERROR"]},` +
	`"after":{"type":"string","maxLength":512,"description":"next of the reply before"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"entries wanted; 20 unless given"}}}`

type listArguments struct {
	Run    string `json:"run"`
	Tool   string `json:"tool"`
	Status string `json:"status"`
	After  string `json:"after"`
	Limit  *int   `json:"limit"`
}

func (a listArguments) check() error {
	if a.Run != "" {
		if _, err := canonical.ParseRunID(a.Run); err != nil {
			return &ArgumentError{Field: "run", Reason: "not a run id"}
		}
	}
	switch {
	case a.Tool != "" && canonical.CheckToolName(a.Tool) != nil:
		return &ArgumentError{Field: "tool", Reason: "not a name of a tool"}
	case a.Status != "" && !evidence.Status(a.Status).Valid():
		return &ArgumentError{Field: "status", Reason: "not one of EVIDENCE_FOUND, NO_EVIDENCE, ERROR"}
	case a.Limit != nil && (*a.Limit < 1 || *a.Limit > retrieval.MaxPage):
		return &ArgumentError{Field: "limit", Reason: "not within 1 to 100"}
	}
	return nil
}

// pageReply is one page of entries.
type pageReply struct {
	Returned int         `json:"returned"`
	Entries  []listEntry `json:"entries"`
	Next     string      `json:"next,omitempty"` // absent at the end
}

// listEntry is what a model is told of a call.
type listEntry struct {
	EvidenceID string               `json:"evidence_id,omitempty"`
	RunID      canonical.RunID      `json:"run_id"`
	Turn       canonical.Turn       `json:"turn,omitempty"`
	ToolCallID canonical.ToolCallID `json:"tool_call_id"`
	Tool       string               `json:"tool,omitempty"`
	State      lifecycle.State      `json:"state,omitempty"`
	Code       lifecycle.Code       `json:"code,omitempty"`
	Status     evidence.Status      `json:"evidence_status,omitempty"`
	HasResult  bool                 `json:"has_result"`
	Bytes      int64                `json:"bytes"`
	Created    string               `json:"created,omitempty"`
	Unreadable bool                 `json:"unreadable,omitzero"`
}

// rawPage is a page on its way to the projector: with a cursor behind each entry,
// so that the page can be cut anywhere.
type rawPage struct {
	Entries []listEntry `json:"entries"`
	After   []string    `json:"after"`
	Next    string      `json:"next"`
}

func (c Config) list(ctx context.Context, r *retrieval.Reader, in boundary.Input) (any, error) {
	a, err := decode[listArguments](in.Arguments)
	if err != nil {
		return nil, err
	}
	f := retrieval.Filter{Run: canonical.RunID(a.Run), Tool: a.Tool, Status: evidence.Status(a.Status)}
	switch {
	case f.Run == "" && !c.WholeScope:
		f.Run = in.Identity.Run
	case f.Run != "" && !c.readable(in, f.Run):
		return nil, retrieval.ErrMissing
	}
	limit := retrieval.DefaultPage
	if a.Limit != nil {
		limit = *a.Limit
	}
	page, err := r.List(ctx, f, a.After, limit)
	if err != nil {
		return nil, err
	}
	out := rawPage{Entries: []listEntry{}, After: []string{}, Next: page.Next}
	for _, e := range page.Entries {
		out.Entries, out.After = append(out.Entries, entryOf(e)), append(out.After, e.After)
	}
	return out, nil
}

func entryOf(e retrieval.Entry) listEntry {
	out := listEntry{
		EvidenceID: string(e.EvidenceID), RunID: e.Run, Turn: e.Call.Turn, ToolCallID: e.Call.ID, Tool: e.Tool,
		State: e.State, Code: e.Code, Status: e.Status, HasResult: e.HasResult, Bytes: e.ResultBytes, Unreadable: e.Fault != nil,
	}
	if !e.Created.IsZero() {
		out.Created = e.Created.UTC().Format(time.RFC3339)
	}
	return out
}

var errPage = errors.New("tools: a page without a cursor for each entry")

// projectPage sends as many entries as fit.
func projectPage(_ context.Context, in projector.Input) (projector.Projection, error) {
	var page rawPage
	if err := json.Unmarshal(in.Raw, &page, json.RejectUnknownMembers(true)); err != nil {
		return projector.Projection{}, err
	}
	if len(page.After) != len(page.Entries) {
		return projector.Projection{}, errPage
	}
	for n := len(page.Entries); n > 0 || len(page.Entries) == 0; n-- {
		reply := pageReply{Returned: n, Entries: page.Entries[:n], Next: page.Next}
		if n < len(page.Entries) {
			reply.Next = page.After[n-1]
		}
		text, err := encode(reply)
		if err != nil || len(text) <= in.Limits.AgentBytes {
			return found(text, err)
		}
		if n == 0 {
			break
		}
	}
	return projector.Projection{}, errRoom
}
