package sqlread

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

var (
	// ErrNoStatement is returned for a text that holds nothing to run: empty, blanks or comments only.
	ErrNoStatement = errors.New("sqlread: no statement")
	// ErrSeveralStatements is returned when more than one statement was sent. None of them ran.
	ErrSeveralStatements = errors.New("sqlread: more than one statement")
	// ErrFirstRowTooLarge is returned by [Database.Table] when not even one row fits. An empty table would read as absence.
	ErrFirstRowTooLarge = errors.New("sqlread: the first row alone is over the byte limit")
	// ErrClosed is returned by every method after [Database.Close].
	ErrClosed = errors.New("sqlread: database is closed")
)

// RefusedError says that the authorizer did not permit a step of the statement. Nothing of the statement ran.
type RefusedError struct {
	// Action is the kind of the refused step: INSERT, UPDATE, DELETE, READ, FUNCTION, PRAGMA, TRANSACTION, ATTACH,
	// SCHEMA CHANGE, or WRITE for a statement that passed the authorizer and yet is not read only. It never holds a
	// name from the statement.
	Action string
}

// Error names the kind of the step and nothing that the model wrote.
func (e *RefusedError) Error() string { return "sqlread: " + e.Action + " is not permitted" }

// LimitError says which limit of [Limits] a statement ran into. A statement that reaches one has no result at all.
type LimitError struct {
	// Limit is the name of the field of [Limits].
	Limit string
	// Max is its value, in nanoseconds for Timeout.
	Max int64
}

// Error names the limit and its value.
func (e *LimitError) Error() string {
	return fmt.Sprintf("sqlread: limit %s (%d) reached", e.Limit, e.Max)
}

// Unwrap lets errors.Is find [context.DeadlineExceeded] behind the time limit, which is what most callers ask for.
func (e *LimitError) Unwrap() error {
	if e.Limit == limitTimeout {
		return context.DeadlineExceeded
	}
	return nil
}

const (
	limitTimeout   = "Timeout"
	limitValue     = "MaxValueBytes"
	limitTemp      = "MaxTempBytes"
	limitStatement = "MaxStatementBytes"
)

// StatementError is any other refusal of the engine: bad syntax, an unknown table or column, a type that does not fit.
// The engine's message is left out, since it quotes the statement.
type StatementError struct {
	// Code is the primary result code of SQLite, 1 to 27 (https://sqlite.org/rescode.html).
	Code sqlite3.ErrorCode
}

// Error gives the number of the result code.
func (e *StatementError) Error() string {
	return fmt.Sprintf("sqlread: statement failed with code %d", uint8(e.Code))
}

// translate turns what the driver said into the errors of this package. Errors that are not the engine's, such as
// those of a visitor's own writer, pass unchanged. The authorizer's word comes first: for a denied function the engine
// itself reports nothing but a general error. An interruption passes unchanged, too: whose it was is known to the caller.
func (l Limits) translate(err error, refused string) error {
	var code sqlite3.ErrorCode
	if !errors.As(err, &code) || isInterruption(err) {
		return err
	}
	switch {
	case refused != "":
		return &RefusedError{Action: refused}
	case code == sqlite3.READONLY:
		return &RefusedError{Action: actionWrite}
	case code == sqlite3.TOOBIG:
		return &LimitError{Limit: limitValue, Max: int64(l.MaxValueBytes)}
	case code == sqlite3.FULL:
		return &LimitError{Limit: limitTemp, Max: l.MaxTempBytes}
	default:
		return &StatementError{Code: code}
	}
}
