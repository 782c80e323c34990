package boundary

import (
	"context"
	"errors"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// save keeps the raw result of an effect before anything else happens to it.
// Whatever the store answers, the call goes on: the ending carries the bytes once
// more, and a result that cannot be stored at all is worth more projected, since
// that is what a host can settle.
func (c *call) save(ctx context.Context, raw canonical.Raw) {
	write, cancel := detached(ctx, c.run.limits.ClosingTimeout)
	defer cancel()
	err := c.b.retry(write, func(ctx context.Context) error {
		saved, err := c.b.store.Save(ctx, canonical.Saving{
			Run: c.run.key, Call: c.identity.Call, Claim: c.claim, Raw: raw,
			Expires: c.admitted.Expires, Seen: c.run.seenSeq(),
		})
		c.pieces = saved.Pieces
		return err
	})
	c.saved = err == nil
}

// finish ends the record, on a context of its own, and builds the result from
// what was stored.
func (c *call) finish(ctx context.Context, e ending) Result {
	c.rawBytes = e.raw.Size
	start := c.b.now()
	write, cancel := detached(ctx, c.run.limits.ClosingTimeout)
	defer cancel()
	message := c.message(e)
	err := c.b.retry(write, func(ctx context.Context) error {
		ended, err := c.sendEnding(ctx, message)
		if !c.saved {
			c.pieces = ended.Pieces
		}
		c.strength = ended.Strength
		return err
	})
	c.took.Complete = c.b.now().Sub(start)
	if err != nil {
		return c.notStored(ctx, e, err)
	}
	outcome := c.outcome(e)
	if e.verdict.State == lifecycle.Ready {
		return c.result(ctx, outcome, nil)
	}
	return c.result(ctx, outcome, &Error{
		Code: e.verdict.Code, Op: opOf(e.stage), Identity: c.identity, Execution: e.verdict.Execution,
		Stored: true, cause: e.cause,
	})
}

// sendEnding delivers the ending once: the first time with those of its siblings
// that are ready too.
func (c *call) sendEnding(ctx context.Context, message canonical.Ending) (canonical.Ended, error) {
	if c.endings == nil || c.gathered || c.b.batches == nil {
		return c.b.store.Complete(ctx, message)
	}
	return c.endings.complete(ctx, c, message)
}

// message is the ending as the store gets it. It is made once and sent by value,
// so that every delivery is the same outcome.
func (c *call) message(e ending) canonical.Ending {
	return canonical.Ending{
		Run: c.run.key, Call: c.identity.Call, Claim: c.claim, Verdict: e.verdict, Stage: e.stage,
		Raw: e.raw, RawSaved: c.saved, Agent: e.agent, Facts: e.facts, Coverage: e.coverage,
		Expires: c.admitted.Expires, Seen: c.run.seenSeq(),
	}
}

// notStored tells both sides that the ending is not in the store, and hands the
// host what it would have held.
func (c *call) notStored(ctx context.Context, e ending, err error) Result {
	code, reason := notStoredCode(e.verdict.Execution, err)
	x := e.verdict.Execution
	if x != lifecycle.NotStarted {
		c.b.retain(ctx, Retained{
			Identity: c.identity, Tool: c.env.Tool, Reason: reason, Raw: e.raw, ending: c.message(e), Seq: c.admitted.Seq,
		})
	}
	return c.result(ctx, c.b.failure(code, x), &Error{Code: code, Op: "complete", Identity: c.identity, Execution: x, cause: errors.Join(err, e.cause)})
}

// notStoredCode judges a completion that failed, by what is known of the body.
func notStoredCode(x lifecycle.Execution, err error) (lifecycle.Code, RetainedReason) {
	conflict := errors.Is(err, canonical.ErrConflict) || errors.Is(err, canonical.ErrNewerVersion) || errors.Is(err, canonical.ErrForeign)
	switch {
	case x == lifecycle.NotStarted:
		return lifecycle.StoreUnavailable, NotStored
	case conflict:
		return lifecycle.StoreConflict, Conflicted
	case x == lifecycle.Unknown && errors.Is(err, canonical.ErrMissing):
		return lifecycle.OutcomeUnknown, Expired
	case x == lifecycle.Unknown:
		return lifecycle.OutcomeUnknown, NotStored
	case errors.Is(err, canonical.ErrMissing):
		return lifecycle.RecordExpired, Expired
	default:
		return lifecycle.ResultNotStored, NotStored
	}
}

func opOf(stage canonical.Stage) string {
	switch stage {
	case canonical.StageExecute, canonical.StageRaw:
		return "execute"
	case canonical.StageProject, canonical.StageAgent, canonical.StageFacts:
		return "project"
	default:
		return "admit"
	}
}

// encodeProjection makes the stored form of facts and coverage.
func encodeProjection(p projector.Projection) (facts, coverage canonical.Body, err error) {
	if len(p.Facts) > 0 {
		if facts, err = evidence.EncodeFacts(p.Facts); err != nil {
			return nil, nil, err
		}
	}
	if !p.Coverage.IsZero() {
		if coverage, err = evidence.EncodeCoverage(p.Coverage); err != nil {
			return nil, nil, err
		}
	}
	return facts, coverage, nil
}
