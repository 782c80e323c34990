package storetest

import (
	"fmt"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func budgetSubtests() []subtest {
	return []subtest{
		{"K20_T18_budget_of_the_run", 0, runBudget},
		{"K20_T19_budget_of_a_tool", 0, toolBudget},
		{"K20_T22_nothing_is_refunded", 0, noRefund},
		{"K20_unlimited_is_written_out", 0, unlimited},
		{"K21_capacity_is_exact", 0, capacity},
		{"K21_endings_give_the_rest_back", 0, capacityGivenBack},
		{"K22_P19_an_overdue_write_stops_its_run", 0, overdueWrite},
		{"K22_P23_a_read_blocks_nothing", 0, overdueRead},
		{"K22_an_unknown_ending_stops_its_run", 0, unknownEnding},
	}
}

func callID(i int) canonical.ToolCallID { return canonical.ToolCallID(fmt.Sprintf("c%d", i)) }

// ofTool makes an admission one of another tool, with a budget of its own.
func ofTool(tool string, budget int) func(*canonical.Admission) {
	return func(a *canonical.Admission) { a.Tool, a.ToolBudget = tool, budget }
}

func runBudget(p *probe) {
	p.open(budget(2, 2, canonical.Unlimited))
	p.admit("c1")
	p.admit("c2", ofTool("logs", 5))
	_, err := p.s.Admit(p.ctx, p.admission("c3", ofTool("docs", 5)))
	p.refused("Admit of a third call", err, canonical.ErrRunBudget)
	if got := p.state().LastSeq; got != 2 {
		p.Errorf("%d calls were admitted, want 2", got)
	}
}

func toolBudget(p *probe) {
	p.open(budget(9, 2, canonical.Unlimited))
	p.admit("x1", ofTool("x", 1))
	_, err := p.s.Admit(p.ctx, p.admission("x2", ofTool("x", 1)))
	p.refused("a second call of a tool with its own limit of 1", err, canonical.ErrToolBudget)
	p.admit("x3", ofTool("x", 5)) // the ledger's limit of 2 still allows it
	_, err = p.s.Admit(p.ctx, p.admission("x4", ofTool("x", 5)))
	p.refused("a third call of a tool, with the ledger's limit of 2", err, canonical.ErrToolBudget)
	_, err = p.s.Admit(p.ctx, p.admission("x5", ofTool("x", canonical.Unlimited)))
	p.refused("the same without a limit of the tool's own", err, canonical.ErrToolBudget)
	p.admit("y1", ofTool("y", 1))
	p.admit("X1", ofTool("X", 1), claimed("claim-of-capital-x")) // another tool: names are exact
}

func noRefund(p *probe) {
	p.open(budget(2, 2, canonical.Unlimited))
	a, b := p.admit("c1"), p.admit("c2")
	p.complete(a.toolFailed())
	p.complete(b.ready())
	p.must("Delete", p.s.Delete(p.ctx, runKey(), a.Call))
	p.refused("Admit after two calls failed and were deleted", p.blocked("c3"), canonical.ErrRunBudget)
	if got := p.state().LastSeq; got != 2 {
		p.Errorf("%d calls are charged, want 2", got)
	}
}

func unlimited(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	for i := range 40 {
		p.admit(callID(i), func(a *canonical.Admission) { a.Reserve = 1 << 40 })
	}
	p.admit("limited", ofTool("limited", 1))
	_, err := p.s.Admit(p.ctx, p.admission("again", ofTool("limited", 1)))
	p.refused("Admit over the tool's own limit", err, canonical.ErrToolBudget)
}

// reserving sets an admission's share of the capacity.
func reserving(n int64) func(*canonical.Admission) {
	return func(a *canonical.Admission) { a.Reserve = n }
}

func capacity(p *probe) {
	p.open(budget(9, 9, 10_000))
	p.admit("c1", reserving(4_000))
	p.admit("c2", reserving(5_999))
	_, err := p.s.Admit(p.ctx, p.admission("c3", reserving(2)))
	p.refused("Admit for 2 bytes where 1 is left", err, canonical.ErrCapacity)
	p.admit("c4", reserving(1))
	if got := p.state().Reserved; got != 10_000 {
		p.Errorf("reserved = %d, want 10000", got)
	}
	_, err = p.s.Admit(p.ctx, p.admission("c5", reserving(1)))
	p.refused("Admit for 1 byte where none is left", err, canonical.ErrCapacity)
	p.admit("c6", reserving(0))
}

// held is what an ended record really holds.
func held(request canonical.Body, e canonical.Ending) int64 {
	return int64(len(request) + len(e.Raw.Bytes) + len(e.Agent) + len(e.Facts) + len(e.Coverage))
}

func capacityGivenBack(p *probe) {
	p.open(budget(9, 9, 30_000))
	good, bad, saved, lost := p.admit("good", reserving(8_000)), p.admit("bad", reserving(8_000)),
		p.admit("saved", reserving(7_000)), p.admit("lost", reserving(7_000))
	holds := func(what string, want int64) {
		p.T.Helper()
		if got := p.state().Reserved; got != want {
			p.Errorf("%s: %d bytes are in use, want %d", what, got, want)
		}
	}
	holds("four open calls", 30_000)
	p.complete(good.ready())
	want := held(good.Request, good.ready()) + 22_000
	holds("after a READY", want)
	p.complete(good.ready())
	holds("after the same again", want)
	p.complete(bad.toolFailed())
	want += int64(len(bad.Request)) - 8_000
	holds("after an ERROR", want)
	p.save(saved.saving("kept raw"))
	holds("after a save", want)
	p.h.Advance(dueTime + 2*grace)
	p.sweep()
	want += int64(len(saved.Request)+len("kept raw")+len(lost.Request)) - 14_000
	holds("after a sweep", want)
	p.admit("fits", reserving(30_000-want))
	_, err := p.s.Admit(p.ctx, p.admission("does-not", reserving(1)))
	p.refused("Admit where nothing is left", err, canonical.ErrCapacity)
}

func overdueWrite(p *probe) {
	p.open()
	p.open(func(o *canonical.Opening) { o.Run = runNamed("run-2") })
	c := p.admit("write", writes)
	p.admit("beside-it")
	p.h.Advance(dueTime - time.Minute)
	if err := p.blocked("before-due"); err != nil {
		p.Errorf("Admit before the write is due = %v, want success", err)
	}
	p.h.Advance(2 * time.Minute)
	p.refused("Admit of a read after the write was due", p.blocked("after-due"), canonical.ErrUnresolvedEffect)
	_, err := p.s.Admit(p.ctx, p.admission("write-after-due", writes))
	p.refused("Admit of a write after the write was due", err, canonical.ErrUnresolvedEffect)
	if _, err := p.s.Admit(p.ctx, p.admission("elsewhere", func(a *canonical.Admission) { a.Run = runNamed("run-2") })); err != nil {
		p.Errorf("Admit in another run = %v, want success", err)
	}
	p.complete(c.ready())
	if err := p.blocked("after-ending"); err != nil {
		p.Errorf("Admit after the write ended READY = %v, want success", err)
	}
}

func overdueRead(p *probe) {
	p.open()
	c := p.admit("read")
	p.h.Advance(dueTime + grace/2)
	if err := p.blocked("c2"); err != nil {
		p.Errorf("Admit beside an overdue read = %v, want success", err)
	}
	if got := p.outstanding(); len(got.Open) != 2 || got.Open[0].Call != c.Call || len(got.Effects) != 0 {
		p.Errorf("outstanding = %+v, want both reads open, the overdue one first, and no effect", got)
	}
	p.h.Advance(grace)
	p.same("swept", p.sweep(), []canonical.Swept{{Call: c.Call, Code: lifecycle.Orphaned, Execution: lifecycle.Unknown}})
	if err := p.blocked("c3"); err != nil {
		p.Errorf("Admit beside an orphaned read = %v, want success", err)
	}
}

func unknownEnding(p *probe) {
	p.open()
	for _, effect := range []canonical.Effect{canonical.EffectWrite, canonical.EffectUnknown, ""} {
		run := runNamed(canonical.RunID("run-of-" + string(effect)))
		in := func(a *canonical.Admission) { a.Run = run }
		p.open(func(o *canonical.Opening) { o.Run = run })
		c := p.admit("c1", in, func(a *canonical.Admission) { a.Effect = effect })
		if err := p.tryIn(run, "c2"); err != nil {
			p.Errorf("effect %q: Admit beside an open call = %v, want success", effect, err)
		}
		p.complete(c.unknown())
		p.refused(fmt.Sprintf("effect %q: Admit", effect), p.tryIn(run, "c3"), canonical.ErrUnresolvedEffect)
	}
	if err := p.blocked("c1"); err != nil {
		p.Errorf("Admit in another run = %v, want success", err)
	}
	read := p.admit("read")
	p.complete(read.failed(lifecycle.ToolTimeout, lifecycle.Unknown))
	if err := p.blocked("after-read"); err != nil {
		p.Errorf("Admit beside a read that ended unknown = %v, want success", err)
	}
}

// tryIn admits a call of another run.
func (p *probe) tryIn(run canonical.RunKey, id canonical.ToolCallID) error {
	_, err := p.s.Admit(p.ctx, p.admission(id, func(a *canonical.Admission) { a.Run = run }))
	return err
}
