package boundary

import (
	"encoding/json"
	"fmt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// Error is the host's face of a call or run that did not end well. Its text, in
// every format, names operation, identity, code and what our own typed errors
// say; the text of a foreign error is never in it, since that may hold
// arguments, results, addresses or secrets. Reach the cause with errors.Is,
// errors.As or Unwrap.
type Error struct {
	Code      lifecycle.Code
	Op        string // what was being done: "admit", "execute", "project", "complete", ...
	Identity  canonical.Identity
	Execution lifecycle.Execution // what is known of the tool's body
	Stored    bool                // the ending is in the record
	cause     error
}

// Error is one line: operation, names, code, and what our own typed errors say.
func (e *Error) Error() string {
	text := "boundary: " + e.Op
	if e.Identity.Run != "" {
		text += fmt.Sprintf(" run %q", string(e.Identity.Run))
	}
	if e.Identity.Call != (canonical.CallName{}) {
		text += fmt.Sprintf(" call %q", e.Identity.Call.String())
	}
	text += fmt.Sprintf(": %s, ran: %s", e.Code, e.Execution.Ran())
	if own := ownText(e.cause); own != "" {
		text += ": " + own
	}
	return text
}

// Unwrap returns the cause; its text may hold anything.
func (e *Error) Unwrap() error { return e.cause }

// Is matches another *Error with the same code and nothing else set, so that
// errors.Is(err, &boundary.Error{Code: ...}) asks for a code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && *t == Error{Code: e.Code}
}

// Format prints Error() for every verb, so that %+v cannot walk into the cause.
func (e *Error) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.Error()) }

// MarshalJSON writes the text.
func (e *Error) MarshalJSON() ([]byte, error) { return json.Marshal(e.Error()) }

// foreignError marks what tools, their checks and authorizers return. Their
// errors may be of our own types, made by them of anything, so they are handed
// on whole to the host and never read by us.
type foreignError struct{ error }

// foreign marks err; nil stays nil.
func foreign(err error) error {
	if err == nil {
		return nil
	}
	return foreignError{err}
}

// Unwrap gives the error to errors.Is and errors.As.
func (e foreignError) Unwrap() error { return e.error }

// ownText is the text of the first error in the chain that is one of ours and
// known to hold names, numbers and rules only. It goes no further than that, and
// not into foreign errors. A store's own errors are walked, and may panic at it.
func ownText(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	if err == ErrPanicked || err == ErrLeftBehind || err == ErrRawLimit {
		return err.Error()
	}
	switch e := err.(type) {
	case *canonical.RefusedError, *canonical.NameError, *canonical.RequestError, *canonical.ArgumentError,
		*canonical.LimitsError, *lifecycle.CompletionError, *projector.Error, *SchemaError:
		return err.Error()
	case foreignError:
		return ""
	case *ActionError:
		return e.Error()
	case canonical.SafeTexter:
		return e.SafeText()
	case interface{ Unwrap() error }:
		return ownText(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if text := ownText(inner); text != "" {
				return text
			}
		}
	}
	return ""
}
