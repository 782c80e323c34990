package boundary

import (
	"context"
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// preflight runs the checks that need no I/O, in the order that decides which of
// several failures is told. Nothing was written when it refuses.
func (c *call) preflight(ctx context.Context) *refusal {
	for _, check := range []func(context.Context) *refusal{
		c.checkName, c.checkRun, c.checkRequest, c.checkFindings, c.checkTool, c.checkAuthorized, c.checkEffect, c.checkTime, c.redactRequest,
	} {
		if r := check(ctx); r != nil {
			return r
		}
	}
	return nil
}

// refusal is a call that is not let through.
type refusal struct {
	code  lifecycle.Code
	op    string
	cause error
}

func (c *call) checkName(context.Context) *refusal {
	if err := c.identity.Call.Validate(); err != nil {
		return &refusal{lifecycle.InvalidToolCallID, "check the tool call id", err}
	}
	c.named = true
	return nil
}

func (c *call) checkRun(context.Context) *refusal {
	if c.env.RunID != c.run.key.Run {
		return &refusal{lifecycle.RunMismatch, "compare the envelope's run", errRunMismatch}
	}
	return nil
}

func (c *call) checkRequest(context.Context) *refusal {
	request, err := canonical.ParseRequest(c.env.Input, int(c.run.limits.RequestBytes))
	if err != nil {
		code := lifecycle.InvalidInput
		if bad, ok := errors.AsType[*canonical.RequestError](err); ok && bad.TooLarge {
			code = lifecycle.RequestTooLarge
		}
		return &refusal{code, "read the request", err}
	}
	c.request = request
	return nil
}

// checkTool checks that there is something to run, and lets it look at its
// arguments.
func (c *call) checkTool(context.Context) *refusal {
	if c.action.Executor == nil || c.action.Projector == nil {
		return &refusal{lifecycle.UnknownTool, "find the tool", errNoTool}
	}
	if err := canonical.CheckToolName(c.env.Tool); err != nil {
		return &refusal{lifecycle.UnknownTool, "check the tool's name", err}
	}
	if err := c.action.check(); err != nil {
		return &refusal{lifecycle.UnknownTool, "check the action", err}
	}
	if err := c.checkArguments(); err != nil {
		return &refusal{lifecycle.InvalidInput, "check the arguments", err}
	}
	return nil
}

// checkArguments asks the tool's schema, and the executor's own check on a copy
// of the bytes; a panic in one is a refusal.
func (c *call) checkArguments() (err error) {
	defer func() {
		if recover() != nil {
			err = errCheckPanicked
		}
	}()
	if c.schema != nil {
		if err := c.schema.CheckArguments(c.request.Bytes()); err != nil {
			return err
		}
	}
	if checker, ok := c.action.Executor.(ArgumentChecker); ok {
		return foreign(checker.CheckArguments(c.request.Bytes().Clone()))
	}
	return nil
}

func (c *call) checkAuthorized(ctx context.Context) *refusal {
	if c.env.Authorized {
		return nil
	}
	if !c.ask {
		return &refusal{lifecycle.Unauthorized, "authorize", errNotAuthorized}
	}
	if err := c.authorize(ctx); err != nil {
		return &refusal{lifecycle.Unauthorized, "authorize", err}
	}
	return nil
}

func (c *call) checkEffect(context.Context) *refusal {
	if !c.b.effects.allows(c.effect) {
		return &refusal{lifecycle.NotReadOnly, "check the effect", errNotReadOnly}
	}
	return nil
}

// checkTime refuses what the store would refuse anyway, without asking it.
func (c *call) checkTime(ctx context.Context) *refusal {
	if c.b.isClosed() {
		return &refusal{lifecycle.RunInactive, "check the run", errShutDown}
	}
	if !c.run.isActive() {
		return &refusal{lifecycle.RunInactive, "check the run", canonical.ErrRunClosed}
	}
	if c.run.left() <= 0 {
		return &refusal{lifecycle.RunDeadlineExceeded, "check the deadline", canonical.ErrDeadline}
	}
	if err := ctx.Err(); err != nil {
		return &refusal{lifecycle.Cancelled, "check the context", err}
	}
	return nil
}

var (
	errRunMismatch   = errors.New("the envelope names another run")
	errNoTool        = errors.New("no executor or no projector")
	errNotAuthorized = errors.New("the envelope is not authorized")
	errNotReadOnly   = errors.New("the effect policy does not admit this effect")
	errCheckPanicked = errors.New("the argument check panicked")
)

// authorizeLimit bounds one question to the authorizer, beside the run's own
// deadline. Asking a person takes longer; that is what suspending is for.
const authorizeLimit = 30 * time.Second
