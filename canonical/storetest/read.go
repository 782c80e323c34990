package storetest

import (
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func readSubtests() []subtest {
	return []subtest{
		{"K25_P46_foreign_and_newer", needsPlants, foreignAndNewer},
		{"K60_heads_in_the_order_asked", 0, headsInOrder},
		{"K60_no_facts_of_an_open_call", 0, noEarlyFacts},
		{"K60_T74_an_unreadable_record_hides_no_other", needsPlants, unreadableHead},
		{"K60_heads_move_no_raw", needsRawReads, headsMoveNoRaw},
		{"K61_view_and_record", 0, viewAndRecord},
		{"K61_bytes_that_do_not_match", needsCorrupt, corruptBytes},
		{"K62_order_in_pages", 0, orderInPages},
		{"K62_order_never_shrinks", 0, orderNeverShrinks},
		{"K63_T41_no_read_changes_anything", needsFingerprint, readsChangeNothing},
		{"K64_gone_is_not_empty", 0, goneIsNotEmpty},
	}
}

// foreignAndNewer plants what an admission may meet and must not touch.
func foreignAndNewer(p *probe) {
	p.open()
	newer, foreign := p.admit("newer"), p.admission("foreign")
	p.h.PlantNewer(newer.identity())
	p.h.PlantForeign(canonical.Identity{RunKey: foreign.Run, Call: foreign.Call})
	before, was := p.mark(), p.state()
	for what, send := range map[string]func() error{
		"our own claim": func() error { _, err := p.s.Admit(p.ctx, newer.Admission); return err },
		"another claim": func() error {
			_, err := p.s.Admit(p.ctx, p.admission("newer", claimed("another-claim")))
			return err
		},
		"save":     func() error { _, err := p.s.Save(p.ctx, newer.saving("raw")); return err },
		"complete": func() error { _, err := p.s.Complete(p.ctx, newer.ready()); return err },
		"view":     func() error { _, err := p.s.View(p.ctx, runKey(), newer.Call); return err },
		"record":   func() error { _, err := p.s.Record(p.ctx, runKey(), newer.Call); return err },
	} {
		p.refused("newer record: "+what, send(), canonical.ErrNewerVersion)
	}
	_, err := p.s.Admit(p.ctx, foreign)
	p.refused("Admit where something foreign stands", err, canonical.ErrForeign)
	p.unmoved("a message to what is not ours", before)
	p.unchanged(was)
	p.h.PlantNewerLedger(runKey())
	before = p.mark()
	p.refused("Admit into a newer run", p.blocked("c3"), canonical.ErrNewerVersion)
	_, err = p.s.OpenRun(p.ctx, opening())
	p.refused("OpenRun of a newer run", err, canonical.ErrNewerVersion)
	p.unmoved("a message to a newer run", before)
}

func headsInOrder(p *probe) {
	p.open()
	p.open(func(o *canonical.Opening) { o.Run = runNamed("run-2") })
	a, b, short := p.admit("a"), p.admit("b"), p.admit("short", func(a *canonical.Admission) { a.TTL = 30 * time.Minute })
	p.admit("elsewhere", func(a *canonical.Admission) { a.Run = runNamed("run-2") })
	p.complete(b.ready())
	p.h.Advance(45 * time.Minute)
	names := []canonical.CallName{b.Call, named("never"), a.Call, short.Call, named("elsewhere"), b.Call, {Turn: "1", ID: "a"}}
	heads, err := p.s.Heads(p.ctx, runKey(), names)
	p.must("Heads", err)
	if len(heads) != len(names) {
		p.Fatalf("%d heads for %d names", len(heads), len(names))
	}
	for i, want := range []canonical.CallName{b.Call, {}, a.Call, {}, {}, b.Call, {}} {
		if want == (canonical.CallName{}) {
			p.same("head of "+names[i].String(), heads[i], canonical.Head{})
		} else if heads[i].Identity != (canonical.Identity{RunKey: runKey(), Call: want}) {
			p.Errorf("head %d is of %v, want %s", i, heads[i].Identity.Call, want)
		}
	}
	if heads[0].State != lifecycle.Ready || string(heads[0].Facts) != string(b.ready().Facts) || heads[2].State != lifecycle.Projecting {
		p.Errorf("heads of b and a: %s with facts %q, %s; want READY with its facts, PROJECTING", heads[0].State, []byte(heads[0].Facts), heads[2].State)
	}
	none, err := p.s.Heads(p.ctx, runKey(), nil)
	if err != nil || len(none) != 0 {
		p.Errorf("Heads of no names = %v, %v; want none", none, err)
	}
	gone, err := p.s.Heads(p.ctx, runNamed("no-such-run"), names[:1])
	if err != nil || len(gone) != 1 || gone[0].Exists() {
		p.Errorf("Heads in a run that is not there = %v, %v; want one zero head", gone, err)
	}
}

func noEarlyFacts(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	p.save(c.saving("raw"))
	h := p.head(c.Call)
	if h.State != lifecycle.Projecting || h.Evidence != "" || h.Facts != nil || h.Coverage != nil || h.AgentSize != 0 {
		p.Errorf("an open call: %s, evidence %q, facts %v, coverage %v; want PROJECTING and none", h.State, h.Evidence, h.Facts, h.Coverage)
	}
}

func unreadableHead(p *probe) {
	p.open()
	first, newer, foreign, last := p.admit("first"), p.admit("newer"), p.admit("foreign"), p.admit("last")
	for _, c := range []call{first, newer, foreign, last} {
		p.complete(c.ready())
	}
	p.h.PlantNewer(newer.identity())
	p.h.PlantForeign(foreign.identity())
	heads, err := p.s.Heads(p.ctx, runKey(), []canonical.CallName{first.Call, newer.Call, named("never"), foreign.Call, last.Call})
	p.must("Heads", err)
	if len(heads) != 5 {
		p.Fatalf("%d heads for 5 names", len(heads))
	}
	p.same("newer", heads[1], canonical.Head{Identity: newer.identity(), Fault: canonical.ErrNewerVersion})
	p.same("never", heads[2], canonical.Head{})
	p.same("foreign", heads[3], canonical.Head{Identity: foreign.identity(), Fault: canonical.ErrForeign})
	for i, c := range map[int]call{0: first, 4: last} {
		if heads[i].State != lifecycle.Ready || heads[i].Identity != c.identity() || heads[i].Fault != nil {
			p.Errorf("its neighbour %s: %s, fault %v; want READY and none", c.Call, heads[i].State, heads[i].Fault)
		}
	}
}

func headsMoveNoRaw(p *probe) {
	p.open()
	var names []canonical.CallName
	for i := range 5 {
		c := p.admit(callID(i))
		p.complete(c.ready())
		names = append(names, c.Call)
	}
	before := p.h.RawReads()
	_, err := p.s.Heads(p.ctx, runKey(), names)
	p.must("Heads", err)
	_, err = p.s.Order(p.ctx, runKey(), 0, 10)
	p.must("Order", err)
	p.outstanding()
	if n := p.h.RawReads() - before; n != 0 {
		p.Errorf("lists moved raw %d times, want 0", n)
	}
	p.record(names[0])
	if n := p.h.RawReads() - before; n == 0 {
		p.Errorf("the harness counted no raw read for Record; it would not have seen one of Heads")
	}
}

func viewAndRecord(p *probe) {
	p.open()
	c, open, bad := p.admit("c1"), p.admit("open"), p.admit("bad")
	e := c.ready()
	p.complete(e)
	p.complete(bad.toolFailed())
	view, err := p.s.View(p.ctx, runKey(), c.Call)
	p.must("View", err)
	r := p.record(c.Call)
	p.same("the record's view", r.View, view)
	p.same("the view's head", view.Head, p.head(c.Call))
	p.sameBodies(c, e)
	for _, c := range []call{open, bad} {
		view, err := p.s.View(p.ctx, runKey(), c.Call)
		p.must("View", err)
		if view.Agent != nil || !view.Exists() {
			p.Errorf("%s: view has agent result %v, want a head without one", c.Call, view.Agent)
		}
	}
	for _, at := range []canonical.Identity{
		{RunKey: runKey(), Call: named("never")}, {RunKey: runKey(), Call: canonical.CallName{Turn: "1", ID: "c1"}}, {RunKey: runNamed("no-such-run"), Call: c.Call},
	} {
		_, err := p.s.View(p.ctx, at.RunKey, at.Call)
		p.refused("View of "+at.Call.String(), err, canonical.ErrMissing)
		_, err = p.s.Record(p.ctx, at.RunKey, at.Call)
		p.refused("Record of "+at.Call.String(), err, canonical.ErrMissing)
	}
}

func corruptBytes(p *probe) {
	p.open()
	for i, size := range []int{10, 64 << 10, 5 << 19} {
		c := p.admit(callID(i), reserving(0))
		e := c.ready()
		e.Raw = canonical.NewRaw(make([]byte, size))
		p.complete(e)
		p.record(c.Call)
		p.h.Corrupt(c.identity())
		if _, err := p.s.Record(p.ctx, runKey(), c.Call); err == nil {
			p.Errorf("Record of %d corrupt bytes succeeded", size)
		} else {
			p.refused("Record of corrupt bytes", err, canonical.ErrCorrupt)
		}
		_, err := p.s.View(p.ctx, runKey(), c.Call)
		p.refused("View of a corrupt agent result", err, canonical.ErrCorrupt)
		if got := p.head(c.Call).State; got != lifecycle.Ready {
			p.Errorf("the head of a record with corrupt bodies is %q, want READY", got)
		}
	}
}

func orderInPages(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	var want []canonical.Numbered
	for i := range 25 {
		id := callID((i * 7) % 25) // names in another order than sequences
		p.admit(id)
		want = append(want, canonical.Numbered{Seq: int64(i + 1), Call: named(id)})
	}
	var got []canonical.Numbered
	for after, pages := int64(0), 0; pages < 10; pages++ {
		page, err := p.s.Order(p.ctx, runKey(), after, 10)
		p.must("Order", err)
		if len(page) > 10 {
			p.Errorf("a page of at most 10 has %d entries", len(page))
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		after = page[len(page)-1].Seq
	}
	p.same("all pages", got, want)
	page, err := p.s.Order(p.ctx, runKey(), 20, 100)
	p.must("Order", err)
	p.same("after 20", page, want[20:])
	page, err = p.s.Order(p.ctx, runKey(), 25, 10)
	if err != nil || len(page) != 0 {
		p.Errorf("after the last = %v, %v; want an empty page", page, err)
	}
}

func orderNeverShrinks(p *probe) {
	p.open()
	deleted, expired := p.admit("deleted"), p.admit("expired", func(a *canonical.Admission) { a.TTL = 30 * time.Minute })
	ended, swept, open := p.admit("ended"), p.admit("swept", after(time.Second)), p.admit("open", after(time.Hour))
	want := []canonical.Numbered{}
	for i, c := range []call{deleted, expired, ended, swept, open} {
		want = append(want, canonical.Numbered{Seq: int64(i + 1), Call: c.Call})
	}
	p.complete(deleted.ready())
	p.complete(ended.toolFailed())
	p.must("Delete", p.s.Delete(p.ctx, runKey(), deleted.Call))
	p.h.Advance(45 * time.Minute)
	p.sweep()
	for _, when := range []string{"open", "closed", "long after the deadline"} {
		got, err := p.s.Order(p.ctx, runKey(), 0, 100)
		p.must("Order", err)
		p.same("order of a run that is "+when, got, want)
		p.close()
		if when == "closed" {
			p.h.Advance(recordTTL)
		}
	}
}

func readsChangeNothing(p *probe) {
	p.open()
	open, good, lost := p.admit("open"), p.admit("good"), p.admit("lost", writes)
	swept := p.admit("swept", after(time.Second))
	p.complete(good.ready())
	p.complete(lost.unknown())
	p.h.Advance(10 * time.Minute)
	p.sweep(func(m *canonical.Sweeping) { m.Grace = 0 })
	p.settle(swept.ready())
	p.h.Advance(time.Minute) // so that a life that is counted anew from now would show
	before := p.mark()
	for range 20 {
		p.readEverything(open, good, lost, swept)
	}
	p.unmoved("reading", before)
	for _, name := range []canonical.CallName{named("never"), {Turn: "9", ID: "good"}} {
		_, err := p.s.Record(p.ctx, runKey(), name)
		p.refused("Record", err, canonical.ErrMissing)
		_, err = p.s.View(p.ctx, runKey(), name)
		p.refused("View", err, canonical.ErrMissing)
		p.settlement(name)
		p.head(name)
	}
	p.unmoved("reading what is not there", before)
	_, err := p.s.JoinRun(p.ctx, runKey(), "another-token")
	p.refused("JoinRun", err, canonical.ErrRunTaken)
	p.unmoved("a refused join", before)
	if p.h.Keys != nil {
		_, _ = p.s.Inspect(p.ctx, runNamed("no-such-run"))
		_, _ = p.s.Heads(p.ctx, runNamed("no-such-run"), []canonical.CallName{good.Call})
		if left := p.h.Keys(runNamed("no-such-run")); len(left) > 0 {
			p.Errorf("reading a run that is not there left %v", left)
		}
	}
}

func goneIsNotEmpty(p *probe) {
	for _, when := range []string{"before it was opened", "after its life"} {
		order, err := p.s.Order(p.ctx, runKey(), 0, 10)
		p.refused("Order "+when, err, canonical.ErrRunMissing)
		out, err := p.s.Outstanding(p.ctx, runKey())
		p.refused("Outstanding "+when, err, canonical.ErrRunMissing)
		if len(order) != 0 || len(out.Open) != 0 {
			p.Errorf("%s: an error and an answer: %v, %v", when, order, out)
		}
		if when == "after its life" {
			break
		}
		state := p.open()
		order, err = p.s.Order(p.ctx, runKey(), 0, 10)
		if err != nil || len(order) != 0 {
			p.Errorf("Order of an empty run = %v, %v; want an empty page", order, err)
		}
		if out := p.outstanding(); len(out.Open) != 0 || len(out.Effects) != 0 {
			p.Errorf("Outstanding of an empty run = %+v", out)
		}
		p.h.Advance(state.Expires.Sub(p.h.Now()) + time.Minute)
	}
}
