package sqlagent

import (
	"errors"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
)

// The codes that these tools report besides those of the boundary.
const (
	CodeRefused         boundary.Code = "SQL_REFUSED"
	CodeStatementFailed boundary.Code = "SQL_STATEMENT_FAILED"
	CodeLimitReached    boundary.Code = "SQL_LIMIT_REACHED"
	CodeNoSuchTable     boundary.Code = "SQL_NO_SUCH_TABLE"
	CodeNothingAsked    boundary.Code = "SQL_NOTHING_ASKED"
)

// Codes are the codes with their texts for the model, for boundary.Config.Codes. The map is the caller's.
func Codes() map[boundary.Code]string {
	return map[boundary.Code]string{
		CodeRefused:         "The database permits reading only and refused the statement. Nothing of it ran.",
		CodeStatementFailed: "The database could not run this as one statement. Check it and send it under a new id.",
		CodeLimitReached:    "The statement reached a limit of time or size and has no result. Ask for less under a new id.",
		CodeNoSuchTable:     "At least one of the tables does not exist. List the tables first.",
		CodeNothingAsked:    "The argument is empty.",
	}
}

// coded gives an error of a tool its code. Errors that are not of this package or of sqlread pass unchanged.
func coded(err error) error {
	var refused *sqlread.RefusedError
	var limit *sqlread.LimitError
	var statement *sqlread.StatementError
	switch {
	case errors.As(err, &refused):
		return boundary.Coded(CodeRefused, err)
	case errors.As(err, &limit), errors.Is(err, sqlread.ErrFirstRowTooLarge), errors.Is(err, errDefinitionTooLarge):
		return boundary.Coded(CodeLimitReached, err)
	case errors.As(err, &statement), errors.Is(err, sqlread.ErrNoStatement), errors.Is(err, sqlread.ErrSeveralStatements):
		return boundary.Coded(CodeStatementFailed, err)
	case errors.Is(err, ErrUnknownTable):
		return boundary.Coded(CodeNoSuchTable, err)
	case errors.Is(err, ErrNothingAsked):
		return boundary.Coded(CodeNothingAsked, err)
	}
	return err
}
