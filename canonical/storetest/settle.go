package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func settleSubtests() []subtest {
	return []subtest{
		{"K53_P25_settle_while_projecting_is_complete", 0, settleOpen},
		{"K53_P25_settle_after_a_sweep", 0, settleSwept},
		{"K53_settle_after_the_owners_ending", 0, settleEnded},
		{"K53_a_settlement_lives_as_long_as_the_run", 0, settlementLife},
		{"K53_K65_a_late_result_outlives_the_record", 0, lateResultLife},
		{"K54_another_claim_or_no_record", 0, settleRefused},
		{"K55_P22_resolve_lifts_the_barrier", 0, resolveLifts},
		{"K55_resolve_again", 0, resolveAgain},
		{"K55_what_cannot_be_resolved", 0, resolveRefused},
		{"K55_resolve_and_settle_are_two_parts", 0, resolveAndSettle},
		{"K65_what_was_settled", 0, whatWasSettled},
	}
}

func (p *probe) settle(e canonical.Ending) canonical.Ended {
	p.T.Helper()
	got, err := p.s.Settle(p.ctx, e)
	p.must("Settle "+string(e.Call.ID), err)
	return got
}

func (p *probe) settlement(name canonical.CallName) canonical.Settlement {
	p.T.Helper()
	got, err := p.s.SettlementOf(p.ctx, runKey(), name)
	p.must("SettlementOf "+name.String(), err)
	return got
}

// abandoned admits a call and sweeps it.
func (p *probe) abandoned(id canonical.ToolCallID, change ...func(*canonical.Admission)) call {
	p.T.Helper()
	c := p.admit(id, change...)
	p.h.Advance(dueTime + 2*grace)
	if swept := p.sweep(); len(swept) != 1 || swept[0].Call != c.Call {
		p.Fatalf("the sweep ended %v, want %s", swept, c.Call)
	}
	return c
}

func settleOpen(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	p.close()
	p.h.Advance(runDuration + time.Minute) // needs neither an open run nor a deadline
	if got := p.settle(c.ready()); got.Repeat {
		p.Errorf("the first settlement is called a repeat")
	}
	if got := p.head(c.Call).State; got != lifecycle.Ready {
		p.Errorf("the record is %s, want READY", got)
	}
	if got := p.settlement(c.Call); got.Late != nil || got.Resolved != nil {
		p.Errorf("a settlement beside a record that was open: %+v, want none", got)
	}
	if got := p.outstanding(); len(got.Open) != 0 || len(got.Effects) != 0 {
		p.Errorf("outstanding = %+v, want nothing", got)
	}
	if got := p.settle(c.ready()); !got.Repeat {
		p.Errorf("the same settlement again: repeat %v, want true", got.Repeat)
	}
}

func settleSwept(p *probe) {
	p.open()
	c := p.abandoned("c1", writes)
	before := p.record(c.Call)
	e := c.ready()
	now := p.h.Now()
	if got := p.settle(e); got.Repeat || got.Strength == "" {
		p.Errorf("Settle = %+v, want a first time with a strength", got)
	}
	p.same("record", p.record(c.Call), before)
	got := p.settlement(c.Call)
	if got.Late == nil {
		p.Fatalf("SettlementOf = %+v, want the late result", got)
	}
	p.near("settled at", got.Late.At, now)
	if got.Identity != c.identity() || got.Late.Verdict != e.Verdict || got.Resolved != nil {
		p.Errorf("settlement = %+v, want the verdict %+v of %v", got, e.Verdict, c.identity())
	}
	if string(got.Late.Raw.Bytes) != string(e.Raw.Bytes) || got.Late.Raw.SHA256 != e.Raw.SHA256 || string(got.Late.Agent) != string(e.Agent) {
		p.Errorf("late raw %q, agent %q; want %q, %q", []byte(got.Late.Raw.Bytes), []byte(got.Late.Agent), []byte(e.Raw.Bytes), []byte(e.Agent))
	}
	p.h.Advance(time.Minute)
	if again := p.settle(e); !again.Repeat {
		p.Errorf("the same again: repeat %v, want true", again.Repeat)
	}
	for what, e := range map[string]canonical.Ending{"ERROR": c.toolFailed(), "other bytes": otherBytes(e)} {
		_, err := p.s.Settle(p.ctx, e)
		p.stands("Settle again as "+what, err, canonical.ErrConflict, lifecycle.Error)
	}
	p.same("the settlement after refusals", p.settlement(c.Call), got)
	p.same("record", p.record(c.Call), before)
}

func otherBytes(e canonical.Ending) canonical.Ending {
	e.Raw = canonical.NewRaw([]byte("other bytes"))
	return e
}

func settleEnded(p *probe) {
	p.open()
	c := p.admit("c1")
	p.complete(c.ready())
	before := p.record(c.Call)
	if got := p.settle(c.ready()); !got.Repeat {
		p.Errorf("Settle with the stored outcome: repeat %v, want true", got.Repeat)
	}
	for what, e := range map[string]canonical.Ending{"ERROR": c.toolFailed(), "other bytes": otherBytes(c.ready())} {
		_, err := p.s.Settle(p.ctx, e)
		p.stands("Settle as "+what, err, canonical.ErrConflict, lifecycle.Ready)
	}
	p.same("record", p.record(c.Call), before)
	if got := p.settlement(c.Call); got.Late != nil {
		p.Errorf("a refused settlement was kept: %+v", got)
	}
}

func settlementLife(p *probe) {
	state := p.open()
	c := p.abandoned("c1", func(a *canonical.Admission) { a.TTL = 2 * time.Hour })
	p.settle(c.ready())
	got := p.settlement(c.Call)
	p.same("expiry", got.Expires, state.Expires)
	p.h.Advance(2 * time.Hour)
	if p.head(c.Call).Exists() {
		p.Errorf("the record is there after its life")
	}
	p.same("the settlement after the record's life", p.settlement(c.Call), got)
	p.h.Advance(state.Expires.Sub(p.h.Now()) + time.Minute)
	if got, err := p.s.SettlementOf(p.ctx, runKey(), c.Call); err == nil && got.Late != nil {
		p.Errorf("a settlement after the run's life: %+v", got)
	}
	_, err := p.s.Settle(p.ctx, c.ready())
	p.refused("Settle after the run's life", err, canonical.ErrMissing)
}

// lateResultLife settles a call whose raw was saved: its bytes may be the
// record's, and what the settlement says is not.
func lateResultLife(p *probe) {
	p.open()
	c := p.admit("c1", writes, func(a *canonical.Admission) { a.TTL = 2 * time.Hour })
	p.save(c.saving("raw"))
	p.h.Advance(dueTime + 2*grace)
	p.sweep()
	e := c.afterSave("raw")
	p.settle(e)
	p.h.Advance(2 * time.Hour)
	if p.head(c.Call).Exists() {
		p.Errorf("the record is there after its life")
	}
	got := p.settlement(c.Call)
	if got.Late == nil || got.Late.Verdict != e.Verdict || got.Late.Raw.SHA256 != e.Raw.SHA256 || got.Late.Raw.Size != e.Raw.Size || string(got.Late.Agent) != string(e.Agent) {
		p.Errorf("settlement after the record's life = %+v, want verdict, agent result and what is known of raw", got)
	}
}

func settleRefused(p *probe) {
	p.open()
	open, ended := p.admit("open"), p.admit("ended")
	p.complete(ended.ready())
	swept := p.admit("swept", after(time.Second))
	p.h.Advance(10 * time.Minute) // the other open call is not due yet
	p.sweep(func(m *canonical.Sweeping) { m.Grace = 0 })
	for _, c := range []call{open, ended, swept} {
		before := p.record(c.Call)
		e := c.ready()
		e.Claim = "another-claim"
		_, err := p.s.Settle(p.ctx, e)
		p.stands("Settle "+string(c.Call.ID)+" with another claim", err, canonical.ErrConflict, before.State)
		p.same("record", p.record(c.Call), before)
		if got := p.settlement(c.Call); got.Late != nil {
			p.Errorf("a refused settlement was kept: %+v", got)
		}
	}
	ghost := call{Admission: p.admission("ghost"), got: canonical.Admitted{Expires: open.got.Expires}}
	keys := p.keyNames()
	_, err := p.s.Settle(p.ctx, ghost.ready())
	p.refused("Settle without a record", err, canonical.ErrMissing)
	p.same("keys", p.keyNames(), keys)
}

func resolveLifts(p *probe) {
	p.open()
	ended, swept := p.admit("ended", writes), p.admit("swept", writes)
	p.complete(ended.unknown())
	p.h.Advance(dueTime + 2*grace)
	p.sweep()
	for i, c := range []call{ended, swept} {
		p.refused("Admit before the verdict", p.blocked(callID(i)), canonical.ErrUnresolvedEffect)
		before := p.record(c.Call)
		v := []canonical.EffectVerdict{canonical.Applied, canonical.NotApplied}[i]
		p.must("Resolve", p.s.Resolve(p.ctx, c.resolution(v)))
		p.same("record", p.record(c.Call), before)
		got := p.settlement(c.Call)
		if got.Resolved == nil || *got.Resolved != c.resolution(v) || got.Identity != c.identity() || got.Late != nil {
			p.Errorf("settlement = %+v, want the verdict %s that points at %v", got, v, c.identity())
		}
	}
	if got := p.outstanding(); len(got.Effects) != 0 {
		p.Errorf("effects = %v, want none", got.Effects)
	}
	if err := p.blocked("after"); err != nil {
		p.Errorf("Admit after both verdicts = %v, want success", err)
	}
}

func resolveAgain(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	p.complete(c.unknown())
	m := c.resolution(canonical.Applied)
	p.must("Resolve", p.s.Resolve(p.ctx, m))
	before := p.settlement(c.Call)
	p.h.Advance(time.Minute)
	p.must("the same verdict again", p.s.Resolve(p.ctx, m))
	p.stands("another verdict", p.s.Resolve(p.ctx, c.resolution(canonical.NotApplied)), canonical.ErrConflict, lifecycle.Error)
	other := m
	other.Evidence = "receipt 4712"
	p.stands("the same verdict on other grounds", p.s.Resolve(p.ctx, other), canonical.ErrConflict, lifecycle.Error)
	p.same("settlement", p.settlement(c.Call), before)
	p.close()
	p.must("the same verdict after close", p.s.Resolve(p.ctx, m))
}

func resolveRefused(p *probe) {
	p.open()
	open, known := p.admit("open", writes), p.admit("known", writes)
	p.complete(known.toolFailed())
	p.stands("Resolve of an open call", p.s.Resolve(p.ctx, open.resolution(canonical.Applied)), canonical.ErrStillOpen, lifecycle.Projecting)
	p.stands("Resolve of a known effect", p.s.Resolve(p.ctx, known.resolution(canonical.Applied)), canonical.ErrConflict, lifecycle.Error)
	ghost := call{Admission: p.admission("ghost")}
	p.refused("Resolve without a record", p.s.Resolve(p.ctx, ghost.resolution(canonical.Applied)), canonical.ErrMissing)
	for _, c := range []call{open, known, ghost} {
		if got := p.settlement(c.Call); got.Resolved != nil {
			p.Errorf("%s: a refused verdict was kept: %+v", c.Call, got.Resolved)
		}
	}
	p.same("effects", len(p.outstanding().Effects), 1)
	for _, change := range []func(*canonical.Resolution){
		func(m *canonical.Resolution) { m.Verdict = "perhaps" },
		func(m *canonical.Resolution) { m.Evidence = "" },
		func(m *canonical.Resolution) { m.Evidence = "\xff" },
		func(m *canonical.Resolution) {
			m.Evidence = strings.Repeat("x", canonical.MaxResolutionEvidence+1)
		},
	} {
		m := known.resolution(canonical.Applied)
		change(&m)
		if err := p.s.Resolve(p.ctx, m); !errors.As(err, new(*canonical.ArgumentError)) {
			p.Errorf("Resolve %q with %d bytes of evidence = %v, want an ArgumentError", m.Verdict, len(m.Evidence), err)
		}
	}
}

// resolveAndSettle: a late result tells what the tool returned, a verdict what
// the world looks like. The first does not lift the barrier.
func resolveAndSettle(p *probe) {
	p.open()
	c := p.abandoned("c1", writes)
	p.settle(c.ready())
	p.refused("Admit after a late result", p.blocked("before"), canonical.ErrUnresolvedEffect)
	p.must("Resolve", p.s.Resolve(p.ctx, c.resolution(canonical.Applied)))
	if err := p.blocked("after"); err != nil {
		p.Errorf("Admit after the verdict = %v, want success", err)
	}
	got := p.settlement(c.Call)
	if got.Late == nil || string(got.Late.Agent) != string(c.ready().Agent) || got.Resolved == nil || got.Resolved.Verdict != canonical.Applied {
		p.Errorf("settlement = %+v, want late result and verdict", got)
	}
	if again := p.settle(c.ready()); !again.Repeat {
		p.Errorf("the late result again: repeat %v, want true", again.Repeat)
	}
	orphan := p.admit("read")
	p.h.Advance(dueTime + 2*grace)
	p.sweep()
	p.must("Resolve of an orphaned read", p.s.Resolve(p.ctx, orphan.resolution(canonical.NotApplied)))
}

func whatWasSettled(p *probe) {
	p.open()
	open, ended := p.admit("open"), p.admit("ended")
	p.complete(ended.ready())
	for _, name := range []canonical.CallName{open.Call, ended.Call, named("never")} {
		if got := p.settlement(name); got.Late != nil || got.Resolved != nil {
			p.Errorf("%s: settlement = %+v, want none", name, got)
		}
	}
	lost := p.admit("lost", writes)
	p.complete(lost.unknown())
	p.must("Resolve", p.s.Resolve(p.ctx, lost.resolution(canonical.NotApplied)))
	first := p.settlement(lost.Call)
	if first.Resolved == nil || *first.Resolved != lost.resolution(canonical.NotApplied) || first.Late != nil {
		p.Errorf("settlement = %+v, want the verdict alone", first)
	}
	p.same("the same question again", p.settlement(lost.Call), first)
}
