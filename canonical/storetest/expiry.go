package storetest

import (
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func expirySubtests() []subtest {
	return []subtest{
		{"K07_P27_every_key_has_one_life", needsKeys, everyKeyHasOneLife},
		{"K07_P28_sets_emptied_and_filled_again", needsKeys, emptiedAndFilled},
		{"K07_what_readers_are_told_never_moves", 0, toldLife},
		{"K40_T41_save_and_complete_move_no_expiry", 0, endingMovesNoExpiry},
		{"K40_large_bodies_move_no_expiry", needsKeys, largeBodiesMoveNoExpiry},
		{"K71_nothing_is_left", needsKeys, nothingLeft},
		{"K71_a_run_that_is_over_is_gone", 0, runIsGone},
		{"K71_records_go_before_their_run", 0, recordsGoFirst},
	}
}

// lives remembers the expiry that each key was born with.
type lives map[string]time.Time

// check lists the keys of a run and compares each with its birth: none without
// an expiry, none moved, none beyond the run's.
func (l lives) check(p *probe, after string, last time.Time) {
	p.T.Helper()
	for _, k := range p.h.Keys(runKey()) {
		if k.Immortal {
			p.Errorf("after %s: %q has no expiry", after, k.Name)
			continue
		}
		born, known := l[k.Name]
		if !known {
			born = k.Expires
			l[k.Name] = born
		}
		if d := k.Expires.Sub(born).Abs(); d > p.h.Slack {
			p.Errorf("after %s: %q expires %v, was born to expire %v", after, k.Name, k.Expires, born)
		}
		if k.Expires.After(last.Add(p.h.Slack)) {
			p.Errorf("after %s: %q expires %v, after its run: %v", after, k.Name, k.Expires, last)
		}
	}
}

func everyKeyHasOneLife(p *probe) {
	state := p.open()
	l := lives{}
	step := func(what string, err error) {
		p.T.Helper()
		p.must(what, err)
		l.check(p, what, state.Expires)
		p.h.Advance(time.Minute)
	}
	step("open", nil)
	read, write, lost, gone := p.admit("read"), p.admit("write", writes), p.admit("lost", writes), p.admit("gone")
	step("admit", nil)
	_, err := p.s.Admit(p.ctx, read.Admission)
	step("admit again", err)
	_, err = p.s.Admit(p.ctx, p.admission("read", claimed("another-claim")))
	p.refused("Admit", err, canonical.ErrDuplicate)
	step("a duplicate", nil)
	p.save(write.saving("raw"))
	step("save", nil)
	p.complete(read.ready())
	step("complete", nil)
	p.complete(read.ready())
	step("complete again", nil)
	p.complete(lost.unknown())
	step("an unknown ending", nil)
	p.h.Advance(dueTime + 2*grace)
	p.sweep()
	step("sweep", nil)
	_, err = p.s.Settle(p.ctx, gone.ready())
	step("settle", err)
	step("resolve", p.s.Resolve(p.ctx, lost.resolution(canonical.Applied)))
	step("resolve again", p.s.Resolve(p.ctx, lost.resolution(canonical.Applied)))
	p.readEverything(read, write, lost, gone)
	step("reading", nil)
	step("delete", p.s.Delete(p.ctx, runKey(), read.Call))
	p.close()
	step("close", nil)
}

func emptiedAndFilled(p *probe) {
	state := p.open()
	l := lives{}
	for i := range 3 {
		c := p.admit(callID(i), writes)
		l.check(p, "admit", state.Expires)
		p.complete(c.ready())
		l.check(p, "the end of the last open call", state.Expires)
		p.h.Advance(10 * time.Minute)
	}
}

func toldLife(p *probe) {
	state := p.open()
	c := p.admit("c1", writes)
	told := func(after string) {
		p.T.Helper()
		p.same("the record's expiry after "+after, p.head(c.Call).Expires, c.got.Expires)
		p.same("the run's expiry after "+after, p.state().Expires, state.Expires)
		p.same("the deadline after "+after, p.state().Deadline, state.Deadline)
		p.h.Advance(time.Minute)
	}
	told("admission")
	_, err := p.s.Admit(p.ctx, p.admission("c1", claimed("another-claim"), func(a *canonical.Admission) { a.TTL = 2 * recordTTL }))
	p.refused("Admit", err, canonical.ErrDuplicate)
	told("a refused duplicate with a longer life")
	p.save(c.saving("raw"))
	told("save")
	p.complete(c.unknown())
	told("an ending")
	p.must("Resolve", p.s.Resolve(p.ctx, c.resolution(canonical.NotApplied)))
	told("resolve")
	p.open()
	told("opening again")
	p.close()
	told("close")
}

func endingMovesNoExpiry(p *probe) {
	p.open()
	c := p.admit("c1")
	for range 3 {
		p.h.Advance(3 * time.Hour)
		p.save(c.saving("raw"))
		p.same("expiry after save", p.head(c.Call).Expires, c.got.Expires)
		p.readEverything(c)
		p.same("expiry after reading", p.head(c.Call).Expires, c.got.Expires)
	}
	p.complete(c.afterSave("raw"))
	p.same("expiry after complete", p.head(c.Call).Expires, c.got.Expires)
	p.h.Advance(recordTTL - 9*time.Hour - time.Hour)
	if !p.head(c.Call).Exists() {
		p.Errorf("the record is gone an hour before the end of its life")
	}
	p.h.Advance(2 * time.Hour)
	if p.head(c.Call).Exists() {
		p.Errorf("the record is there an hour after the end of its life")
	}
}

func largeBodiesMoveNoExpiry(p *probe) {
	state := p.open()
	l := lives{}
	for i, size := range []int{100, 64 << 10, 5 << 19} {
		body := canonical.NewRaw(make([]byte, size))
		c, s := p.admit(callID(i), reserving(0)), p.admit(callID(100+i), reserving(0))
		l.check(p, "admit", state.Expires)
		p.h.Advance(10 * time.Minute)
		e := c.ready()
		e.Raw = body
		p.complete(e)
		l.check(p, "complete", state.Expires)
		m := s.saving("")
		m.Raw = body
		p.save(m)
		l.check(p, "save", state.Expires)
		m.Raw = canonical.NewRaw(make([]byte, size+1))
		_, err := p.s.Save(p.ctx, m)
		p.refused("Save of other bytes", err, canonical.ErrConflict)
		l.check(p, "a refused save", state.Expires)
		e.Raw = m.Raw
		_, err = p.s.Complete(p.ctx, e)
		p.refused("Complete with other bytes", err, canonical.ErrConflict)
		l.check(p, "a refused ending", state.Expires)
	}
}

func nothingLeft(p *probe) {
	state := p.open()
	read, write, large := p.admit("read"), p.admit("write", writes), p.admit("large", reserving(0))
	p.admit("open")
	p.complete(read.ready())
	p.complete(write.unknown())
	e := large.ready()
	e.Raw = canonical.NewRaw(make([]byte, 5<<19))
	p.complete(e)
	p.h.Advance(dueTime + 2*grace)
	p.sweep()
	p.must("Resolve", p.s.Resolve(p.ctx, write.resolution(canonical.Applied)))
	if len(p.h.Keys(runKey())) == 0 {
		p.Fatalf("the harness lists no key of a living run")
	}
	p.h.Advance(state.Expires.Sub(p.h.Now()) + time.Minute)
	if left := p.h.Keys(runKey()); len(left) > 0 {
		p.Errorf("after the run's life %v is left", left)
	}
	for what, err := range p.lateMessages(read, write, large) {
		if err == nil {
			p.Errorf("%s after the run's life was accepted", what)
		}
	}
	if left := p.h.Keys(runKey()); len(left) > 0 {
		p.Errorf("late messages left %v", left)
	}
}

// lateMessages sends what was sent before, after the run's life.
func (p *probe) lateMessages(read, write, large call) map[string]error {
	errs := map[string]error{}
	_, errs["admit"] = p.s.Admit(p.ctx, read.Admission)
	_, errs["save"] = p.s.Save(p.ctx, read.saving("raw"))
	_, errs["complete"] = p.s.Complete(p.ctx, read.ready())
	e := large.ready()
	e.Raw = canonical.NewRaw(make([]byte, 5<<19))
	_, errs["complete of a large one"] = p.s.Complete(p.ctx, e)
	_, errs["settle"] = p.s.Settle(p.ctx, read.ready())
	errs["resolve"] = p.s.Resolve(p.ctx, write.resolution(canonical.Applied))
	_, errs["close"] = p.s.CloseRun(p.ctx, canonical.Closing{Run: runKey(), Token: theToken})
	return errs
}

func runIsGone(p *probe) {
	state := p.open()
	c := p.admit("c1")
	p.complete(c.ready())
	p.h.Advance(state.Expires.Sub(p.h.Now()) + time.Minute)
	_, err := p.s.Inspect(p.ctx, runKey())
	p.refused("Inspect", err, canonical.ErrRunMissing)
	_, err = p.s.JoinRun(p.ctx, runKey(), theToken)
	p.refused("JoinRun", err, canonical.ErrRunMissing)
	_, err = p.s.Order(p.ctx, runKey(), 0, 10)
	p.refused("Order", err, canonical.ErrRunMissing)
	_, err = p.s.Record(p.ctx, runKey(), c.Call)
	p.refused("Record", err, canonical.ErrMissing)
	_, err = p.s.Complete(p.ctx, c.ready())
	p.refused("Complete", err, canonical.ErrMissing)
	_, err = p.s.Settle(p.ctx, c.ready())
	p.refused("Settle", err, canonical.ErrMissing)
	if got := p.open(func(o *canonical.Opening) { o.Token = "another-token" }); got.LastSeq != 0 || got.Phase != canonical.RunOpen {
		p.Errorf("a new run under the name is %s with sequence %d, want open, 0", got.Phase, got.LastSeq)
	}
	again := p.admit("c1")
	if again.got.Seq != 1 || again.got.State != lifecycle.Projecting {
		p.Errorf("its first call has sequence %d and is %s, want 1, PROJECTING", again.got.Seq, again.got.State)
	}
}

func recordsGoFirst(p *probe) {
	state := p.open()
	c := p.admit("c1")
	p.complete(c.ready())
	if !c.got.Expires.Before(state.Expires) {
		p.Errorf("the record expires %v, the run %v; want the record first", c.got.Expires, state.Expires)
	}
	p.h.Advance(recordTTL + time.Minute)
	if _, err := p.s.Record(p.ctx, runKey(), c.Call); !errors.Is(err, canonical.ErrMissing) {
		p.Errorf("Record = %v, want ErrMissing", err)
	}
	order, err := p.s.Order(p.ctx, runKey(), 0, 10)
	p.must("Order after the record's life", err)
	p.same("order", order, []canonical.Numbered{{Seq: 1, Call: c.Call}})
}

// readEverything reads all that can be read of some calls.
func (p *probe) readEverything(calls ...call) {
	p.T.Helper()
	var names []canonical.CallName
	for _, c := range calls {
		names = append(names, c.Call)
		_, err := p.s.View(p.ctx, c.Run, c.Call)
		p.must("View", err)
		_, err = p.s.Record(p.ctx, c.Run, c.Call)
		p.must("Record", err)
		_, err = p.s.SettlementOf(p.ctx, c.Run, c.Call)
		p.must("SettlementOf", err)
		_, err = p.s.FindEvidence(p.ctx, c.Run, c.EvidenceID)
		p.must("FindEvidence", err)
		if _, err = p.s.RawPart(p.ctx, c.Run, c.Call, 0, 1); !errors.Is(err, canonical.ErrMissing) { // a call without raw
			p.must("RawPart", err)
		}
	}
	_, err := p.s.Heads(p.ctx, runKey(), names)
	p.must("Heads", err)
	_, err = p.s.Order(p.ctx, runKey(), 0, 100)
	p.must("Order", err)
	_, err = p.s.Outstanding(p.ctx, runKey())
	p.must("Outstanding", err)
	_, err = p.s.JoinRun(p.ctx, runKey(), theToken)
	p.must("JoinRun", err)
	_, err = p.s.Inspect(p.ctx, runKey())
	p.must("Inspect", err)
	_, err = p.s.ListRuns(p.ctx, runKey().Scope, canonical.ListedRun{}, 10)
	p.must("ListRuns", err)
	_, err = p.s.ScopeUse(p.ctx, runKey().Scope)
	p.must("ScopeUse", err)
}
