package retrieval

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolharness/harness/canonical"
)

// Why something was not done. Match them with errors.Is; the [*Error] around them
// has field and numbers.
var (
	// ErrMissing: no such evidence here. Of another scope, of another run, never
	// stored, deleted and expired are told with one and the same error.
	ErrMissing = errors.New("no such evidence")
	// ErrNoResult: there is a record, and no raw result is kept in it.
	ErrNoResult = errors.New("the record has no stored result")
	// ErrLookupBudget: the id was not in the runs that were looked at, and there
	// are more. It says nothing about whether the evidence exists.
	ErrLookupBudget = errors.New("the look-up ended before all runs were looked at")
	// ErrBusy: all read slots are taken. Nothing waits; ask again later.
	ErrBusy = errors.New("all read slots are taken")
	// ErrViewChanged: the text that a reader went through is not the text that
	// would be served now. Start again at offset 0.
	ErrViewChanged = errors.New("the view is not the one of the earlier chunk")
	// ErrArgument: a field is missing, malformed or above its limit.
	ErrArgument = errors.New("the argument is not acceptable")
	// ErrCursor: not a cursor of this list with these filters.
	ErrCursor = errors.New("the cursor does not belong to this list")
	// ErrReference: the reference names a record and does not fit it.
	ErrReference = errors.New("the reference does not fit the record")
	// ErrVersion: written by a version that this code does not read.
	ErrVersion = errors.New("the version is not supported")
	// ErrScope: of another scope than the reader's.
	ErrScope = errors.New("the scope is another one")
	// ErrCorrupt: stored bytes do not match what was recorded of them.
	ErrCorrupt = errors.New("stored bytes do not match their digest")
	// ErrTooLarge: more bytes than this reader takes into memory.
	ErrTooLarge = errors.New("more bytes than may be read")
	// ErrWithheld: redaction failed, so there is no view.
	ErrWithheld = errors.New("the view is withheld")
	// ErrUnavailable: trouble with the store or the caller's context. Nothing is
	// known about the evidence.
	ErrUnavailable = errors.New("the store could not be asked")
	// ErrOpen: a call has not ended yet.
	ErrOpen = errors.New("a call is still open")
	// ErrUnresolved: nobody has said yet what became of an effect.
	ErrUnresolved = errors.New("an effect is unresolved")
	// ErrAcknowledge: the record is not that of the result that is to be
	// acknowledged.
	ErrAcknowledge = errors.New("the record does not acknowledge this result")
	// ErrSnapshot: a snapshot is malformed. Nothing was taken from it.
	ErrSnapshot = errors.New("the snapshot is not acceptable")
	// ErrExport: an exported file is malformed, cut or altered.
	ErrExport = errors.New("the export does not fit its manifest")
)

// Error says what was refused and why. It has names and numbers only: no body, no
// key, no secret.
type Error struct {
	Op    string // the verb: "read", "list", ...
	Field string // which field of what was given; empty where none is to blame
	Err   error  // one of the sentinels above
	Got   int64  // what was given or found, where the reason is a number
	Limit int64  // the limit, where the reason is one

	cause error
}

// Error has verb, field, reason and numbers.
func (e *Error) Error() string {
	text := "retrieval: " + e.Op
	if e.Field != "" {
		text += ": " + e.Field
	}
	text += ": " + e.Err.Error()
	switch {
	case e.Limit != 0:
		text += fmt.Sprintf(" (%d, limit %d)", e.Got, e.Limit)
	case e.Got != 0:
		text += fmt.Sprintf(" (%d)", e.Got)
	}
	return text
}

// Unwrap returns the sentinel and, for trouble, refusals and withheld views, the
// error from below. A missing record has none: the ways of being missing differ
// there.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.cause}
}

func fail(op, field string, sentinel error) *Error {
	return &Error{Op: op, Field: field, Err: sentinel}
}

// outside is the error for a number that is not within 1..limit or 0..limit.
func outside(op, field string, got, limit int64) *Error {
	return &Error{Op: op, Field: field, Err: ErrArgument, Got: got, Limit: limit}
}

// refusals are the store's own words and ours for them.
var refusals = [...]struct{ store, ours error }{
	{canonical.ErrMissing, ErrMissing},
	{canonical.ErrRunMissing, ErrMissing},
	{canonical.ErrCorrupt, ErrCorrupt},
	{canonical.ErrForeign, ErrCorrupt},
	{canonical.ErrNewerVersion, ErrVersion},
	{canonical.ErrStillOpen, ErrOpen},
	{canonical.ErrUnresolvedEffect, ErrUnresolved},
}

// of turns what a store said into this package's error.
func of(op string, err error) error {
	if err == nil {
		return nil
	}
	if own := (*Error)(nil); errors.As(err, &own) {
		return err
	}
	var name *canonical.NameError
	if errors.As(err, &name) {
		return &Error{Op: op, Field: name.Field, Err: ErrArgument, Got: int64(name.Size), Limit: int64(name.Limit), cause: err}
	}
	var argument *canonical.ArgumentError
	if errors.As(err, &argument) {
		return &Error{Op: op, Field: argument.Field, Err: ErrArgument, Got: argument.Size, Limit: argument.Limit, cause: err}
	}
	for _, r := range refusals {
		if !errors.Is(err, r.store) {
			continue
		}
		if r.ours == ErrMissing {
			return fail(op, "", ErrMissing)
		}
		return &Error{Op: op, Err: r.ours, cause: err}
	}
	return &Error{Op: op, Err: ErrUnavailable, cause: err}
}

// ended is the error of a caller who left, nil while it is there.
func ended(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return &Error{Op: op, Err: ErrUnavailable, cause: err}
	}
	return nil
}

func isMissing(err error) bool { return errors.Is(err, ErrMissing) }
