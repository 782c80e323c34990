package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// opLimit is how long a client waits for an answer.
const opLimit = 5 * time.Second

// client makes operations on a store and writes them down.
type client struct {
	id    int
	store canonical.Store
	rand  *rand.Rand
	seen  []int64          // highest sequence known, by run
	saved map[string]bool  // run, name, claim and raw that the store said it has
	again func() Operation // sends an unanswered message once more
	ops   []Operation
}

func newClient(id int, seed uint64, store canonical.Store, runs int) *client {
	return &client{id: id, store: store, rand: rand.New(rand.NewPCG(seed, uint64(id))), seen: make([]int64, runs), saved: map[string]bool{}}
}

// note makes an operation of one message. send answers in words.
func (c *client) note(in Input, send func(context.Context) (Output, error)) Operation {
	ctx, cancel := context.WithTimeout(context.Background(), opLimit)
	defer cancel()
	o := Operation{Client: c.id, Input: in, Start: time.Now().UnixNano()}
	out, err := send(ctx)
	o.End = time.Now().UnixNano()
	o.Output = answered(out, err)
	c.ops = append(c.ops, o)
	return o
}

// answered is an output, a refusal, or nothing where there was trouble on the way.
// Any other error, such as a message that was malformed, is no answer that a
// model would give.
func answered(out Output, err error) Output {
	if err == nil {
		return out
	}
	if refused, ok := errors.AsType[*canonical.RefusedError](err); ok {
		return Output{Text: textNo(refused.Err, refused.First)}
	}
	if _, ok := errors.AsType[*redisstore.Error](err); ok {
		return Output{}
	}
	return Output{Text: "error: " + err.Error()}
}

// play makes n operations in one run.
func (c *client) play(run int, p RunPlan, n int) {
	for range n {
		send := c.again
		c.again = nil
		if send == nil || c.rand.IntN(3) == 0 {
			send = c.draw(run, p)
		}
		if o := send(); !o.Answered() && o.Input.Kind != Sweep {
			c.again = send
		}
	}
	c.again = nil
}

// draw chooses the next message. What it returns may be sent more than once.
func (c *client) draw(run int, p RunPlan) func() Operation {
	name := names[min(c.rand.IntN(len(names)), c.rand.IntN(len(names)))]
	claim := fmt.Sprintf("claim-%s-%d", name, c.rand.IntN(2))
	switch x := c.rand.IntN(100); {
	case x < 36:
		return c.admission(run, p, name, claim)
	case x < 46:
		return c.saving(run, p, name, claim)
	case x < 66:
		return c.ending(Complete, run, p, name, claim)
	case x < 72:
		return c.ending(Settle, run, p, name, claim)
	case x < 80:
		return func() Operation { return c.sweep(run, p, 1+c.rand.IntN(3)) }
	case x < 85:
		return c.deletion(run, p, name)
	case x < 90:
		return c.resolution(run, p, name)
	case x < 91:
		return c.closing(run, p)
	case x < 96:
		return func() Operation { return c.head(run, p, name) }
	default:
		return func() Operation { return c.inspect(run, p) }
	}
}

func (c *client) admission(run int, p RunPlan, name, claim string) func() Operation {
	timeout, closing := p.times()
	life := 2 * time.Second
	if c.rand.IntN(20) == 0 {
		life = time.Duration(c.rand.IntN(3)-1) * 5 * time.Millisecond // about now
	}
	a := canonical.Admission{
		Run: p.Key, Call: callName(name), Claim: canonical.Claim(claim),
		EvidenceID: canonical.EvidenceID(fmt.Sprintf("ev-%d-%d", c.id, c.rand.Uint32())),
		Tool:       toolOf(name), Effect: effectOf(name), Request: make([]byte, requestBytes), ToolBudget: canonical.Unlimited,
		Reserve: reserveBytes, NotAfter: time.Now().Add(life).Truncate(time.Millisecond), Timeout: timeout, Closing: closing,
		TTL: canonical.DefaultLimits().RecordTTL, Seen: c.seen[run],
	}
	if c.rand.IntN(10) == 0 {
		a.ToolBudget = 2
	}
	in := Input{
		Kind: Admit, Run: run, Call: name, Claim: claim, Evidence: string(a.EvidenceID), Tool: a.Tool, Read: a.Effect.Read(),
		Request: requestBytes, Reserve: a.Reserve, ToolBudget: a.ToolBudget, NotAfter: a.NotAfter.UnixMilli(),
		Timeout: timeout.Milliseconds(), Closing: closing.Milliseconds(),
	}
	return func() Operation {
		return c.note(in, func(ctx context.Context) (Output, error) {
			got, err := c.store.Admit(ctx, a)
			if err != nil {
				return Output{}, err
			}
			c.seen[run] = max(c.seen[run], got.Seq)
			return Output{Text: textAdmitted(got.Own, got.Seq, string(got.EvidenceID), got.State, got.Code), Due: got.Due.UnixMilli()}, nil
		})
	}
}

// rawOf is one of two results that a call may have.
func (c *client) rawOf(name string) canonical.Raw {
	size := shortRaw
	if c.rand.IntN(2) == 0 {
		size = longRaw
	}
	body := make([]byte, size)
	copy(body, name)
	return canonical.NewRaw(body)
}

func (c *client) saving(run int, p RunPlan, name, claim string) func() Operation {
	raw := c.rawOf(name)
	m := canonical.Saving{Run: p.Key, Call: callName(name), Claim: canonical.Claim(claim), Raw: raw, Seen: c.seen[run]}
	in := Input{Kind: Save, Run: run, Call: name, Claim: claim, Raw: raw.SHA256, RawSize: raw.Size}
	return func() Operation {
		return c.note(in, func(ctx context.Context) (Output, error) {
			got, err := c.store.Save(ctx, m)
			if err == nil {
				c.saved[savedKey(run, name, claim, raw)] = true
			}
			return Output{Text: textEnded(got.Repeat)}, err
		})
	}
}

func savedKey(run int, name, claim string, raw canonical.Raw) string {
	return fmt.Sprintf("%d %s %s %s", run, name, claim, raw.SHA256)
}

// outcome is one of a few endings that a call may have.
func (c *client) outcome(e *canonical.Ending, name string) {
	switch c.rand.IntN(5) {
	case 0, 1:
		e.Verdict, e.Agent, e.Raw = lifecycle.Succeed("EVIDENCE_FOUND"), []byte("found "+name), c.rawOf(name)
	case 2:
		e.Verdict, e.Agent, e.Raw = lifecycle.Succeed("NO_EVIDENCE"), []byte("none"), c.rawOf(name)
	case 3:
		e.Verdict, e.Stage = lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.Completed), canonical.StageExecute
	case 4:
		e.Verdict, e.Stage = lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown), canonical.StageExecute
	}
}

func (c *client) ending(kind Kind, run int, p RunPlan, name, claim string) func() Operation {
	e := canonical.Ending{Run: p.Key, Call: callName(name), Claim: canonical.Claim(claim), Seen: c.seen[run]}
	c.outcome(&e, name)
	e.RawSaved = e.Raw.Present() && c.saved[savedKey(run, name, claim, e.Raw)]
	in := Input{
		Kind: kind, Run: run, Call: name, Claim: claim, Verdict: e.Verdict, Outcome: e.Digest(),
		Raw: e.Raw.SHA256, RawSize: e.Raw.Size, RawSaved: e.RawSaved, AgentLen: int64(len(e.Agent)),
	}
	if e.Agent != nil {
		in.Agent = e.Agent.SHA256()
	}
	send := c.store.Complete
	if kind == Settle {
		send = c.store.Settle
	}
	return func() Operation {
		return c.note(in, func(ctx context.Context) (Output, error) {
			got, err := send(ctx, e)
			return Output{Text: textEnded(got.Repeat)}, err
		})
	}
}

// sweep is one operation for every call that was ended, or for every name where
// there was no answer.
func (c *client) sweep(run int, p RunPlan, most int) Operation {
	var swept []canonical.Swept
	o := c.note(Input{Kind: Sweep, Run: run}, func(ctx context.Context) (Output, error) {
		var err error
		swept, err = c.store.Sweep(ctx, canonical.Sweeping{Run: p.Key, Max: most})
		return Output{Text: textDone}, err
	})
	c.ops = c.ops[:len(c.ops)-1]
	done := map[string]bool{}
	for _, s := range swept {
		each := o
		each.Input.Call, each.Output.Text = string(s.Call.ID), textSwept(s.Code, s.Execution)
		done[each.Input.Call] = true
		c.ops = append(c.ops, each)
	}
	for _, name := range names {
		if !o.Answered() && !done[name] {
			each := o
			each.Input.Call = name
			c.ops = append(c.ops, each)
		}
	}
	return o
}

func (c *client) deletion(run int, p RunPlan, name string) func() Operation {
	return func() Operation {
		return c.note(Input{Kind: Delete, Run: run, Call: name}, func(ctx context.Context) (Output, error) {
			return Output{Text: textDone}, c.store.Delete(ctx, p.Key, callName(name))
		})
	}
}

func (c *client) resolution(run int, p RunPlan, name string) func() Operation {
	verdict := canonical.Applied
	if c.rand.IntN(4) == 0 {
		verdict = canonical.NotApplied
	}
	m := canonical.Resolution{Run: p.Key, Call: callName(name), Verdict: verdict, Evidence: "receipt"}
	return func() Operation {
		return c.note(Input{Kind: Resolve, Run: run, Call: name, Grounds: groundsOf(m)}, func(ctx context.Context) (Output, error) {
			return Output{Text: textDone}, c.store.Resolve(ctx, m)
		})
	}
}

func groundsOf(m canonical.Resolution) string { return string(m.Verdict) + " by " + m.Evidence }

func (c *client) closing(run int, p RunPlan) func() Operation {
	return func() Operation {
		return c.note(Input{Kind: Close, Run: run}, func(ctx context.Context) (Output, error) {
			got, err := c.store.CloseRun(ctx, canonical.Closing{Run: p.Key, Token: canonical.Token(p.Token), Seen: c.seen[run]})
			var waits []string
			for _, name := range got.Unresolved {
				waits = append(waits, string(name.ID))
			}
			return Output{Text: textClosed(got.LastSeq, waits)}, err
		})
	}
}
