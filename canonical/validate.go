package canonical

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolharness/harness/lifecycle"
)

// Bounds that every store shares, so that they are refused before anything is
// sent. Counters stay far below 2^53, above which Lua would lose digits.
const (
	MaxToolName    = 64
	MaxBudgetCalls = 1_000_000_000
	MaxBudgetBytes = 1 << 50
	MaxSweep       = 1000
	MaxSecret      = 128 // token and claim, in bytes
)

// ArgumentError says which argument of a store message is out of bounds. It
// never repeats the argument.
type ArgumentError struct {
	Op, Field, Reason string
	Size, Limit       int64
}

// Error has operation, field and rule, never the argument.
func (e *ArgumentError) Error() string {
	if e.Limit > 0 {
		return fmt.Sprintf("canonical: %s: %s: %s (%d, limit %d)", e.Op, e.Field, e.Reason, e.Size, e.Limit)
	}
	return fmt.Sprintf("canonical: %s: %s: %s", e.Op, e.Field, e.Reason)
}

// Validate checks an opening. A duration above the limits' MaxDuration is
// ErrRunTooLong (K04).
func (o Opening) Validate() error {
	if err := o.Run.Validate(); err != nil {
		return err
	}
	if err := checkSecret("open", "token", string(o.Token)); err != nil {
		return err
	}
	if err := o.Principal.Validate(); err != nil {
		return err
	}
	if problems := o.Limits.problems(); len(problems) > 0 {
		return &LimitsError{Problems: problems}
	}
	if err := o.checkBudget(); err != nil {
		return err
	}
	if err := o.checkQuota(); err != nil {
		return err
	}
	if len(o.Continues) > MaxContinues {
		return &ArgumentError{Op: "open", Field: "continues", Reason: "too many runs", Size: int64(len(o.Continues)), Limit: MaxContinues}
	}
	for _, run := range o.Continues {
		if _, err := ParseRunID(string(run)); err != nil {
			return err
		}
	}
	if o.Duration < time.Millisecond {
		return &ArgumentError{Op: "open", Field: "duration", Reason: "below one millisecond"}
	}
	if most := o.Limits.MaxDuration(); o.Duration > most {
		return &RefusedError{Op: "open", Err: ErrRunTooLong, Wanted: o.Duration.Milliseconds(), Limit: most.Milliseconds()}
	}
	return nil
}

func (o Opening) checkBudget() error {
	for _, b := range []struct {
		field       string
		value, most int64
	}{{"budget.calls", int64(o.Budget.Calls), MaxBudgetCalls}, {"budget.per_tool", int64(o.Budget.PerTool), MaxBudgetCalls}, {"budget.bytes", o.Budget.Bytes, MaxBudgetBytes}} {
		if b.value != Unlimited && (b.value < 0 || b.value > b.most) {
			return &ArgumentError{Op: "open", Field: b.field, Reason: "out of range", Size: b.value, Limit: b.most}
		}
	}
	return nil
}

// Validate checks an admission.
func (a Admission) Validate() error {
	if err := checkTarget(a.Run, a.Call, "admit", a.Claim); err != nil {
		return err
	}
	if err := CheckToolName(a.Tool); err != nil {
		return err
	}
	if len(a.Request) > MaxRequestBytes {
		return &ArgumentError{Op: "admit", Field: "request", Reason: "too large in bytes", Size: int64(len(a.Request)), Limit: MaxRequestBytes}
	}
	if err := CheckEvidenceID("admit", a.EvidenceID); err != nil {
		return err
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"ttl", a.TTL}, {"timeout", a.Timeout}, {"closing", a.Closing}} {
		if d.value < time.Millisecond {
			return &ArgumentError{Op: "admit", Field: d.field, Reason: "below one millisecond"}
		}
	}
	if a.Reserve < 0 || a.Reserve > MaxBudgetBytes {
		return &ArgumentError{Op: "admit", Field: "reserve", Reason: "out of range", Size: a.Reserve, Limit: MaxBudgetBytes}
	}
	if a.ToolBudget < Unlimited || a.ToolBudget > MaxBudgetCalls {
		return &ArgumentError{Op: "admit", Field: "tool_budget", Reason: "out of range", Size: int64(a.ToolBudget), Limit: MaxBudgetCalls}
	}
	if len(a.Redacted) > MaxRedacted || strings.ContainsFunc(a.Redacted, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &ArgumentError{Op: "admit", Field: "redacted", Reason: "too long in bytes, or not printable ASCII", Size: int64(len(a.Redacted)), Limit: MaxRedacted}
	}
	return a.Principal.Validate()
}

// MaxRedacted bounds Admission.Redacted, in bytes.
const MaxRedacted = 128

// Validate checks a saving.
func (s Saving) Validate() error {
	if err := checkTarget(s.Run, s.Call, "save", s.Claim); err != nil {
		return err
	}
	if !s.Raw.Present() {
		return &ArgumentError{Op: "save", Field: "raw", Reason: "missing"}
	}
	return nil
}

// Validate checks an ending; a verdict that no record may carry is lifecycle's
// error (K39). READY needs an agent result, ERROR has none.
func (e Ending) Validate() error {
	if err := checkTarget(e.Run, e.Call, "complete", e.Claim); err != nil {
		return err
	}
	if err := e.Verdict.Validate(); err != nil {
		return err
	}
	if ready := e.Verdict.State == lifecycle.Ready; ready != (e.Agent != nil) {
		return &ArgumentError{Op: "complete", Field: "agent", Reason: "READY has an agent result, ERROR none"}
	}
	return nil
}

// Validate checks a sweep.
func (s Sweeping) Validate() error {
	if s.Max < 1 || s.Max > MaxSweep {
		return &ArgumentError{Op: "sweep", Field: "max", Reason: "out of range", Size: int64(s.Max), Limit: MaxSweep}
	}
	if s.Grace < 0 {
		return &ArgumentError{Op: "sweep", Field: "grace", Reason: "negative"}
	}
	return s.Run.Validate()
}

// Validate checks a resolution.
func (r Resolution) Validate() error {
	if err := r.Run.Validate(); err != nil {
		return err
	}
	if err := r.Call.Validate(); err != nil {
		return err
	}
	if !r.Verdict.Valid() {
		return &ArgumentError{Op: "resolve", Field: "verdict", Reason: "not one of applied, not_applied"}
	}
	if n := len(r.Evidence); n < 1 || n > MaxResolutionEvidence || !utf8.ValidString(r.Evidence) {
		return &ArgumentError{Op: "resolve", Field: "evidence", Reason: "needs valid UTF-8 of a bounded size", Size: int64(n), Limit: MaxResolutionEvidence}
	}
	return nil
}

// CheckToolName checks that name is 1 to 64 bytes of A-Z a-z 0-9 _ . -
func CheckToolName(name string) error { return checkName("tool", name, 1, MaxToolName, runIDMarks) }

func checkTarget(run RunKey, call CallName, op string, claim Claim) error {
	if err := run.Validate(); err != nil {
		return err
	}
	if err := call.Validate(); err != nil {
		return err
	}
	return checkSecret(op, "claim", string(claim))
}

// checkSecret allows what a UUID or hex text needs, so that a secret can stand in
// a field name.
func checkSecret(op, field, text string) error {
	if len(text) < 1 || len(text) > MaxSecret {
		return &ArgumentError{Op: op, Field: field, Reason: "needs 1 to 128 bytes", Size: int64(len(text)), Limit: MaxSecret}
	}
	for i := 0; i < len(text); i++ {
		if !alphanumeric(text[i]) && text[i] != '-' {
			return &ArgumentError{Op: op, Field: field, Reason: "has a byte other than A-Z a-z 0-9 -"}
		}
	}
	return nil
}
