package localstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"github.com/toolharness/harness/canonical"
)

// Why a file cannot be opened, or can no longer be used. Match them with
// errors.Is; a [*FileError] around them names the file.
var (
	// ErrLocked: one process at a time may have the file open, and it is another,
	// or another Store of this one.
	ErrLocked = errors.New("another process holds the file")
	// ErrNewerFormat: the file was written by a later version of this package. It is
	// left as it is.
	ErrNewerFormat = errors.New("the file was written by a newer version")
	// ErrForeignFile: a file of the right kind that another program made. It is left
	// as it is.
	ErrForeignFile = errors.New("the file is another program's")
	// ErrDamaged: the file is no database, is shorter than it says, or its pages do
	// not fit together.
	ErrDamaged = errors.New("the file is damaged")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the store is closed")
	// ErrBroken: a write failed in a way that leaves open what is on the disk. Every
	// message is refused from then on; closing and opening the file again shows what
	// was kept.
	ErrBroken = errors.New("an earlier write failed, the file must be opened again")
)

// FileError says what is wrong with a file.
type FileError struct {
	Path string
	Err  error // one of the package's sentinels, or the system's error
}

// Error names the file and what is wrong with it.
func (e *FileError) Error() string {
	return "localstore: open " + strconv.Quote(e.Path) + ": " + e.Err.Error()
}

// SafeText implements [canonical.SafeTexter]: what is wrong, without the path.
func (e *FileError) SafeText() string { return "localstore: open: " + kindOf(e.Err) }

// Unwrap returns what is wrong.
func (e *FileError) Unwrap() error { return e.Err }

// OptionError says which option is wrong, and why.
type OptionError struct{ Field, Reason string }

// Error names field and rule.
func (e *OptionError) Error() string { return "localstore: options: " + e.Field + ": " + e.Reason }

// Error is trouble with the file or the caller's context, and no answer. Whether a
// write happened is not known; the same message may be sent again. errors.Is and
// errors.As reach the cause, which is not printed.
type Error struct {
	Op    string // the verb: "open", "admit", "complete", ...
	cause error
}

// Error names the kind of the trouble, in our own words.
func (e *Error) Error() string { return "localstore: " + e.Op + ": " + kindOf(e.cause) }

// SafeText implements [canonical.SafeTexter].
func (e *Error) SafeText() string { return e.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Format prints the safe text for every verb, %#v included.
func (e *Error) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.Error()) }

// kindOf names trouble in words of our own: a system's words can have paths in
// them.
func kindOf(err error) string {
	for _, known := range []error{ErrLocked, ErrNewerFormat, ErrForeignFile, ErrDamaged, ErrClosed, ErrBroken} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full"
	default:
		return "the file cannot be used"
	}
}

// answer tells a "no" from trouble: a store's refusals and what is wrong with a
// message pass, anything else is trouble in doing op.
func answer(op string, err error) error {
	var no *canonical.RefusedError
	var wrong *canonical.ArgumentError
	if err == nil || errors.As(err, &no) || errors.As(err, &wrong) {
		return err
	}
	return &Error{Op: op, cause: err}
}

// isAnswer reports whether err leaves a transaction as it should be.
func isAnswer(err error) bool {
	var no *canonical.RefusedError
	var wrong *canonical.ArgumentError
	return err == nil || errors.As(err, &no) || errors.As(err, &wrong)
}

// refuse is a store's "no".
func refuse(op string, call canonical.CallName, sentinel error) error {
	return &canonical.RefusedError{Op: op, Call: call, Err: sentinel}
}

// standing is a "no" because of a record that is there.
func standing(op string, rec *record, sentinel error) error {
	return &canonical.RefusedError{Op: op, Call: rec.call, Err: sentinel, First: rec.State}
}
