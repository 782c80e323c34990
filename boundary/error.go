package boundary

import (
	"encoding/json"
	"errors"
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

// ownText is the text of the first error in the chain that is one of ours and
// known to hold names, numbers and rules only.
func ownText(err error) string {
	var (
		refused  *canonical.RefusedError
		name     *canonical.NameError
		request  *canonical.RequestError
		argument *canonical.ArgumentError
		limits   *canonical.LimitsError
		verdict  *lifecycle.CompletionError
		project  *projector.Error
		schema   *SchemaError
	)
	switch {
	case err == nil:
		return ""
	case asSafely(err, &refused):
		return refused.Error()
	case asSafely(err, &name):
		return name.Error()
	case asSafely(err, &request):
		return request.Error()
	case asSafely(err, &argument):
		return argument.Error()
	case asSafely(err, &limits):
		return limits.Error()
	case asSafely(err, &verdict):
		return verdict.Error()
	case asSafely(err, &project):
		return project.Error()
	case asSafely(err, &schema):
		return schema.Error()
	}
	return ""
}

// asSafely is errors.As for a chain with foreign errors in it, whose methods may
// panic.
func asSafely[T error](err error, target *T) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return errors.As(err, target)
}
