package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/toolharness/harness/canonical"
)

func quotaSubtests() []subtest {
	return []subtest{
		{"K72_a_run_reserves_its_whole_capacity", 0, reservesCapacity},
		{"K72_a_refusal_writes_nothing", needsScopeKeys | needsKeys, fullWritesNothing},
		{"K72_K02_opening_a_run_that_is_there", 0, reservesOnce},
		{"K72_K03_an_opening_that_is_refused", 0, refusedReservesNothing},
		{"K72_what_cannot_be_reserved", 0, badQuotas},
		{"K73_close_gives_back", 0, closeGivesBack},
		{"K73_release_needs_no_token", 0, releaseGivesBack},
		{"K74_what_is_over_counts_for_nothing", 0, overCountsNothing},
		{"K75_P26_last_of_a_quota", 0, raceForQuota},
		{"K75_one_run_many_openings", 0, raceForOneRun},
		{"K76_use_of_a_scope", 0, useOfAScope},
	}
}

// quota puts one into an opening.
func quota(records, bytes int64) func(*canonical.Opening) {
	return func(o *canonical.Opening) { o.Quota = canonical.Quota{Records: records, Bytes: bytes} }
}

// inRun gives an opening another run.
func inRun(id canonical.RunID) func(*canonical.Opening) {
	return func(o *canonical.Opening) { o.Run = runNamed(id) }
}

// use is what the suite's scope has reserved.
func (p *probe) use() canonical.Use {
	p.T.Helper()
	use, err := p.s.ScopeUse(p.ctx, runKey().Scope)
	p.must("ScopeUse", err)
	return use
}

func (p *probe) uses(when string, runs int, records, bytes int64) {
	p.T.Helper()
	p.same("what is reserved "+when, p.use(), canonical.Use{Runs: runs, Records: records, Bytes: bytes})
}

// full checks an opening that must be refused for the quota, with its numbers.
func (p *probe) full(wanted, limit int64, change ...func(*canonical.Opening)) {
	p.T.Helper()
	_, err := p.s.OpenRun(p.ctx, opening(change...))
	p.refused("OpenRun beyond the quota", err, canonical.ErrQuota)
	var no *canonical.RefusedError
	if errors.As(err, &no) && (no.Wanted != wanted || no.Limit != limit) {
		p.Errorf("wanted %d, limit %d; want %d, %d", no.Wanted, no.Limit, wanted, limit)
	}
}

func reservesCapacity(p *probe) {
	q := quota(10, 2500)
	p.open(inRun("r1"), q, budget(4, 4, 1000))
	p.uses("by one run", 1, 4, 1000)
	p.open(inRun("unbounded"), budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	p.open(inRun("r2"), q, budget(4, canonical.Unlimited, 1000))
	p.uses("by two, and one without a quota", 2, 8, 2000)
	p.full(12, 10, inRun("r3"), q, budget(4, 4, 100))
	p.full(2600, 2500, inRun("r3"), q, budget(2, 2, 600))
	p.full(12, 10, inRun("r3"), q, budget(4, 4, 1000))
	p.uses("after refusals", 2, 8, 2000)
	p.full(9, 8, inRun("r3"), quota(8, 0), budget(1, 1, 1<<40))
	p.full(2001, 2000, inRun("r3"), quota(0, 2000), budget(1_000_000, 1, 1))
	p.open(inRun("r3"), q, budget(2, 2, 500))
	p.uses("to the last byte", 3, 10, 2500)
	p.full(11, 10, inRun("r4"), q, budget(1, 1, 0))
	p.full(2501, 2500, inRun("r4"), q, budget(0, 0, 1))
	p.open(inRun("r4"), q, budget(0, 0, 0))
	p.open(inRun("r5"), quota(20, 0), budget(5, 5, 1<<40))
	p.uses("under a larger quota, of records alone", 5, 15, 2500+1<<40)
	p.open(func(o *canonical.Opening) { o.Run.Scope = otherScope() }, q, budget(10, 10, 2500))
	p.uses("whatever another scope has", 5, 15, 2500+1<<40)
}

func fullWritesNothing(p *probe) {
	p.open(inRun("r1"), quota(4, 0), budget(4, 4, 1000))
	scope, listed := fmt.Sprint(p.h.ScopeKeys(runKey().Scope)), p.list(runKey().Scope, 10)
	p.full(8, 4, inRun("r2"), quota(4, 0), budget(4, 4, 1000), func(o *canonical.Opening) { o.Duration = 3 * time.Hour })
	_, err := p.s.Inspect(p.ctx, runNamed("r2"))
	p.refused("Inspect of the run that was refused", err, canonical.ErrRunMissing)
	if left := p.h.Keys(runNamed("r2")); len(left) > 0 {
		p.Errorf("the refusal left %v", left)
	}
	if p.h.Slack == 0 { // else the same instant reads a little differently each time
		p.same("keys of the scope", fmt.Sprint(p.h.ScopeKeys(runKey().Scope)), scope)
	}
	p.samePlaces(p.list(runKey().Scope, 10), listed)
}

func reservesOnce(p *probe) {
	q := quota(4, 1000)
	for range 3 {
		p.open(inRun("r1"), q, budget(4, 4, 1000))
		p.uses("by one run", 1, 4, 1000)
	}
	for name, other := range map[string]func(*canonical.Opening){"none": quota(0, 0), "smaller": quota(1, 1), "larger": quota(100, 100_000)} {
		if state := p.open(inRun("r1"), other, budget(4, 4, 1000)); state.Phase != canonical.RunOpen {
			p.Errorf("opened again with another quota, %s: %s", name, state.Phase)
		}
		p.uses("by one run that was opened again with another quota, "+name, 1, 4, 1000)
	}
	p.open(inRun("r2"), budget(5, 5, 500))
	for name, late := range map[string]func(*canonical.Opening){"has room": quota(100, 100_000), "is full": q} {
		if state := p.open(inRun("r2"), late, budget(5, 5, 500)); state.Run.Run != "r2" {
			p.Errorf("opened again: %v", state.Run)
		}
		p.uses("by one run, and another that was opened without a quota first, which now "+name, 1, 4, 1000)
	}
	_, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: runNamed("r1"), Token: theToken})
	p.must("CloseRun", err)
	if state := p.open(inRun("r1"), q, budget(4, 4, 1000)); state.Phase != canonical.RunClosed {
		p.Errorf("opened after close: %s, want closed", state.Phase)
	}
	p.uses("by a closed run that was opened again", 1, 0, 0)
}

func refusedReservesNothing(p *probe) {
	p.open(inRun("r1"), quota(100, 0), budget(4, 4, 1000))
	p.open(inRun("r2"), budget(4, 4, 1000))
	for _, id := range []canonical.RunID{"r1", "r2"} {
		for _, q := range []func(*canonical.Opening){quota(100, 0), quota(1, 0)} {
			_, err := p.s.OpenRun(p.ctx, opening(inRun(id), q, budget(4, 4, 1000), func(o *canonical.Opening) { o.Token = "another-token" }))
			p.refused("OpenRun with another token", err, canonical.ErrRunTaken)
			_, err = p.s.OpenRun(p.ctx, opening(inRun(id), q, budget(9, 4, 1000)))
			p.refused("OpenRun with another budget", err, canonical.ErrRunConflict)
		}
	}
	p.uses("after openings that were refused", 1, 4, 1000)
	p.full(12, 11, inRun("r3"), quota(11, 0), budget(8, 8, 10))
	p.open(inRun("r3"), quota(12, 0), budget(8, 8, 10))
}

func badQuotas(p *probe) {
	for name, change := range map[string][]func(*canonical.Opening){
		"calls without limit":                           {quota(10, 10), budget(canonical.Unlimited, 1, 10)},
		"bytes without limit":                           {quota(10, 10), budget(1, 1, canonical.Unlimited)},
		"bytes without limit beside a quota of records": {quota(10, 0), budget(1, 1, canonical.Unlimited)},
		"less than no records":                          {quota(-1, 10), budget(1, 1, 1)},
		"less than no bytes":                            {quota(10, -1), budget(1, 1, 1)},
		"more than can be counted":                      {quota(canonical.MaxQuota+1, 10), budget(1, 1, 1)},
	} {
		if _, err := p.s.OpenRun(p.ctx, opening(change...)); !isArgument(err) {
			p.Errorf("%s: OpenRun = %v, want an ArgumentError", name, err)
		}
	}
	p.uses("by nobody", 0, 0, 0)
	_, err := p.s.Inspect(p.ctx, runKey())
	p.refused("Inspect", err, canonical.ErrRunMissing)
	p.open(quota(canonical.MaxQuota, canonical.MaxQuota), budget(canonical.MaxBudgetCalls, 1, canonical.MaxBudgetBytes))
	p.uses("by the largest run", 1, canonical.MaxBudgetCalls, canonical.MaxBudgetBytes)
}

func closeGivesBack(p *probe) {
	q, room := quota(10, 20*callReserve), budget(10, 10, 16*callReserve)
	p.open(q, room)
	ended, open, lost := p.admit("ended"), p.admit("open"), p.admit("lost", writes)
	p.complete(ended.ready())
	p.uses("by a run that is open", 1, 10, 16*callReserve)
	p.full(11, 10, inRun("r2"), q, budget(1, 1, 1))
	p.close()
	kept := held(ended.Request, ended.ready())
	p.uses("after close", 1, 3, kept+2*callReserve)
	p.close()
	p.uses("after a second close", 1, 3, kept+2*callReserve)
	p.open(inRun("r2"), q, budget(7, 7, 1))
	p.complete(open.toolFailed())
	p.complete(lost.unknown())
	p.close()
	kept += int64(len(open.Request) + len(lost.Request))
	p.uses("after endings and another close", 2, 10, kept+1)
	p.must("Delete", p.s.Delete(p.ctx, runKey(), ended.Call))
	p.close()
	kept -= held(ended.Request, ended.ready())
	p.uses("after a deletion and another close", 2, 10, kept+1)
	_, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: runNamed("r2"), Token: "another-token"})
	p.refused("CloseRun with another token", err, canonical.ErrRunTaken)
	p.uses("after a refused close", 2, 10, kept+1)
	_, err = p.s.CloseRun(p.ctx, canonical.Closing{Run: runNamed("r2"), Token: theToken})
	p.must("CloseRun", err)
	p.uses("after a run was closed that nobody used", 2, 3, kept)
	p.same("the run's own count", p.state().Reserved, kept)
}

func releaseGivesBack(p *probe) {
	p.refused("ReleaseRun without a run", p.s.ReleaseRun(p.ctx, runKey()), canonical.ErrRunMissing)
	state := p.open(quota(10, 0), budget(10, 10, 16*callReserve))
	p.open(inRun("without"), budget(5, 5, 5))
	c, d := p.admit("c"), p.admit("d")
	p.complete(c.ready())
	p.must("ReleaseRun of an open run", p.s.ReleaseRun(p.ctx, runKey()))
	p.must("ReleaseRun of a run without a reservation", p.s.ReleaseRun(p.ctx, runNamed("without")))
	p.uses("by an open run", 1, 10, 16*callReserve)
	p.close()
	p.complete(d.ready())
	p.must("Delete", p.s.Delete(p.ctx, runKey(), c.Call))
	for range 2 {
		p.must("ReleaseRun", p.s.ReleaseRun(p.ctx, runKey()))
		p.uses("after a late ending, a deletion and a release", 1, 2, held(d.Request, d.ready()))
	}
	p.must("Delete", p.s.Delete(p.ctx, runKey(), d.Call))
	p.must("ReleaseRun", p.s.ReleaseRun(p.ctx, runKey()))
	p.uses("when every record is deleted", 1, 2, 0)
	p.h.Advance(state.Expires.Sub(p.h.Now()) + time.Minute)
	p.refused("ReleaseRun after the run's life", p.s.ReleaseRun(p.ctx, runKey()), canonical.ErrRunMissing)
}

func overCountsNothing(p *probe) {
	q := quota(10, 1000)
	short := p.open(inRun("short"), q, budget(6, 6, 600), func(o *canonical.Opening) { o.Duration = 10 * time.Minute })
	long := p.open(inRun("long"), q, budget(4, 4, 400))
	p.full(11, 10, inRun("next"), q, budget(1, 1, 1))
	p.h.Advance(short.Expires.Sub(p.h.Now()) - 5*time.Minute)
	p.full(11, 10, inRun("next"), q, budget(1, 1, 1))
	p.uses("before the first life is over", 2, 10, 1000)
	p.h.Advance(7 * time.Minute)
	p.uses("after the first life", 1, 4, 400)
	p.full(11, 10, inRun("next"), q, budget(7, 7, 1))
	p.open(inRun("short"), q, budget(5, 5, 600))
	p.uses("with another run of the same name", 2, 9, 1000)
	p.h.Advance(long.Expires.Sub(p.h.Now()) + 2*time.Minute)
	p.uses("after the second life", 1, 5, 600)
	p.h.Advance(runDuration + recordTTL)
	p.uses("after all lives", 0, 0, 0)
	p.open(inRun("again"), q, budget(10, 10, 1000))
	p.uses("by one new run", 1, 10, 1000)
}

func raceForQuota(p *probe) {
	q := quota(3*5+4, 0) // room for three, and nearly for a fourth
	for round := range rounds {
		openings := make([]canonical.Opening, racers)
		for i := range racers {
			openings[i] = opening(inRun(canonical.RunID(fmt.Sprintf("r%d-%d", round, i))), q, budget(5, 5, 100))
		}
		errs := race(racers, func(i int) error {
			_, err := p.s.OpenRun(p.ctx, openings[i])
			return err
		})
		if n := p.won("last of a quota", errs, canonical.ErrQuota); n != 3 {
			p.Errorf("%d of %d openings got room, where three fit", n, racers)
		}
		p.uses("by those that fitted", 3*(round+1), 15, 300)
		closed := race(racers, func(i int) error {
			if errs[i] != nil {
				return nil
			}
			_, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: openings[i].Run, Token: theToken})
			return err
		})
		p.won("closing", closed, nil)
		p.uses("when all are closed", 3*(round+1), 0, 0)
	}
}

func raceForOneRun(p *probe) {
	for round := range rounds {
		id := canonical.RunID(fmt.Sprintf("r%d", round))
		openings := make([]canonical.Opening, racers)
		for i := range racers {
			openings[i] = opening(inRun(id), quota(1000, 0), budget(5, 5, 100), func(o *canonical.Opening) { o.Token = canonical.Token(fmt.Sprintf("token-%d", i)) })
		}
		errs := race(racers, func(i int) error {
			_, err := p.s.OpenRun(p.ctx, openings[i])
			return err
		})
		if n := p.won("one run", errs, canonical.ErrRunTaken); n != 1 {
			p.Errorf("%d of %d openings of one run got it, want 1", n, racers)
		}
		p.uses("by one run a round", round+1, int64(5*(round+1)), int64(100*(round+1)))
	}
}

func useOfAScope(p *probe) {
	p.uses("in a scope that nobody knows", 0, 0, 0)
	if _, err := p.s.ScopeUse(p.ctx, canonical.Scope{}); err == nil {
		p.Errorf("ScopeUse of no scope succeeded")
	}
	p.open(inRun("without"))
	p.uses("by a run without a quota", 0, 0, 0)
	p.open(inRun("r1"), quota(50, 0), budget(7, 7, 70))
	p.open(inRun("r2"), quota(50, 0), budget(3, 3, 30))
	p.uses("by two", 2, 10, 100)
	if other, err := p.s.ScopeUse(p.ctx, otherScope()); err != nil || other != (canonical.Use{}) {
		p.Errorf("what is reserved in another scope = %+v, %v; want nothing", other, err)
	}
	_, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: runNamed("r1"), Token: theToken})
	p.must("CloseRun", err)
	p.uses("by one, and one that is closed", 2, 3, 30)
	if p.h.ScopeKeys == nil || p.h.Slack != 0 {
		return
	}
	before := fmt.Sprint(p.h.ScopeKeys(runKey().Scope))
	p.h.Advance(time.Minute)
	p.use()
	p.same("keys of the scope", fmt.Sprint(p.h.ScopeKeys(runKey().Scope)), before)
}
