package boundary

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// Execution says what is known of a tool's body. See lifecycle.
type Execution = lifecycle.Execution

// The executions.
const (
	NotStarted = lifecycle.NotStarted
	Completed  = lifecycle.Completed
	Unknown    = lifecycle.Unknown
)

// Result is one call's two faces.
type Result struct {
	Outcome Outcome // for the model: always valid, always sendable
	Err     error   // for the host: a *Error, nil exactly when READY
}

// Format prints both faces for every verb. Without it fmt would print a *Result
// inside another value by its fields, past their own formats, for a verb that
// does not fit.
func (r Result) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{%v", r.Outcome)
	if r.Err != nil {
		fmt.Fprintf(f, ", %v", r.Err)
	}
	fmt.Fprint(f, "}")
}

// Outcome is all that a model gets of a call. It is immutable and prints, in
// every format and as JSON, without its text. The zero Outcome is valid and says
// that nothing is known.
type Outcome struct {
	state     lifecycle.State
	code      lifecycle.Code
	execution lifecycle.Execution
	status    evidence.Status
	text      string
	reference evidence.Reference
}

// Text is what a loop puts into the tool message, and nothing else: the agent
// result unchanged when READY, else
// {"error":{"code":"...","message":"...","ran":"no|yes|unknown"}}.
func (o Outcome) Text() string {
	if o.text == "" && o.state != lifecycle.Ready {
		info, _ := lifecycle.OutcomeUnknown.Info()
		return errorText(lifecycle.OutcomeUnknown, info.Message, lifecycle.Unknown)
	}
	return o.text
}

// IsError reports whether the call is not READY.
func (o Outcome) IsError() bool { return o.state != lifecycle.Ready }

// Execution says whether the tool ran; never empty.
func (o Outcome) Execution() Execution {
	if !o.execution.Valid() {
		return Unknown
	}
	return o.execution
}

// Code is empty exactly when the call is READY.
func (o Outcome) Code() lifecycle.Code {
	if o.code == "" && o.IsError() {
		return lifecycle.OutcomeUnknown
	}
	return o.code
}

// Evidence is the evidence status: what was found when READY, ERROR otherwise.
func (o Outcome) Evidence() evidence.Status {
	if o.IsError() {
		return evidence.Failed
	}
	return o.status
}

// Reference names the stored raw result; false when none is stored. It is an
// identifier with digests, not a permission.
func (o Outcome) Reference() (evidence.Reference, bool) {
	return o.reference, o.reference.Version != 0
}

// Format prints verdict and size, never the text.
func (o Outcome) Format(f fmt.State, _ rune) { fmt.Fprint(f, o.summary()) }

func (o Outcome) summary() string {
	if o.IsError() {
		return fmt.Sprintf("ERROR %s, ran: %s", o.Code(), o.Execution().Ran())
	}
	return fmt.Sprintf("READY %s, %d bytes", o.status, len(o.text))
}

// MarshalJSON writes verdict and size, never the text.
func (o Outcome) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code     lifecycle.Code  `json:"code,omitempty"`
		Evidence evidence.Status `json:"evidence_status"`
		Ran      string          `json:"ran"`
		Bytes    int             `json:"bytes"`
	}{o.Code(), o.Evidence(), o.Execution().Ran(), len(o.Text())})
}

// outcome is the outcome of an ending that is stored.
func (c *call) outcome(e ending) Outcome {
	var o Outcome
	if e.verdict.State == lifecycle.Ready {
		o = Outcome{state: lifecycle.Ready, execution: Completed, status: e.verdict.Evidence, text: string(e.agent)}
	} else {
		o = c.b.failure(e.verdict.Code, e.verdict.Execution)
	}
	if e.raw.Present() {
		o.reference = c.reference(e.raw)
	}
	return o
}

func (c *call) reference(raw canonical.Raw) evidence.Reference {
	return evidence.Reference{
		Version: evidence.ReferenceVersion, EvidenceID: string(c.admitted.EvidenceID), RunID: string(c.identity.Run),
		Turn: string(c.identity.Call.Turn), ToolCallID: string(c.identity.Call.ID),
		SHA256: raw.SHA256, Bytes: raw.Size, Pieces: c.pieces, Strength: c.strength,
	}
}

// failure is the outcome of a call that ended with code.
func (b *ToolBoundary) failure(code lifecycle.Code, x lifecycle.Execution) Outcome {
	return Outcome{state: lifecycle.Error, code: code, execution: x, text: errorText(code, b.codes.Message(code), x)}
}

// outcomeOf is the outcome of a stored record; the zero Outcome while it is open.
func (b *ToolBoundary) outcomeOf(v canonical.View) Outcome {
	var o Outcome
	switch v.State {
	case lifecycle.Ready:
		o = Outcome{state: lifecycle.Ready, execution: v.Execution, status: v.Evidence, text: string(v.Agent)}
	case lifecycle.Error:
		o = b.failure(v.Code, v.Execution)
	default:
		return Outcome{}
	}
	o.reference, _ = v.Head.Reference()
	return o
}

// errorText is the text of every failure: constants and nothing else.
func errorText(code lifecycle.Code, message string, x lifecycle.Execution) string {
	type body struct {
		Code    lifecycle.Code `json:"code"`
		Message string         `json:"message"`
		Ran     string         `json:"ran"`
	}
	text, err := json.Marshal(map[string]body{"error": {code, message, x.Ran()}})
	if err != nil { // three strings always marshal
		return `{"error":{"code":"OUTCOME_UNKNOWN","message":"","ran":"unknown"}}`
	}
	return string(text)
}

// refuse is the result of a call that was not let through.
func (c *call) refuse(ctx context.Context, r *refusal) Result {
	return c.result(ctx, c.b.failure(r.code, NotStarted), &Error{
		Code: r.code, Op: r.op, Identity: c.identityForHost(), Execution: NotStarted, cause: r.cause,
	})
}

// identityForHost leaves a malformed id out: it was refused because it would not
// survive a log line.
func (c *call) identityForHost() canonical.Identity {
	id := c.identity
	if !c.named {
		id.Call = canonical.CallName{}
	}
	return id
}

// result reports the call and returns its two faces.
func (c *call) result(ctx context.Context, o Outcome, failed *Error) Result {
	c.report(ctx, o, failed)
	if failed == nil {
		return Result{Outcome: o}
	}
	return Result{Outcome: o, Err: failed}
}
