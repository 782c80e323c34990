package sqltool

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/projector/rows"
)

// The codes that the tool reports besides those of the boundary.
const (
	CodeRefused     boundary.Code = "SQL_REFUSED"
	CodeInvalid     boundary.Code = "SQL_INVALID"
	CodeTimeout     boundary.Code = "SQL_TIMEOUT"
	CodeTooLarge    boundary.Code = "SQL_TOO_LARGE"
	CodeUnreadable  boundary.Code = "SQL_UNREADABLE"
	CodeUnavailable boundary.Code = "SQL_UNAVAILABLE"
)

// Codes are the codes with their texts for the model, for boundary.Config.Codes.
// The map is the caller's.
func Codes() map[boundary.Code]string {
	return map[boundary.Code]string{
		CodeRefused:     "The database may only be read and does not permit this statement.",
		CodeInvalid:     "The database could not run the statement. Check syntax, names and types against its schema, then send it under a new id.",
		CodeTimeout:     "The statement took too long and was stopped. Ask for less under a new id.",
		CodeTooLarge:    "A single row of the result is too large. Name fewer columns, or parts of them, under a new id.",
		CodeUnreadable:  "A column or value of the result cannot be shown exactly. Cast it to text under a new id.",
		CodeUnavailable: "The database cannot be asked now. That says nothing about what it holds.",
	}
}

// Fault is what an error of a driver means.
type Fault string

// The faults. The zero Fault leaves the answer to this package.
const (
	FaultRefused     Fault = "refused"     // not permitted to this account, or in a read-only transaction
	FaultInvalid     Fault = "invalid"     // the statement cannot run as it is
	FaultTimeout     Fault = "timeout"     // the server stopped it for its time
	FaultUnavailable Fault = "unavailable" // the server could not be asked
)

func (f Fault) code() boundary.Code {
	switch f {
	case FaultRefused:
		return CodeRefused
	case FaultTimeout:
		return CodeTimeout
	case FaultUnavailable:
		return CodeUnavailable
	default:
		return CodeInvalid
	}
}

// errFirstRow: the cap in bytes left no row at all.
var errFirstRow = errors.New("sqltool: the first row alone is over the limit of bytes")

// coded gives every failure behind the checks its code. What is the caller's, as
// the end of the context and the writer's error, comes back unchanged.
func (t *Tool) coded(outer, inner context.Context, err error) error {
	encoding, isEncoding := errors.AsType[*rows.EncodeError](err)
	switch {
	case err == nil:
		return nil
	case isEncoding && encoding.Step == rows.StepWrite:
		return err
	case outer.Err() != nil:
		return outer.Err()
	case inner.Err() != nil:
		return boundary.Coded(CodeTimeout, err)
	case errors.Is(err, errFirstRow), isEncoding && encoding.Step == rows.StepHead:
		return boundary.Coded(CodeTooLarge, err)
	case isEncoding && encoding.Step == rows.StepValue:
		return boundary.Coded(CodeUnreadable, err)
	}
	return boundary.Coded(t.fault(err).code(), err)
}

// fault reads a driver's error.
func (t *Tool) fault(err error) Fault {
	if t.classify != nil {
		if f := t.classify(err); f != "" {
			return f
		}
	}
	if coded, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return faultOfState(coded.SQLState())
	}
	_, network := errors.AsType[net.Error](err)
	if _, begin := errors.AsType[*beginError](err); begin {
		network = true // whatever the driver calls it, no statement was wrong yet
	}
	for _, lost := range []error{driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF} {
		network = network || errors.Is(err, lost)
	}
	if network {
		return FaultUnavailable
	}
	return FaultInvalid
}

// faultOfState reads a SQLSTATE: two characters of class, three of subclass, as
// ISO 9075 and the table of PostgreSQL's error codes have them.
func faultOfState(state string) Fault {
	switch state {
	case "25006", "42501": // read-only transaction, insufficient privilege
		return FaultRefused
	case "57014": // query canceled
		return FaultTimeout
	}
	for class, f := range map[string]Fault{
		"08": FaultUnavailable, // connection
		"28": FaultUnavailable, // authorization of the account itself
		"53": FaultUnavailable, // resources
		"57": FaultUnavailable, // operator intervention
		"58": FaultUnavailable, // system
		"XX": FaultUnavailable, // internal
	} {
		if strings.HasPrefix(state, class) {
			return f
		}
	}
	return FaultInvalid
}
