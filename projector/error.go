package projector

import (
	"errors"
	"fmt"
	"regexp"
)

// Kind tells the ways in which a projection can fail apart.
type Kind string

// The kinds. TooLarge has Field, Size and Limit set; InvalidStatus and Invalid
// have Field set.
const (
	Failed        Kind = "failed"         // the projector returned an error of its own
	Panicked      Kind = "panicked"       // it panicked or ended its goroutine
	TimedOut      Kind = "timed_out"      // it, or the caller's deadline, ran out of time
	Cancelled     Kind = "cancelled"      // the caller's context was cancelled
	InvalidStatus Kind = "invalid_status" // no status, another word, or an absence that proves nothing
	Invalid       Kind = "invalid"        // something else about input or projection breaks the contract
	TooLarge      Kind = "too_large"      // over a limit
)

// Fields that an [Error] can name besides those of evidence.Error.
const (
	FieldResult = "agent_result"
	FieldStatus = "evidence_status"
	FieldFacts  = "facts" // facts and coverage together when TooLarge
)

// Error is every failure of [Drive]. Its text names kind, field and sizes and
// never holds raw data, the projector's own error text, a panic value or a
// stack. The projector's error can be reached with errors.Is and errors.As
// only; do not print what they find to a model.
type Error struct {
	Kind  Kind
	Field string // what is wrong; empty for the first four kinds
	Size  int64  // bytes given, for TooLarge
	Limit int64  // bytes allowed, for TooLarge
	Code  string // the code given with [Coded]; empty when none or not well formed

	cause error
}

// Error is one line for the host: kind, field, and sizes in bytes; no causes.
func (e *Error) Error() string {
	text := "projector: " + string(e.Kind)
	if e.Field != "" {
		text += ": " + e.Field
	}
	if e.Limit > 0 {
		text += fmt.Sprintf(" (%d bytes, limit %d)", e.Size, e.Limit)
	}
	return text
}

// GoString keeps %#v from walking into the cause.
func (e *Error) GoString() string { return "&" + e.Error() }

// Unwrap gives the cause: the projector's error, the context's, or an
// *evidence.Error. It is nil after a panic.
func (e *Error) Unwrap() error { return e.cause }

var codeForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// Coded gives an error a code for the call to end with. It counts only when the
// host registered the code for its tools; otherwise the call ends as any other
// failed projection. A code that does not match ^[A-Z][A-Z0-9_]{0,63}$ is
// dropped. The cause may be nil.
func Coded(code string, cause error) error {
	if !codeForm.MatchString(code) {
		code = ""
	}
	return &codedError{code: code, cause: cause}
}

// codedError does not print its cause, since drivers' and parsers' texts quote
// what they read.
type codedError struct {
	code  string
	cause error
}

func (e *codedError) Error() string    { return "projector: coded error " + e.code }
func (e *codedError) GoString() string { return "&" + e.Error() }
func (e *codedError) Unwrap() error    { return e.cause }

func codeOf(err error) string {
	if coded, ok := errors.AsType[*codedError](err); ok {
		return coded.code
	}
	return ""
}
