package demo

import (
	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// Document is everything that one run of the demo showed and checked.
type Document struct {
	OK        bool               `json:"ok"` // every check is
	Store     string             `json:"store"`
	Run       canonical.RunID    `json:"run_id"`
	Questions []Question         `json:"questions"`
	Messages  []Message          `json:"messages"`
	Refused   []Refusal          `json:"refused"`
	Facts     runprogress.Report `json:"facts"`
	Checks    []Check            `json:"checks"`
	Kept      []place.Key        `json:"kept,omitempty"` // with Options.Keep, sorted
	// LookWith is the command that shows one kept record. It has no password; redis-cli reads one from REDISCLI_AUTH.
	LookWith      string `json:"look_with,omitempty"`
	NeedsPassword bool   `json:"look_needs_password,omitempty"`
}

// Question is one recorded conversation.
type Question struct {
	Question string `json:"question"`
	Source   string `json:"source"` // where it was published
	Calls    []Call `json:"calls"`
}

// Call is one recorded call and what became of it.
type Call struct {
	ID         canonical.ToolCallID `json:"tool_call_id"`
	Turn       canonical.Turn       `json:"turn,omitempty"` // the recorded calls have none
	Tool       string               `json:"tool"`
	State      lifecycle.State      `json:"state"`
	Evidence   evidence.Status      `json:"evidence_status"`
	Code       boundary.Code        `json:"code,omitempty"`
	Ran        string               `json:"ran"`
	RawBytes   int64                `json:"raw_bytes"`
	ModelBytes int                  `json:"model_bytes"` // of the text that the model gets
	RawSHA256  string               `json:"raw_sha256,omitempty"`
}

// Message is one message of the demo's own, whose calls were sent at once.
type Message struct {
	Turn     canonical.Turn `json:"turn"`
	Question string         `json:"question"`
	Calls    []Search       `json:"calls"` // in the order asked, which is that of the answers
}

// Search is one call of a [Message], what became of it, and what must become of it.
type Search struct {
	Call
	Arguments    string          `json:"arguments"`
	Found        string          `json:"found"` // a line on what the model is told
	WantEvidence evidence.Status `json:"want_evidence_status"`
	WantCode     boundary.Code   `json:"want_code,omitempty"`
}

// AsItMust reports whether the tool ran and the call ended with the verdict and the code that it must have.
func (s Search) AsItMust() bool {
	return s.Ran == lifecycle.Completed.Ran() && s.Evidence == s.WantEvidence && s.Code == s.WantCode
}

// Refusal is one call that must be refused, and how it was.
type Refusal struct {
	What     string               `json:"what"`
	ID       canonical.ToolCallID `json:"tool_call_id"`
	Turn     canonical.Turn       `json:"turn,omitempty"`
	Tool     string               `json:"tool"`
	Code     boundary.Code        `json:"code"`
	Ran      string               `json:"ran"`
	WantCode boundary.Code        `json:"want_code"`
	WantRan  string               `json:"want_ran"`
}

// AsItMust reports whether the call was refused with the code and the word on its execution that it must have.
func (r Refusal) AsItMust() bool { return r.Code == r.WantCode && r.Ran == r.WantRan }

// Check is one thing that must be true.
type Check struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was counted, or what is wrong
}

// Failed are the checks that are not as they must be.
func (d Document) Failed() []Check {
	var failed []Check
	for _, c := range d.Checks {
		if !c.OK {
			failed = append(failed, c)
		}
	}
	return failed
}

func callOf(asked boundary.Call, o boundary.Outcome) Call {
	c := Call{
		ID: asked.ID, Turn: asked.Turn, Tool: asked.Name, State: lifecycle.Ready, Evidence: o.Evidence(), Code: o.Code(),
		Ran: o.Execution().Ran(), ModelBytes: len(o.Text()),
	}
	if o.IsError() {
		c.State = lifecycle.Error
	}
	if reference, ok := o.Reference(); ok {
		c.RawBytes, c.RawSHA256 = reference.Bytes, reference.SHA256
	}
	return c
}
