package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Error is trouble with the server or the way to it. Whether a write happened
// is not known; the same message may be sent again. The text has the kind of
// the trouble and nothing from below: a driver's words can quote addresses,
// keys and arguments. errors.Is and errors.As reach the cause.
type Error struct {
	Op    string // the verb: "open", "admit", "complete", ...
	cause error
}

// Error names the kind of the trouble, in our own words.
func (e *Error) Error() string { return "redisstore: " + e.Op + ": " + kindOf(e.cause) }

// SafeText implements [canonical.SafeTexter]: what kind of trouble it is, all in
// our own words, since even a server's error code is a server's word.
func (e *Error) SafeText() string { return "redisstore: " + e.Op + ": " + plainKind(e.cause) }

// Unwrap returns the cause, which is not meant to be printed.
func (e *Error) Unwrap() error { return e.cause }

// Format prints the safe text for every verb, %#v included.
func (e *Error) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.Error()) }

// OptionError says which option is wrong, and why.
type OptionError struct{ Field, Reason string }

// Error names field and rule.
func (e *OptionError) Error() string { return "redisstore: options: " + e.Field + ": " + e.Reason }

// EvictionError refuses to open a run on a server that may evict keys: a guard
// that was evicted would let a call run twice. [Options].AcceptEviction allows it.
type EvictionError struct{ Policy string }

// Error names the policy and what would do.
func (e *EvictionError) Error() string {
	return fmt.Sprintf("redisstore: open: the server's maxmemory-policy is %q; a run needs noeviction, or Options.AcceptEviction", e.Policy)
}

// SafeText implements [canonical.SafeTexter].
func (e *EvictionError) SafeText() string { return e.Error() }

// kindOf names trouble in words of our own.
func kindOf(err error) string {
	var server redis.Error
	var timeout net.Error
	var wrong *ReplyError
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.As(err, &wrong):
		return wrong.Error()
	case errors.Is(err, errIncomplete):
		return errIncomplete.Error()
	case errors.As(err, &server):
		return "server error " + codeOf(server.Error())
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "connection closed"
	case errors.Is(err, redis.ErrClosed):
		return "client closed"
	default:
		return "no connection"
	}
}

// codeOf is the word that begins a server's error, where it is one of capital
// letters as the protocol has it; the rest of the text is not ours to repeat.
func codeOf(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if len(word) < 2 || len(word) > 16 || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "without a code"
	}
	return word
}

// answered reports whether the server itself said no, to this one command. Any
// other error is of the connection, and then of every command in the pipeline.
func answered(err error) bool {
	var server redis.Error
	return errors.As(err, &server)
}

// trouble wraps what went wrong on the way. A deadline of the context reaches a
// socket as a timeout of its own; the caller shall find the context's error.
func trouble(ctx context.Context, op string, err error) error {
	over := ctx.Err()
	if end, limited := ctx.Deadline(); over == nil && limited && !time.Now().Before(end) {
		over = context.DeadlineExceeded
	}
	if over != nil && !errors.Is(err, over) {
		err = errors.Join(over, err)
	}
	return &Error{Op: op, cause: err}
}

// refused is a store's "no".
func refused(op string, call canonical.CallName, sentinel error) *canonical.RefusedError {
	return &canonical.RefusedError{Op: op, Call: call, Err: sentinel}
}

// standing is a "no" with the state that stands in the way.
func standing(op string, call canonical.CallName, sentinel error, state string) error {
	no := refused(op, call, sentinel)
	no.First = lifecycle.State(state)
	return no
}

// common answers the words that mean the same in every script.
func common(op string, call canonical.CallName, r reply) error {
	switch r.word {
	case "newer":
		return refused(op, call, canonical.ErrNewerVersion)
	case "foreign":
		return refused(op, call, canonical.ErrForeign)
	case "missing":
		return refused(op, call, canonical.ErrMissing)
	case "conflict":
		return standing(op, call, canonical.ErrConflict, r.fields[0])
	default:
		return &Error{Op: op, cause: &ReplyError{Script: op, Reason: "word out of place"}}
	}
}

// plainKind is kindOf without a server's code.
func plainKind(err error) string {
	var server redis.Error
	var wrong *ReplyError
	if errors.As(err, &wrong) || !errors.As(err, &server) {
		return kindOf(err)
	}
	if words, ok := serverCodes[codeOf(server.Error())]; ok {
		return words
	}
	return "the server refused"
}

// serverCodes says the codes that operators meet in words.
var serverCodes = map[string]string{
	"OOM":         "the server is out of memory",
	"NOAUTH":      "the server asks for a password",
	"WRONGPASS":   "the server refuses user or password",
	"NOPERM":      "the user may not do this",
	"READONLY":    "the server is a read-only replica",
	"LOADING":     "the server is still loading",
	"BUSY":        "the server is busy with a script",
	"MASTERDOWN":  "the replica has lost its primary",
	"CLUSTERDOWN": "the cluster is down",
	"MISCONF":     "the server cannot persist and refuses writes",
	"NOREPLICAS":  "the server has too few replicas to write",
}
