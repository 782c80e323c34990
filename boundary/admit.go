package boundary

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// admit asks the store to admit the call. It runs on a context of its own: a
// message that is under way cannot be called back, so it is better to know.
func (c *call) admit(ctx context.Context) *refusal {
	if err := c.makeClaim(); err != nil {
		return &refusal{lifecycle.StoreUnavailable, "make a claim", err}
	}
	start := c.b.now()
	ctx, cancel := detached(ctx, c.run.limits.ClosingTimeout)
	defer cancel()
	err := c.b.retry(ctx, c.sendAdmission)
	if errors.Is(err, canonical.ErrTooLate) && c.resync(ctx) {
		err = c.b.retry(ctx, c.sendAdmission)
	}
	c.took.Admit = c.b.now().Sub(start)
	if err == nil {
		return nil
	}
	c.run.refusedAs(err)
	if c.lost {
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

// sendAdmission delivers the admission once. Its not-after lies within what this
// process waits for, so that a message which arrives later admits nothing.
func (c *call) sendAdmission(ctx context.Context) error {
	before := c.b.now()
	limits := c.run.limits
	admitted, err := c.b.store.Admit(ctx, canonical.Admission{
		Run: c.run.key, Call: c.identity.Call, Claim: c.claim, EvidenceID: c.evidence,
		OperationKey: c.operationKey, Principal: c.run.who,
		Tool: c.env.Tool, Effect: c.effect, Request: c.request.Bytes(),
		ToolBudget: c.action.budget(), Reserve: limits.Reserve(len(c.request.Bytes())),
		NotAfter: c.run.storeTime().Add(limits.ClosingTimeout),
		Timeout:  c.action.timeout(limits), Closing: limits.Closing() + canonical.DueMargin,
		TTL: limits.RecordTTL, Seen: c.run.seenSeq(),
	})
	if err != nil {
		c.lost = c.lost || !answered(err)
		return err
	}
	c.admitted = admitted
	c.run.observe(before, admitted.Now, admitted.Left, admitted.Seq)
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
