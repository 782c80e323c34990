package boundary

import (
	"fmt"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/projector"
)

// Envelope is one proposed call, as the framework and the host gave it. Zero
// values refuse: a call is authorized and read only when the host says so, never
// because nobody said otherwise.
type Envelope struct {
	RunID      canonical.RunID      // the run that the framework believes to be in
	ToolCallID canonical.ToolCallID // exactly as the model's message has it
	Turn       canonical.Turn       // optional, set by the host where ids repeat in a run
	Tool       string               // 1 to 64 bytes of A-Z a-z 0-9 _ . -
	Input      []byte               // the arguments, exactly as sent; not retained
	Authorized bool                 // the host authorized this very call
	ReadOnly   bool                 // the host vouches that the tool changes nothing

	// Where findings are armed: what the request that this call answers has served,
	// one for all calls of a message; without it every citation is refused. A call
	// that was Paused is judged by the proposal that its run holds, and by nothing
	// else. See package findings.
	Witness *findings.Witness
	Paused  bool
}

// Format prints names and sizes, never the input.
func (e Envelope) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{run %q call %q tool %q input %d bytes authorized %t read only %t}",
		e.RunID, canonical.CallName{Turn: e.Turn, ID: e.ToolCallID}.String(), e.Tool, len(e.Input), e.Authorized, e.ReadOnly)
}

// MarshalJSON writes names and sizes, never the input.
func (e Envelope) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"input":"%d bytes"}`, len(e.Input)), nil
}

// Action is what to run for an envelope.
type Action struct {
	Executor  Executor            // required
	Projector projector.Projector // required

	// Effect of the tool. A call is a read only if the action says so, or says
	// nothing, and the envelope is ReadOnly; where the two disagree the stronger
	// effect counts.
	Effect canonical.Effect

	Timeout     time.Duration // of the executor; zero: Limits.ToolTimeout
	Budget      int           // calls of this tool in the run; zero or canonical.Unlimited: the run's alone
	MaxRawBytes int64         // zero: Limits.RawBytes, which it cannot exceed

	// OwnsFindings: the tool's author brought an argument of the reserved name of
	// package findings. It is the tool's data, and not judged.
	OwnsFindings bool
}

// check refuses numbers that mean nothing, so that a mistake does not read as a
// default.
func (a Action) check() error {
	switch {
	case a.Timeout != 0 && a.Timeout < time.Millisecond:
		return &ActionError{Field: "Timeout", Reason: "below one millisecond"}
	case a.Budget < canonical.Unlimited || a.Budget > canonical.MaxBudgetCalls:
		return &ActionError{Field: "Budget", Reason: "out of range"}
	case a.MaxRawBytes < 0:
		return &ActionError{Field: "MaxRawBytes", Reason: "negative"}
	}
	return nil
}

// ActionError says which field of an [Action] is of no use.
type ActionError struct{ Field, Reason string }

// Error has field and rule.
func (e *ActionError) Error() string { return "boundary: action " + e.Field + ": " + e.Reason }

// effect is the effect that counts for one call.
func (a Action) effect(readOnly bool) canonical.Effect {
	switch {
	case readOnly && (a.Effect == "" || a.Effect == canonical.EffectRead):
		return canonical.EffectRead
	case a.Effect == canonical.EffectWrite:
		return canonical.EffectWrite
	default:
		return canonical.EffectUnknown
	}
}

func (a Action) timeout(l canonical.Limits) time.Duration {
	if a.Timeout > 0 {
		return a.Timeout
	}
	return l.ToolTimeout
}

func (a Action) rawLimit(l canonical.Limits) int64 {
	if a.MaxRawBytes > 0 && a.MaxRawBytes < l.RawBytes {
		return a.MaxRawBytes
	}
	return l.RawBytes
}

func (a Action) budget() int {
	if a.Budget <= 0 {
		return canonical.Unlimited
	}
	return a.Budget
}
