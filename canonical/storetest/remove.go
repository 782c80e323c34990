package storetest

import (
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func removeSubtests() []subtest {
	return []subtest{
		{"K70_P29_delete_takes_bodies_not_the_guard", 0, deleteTakesBodies},
		{"K70_what_is_not_deleted", 0, notDeleted},
		{"K70_delete_gives_capacity_back", 0, deleteGivesBack},
	}
}

func deleteTakesBodies(p *probe) {
	p.open()
	c, large := p.admit("c1"), p.admit("large", reserving(0))
	p.complete(c.ready())
	e := large.ready()
	e.Raw = canonical.NewRaw(make([]byte, 5<<19))
	p.complete(e)
	for _, c := range []call{c, large} {
		p.must("Delete", p.s.Delete(p.ctx, runKey(), c.Call))
		if p.head(c.Call).Exists() {
			p.Errorf("%s: the record is still there", c.Call)
		}
		_, err := p.s.Record(p.ctx, runKey(), c.Call)
		p.refused("Record", err, canonical.ErrMissing)
		p.must("Delete again", p.s.Delete(p.ctx, runKey(), c.Call))
		_, err = p.s.Admit(p.ctx, p.admission(c.Call.ID, claimed("another-claim")))
		p.refused("Admit", err, canonical.ErrDuplicate)
	}
	if got := p.state(); got.LastSeq != 2 {
		p.Errorf("the run's sequence is %d, want 2", got.LastSeq)
	}
	order, err := p.s.Order(p.ctx, runKey(), 0, 10)
	p.must("Order", err)
	p.same("order", order, []canonical.Numbered{{Seq: 1, Call: c.Call}, {Seq: 2, Call: large.Call}})
	p.must("Delete of a name that was never there", p.s.Delete(p.ctx, runKey(), named("never")))
	p.must("Delete in a run that was never there", p.s.Delete(p.ctx, runNamed("no-such-run"), named("never")))
}

func notDeleted(p *probe) {
	p.open()
	open, lost, read := p.admit("open"), p.admit("lost", writes), p.admit("read")
	p.complete(lost.unknown())
	p.complete(read.failed(lifecycle.ToolTimeout, lifecycle.Unknown))
	for _, c := range []struct {
		call
		err   error
		state lifecycle.State
	}{{open, canonical.ErrStillOpen, lifecycle.Projecting}, {lost, canonical.ErrUnresolvedEffect, lifecycle.Error}} {
		before := p.record(c.Call)
		p.stands("Delete of "+string(c.Call.ID), p.s.Delete(p.ctx, runKey(), c.Call), c.err, c.state)
		p.same("record", p.record(c.Call), before)
	}
	p.must("Delete of a read that ended unknown", p.s.Delete(p.ctx, runKey(), read.Call))
	p.must("Resolve", p.s.Resolve(p.ctx, lost.resolution(canonical.NotApplied)))
	p.must("Delete after the verdict", p.s.Delete(p.ctx, runKey(), lost.Call))
	p.complete(open.ready())
	p.close()
	p.h.Advance(runDuration + time.Minute)
	p.must("Delete in a closed run", p.s.Delete(p.ctx, runKey(), open.Call))
}

func deleteGivesBack(p *probe) {
	p.open(budget(9, 9, callReserve))
	c := p.admit("c1")
	e := c.ready()
	p.complete(e)
	if got, want := p.state().Reserved, held(c.Request, e); got != want {
		p.Errorf("before delete %d bytes are in use, want %d", got, want)
	}
	_, err := p.s.Admit(p.ctx, p.admission("c2"))
	p.refused("Admit before delete", err, canonical.ErrCapacity)
	for range 2 { // the second gives nothing back again
		p.must("Delete", p.s.Delete(p.ctx, runKey(), c.Call))
		if got := p.state().Reserved; got != 0 {
			p.Errorf("after delete %d bytes are in use, want 0", got)
		}
	}
	p.admit("c3")
}
