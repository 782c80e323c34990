package boundary

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// comeIn has the call admitted, with its wave if it has one.
func (c *call) comeIn(ctx context.Context) *refusal {
	pass := c.prepare
	if c.wave != nil {
		pass = func(ctx context.Context) *refusal { return c.wave.pass(ctx, c) }
	}
	if r := pass(ctx); r != nil {
		return r
	}
	defer c.closing()
	return c.admit(c.window)
}

// prepare counts the call as in flight and gives it a claim and the time that its
// admission may take. That time is the call's own, not its caller's: a message
// that is under way cannot be called back, so it is better to know.
func (c *call) prepare(ctx context.Context) *refusal {
	if !c.b.enterRunning(c) {
		return &refusal{lifecycle.RunInactive, "check the run", errShutDown}
	}
	if err := c.makeClaim(); err != nil {
		return &refusal{lifecycle.StoreUnavailable, "make a claim", err}
	}
	c.asked = c.b.now()
	c.window, c.closing = detached(ctx, c.run.limits.ClosingTimeout)
	return nil
}

// admit asks the store to admit the call, until it answers.
func (c *call) admit(ctx context.Context) *refusal {
	err := c.b.retry(ctx, c.sendAdmission)
	if errors.Is(err, canonical.ErrTooLate) && c.resync(ctx) {
		err = c.b.retry(ctx, c.sendAdmission)
	}
	c.took.Admit = c.b.now().Sub(c.asked)
	if err == nil {
		return nil
	}
	c.run.refusedAs(err)
	// An admission that too few servers have is ended by the store, if it can; so
	// that it is ended in any case, this process sends the same end once more.
	if c.lost || errors.Is(err, canonical.ErrStrength) {
		c.abandon(ctx)
	}
	code, _ := codeOf(err)
	return &refusal{code, "admit", err}
}

func (c *call) makeClaim() error {
	claim, err := newSecret()
	if err != nil {
		return err
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return err
	}
	c.claim, c.evidence = canonical.Claim(claim), canonical.EvidenceID(id.String())
	return nil
}

// admission is the message. Its not-after lies within what this process waits
// for, so that one which arrives later admits nothing.
func (c *call) admission() canonical.Admission {
	limits := c.run.limits
	return canonical.Admission{
		Run: c.run.key, Call: c.identity.Call, Claim: c.claim, EvidenceID: c.evidence,
		OperationKey: c.operationKey, Principal: c.run.who,
		Tool: c.env.Tool, Effect: c.effect, Request: c.stored, Redacted: c.b.policy(),
		ToolBudget: c.action.budget(), Reserve: limits.Reserve(len(c.stored)),
		NotAfter: c.run.storeTime().Add(limits.ClosingTimeout),
		Timeout:  c.action.timeout(limits), Closing: limits.Closing() + canonical.DueMargin,
		TTL: limits.RecordTTL, Seen: c.run.seenSeq(),
	}
}

// delivered is the store's answer to an admission, and when it was asked.
type delivered struct {
	before time.Time
	canonical.AdmitAnswer
}

// sendAdmission delivers the admission once, unless the wave has done so.
func (c *call) sendAdmission(ctx context.Context) error {
	got := c.first
	c.first = nil
	if got == nil {
		got = &delivered{before: c.b.now()}
		got.Admitted, got.Err = c.b.store.Admit(ctx, c.admission())
	}
	if got.Err != nil {
		c.lost = c.lost || !answered(got.Err)
		return got.Err
	}
	c.admitted = got.Admitted
	c.run.observe(got.before, got.Admitted.Now, got.Admitted.Left, got.Admitted.Seq)
	return nil
}

// resync asks the store for its clock again. A store's clock that was set
// forward would otherwise make every message of this run too late.
func (c *call) resync(ctx context.Context) bool {
	before := c.b.now()
	state, err := c.b.store.Inspect(ctx, c.run.key)
	if err != nil {
		return false
	}
	c.run.observe(before, state.Now, state.Left, 0)
	return true
}

// abandon closes an admission of which a delivery was never answered, also when
// a later one was refused: the first may still be on its way. This process has
// given up on the claim and will not enter the body; if a message landed after
// all, its record is ended as not started. It waits until no delivery can land
// any more, in the background, and gives up after one limit more: then a sweep
// ends it.
func (c *call) abandon(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	limit := c.run.limits.ClosingTimeout
	c.run.share() // the store may know of a call that the tracker does not
	c.b.background(func() {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.b.stopping:
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ending := canonical.Ending{
			Run: c.run.key, Call: c.identity.Call, Claim: c.claim,
			Verdict: lifecycle.Fail(lifecycle.StoreUnavailable, lifecycle.NotStarted), Stage: canonical.StageStore,
			Expires: c.run.storeTime().Add(c.run.limits.RecordTTL), Seen: c.run.seenSeq(),
		}
		_ = c.b.retry(ctx, func(ctx context.Context) error {
			_, err := c.b.store.Complete(ctx, ending)
			return err
		})
	})
}
