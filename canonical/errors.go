package canonical

import (
	"errors"
	"fmt"

	"github.com/toolharness/harness/lifecycle"
)

// NameError says which name breaks which rule. It never repeats the text.
type NameError struct {
	Field  string // "tool_call_id", "turn", "run_id", "scope.tenant", ...
	Reason string
	Offset int // of the first byte that is not allowed
	Size   int // what was given, where the rule is a limit
	Limit  int // the limit, where the rule is one
}

// Error has field, rule and sizes, never the name.
func (e *NameError) Error() string {
	if e.Limit > 0 {
		return fmt.Sprintf("canonical: %s: %s (%d, limit %d)", e.Field, e.Reason, e.Size, e.Limit)
	}
	if e.Reason == reasonByte {
		return fmt.Sprintf("canonical: %s: %s at byte %d", e.Field, e.Reason, e.Offset)
	}
	return fmt.Sprintf("canonical: %s: %s", e.Field, e.Reason)
}

// reasonByte is the one reason of a NameError that has a place.
const reasonByte = "has a byte that is not allowed"

// RequestError says why an input is not a request. It never repeats the input.
type RequestError struct {
	Reason   string
	Offset   int  // byte offset, where one is known
	Size     int  // bytes or levels, where the rule is a limit
	Limit    int  // the limit, where the rule is one
	TooLarge bool // the rule is the limit on the size of the request
}

// Error has rule, place and sizes, never the input.
func (e *RequestError) Error() string {
	if e.Limit > 0 || e.TooLarge {
		return fmt.Sprintf("canonical: request: %s (%d, limit %d)", e.Reason, e.Size, e.Limit)
	}
	return fmt.Sprintf("canonical: request: %s at byte %d", e.Reason, e.Offset)
}

// What a store answers when it does not do what it was asked. Match them with
// errors.Is; a [*RefusedError] around them has the details. Any other error of a
// store is trouble with the store itself: then it is not known whether a write
// happened, and the same message may be sent again.
var (
	ErrRunMissing       = errors.New("no such run, or it has expired")
	ErrRunTaken         = errors.New("the run belongs to another token")
	ErrRunConflict      = errors.New("the run was opened with other parameters")
	ErrQuota            = errors.New("the scope's quota is exhausted")
	ErrRunTooLong       = errors.New("the run would outlive its first record")
	ErrRunClosed        = errors.New("the run is closed")
	ErrRunDamaged       = errors.New("the run has lost acknowledged writes")
	ErrDuplicate        = errors.New("the call name was used before")
	ErrTooLate          = errors.New("the message came after its not-after time")
	ErrDeadline         = errors.New("the run's deadline has passed")
	ErrUnresolvedEffect = errors.New("an effect of this run is unresolved")
	ErrCapacity         = errors.New("the run's capacity is exhausted")
	ErrRunBudget        = errors.New("the run's budget is exhausted")
	ErrToolBudget       = errors.New("the tool's budget is exhausted")
	ErrMissing          = errors.New("no such record, or it has expired")
	ErrConflict         = errors.New("the record was ended or claimed differently")
	ErrStillOpen        = errors.New("the call is still open")
	ErrNewerVersion     = errors.New("written by a newer version")
	ErrForeign          = errors.New("the key holds something that is not ours")
	ErrCorrupt          = errors.New("stored bytes do not match their digest")
	// ErrStrength refuses an admission that landed and that fewer servers have than
	// were asked for. It is the one refusal that keeps its record, which the store
	// ends as not started, and its unit of each budget. The call must not be entered.
	ErrStrength = errors.New("fewer servers have the admission than were asked for")
)

// RefusedError is a store's "no", with what it saw. It wraps one of the
// sentinels above and has no body, key or cause from below.
type RefusedError struct {
	Op   string // the verb: "open", "admit", "complete", ...
	Call CallName
	Err  error // one of the sentinels

	// First is the state of the record that stands in the way, for
	// ErrDuplicate, ErrConflict and ErrStillOpen; empty when it is gone. For
	// ErrStrength it is that of the refused admission's own record; empty when
	// its end was not acknowledged.
	First lifecycle.State

	// Numbers of a limit, where the refusal is one: units, milliseconds or
	// bytes, by the sentinel.
	Limit, Wanted int64
}

// Error has verb, call name, reason and numbers; no body, key or cause.
func (e *RefusedError) Error() string {
	text := "store: " + e.Op
	if e.Call != (CallName{}) {
		text += fmt.Sprintf(" %q", e.Call.String())
	}
	text += ": " + e.Err.Error()
	if e.Limit != 0 || e.Wanted != 0 {
		text += fmt.Sprintf(" (wanted %d, limit %d)", e.Wanted, e.Limit)
	}
	return text
}

// Unwrap returns the sentinel.
func (e *RefusedError) Unwrap() error { return e.Err }

// SafeTexter is what an error of a store may implement to say that a text of it
// holds names, numbers and rules only: no key, body, address or secret. A host's
// error then shows that text; of any other foreign error it shows nothing.
type SafeTexter interface {
	SafeText() string
}
