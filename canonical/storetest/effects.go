package storetest

import (
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

func effectSubtests() []subtest {
	return []subtest{
		{"K50_only_what_is_past_due_and_grace", 0, sweepOnlyOverdue},
		{"K50_at_most_max_earliest_first", 0, sweepInOrder},
		{"K51_P23_P24_verdicts_of_a_sweep", 0, sweepVerdicts},
		{"K51_P24_a_saved_write_raises_no_barrier", 0, sweepSaved},
		{"K52_owner_first_or_sweep_first", 0, ownerAndSweep},
		{"K56_outstanding_lists_and_changes_nothing", 0, outstandingLists},
	}
}

// after gives an admission another timeout, so that it is due earlier or later.
func after(timeout time.Duration) func(*canonical.Admission) {
	return func(a *canonical.Admission) { a.Timeout = timeout }
}

func sweepOnlyOverdue(p *probe) {
	p.open()
	c, young := p.admit("old"), p.admit("young", after(time.Hour))
	if got := p.sweep(); len(got) != 0 {
		p.Errorf("a sweep at once ended %v, want nothing", got)
	}
	p.h.Advance(dueTime + grace - time.Minute)
	if got := p.sweep(); len(got) != 0 {
		p.Errorf("a sweep inside the grace ended %v, want nothing", got)
	}
	p.h.Advance(2 * time.Minute)
	p.same("swept", p.sweep(), []canonical.Swept{{Call: c.Call, Code: lifecycle.Orphaned, Execution: lifecycle.Unknown}})
	if got := p.head(young.Call).State; got != lifecycle.Projecting {
		p.Errorf("a call that is not due is %s, want PROJECTING", got)
	}
	if got := p.sweep(); len(got) != 0 {
		p.Errorf("the same sweep again ended %v, want nothing", got)
	}
}

// sweepInOrder also sweeps a run that was closed: a sweep needs neither an open
// run nor a deadline.
func sweepInOrder(p *probe) {
	p.open()
	third, first, second := p.admit("a", after(9*time.Minute)), p.admit("b", after(time.Minute)), p.admit("c", after(5*time.Minute))
	p.close()
	p.h.Advance(runDuration)
	two := p.sweep(func(m *canonical.Sweeping) { m.Max = 2 })
	if len(two) != 2 || two[0].Call != first.Call || two[1].Call != second.Call {
		p.Errorf("swept = %v, want %s and %s in this order", two, first.Call, second.Call)
	}
	if got := p.head(third.Call).State; got != lifecycle.Projecting {
		p.Errorf("the third is %s after a sweep of two, want PROJECTING", got)
	}
	if rest := p.sweep(); len(rest) != 1 || rest[0].Call != third.Call {
		p.Errorf("the next sweep ended %v, want %s", rest, third.Call)
	}
	for _, m := range []canonical.Sweeping{{Run: runKey(), Max: 0}, {Run: runKey(), Max: canonical.MaxSweep + 1}, {Run: runKey(), Max: 1, Grace: -1}} {
		if _, err := p.s.Sweep(p.ctx, m); !errors.As(err, new(*canonical.ArgumentError)) {
			p.Errorf("Sweep %+v = %v, want an ArgumentError", m, err)
		}
	}
}

func sweepVerdicts(p *probe) {
	p.open()
	saved, read, readSaved, write := p.admit("1-saved", writes, after(time.Minute)), p.admit("2-read", after(3*time.Minute)),
		p.admit("3-read-saved", after(5*time.Minute)), p.admit("4-write", writes, after(7*time.Minute))
	p.save(saved.saving("raw of the write"))
	p.save(readSaved.saving("raw of the read"))
	p.h.Advance(dueTime + 2*grace)
	now := p.h.Now()
	p.same("swept", p.sweep(), []canonical.Swept{
		{Call: saved.Call, Code: lifecycle.ProjectionFailed, Execution: lifecycle.Completed},
		{Call: read.Call, Code: lifecycle.Orphaned, Execution: lifecycle.Unknown},
		{Call: readSaved.Call, Code: lifecycle.ProjectionFailed, Execution: lifecycle.Completed},
		{Call: write.Call, Code: lifecycle.OutcomeUnknown, Execution: lifecycle.Unknown},
	})
	for _, w := range []struct {
		c    call
		code lifecycle.Code
		x    lifecycle.Execution
		raw  string
	}{
		{saved, lifecycle.ProjectionFailed, lifecycle.Completed, "raw of the write"}, {read, lifecycle.Orphaned, lifecycle.Unknown, ""},
		{readSaved, lifecycle.ProjectionFailed, lifecycle.Completed, "raw of the read"}, {write, lifecycle.OutcomeUnknown, lifecycle.Unknown, ""},
	} {
		r := p.record(w.c.Call)
		if r.State != lifecycle.Error || r.Code != w.code || r.Execution != w.x || r.Evidence != evidence.Failed || r.Stage != canonical.StageSweep {
			p.Errorf("%s: %s %s %s %s at %s; want ERROR %s %s ERROR at sweep", w.c.Call, r.State, r.Code, r.Execution, r.Evidence, r.Stage, w.code, w.x)
		}
		if string(r.Raw.Bytes) != w.raw || r.Raw.Present() != (w.raw != "") || r.Agent != nil {
			p.Errorf("%s: raw %q, agent %v; want %q and none", w.c.Call, []byte(r.Raw.Bytes), r.Agent, w.raw)
		}
		p.near("ended", r.Ended, now)
	}
	if got := p.outstanding(); len(got.Open) != 0 || len(got.Effects) != 1 || got.Effects[0].Call != write.Call {
		p.Errorf("outstanding = %+v, want the write's effect alone", got)
	}
	p.refused("Admit after the sweep", p.blocked("c5"), canonical.ErrUnresolvedEffect)
}

func sweepSaved(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	p.save(c.saving("raw"))
	p.h.Advance(dueTime + 2*grace)
	p.sweep()
	if err := p.blocked("c2"); err != nil {
		p.Errorf("Admit after the sweep of a saved write = %v, want success", err)
	}
	ref, ok := p.head(c.Call).Reference()
	if !ok || ref.SHA256 != canonical.Body("raw").SHA256() || ref.Bytes != 3 {
		p.Errorf("reference = %+v, %v; want the saved raw's", ref, ok)
	}
}

func ownerAndSweep(p *probe) {
	p.open()
	owner, swept := p.admit("owner"), p.admit("swept")
	p.h.Advance(dueTime + 2*grace)
	p.complete(owner.ready())
	p.same("swept", p.sweep(), []canonical.Swept{{Call: swept.Call, Code: lifecycle.Orphaned, Execution: lifecycle.Unknown}})
	if got := p.head(owner.Call).State; got != lifecycle.Ready {
		p.Errorf("the owner's record is %s after a sweep, want READY", got)
	}
	before := p.record(swept.Call)
	for _, e := range []canonical.Ending{swept.ready(), swept.toolFailed()} {
		_, err := p.s.Complete(p.ctx, e)
		p.stands("Complete after a sweep", err, canonical.ErrConflict, lifecycle.Error)
	}
	p.same("record", p.record(swept.Call), before)
}

func outstandingLists(p *probe) {
	p.open()
	start := p.h.Now()
	late, soon, read := p.admit("late", writes), p.admit("soon", writes, after(2*time.Minute)), p.admit("read", after(time.Minute))
	lost, done := p.admit("lost", writes), p.admit("done", writes)
	p.complete(lost.unknown())
	p.complete(done.ready())
	p.h.Advance(time.Minute)
	before := p.mark()
	got := p.outstanding()
	p.near("now", got.Now, start.Add(time.Minute))
	expect := func(what string, got []canonical.OpenCall, want ...canonical.OpenCall) {
		p.T.Helper()
		if len(got) != len(want) {
			p.Errorf("%s = %v, want %v", what, got, want)
			return
		}
		for i := range want {
			if got[i].Call != want[i].Call || got[i].Due.IsZero() != want[i].Due.IsZero() {
				p.Errorf("%s: entry %d = %+v, want %+v", what, i, got[i], want[i])
			} else if !want[i].Due.IsZero() {
				p.near(what+" due", got[i].Due, want[i].Due)
			}
		}
	}
	due := func(c call) canonical.OpenCall { return canonical.OpenCall{Call: c.Call, Due: c.got.Due} }
	expect("open", got.Open, due(read), due(soon), due(late))
	expect("effects", got.Effects, canonical.OpenCall{Call: lost.Call}, due(soon), due(late))
	p.unmoved("Outstanding", before)
}
