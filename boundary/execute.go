package boundary

import (
	"context"
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// returnGrace is how long a body whose context has ended is waited for. It lets
// a tool that obeys say how it ended; one that does not is left behind.
const returnGrace = 50 * time.Millisecond

// errRunDeadline and errToolTimeout tell in the body's context why it ended.
var (
	errRunDeadline = errors.New("boundary: the run's deadline has passed")
	errToolTimeout = errors.New("boundary: the tool's timeout has passed")
)

// execution is what came of entering a body.
type execution struct {
	raw      canonical.Raw
	err      error     // what the body returned; nil also when it panicked or was left behind
	declared ToolError // what err declares
	panicked bool
	left     bool // still running
	ended    bool // its context ended before it returned
	expired  bool // and did so because time was up: the tool's, the run's or the caller's
}

// returned reports whether the body ended by handing over a result.
func (x execution) returned() bool { return x.err == nil && !x.panicked && !x.left }

// enter runs the body once and comes back when it returns, or shortly after its
// context has ended. A body that is left behind keeps its goroutine; what it
// returns goes to c.late.
func (c *call) enter(ctx context.Context) execution {
	ctx, cancel := c.bodyContext(ctx)
	raw := newRawWriter(c.captureLimit(), func() {
		if c.effect.Read() {
			cancel(ErrRawLimit) // nothing more is wanted; a write is better left to finish
		}
	})
	body := &bodyRun{done: make(chan struct{})}
	go body.run(ctx, c, raw)
	select {
	case <-body.done:
	case <-ctx.Done():
		timer := time.NewTimer(returnGrace)
		defer timer.Stop()
		select {
		case <-body.done:
		case <-timer.C:
		}
	}
	x := execution{ended: ctx.Err() != nil, expired: errors.Is(ctx.Err(), context.DeadlineExceeded)}
	select {
	case <-body.done:
		cancel(nil)
		x.raw, x.err, x.declared, x.panicked = raw.finish(), body.err, body.declared, body.panicked
	default:
		x.left = true
		if raw.isOver() {
			x.raw = raw.raw() // size and digest; the bytes are dropped already
		}
		go func() {
			<-body.done
			cancel(nil)
			c.late(execution{raw: raw.finish(), err: body.err, panicked: body.panicked})
		}()
	}
	return x
}

// bodyContext ends at the earliest of run deadline, tool timeout and ctx.
func (c *call) bodyContext(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timeout, why := c.action.timeout(c.run.limits), errToolTimeout
	if left := c.run.left(); left < timeout {
		timeout, why = left, errRunDeadline
	}
	timed, stop := context.WithTimeoutCause(ctx, timeout, why)
	return timed, func(cause error) { cancel(cause); stop() }
}

// cause is what the host is told of an execution that handed over no result.
func (x execution) cause() error {
	switch {
	case x.panicked:
		return ErrPanicked
	case x.left:
		return ErrLeftBehind
	case x.raw.AtLeast:
		return errors.Join(ErrRawLimit, foreign(x.err))
	default:
		return foreign(x.err)
	}
}

// What the host's error says, besides ErrRawLimit, of a body that returned no
// error of its own.
var (
	ErrPanicked   = errors.New("boundary: the tool broke down instead of returning")
	ErrLeftBehind = errors.New("boundary: the tool did not return in time and still runs")
)

// bodyRun is one entry of a body. Its fields may be read once done is closed.
type bodyRun struct {
	done     chan struct{}
	err      error
	declared ToolError
	panicked bool
}

// run enters the body. It survives a panic and runtime.Goexit; neither the
// panic's value nor its stack is kept, since both can hold raw data. Looking into
// the body's error runs code of the tool, which may not come back; so that is
// done here too.
func (r *bodyRun) run(ctx context.Context, c *call, raw *rawWriter) {
	defer close(r.done)
	finished := false
	defer func() {
		if !finished {
			_ = recover()
			r.panicked = true
		}
	}()
	r.err = c.action.Executor.Execute(ctx, c.input(), raw)
	r.declared = declaredBy(r.err)
	finished = true
}

// input is a fresh copy for the body, which may change its bytes.
func (c *call) input() Input {
	return Input{
		Identity: c.identity, Seq: c.admitted.Seq, Tool: c.env.Tool, Arguments: c.request.Bytes().Clone(),
		Principal: c.run.who, OperationKey: c.operationKey,
	}
}

// verdict judges an execution that did not hand over a usable result. The second
// value is false when it did.
func (c *call) verdict(x execution) (lifecycle.Completion, bool) {
	switch {
	case x.returned() && x.raw.Present():
		return lifecycle.Completion{}, false
	case x.returned():
		return lifecycle.Fail(lifecycle.ResultTooLarge, lifecycle.Completed), true
	case c.effect.Read():
		return c.readVerdict(x), true
	default:
		return c.effectVerdict(x), true
	}
}

func (c *call) readVerdict(x execution) lifecycle.Completion {
	known := lifecycle.Completed
	if x.left {
		known = lifecycle.Unknown
	}
	switch {
	case x.raw.AtLeast && !x.panicked:
		return lifecycle.Fail(lifecycle.ResultTooLarge, lifecycle.Completed)
	case x.panicked:
		return lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.Completed)
	case x.expired:
		return lifecycle.Fail(lifecycle.ToolTimeout, known)
	case x.ended:
		return lifecycle.Fail(lifecycle.Cancelled, known)
	}
	return lifecycle.Fail(c.registered(x.declared.Code), lifecycle.Completed)
}

// effectVerdict: every ending of a tool that may have changed something, but a
// result or a declaration that nothing was changed, is unknown.
func (c *call) effectVerdict(x execution) lifecycle.Completion {
	if x.declared.NotApplied && !x.panicked && !x.left {
		return lifecycle.Fail(c.registered(x.declared.Code), lifecycle.Completed)
	}
	return lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown)
}

// declaredBy finds what the tool's error declares; a panic of the error's own
// methods declares nothing.
func declaredBy(err error) (declared ToolError) {
	defer func() {
		if recover() != nil {
			declared = ToolError{}
		}
	}()
	if tool, ok := errors.AsType[*ToolError](err); ok && tool != nil {
		return *tool
	}
	return ToolError{}
}

// registered is code if the host registered it.
func (c *call) registered(code lifecycle.Code) lifecycle.Code {
	if c.b.codes.Has(code) {
		return code
	}
	return lifecycle.ToolExecutionFailed
}
