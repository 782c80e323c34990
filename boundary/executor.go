package boundary

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Executor is a tool's body. It writes its whole result to raw and returns nil,
// or returns an error; what it wrote before an error is dropped.
//
// ctx ends at the earliest of the run's deadline, the tool's timeout and the
// caller's cancellation. A body that does not return then is left behind. raw
// refuses bytes beyond the call's limit with [ErrRawLimit]; it may be used until
// Execute returns, by one goroutine at a time; later writes fail with
// io.ErrClosedPipe. A body that is cut short returns ctx.Err(): nil means that
// the result is whole, whatever became of ctx.
//
// An error text stays with the host. To give an ending a registered code, return
// [Coded]; to say that nothing was changed, [NotApplied].
type Executor interface {
	Execute(ctx context.Context, in Input, raw io.Writer) error
}

// ExecutorFunc lets a function be an [Executor].
type ExecutorFunc func(ctx context.Context, in Input, raw io.Writer) error

// Execute calls f.
func (f ExecutorFunc) Execute(ctx context.Context, in Input, raw io.Writer) error {
	return f(ctx, in, raw)
}

// ArgumentChecker is an optional second interface of an [Executor]. It is asked
// in preflight, before anything was sent to the store, so a refusal
// (INVALID_INPUT) costs nothing. It gets the exact bytes and must not keep them.
type ArgumentChecker interface {
	CheckArguments(arguments []byte) error
}

// Input is what a tool body is given.
type Input struct {
	Identity  canonical.Identity
	Seq       int64 // place in the run's order
	Tool      string
	Arguments canonical.Body // the exact bytes that were digested; a private copy
	Principal canonical.Principal

	// OperationKey is equal wherever this call is delivered again and differs for
	// other bytes. Hand it to outside services as their idempotency key.
	OperationKey string
}

// ErrRawLimit is what the raw writer returns once a result is over its limit.
var ErrRawLimit = errors.New("boundary: the raw result is over its limit")

// ToolError is an executor's error with what it declares.
type ToolError struct {
	Code       lifecycle.Code // registered in Config.Codes; anything else reads as TOOL_EXECUTION_FAILED
	NotApplied bool           // the tool is certain that it changed nothing
	cause      error
}

// Coded reports a registered code. For a tool whose effect is not read the
// outcome stays unknown all the same; use [NotApplied] to say otherwise.
func Coded(code lifecycle.Code, cause error) error { return &ToolError{Code: code, cause: cause} }

// NotApplied reports that the tool is certain to have changed nothing, with a
// registered code or an empty one.
func NotApplied(code lifecycle.Code, cause error) error {
	return &ToolError{Code: code, NotApplied: true, cause: cause}
}

// Error has the code and what was declared, never the cause.
func (e *ToolError) Error() string {
	return fmt.Sprintf("boundary: tool error %s, not applied: %t", e.Code, e.NotApplied)
}

// Unwrap returns the cause, for the host.
func (e *ToolError) Unwrap() error { return e.cause }
