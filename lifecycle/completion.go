package lifecycle

import (
	"fmt"

	"github.com/toolharness/harness/evidence"
)

// Completion is the verdict that ends a record: what complete stores beside the
// payloads. It is a plain value.
type Completion struct {
	State     State           // Ready or Error
	Code      Code            // empty exactly when Ready
	Evidence  evidence.Status // Found or None when Ready, Failed when Error
	Execution Execution       // Completed when Ready
}

// Succeed is the completion of a call whose projection is status.
func Succeed(status evidence.Status) Completion {
	return Completion{State: Ready, Evidence: status, Execution: Completed}
}

// Fail is the completion of a call that ended with code.
func Fail(code Code, x Execution) Completion {
	return Completion{State: Error, Code: code, Evidence: evidence.Failed, Execution: x}
}

// Validate reports a [*CompletionError] for a verdict that no record may carry:
// READY without an observed status, ERROR without a code, a code that is not
// reported with that execution. It accepts registered codes, whose executions it
// cannot know, with Completed and Unknown.
func (c Completion) Validate() error {
	switch c.State {
	case Ready:
		switch {
		case !c.Evidence.Observed():
			return &CompletionError{Field: "evidence_status", Reason: "READY needs EVIDENCE_FOUND or NO_EVIDENCE"}
		case c.Code != "":
			return &CompletionError{Field: "code", Reason: "READY has none"}
		case c.Execution != Completed:
			return &CompletionError{Field: "execution", Reason: "READY means completed"}
		}
		return nil
	case Error:
		return c.validateError()
	default:
		return &CompletionError{Field: "state", Reason: "a completion is READY or ERROR"}
	}
}

func (c Completion) validateError() error {
	switch {
	case c.Evidence != evidence.Failed:
		return &CompletionError{Field: "evidence_status", Reason: "ERROR has the evidence status ERROR"}
	case !c.Code.WellFormed():
		return &CompletionError{Field: "code", Reason: "not a code"}
	case !c.Execution.Valid():
		return &CompletionError{Field: "execution", Reason: "not one of not_started, completed, unknown"}
	}
	info, builtin := c.Code.Info()
	if builtin && !info.AllowsRecord(c.Execution) {
		return &CompletionError{Field: "code", Reason: fmt.Sprintf("no record ends as %s with execution %s", c.Code, c.Execution)}
	}
	if !builtin && c.Execution == NotStarted {
		return &CompletionError{Field: "execution", Reason: "only a tool reports a registered code, so it was entered"}
	}
	return nil
}

// CompletionError says which field of a completion breaks which rule.
type CompletionError struct{ Field, Reason string }

// Error has field and rule.
func (e *CompletionError) Error() string { return "lifecycle: completion " + e.Field + ": " + e.Reason }
