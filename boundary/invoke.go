package boundary

import (
	"context"
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// call is one call on its way through the boundary. It belongs to one goroutine
// until its body is left behind; then late() has a copy of what it needs.
type call struct {
	b      *ToolBoundary
	run    *Run
	env    Envelope
	action Action
	schema *schemaCheck // of the tool; nil if it has none
	citing bool         // citations are judged, and the reserved argument is ours
	ask    bool         // ask the authorizer, unless the envelope is authorized

	// In a message of several calls; zero outside of one.
	wave     *wave
	endings  *gathering
	position int  // in its wave
	arrived  bool // the wave knows whether this call comes
	gathered bool // the gathering no longer waits for it
	finished bool // the gathering has ended it in the store

	identity     canonical.Identity
	named        bool // the call name is well formed and may be shown
	effect       canonical.Effect
	request      canonical.Request
	stored       canonical.Body // of the request
	operationKey string
	cited        *findings.Event // what was said of its citations; nil if it has none

	claim    canonical.Claim
	evidence canonical.EvidenceID
	admitted canonical.Admitted
	asked    time.Time       // when the admission began
	window   context.Context // of the admission: what it may take in all
	closing  context.CancelFunc
	first    *delivered        // answer to a delivery that the wave has made
	lost     bool              // a delivery of the admission was not answered
	saved    bool              // raw was accepted before the end
	pieces   string            // digest over the list of pieces in which raw is kept
	strength evidence.Strength // of the acknowledged end
	rawBytes int64             // size of the result, kept or not
	took     Durations
}

// Invoke takes one call through the boundary. It is the primitive on which
// [Toolset.Dispatch] and adapters stand, and safe for concurrent use.
//
// Result.Outcome is always valid and may always be sent to the model.
// Result.Err is nil exactly when the call is READY, and a [*Error] otherwise.
func (b *ToolBoundary) Invoke(ctx context.Context, run *Run, env Envelope, action Action) Result {
	return b.invoke(ctx, &call{b: b, run: run, env: env, action: action, citing: b.armed && !action.OwnsFindings})
}

func (b *ToolBoundary) invoke(ctx context.Context, c *call) Result {
	defer c.wave.leave(c) // whatever happens to this call, the others go on
	if c.run == nil || c.run.boundary != b {
		c.run = &Run{boundary: b}
		return c.refuse(context.Background(), &refusal{lifecycle.RunInactive, "find the run", errNoRun})
	}
	c.identity = canonical.Identity{RunKey: c.run.key, Call: canonical.CallName{Turn: c.env.Turn, ID: c.env.ToolCallID}}
	c.effect = c.action.effect(c.env.ReadOnly)
	if ctx == nil {
		return c.refuse(context.Background(), &refusal{lifecycle.Cancelled, "check the context", errNoContext})
	}
	if r := c.preflight(ctx); r != nil {
		return c.refuse(ctx, r)
	}
	defer b.leaveRunning(c)
	if r := c.comeIn(ctx); r != nil {
		return c.refuse(ctx, r)
	}
	return c.goOn(ctx)
}

var (
	errNoRun     = errors.New("no run, or a run of another boundary")
	errNoContext = errors.New("no context")
)

// goOn takes an admitted call to its end.
func (c *call) goOn(ctx context.Context) Result {
	defer c.run.tracker.Completed(c.identity.Call, c.admitted.Seq)
	if c.admitted.State != lifecycle.Projecting {
		return c.endedElsewhere(ctx)
	}
	if err := ctx.Err(); err != nil { // the caller left while the admission was under way
		return c.finish(ctx, c.failed(lifecycle.Fail(lifecycle.Cancelled, lifecycle.NotStarted), "", err))
	}
	start := c.b.now()
	x := c.enter(ctx)
	c.took.Execute = c.b.now().Sub(start)
	if verdict, bad := c.verdict(x); bad {
		e := c.failed(verdict, canonical.StageExecute, x.cause())
		if verdict.Code == lifecycle.ResultTooLarge {
			e.stage, e.raw = canonical.StageRaw, x.raw
		}
		return c.finish(ctx, e)
	}
	if err := c.redactRaw(ctx, &x.raw); err != nil {
		return c.finish(ctx, c.withheld(x.raw, err))
	}
	if !c.effect.Read() {
		c.save(ctx, x.raw)
	}
	return c.finish(ctx, c.project(ctx, x.raw))
}

// ending is what the call will be ended with.
type ending struct {
	verdict  lifecycle.Completion
	stage    canonical.Stage
	raw      canonical.Raw
	agent    canonical.Body
	facts    canonical.Body
	coverage canonical.Body
	cause    error // for the host
}

func (c *call) failed(verdict lifecycle.Completion, stage canonical.Stage, cause error) ending {
	return ending{verdict: verdict, stage: stage, cause: cause}
}

// withheld ends a call whose result may not be stored as it is, and as nothing
// else either.
func (c *call) withheld(raw canonical.Raw, err error) ending {
	code := lifecycle.ProjectionFailed
	if errors.Is(err, ErrRawLimit) {
		code = lifecycle.ResultTooLarge
	}
	return ending{verdict: lifecycle.Fail(code, lifecycle.Completed), stage: canonical.StageRaw, raw: raw, cause: err}
}

// project makes the agent result, on a context that outlives the caller's: the
// tool has run, and what it found is evidence whether or not anybody waits.
func (c *call) project(ctx context.Context, raw canonical.Raw) ending {
	start := c.b.now()
	limits := c.run.limits
	p, err := projector.Drive(context.WithoutCancel(ctx), c.action.Projector, projector.Input{
		Tool: c.env.Tool, Request: c.stored, Raw: raw.Bytes, Now: c.b.now().UTC(),
		Limits: projector.Limits{AgentBytes: int(limits.AgentBytes), FactsBytes: int(limits.FactsBytes)},
	}, projector.Options{Timeout: limits.ProjectorTimeout})
	c.took.Project = c.b.now().Sub(start)
	if err == nil {
		e := ending{verdict: lifecycle.Succeed(p.Status), raw: raw, agent: p.Result}
		if e.facts, e.coverage, err = encodeProjection(p); err == nil {
			return e
		}
	}
	code, stage := c.projectionCode(err)
	return ending{verdict: lifecycle.Fail(code, lifecycle.Completed), stage: stage, raw: raw, cause: err}
}

// projectionCode judges a failed projection.
func (c *call) projectionCode(err error) (lifecycle.Code, canonical.Stage) {
	failed, ok := errors.AsType[*projector.Error](err)
	switch {
	case !ok:
		return lifecycle.ProjectionFailed, canonical.StageFacts
	case failed.Kind == projector.TooLarge && failed.Field == projector.FieldResult:
		return lifecycle.ResultTooLarge, canonical.StageAgent
	case failed.Kind == projector.TooLarge:
		return lifecycle.ProjectionFailed, canonical.StageFacts
	case failed.Kind == projector.InvalidStatus:
		return lifecycle.InvalidEvidenceStatus, canonical.StageProject
	case failed.Code != "" && c.b.codes.Has(lifecycle.Code(failed.Code)):
		return lifecycle.Code(failed.Code), canonical.StageProject
	default:
		return lifecycle.ProjectionFailed, canonical.StageProject
	}
}

// endedElsewhere answers a delivery of ours that found its record already ended,
// by a sweep for instance. The body is not entered.
func (c *call) endedElsewhere(ctx context.Context) Result {
	view, err := c.b.store.View(ctx, c.run.key, c.identity.Call)
	if err != nil {
		return c.refuse(ctx, &refusal{lifecycle.StoreUnavailable, "read the ended record", err})
	}
	return c.result(ctx, c.b.outcomeOf(view), &Error{
		Code: view.Code, Op: "admit", Identity: c.identity, Execution: view.Execution, cause: canonical.ErrConflict})
}
