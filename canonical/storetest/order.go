package storetest

import (
	"time"

	"github.com/toolharness/harness/canonical"
)

func orderSubtests() []subtest {
	return []subtest{
		{"K16_which_refusal_is_told", 0, whichRefusal},
		{"K16_our_own_claim_and_duplicates_come_first", 0, ownAndDuplicateFirst},
		{"K17_T15_refusals_leave_no_trace", 0, noTrace},
		{"K17_no_run_no_trace", 0, noTraceWithoutRun},
	}
}

// cornered is a run in which an admission has everything against it that can be
// had at once; each step of the way adds a reason that is told before the ones
// that were there.
type cornered struct {
	p     *probe
	first call
}

// corner opens a run that one write exhausts: budget of the run, of the tool,
// and capacity.
func corner(p *probe) cornered {
	p.open(budget(1, 1, callReserve))
	return cornered{p, p.admit("first", writes)}
}

// next is a new call that has everything against it.
func (c cornered) next(change ...func(*canonical.Admission)) canonical.Admission {
	return c.p.admission("next", change...)
}

// late is a message that comes after its not-after.
func (c cornered) late(a *canonical.Admission) { a.NotAfter = c.p.h.Now().Add(-time.Hour) }

// seenAll is a message of a process that has seen more than the ledger has.
func seenAll(a *canonical.Admission) { a.Seen = 99 }

func small(a *canonical.Admission) { a.Reserve = 0 }

func whichRefusal(p *probe) {
	c := corner(p)
	tell := func(what string, a canonical.Admission, want error) {
		p.T.Helper()
		_, err := p.s.Admit(p.ctx, a)
		p.refused(what, err, want)
	}
	tell("run and tool budget", c.next(small), canonical.ErrRunBudget)
	tell("capacity and both budgets", c.next(), canonical.ErrCapacity)
	p.h.Advance(dueTime + time.Minute)
	tell("barrier, capacity, budgets", c.next(), canonical.ErrUnresolvedEffect)
	tell("not-after, barrier and the rest", c.next(c.late), canonical.ErrTooLate)
	p.h.Advance(runDuration)
	tell("deadline, barrier and the rest", c.next(), canonical.ErrDeadline)
	tell("not-after, deadline and the rest", c.next(c.late), canonical.ErrTooLate)
	tell("damaged, not-after and the rest", c.next(c.late, seenAll), canonical.ErrRunDamaged)
	p.close()
	tell("closed, not-after and the rest", c.next(c.late), canonical.ErrRunClosed)
	tell("a name that was seen, and all the rest", p.admission("first", claimed("another-claim"), c.late), canonical.ErrDuplicate)
	if _, err := p.s.Admit(p.ctx, c.first.Admission); err != nil {
		p.Errorf("our own claim, and all the rest = %v, want its answer", err)
	}
}

func ownAndDuplicateFirst(p *probe) {
	p.open(budget(2, 1, 2*callReserve))
	c := p.admit("c1", writes)
	_, err := p.s.Admit(p.ctx, p.admission("c1", claimed("another-claim")))
	p.refused("a duplicate over the tool's budget", err, canonical.ErrDuplicate)
	_, err = p.s.Admit(p.ctx, p.admission("c2"))
	p.refused("a new name over the tool's budget", err, canonical.ErrToolBudget)
	p.h.Advance(dueTime + time.Minute)
	_, err = p.s.Admit(p.ctx, p.admission("c1", claimed("another-claim")))
	p.refused("a duplicate behind the barrier", err, canonical.ErrDuplicate)
	if got, err := p.s.Admit(p.ctx, c.Admission); err != nil || !got.Own {
		p.Errorf("our own claim behind the barrier = own %v, %v; want its answer", got.Own, err)
	}
}

// mark is a look at everything of the run that the store can show.
func (p *probe) mark() string {
	if p.h.Fingerprint == nil {
		return ""
	}
	return p.h.Fingerprint(runKey())
}

// unmoved checks that nothing was written since the mark.
func (p *probe) unmoved(what, before string) {
	p.T.Helper()
	if after := p.mark(); after != before {
		p.Errorf("%s wrote something: the run was\n%s\nand is\n%s", what, before, after)
	}
}

func noTrace(p *probe) {
	c := corner(p)
	p.complete(c.first.toolFailed()) // gives capacity back, nothing else
	p.refuseWithoutTrace("over the run's budget", canonical.ErrRunBudget, c.next(small))
	p.refuseWithoutTrace("over capacity", canonical.ErrCapacity, c.next(func(a *canonical.Admission) { a.Reserve = 2 * callReserve }))
	p.refuseWithoutTrace("duplicate", canonical.ErrDuplicate, p.admission("first", claimed("another-claim")))
	p.refuseWithoutTrace("too late", canonical.ErrTooLate, c.next(c.late))
	p.h.Advance(runDuration + time.Minute)
	p.refuseWithoutTrace("after the deadline", canonical.ErrDeadline, c.next())
	p.close()
	p.refuseWithoutTrace("closed", canonical.ErrRunClosed, c.next())
}

func (p *probe) refuseWithoutTrace(what string, want error, a canonical.Admission) {
	p.T.Helper()
	was, mark := p.state(), p.mark()
	_, err := p.s.Admit(p.ctx, a)
	p.refused("Admit "+what, err, want)
	p.unmoved("an admission that was refused ("+what+")", mark)
	p.unchanged(was)
	if a.Call == named("next") && p.head(a.Call).Exists() {
		p.Errorf("Admit %s: there is a record", what)
	}
}

func noTraceWithoutRun(p *probe) {
	_, err := p.s.Admit(p.ctx, p.admission("c1"))
	p.refused("Admit without a run", err, canonical.ErrRunMissing)
	if p.h.Keys != nil && len(p.h.Keys(runKey())) > 0 {
		p.Errorf("the refusal left %v", p.h.Keys(runKey()))
	}
	if p.head(named("c1")).Exists() {
		p.Errorf("there is a record")
	}
	if got := p.open(); got.LastSeq != 0 || got.Reserved != 0 {
		p.Errorf("the run opened afterwards has sequence %d and %d bytes, want 0 and 0", got.LastSeq, got.Reserved)
	}
}
