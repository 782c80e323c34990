package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolharness/harness/canonical"
)

func listSubtests() []subtest {
	return []subtest{
		{"K68_runs_of_a_scope_in_pages", 0, runsInPages},
		{"K68_runs_that_end_together", 0, runsThatEndTogether},
		{"K68_nobody_is_moved", 0, nobodyIsMoved},
		{"K68_only_living_runs", 0, onlyLivingRuns},
		{"K68_what_cannot_be_asked", 0, badListing},
		{"K07_K71_P27_keys_of_a_scope_have_a_life", needsScopeKeys, scopeKeysHaveALife},
	}
}

// list reads all pages of a scope. Each run must be behind the one before it, and
// no page may be longer than it was asked for.
func (p *probe) list(scope canonical.Scope, most int) []canonical.ListedRun {
	p.T.Helper()
	var all []canonical.ListedRun
	for {
		last := canonical.ListedRun{}
		if len(all) > 0 {
			last = all[len(all)-1]
		}
		page, err := p.s.ListRuns(p.ctx, scope, last, most)
		p.must("ListRuns", err)
		if len(page) > most {
			p.Errorf("a page of at most %d runs has %d", most, len(page))
		}
		if len(page) == 0 || len(all) > 1000 {
			return all
		}
		for _, run := range page {
			if run.Compare(last) <= 0 {
				p.Fatalf("%v comes behind %v", run, last)
			}
			last = run
		}
		all = append(all, page...)
	}
}

func idsOf(list []canonical.ListedRun) []canonical.RunID {
	ids := []canonical.RunID{}
	for _, run := range list {
		ids = append(ids, run.Run)
	}
	return ids
}

// lasting opens a run of some duration.
func (p *probe) lasting(id canonical.RunID, d time.Duration) canonical.RunState {
	p.T.Helper()
	return p.open(func(o *canonical.Opening) { o.Run, o.Duration = runNamed(id), d })
}

// otherScope differs from the suite's in one field.
func otherScope() canonical.Scope {
	s := runKey().Scope
	s.Owner = "bob"
	return s
}

func runsInPages(p *probe) {
	scope := runKey().Scope
	for _, most := range []int{1, 10} {
		if got := p.list(scope, most); len(got) != 0 {
			p.Errorf("a scope without runs lists %v", got)
		}
	}
	ends := map[canonical.RunID]time.Time{}
	var want []canonical.RunID
	for i := range 7 {
		id := canonical.RunID(fmt.Sprintf("run-%d", (i*3)%7)) // names in another order than ends
		ends[id] = p.lasting(id, time.Duration(i+1)*5*time.Minute).Expires
		want = append(want, id)
	}
	p.open(func(o *canonical.Opening) { o.Run.Scope = otherScope() })
	for _, most := range []int{1, 2, 3, 7, canonical.MaxListedRuns} {
		list := p.list(scope, most)
		p.same(fmt.Sprintf("runs in pages of %d", most), idsOf(list), want)
		for _, run := range list {
			if late := run.Expires.Sub(ends[run.Run]); late < -p.h.Slack || late > time.Minute+p.h.Slack {
				p.Errorf("%s is listed until %v, its run lives until %v", run.Run, run.Expires, ends[run.Run])
			}
		}
	}
	page, err := p.s.ListRuns(p.ctx, scope, canonical.ListedRun{Expires: ends[want[2]].Add(2 * time.Minute)}, 2)
	p.must("ListRuns", err)
	p.same("two runs behind a place where none stands", idsOf(page), want[3:5])
	p.same("runs of the other scope", idsOf(p.list(otherScope(), 10)), []canonical.RunID{runKey().Run})
}

func runsThatEndTogether(p *probe) {
	var want []canonical.RunID
	for i := range 12 {
		id := canonical.RunID(fmt.Sprintf("run-%02d", (i*5)%12))
		p.lasting(id, time.Hour)
		want = append(want, id)
	}
	slices.Sort(want)
	for _, most := range []int{1, 2, 5, 100} {
		got := idsOf(p.list(runKey().Scope, most)) // list checks the order
		slices.Sort(got)
		p.same(fmt.Sprintf("runs in pages of %d", most), got, want)
	}
}

func nobodyIsMoved(p *probe) {
	scope := runKey().Scope
	for i := range 5 {
		p.lasting(canonical.RunID(fmt.Sprintf("run-%d", i)), time.Duration(i+1)*10*time.Minute)
	}
	before := p.list(scope, 10)
	page, err := p.s.ListRuns(p.ctx, scope, canonical.ListedRun{}, 2)
	p.must("ListRuns", err)
	p.same("the first page", page, before[:2])
	p.h.Advance(time.Minute)
	p.lasting("run-early", time.Minute)
	p.lasting("run-late", 90*time.Minute)
	again := p.lasting("run-0", 10*time.Minute)
	if again.Phase != canonical.RunOpen {
		p.Fatalf("opened again: %s", again.Phase)
	}
	for i := range 5 {
		id := canonical.RunID(fmt.Sprintf("run-%d", i))
		_, err := p.s.OpenRun(p.ctx, opening(func(o *canonical.Opening) {
			o.Run, o.Token, o.Duration = runNamed(id), "another-token", 100*time.Minute
		}))
		p.refused("OpenRun with another token", err, canonical.ErrRunTaken)
		_, err = p.s.OpenRun(p.ctx, opening(func(o *canonical.Opening) { o.Run, o.Duration = runNamed(id), 100*time.Minute }))
		p.refused("OpenRun for longer", err, canonical.ErrRunConflict)
	}
	rest, err := p.s.ListRuns(p.ctx, scope, page[1], 10)
	p.must("ListRuns", err)
	p.same("the pages behind the first", idsOf(rest), append(idsOf(before[2:]), "run-late"))
	old := slices.DeleteFunc(p.list(scope, 10), func(r canonical.ListedRun) bool { return r.Run == "run-early" || r.Run == "run-late" })
	p.samePlaces(old, before)
}

// samePlaces compares two looks at the same runs; on servers whose time is shifted
// an end may differ by less than the slack.
func (p *probe) samePlaces(got, want []canonical.ListedRun) {
	p.T.Helper()
	p.same("runs", idsOf(got), idsOf(want))
	for i := range min(len(got), len(want)) {
		if d := got[i].Expires.Sub(want[i].Expires).Abs(); d > p.h.Slack {
			p.Errorf("%s was listed until %v and is now until %v", want[i].Run, want[i].Expires, got[i].Expires)
		}
	}
}

func onlyLivingRuns(p *probe) {
	scope := runKey().Scope
	short := p.lasting("short", 10*time.Minute)
	p.lasting("closed", 30*time.Minute)
	long := p.lasting("long", 90*time.Minute)
	_, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: runNamed("closed"), Token: theToken})
	p.must("CloseRun", err)
	all := p.list(scope, 10)
	p.same("runs", idsOf(all), []canonical.RunID{"short", "closed", "long"})
	p.h.Advance(short.Expires.Sub(p.h.Now()) + 2*time.Minute)
	p.same("runs after the life of the shortest", idsOf(p.list(scope, 10)), []canonical.RunID{"closed", "long"})
	page, err := p.s.ListRuns(p.ctx, scope, all[0], 1)
	p.must("ListRuns", err)
	p.same("the run behind the one that is over", idsOf(page), []canonical.RunID{"closed"})
	p.lasting("short", 10*time.Minute)
	p.h.Advance(long.Expires.Sub(p.h.Now()) + 2*time.Minute)
	p.same("runs after the life of the longest", idsOf(p.list(scope, 1)), []canonical.RunID{"short"})
	p.h.Advance(runDuration + recordTTL)
	if got := p.list(scope, 10); len(got) != 0 {
		p.Errorf("after all lives %v is listed", got)
	}
}

func badListing(p *probe) {
	p.open()
	scope := runKey().Scope
	for _, most := range []int{0, -1, canonical.MaxListedRuns + 1} {
		if got, err := p.s.ListRuns(p.ctx, scope, canonical.ListedRun{}, most); !isArgument(err) || got != nil {
			p.Errorf("a page of %d runs = %v, %v; want an ArgumentError", most, got, err)
		}
	}
	_, err := p.s.ListRuns(p.ctx, canonical.Scope{}, canonical.ListedRun{}, 10)
	if _, is := errors.AsType[*canonical.NameError](err); !is {
		p.Errorf("runs of no scope = %v, want a NameError", err)
	}
	_, err = p.s.ListRuns(p.ctx, scope, canonical.ListedRun{Run: "no {run}", Expires: p.h.Now()}, 10)
	if _, is := errors.AsType[*canonical.NameError](err); !is {
		p.Errorf("runs behind one that cannot be = %v, want a NameError", err)
	}
}

func scopeKeysHaveALife(p *probe) {
	scope := runKey().Scope
	var last time.Time
	check := func(when string) {
		p.T.Helper()
		keys := p.h.ScopeKeys(scope)
		for _, k := range keys {
			if k.Immortal || k.Expires.After(last.Add(time.Minute+p.h.Slack)) {
				p.Errorf("%s: %q expires %v (never: %v), want with the last run, %v", when, k.Name, k.Expires, k.Immortal, last)
			}
		}
	}
	for i, d := range []time.Duration{90, 30, 10, 30, 100} {
		state := p.open(func(o *canonical.Opening) {
			o.Run, o.Duration = runNamed(canonical.RunID(fmt.Sprintf("run-%d", i))), d*time.Minute
			if i%2 == 0 { // the longest and the shortest among them
				o.Quota = canonical.Quota{Records: 1000}
			}
		})
		if state.Expires.After(last) {
			last = state.Expires
		}
		check("a run opened")
		p.h.Advance(time.Minute)
	}
	for i := range 5 {
		_, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: runNamed(canonical.RunID(fmt.Sprintf("run-%d", i))), Token: theToken})
		p.must("CloseRun", err)
		check("a run closed")
	}
	p.list(scope, 2)
	check("reading")
	p.h.Advance(last.Sub(p.h.Now()) - time.Minute)
	again := p.open(quota(1000, 0), func(o *canonical.Opening) { o.Run, o.Duration = runNamed("run-9"), 30*time.Minute }) // most others are over
	last = again.Expires
	check("a run opened when the others are over")
	p.h.Advance(last.Sub(p.h.Now()) + 2*time.Minute)
	if left := p.h.ScopeKeys(scope); len(left) > 0 {
		p.Errorf("after all runs %v is left of their scope", left)
	}
}
