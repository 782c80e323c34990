package remote

import (
	"errors"
	"fmt"
	"strings"
)

// ErrorCode is the code of a refusal on the wire. The list is closed.
type ErrorCode string

// The codes. Texts are fixed; none tells what a tool said or a host thought.
const (
	InvalidRequest       ErrorCode = "invalid_request"        // unknown, missing, doubled or malformed field, or too large
	NegotiationFailed    ErrorCode = "negotiation_failed"     // no common protocol, package or contract
	Unauthorized         ErrorCode = "unauthorized"           // no host context, a wrong one, or the host said no
	SessionUnknown       ErrorCode = "session_unknown"        // no such session, another caller's, or another epoch's
	SessionClosed        ErrorCode = "session_closed"         // the session has ended or the server closes
	ToolNotAllowed       ErrorCode = "tool_not_allowed"       // not offered, or under another contract
	RequestConflict      ErrorCode = "request_conflict"       // the id belongs to another call
	RequestLimitExceeded ErrorCode = "request_limit_exceeded" // no room for another distinct request
	RequestWithdrawn     ErrorCode = "request_withdrawn"      // a receipt said that it was not admitted; it stays so
	StorageDegraded      ErrorCode = "storage_degraded"       // results wait for repair; nothing new is admitted
	EvidenceUnavailable  ErrorCode = "evidence_unavailable"   // no such content, or the store cannot be read
	ToolFailed           ErrorCode = "tool_failed"            // the tool ran, or may have, and gave no result
	Internal             ErrorCode = "internal"               // the other end failed in a way that it does not describe
)

var errorTexts = map[ErrorCode]string{
	InvalidRequest:       "The request is not one of this protocol.",
	NegotiationFailed:    "There is no common protocol, package or contract.",
	Unauthorized:         "The caller may not do this.",
	SessionUnknown:       "There is no such session here.",
	SessionClosed:        "The session is closed.",
	ToolNotAllowed:       "The tool is not offered under this contract.",
	RequestConflict:      "The request id belongs to another call.",
	RequestLimitExceeded: "There is no room for another request.",
	RequestWithdrawn:     "The request was withdrawn before it was admitted.",
	StorageDegraded:      "Nothing is admitted until stored results are repaired.",
	EvidenceUnavailable:  "There is no such content here.",
	ToolFailed:           "The tool gave no result.",
	Internal:             "The other end failed.",
}

// Codes lists every code of the wire.
func Codes() []ErrorCode {
	return []ErrorCode{InvalidRequest, NegotiationFailed, Unauthorized, SessionUnknown, SessionClosed, ToolNotAllowed, RequestConflict,
		RequestLimitExceeded, RequestWithdrawn, StorageDegraded, EvidenceUnavailable, ToolFailed, Internal}
}

// Text is the one text that may stand beside the code.
func (c ErrorCode) Text() string { return errorTexts[c] }

// Valid reports whether c is one of the list.
func (c ErrorCode) Valid() bool { return errorTexts[c] != "" }

// ProtocolError is a refusal as it crosses the wire: a code, its fixed text, whether
// the request can have been admitted, and which request is meant. The ids are
// echoed only where they are well formed.
type ProtocolError struct {
	Code      ErrorCode `json:"code"`
	Message   string    `json:"message"`
	Admitted  string    `json:"admitted"`
	Session   string    `json:"session,omitempty"`
	Epoch     string    `json:"epoch,omitempty"`
	RequestID string    `json:"request_id"`

	cause error // of the server's own side; never crosses
}

// InvalidRequestID is echoed where a request had no usable id.
const InvalidRequestID = "invalid-request"

// Error has code and text.
func (e *ProtocolError) Error() string {
	return "remote: " + string(e.Code) + ": " + e.Code.Text()
}

// Unwrap is the cause on the side that refused; nil on the other.
func (e *ProtocolError) Unwrap() error { return e.cause }

// Is matches another *ProtocolError with this code alone.
func (e *ProtocolError) Is(target error) bool {
	t, ok := target.(*ProtocolError)
	return ok && *t == ProtocolError{Code: e.Code}
}

// FormError says which field of a message breaks which rule. It never repeats what
// was sent.
type FormError struct {
	Field, Reason string
	Size, Limit   int64
}

// Error has field, rule and numbers.
func (e *FormError) Error() string {
	text := "remote: " + e.Field + " " + e.Reason
	if e.Limit != 0 {
		text += fmt.Sprintf(" (%d, the limit is %d)", e.Size, e.Limit)
	}
	return text
}

// ConfigError lists everything that is wrong with a configuration.
type ConfigError struct{ Problems []error }

// Error lists every problem on one line.
func (e *ConfigError) Error() string {
	texts := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		texts = append(texts, p.Error())
	}
	return "remote: configuration: " + strings.Join(texts, "; ")
}

// Unwrap gives the problems to errors.Is and errors.As.
func (e *ConfigError) Unwrap() []error { return e.Problems }

// What a session says. Match them with errors.Is.
var (
	// ErrUnknown: after hand-off no receipt came that says what became of the call.
	// It is neither a success nor a failure, and nothing is sent again.
	ErrUnknown = errors.New("remote: the outcome is unknown")
	// ErrNotSubmitted: nothing was handed to the transport.
	ErrNotSubmitted = errors.New("remote: not submitted")
	// ErrSessionClosed: the session takes no new calls.
	ErrSessionClosed = errors.New("remote: the session is closed")
	// ErrBound: the tools of a session belong to one boundary.
	ErrBound = errors.New("remote: the session's tools belong to another boundary")
	// ErrNoAdmission: the session's store has no open record of this call. Tools that
	// are used on another store end here, before anything is sent.
	ErrNoAdmission = errors.New("remote: the session's store has no admission record of the call")
	// ErrNoInvocation: the session knows no such call.
	ErrNoInvocation = errors.New("remote: the session knows no such call")
	// ErrReceipt: a receipt that does not fit the call, or contradicts itself.
	ErrReceipt = errors.New("remote: the receipt does not fit the call")
	// ErrContent: bytes that do not fit the digest of their whole. None is used.
	ErrContent = errors.New("remote: the content does not fit its digest")
	// ErrReceiptChanged: a settled receipt says something else than before.
	ErrReceiptChanged = errors.New("remote: the receipt is not the one that was stored")
	// ErrCheckpoint: a checkpoint is malformed, of another scope or package, or the
	// store does not prove it. Nothing of it is used.
	ErrCheckpoint = errors.New("remote: the checkpoint is not proven")
	// ErrPackage: not a package of this protocol.
	ErrPackage = errors.New("remote: not a package of " + Protocol)
	// ErrDegraded: results wait for repair.
	ErrDegraded = errors.New("remote: results wait for repair")
	// ErrObservation: stored bytes are not an observation, or not this call's.
	ErrObservation = errors.New("remote: not an observation of this call")
)

// UnknownError is an unknown outcome: what was seen in place of a receipt. Its text
// has no text of a transport, which may hold anything.
type UnknownError struct {
	RequestID string
	State     ReceiptState // of the last well-formed receipt; empty if there was none
	cause     error
}

// Error has the request and what was seen.
func (e *UnknownError) Error() string {
	seen := "no receipt"
	if e.State != "" {
		seen = "a receipt in state " + string(e.State)
	}
	return ErrUnknown.Error() + ": " + seen + " for request " + e.RequestID
}

// Unwrap gives ErrUnknown and the cause to errors.Is and errors.As.
func (e *UnknownError) Unwrap() []error { return []error{ErrUnknown, e.cause} }

// Format prints Error() for every verb.
func (e *UnknownError) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.Error()) }
