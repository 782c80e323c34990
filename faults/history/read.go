package history

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

func (c *client) open(run int, p RunPlan) Operation {
	return c.note(Input{Kind: Open, Run: run, Budget: p.Budget}, func(ctx context.Context) (Output, error) {
		got, err := c.store.OpenRun(ctx, p.opening())
		return Output{Text: textRun(got.Phase, got.LastSeq, got.Reserved)}, err
	})
}

func (c *client) inspect(run int, p RunPlan) Operation {
	return c.note(Input{Kind: Inspect, Run: run}, func(ctx context.Context) (Output, error) {
		got, err := c.store.Inspect(ctx, p.Key)
		return Output{Text: textRun(got.Phase, got.LastSeq, got.Reserved)}, err
	})
}

func (c *client) head(run int, p RunPlan, name string) Operation {
	return c.note(Input{Kind: Head, Run: run, Call: name}, func(ctx context.Context) (Output, error) {
		heads, err := c.store.Heads(ctx, p.Key, []canonical.CallName{callName(name)})
		if err != nil {
			return Output{}, err
		}
		h := heads[0]
		switch {
		case h.Fault != nil:
			return Output{Text: "fault: " + h.Fault.Error()}, nil
		case !h.Exists():
			return Output{Text: textNo(canonical.ErrMissing, "")}, nil
		}
		return Output{Text: textHead(h.Seq, h.State, h.Code, h.Execution, h.Raw.SHA256), Due: h.Due.UnixMilli()}, nil
	})
}

// readAll sweeps what is overdue and reads everything there is of a run. Nothing
// else may run meanwhile.
func (c *client) readAll(run int, p RunPlan) {
	if swept := c.sweep(run, p, len(names)); swept.Answered() {
		c.note(Input{Kind: SweptOut, Run: run}, func(context.Context) (Output, error) { return Output{Text: textDone}, nil })
	}
	c.inspect(run, p)
	c.outstanding(run, p)
	for _, name := range names {
		c.head(run, p, name)
		c.settlement(run, p, name)
	}
}

func (c *client) outstanding(run int, p RunPlan) {
	c.note(Input{Kind: Outstanding, Run: run}, func(ctx context.Context) (Output, error) {
		got, err := c.store.Outstanding(ctx, p.Key)
		var open, waiting, unknown []string
		for _, o := range got.Open {
			open = append(open, string(o.Call.ID))
		}
		for _, e := range got.Effects {
			if e.Due.IsZero() {
				unknown = append(unknown, string(e.Call.ID))
			} else {
				waiting = append(waiting, string(e.Call.ID))
			}
		}
		return Output{Text: textOutstanding(open, waiting, unknown)}, err
	})
}

func (c *client) settlement(run int, p RunPlan, name string) {
	c.note(Input{Kind: Settlement, Run: run, Call: name}, func(ctx context.Context) (Output, error) {
		got, err := c.store.SettlementOf(ctx, p.Key, callName(name))
		var late, verdict string
		if l := got.Late; l != nil {
			agent := ""
			if l.Agent != nil {
				agent = l.Agent.SHA256()
			}
			late = textLate(l.Verdict, l.Raw.SHA256, agent)
		}
		if r := got.Resolved; r != nil {
			verdict = groundsOf(*r)
		}
		return Output{Text: textSettlement(late, verdict)}, err
	})
}
