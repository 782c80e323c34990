package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
)

// WalkOptions say which walk to take. The same options take the same one.
type WalkOptions struct {
	Seed uint64
	Ops  int // messages and moves of the clock
}

// NamedHarness is one store of a walk.
type NamedHarness struct {
	Name string // the store's name in reports: fake, embedded, redis
	Open func(testing.TB) Harness
}

// Walk sends one long random conversation to several stores and to a model of a
// few maps, side by side: two claims on one name, exhausted budgets, messages
// of an hour ago again, sweeps, verdicts, deletions, and time that passes until
// calls, records and runs are over. Every reply must be the model's; after each
// message every key of the run has the expiry that it was born with (P27, where
// the store can list keys); at intervals and at the end everything that can be
// read is compared. Each store is judged in a subtest of its name.
//
// A store takes part whose runs expire at their deadline and the life of a
// record, give or take two minutes.
//
// The mix of messages and answers is logged with the seed. A walk that meets too
// few collisions, or never meets one of the answers, fails: it would show
// nothing. A failure prints the conversation that leads to it, shortened as far
// as it still fails.
func Walk(t *testing.T, o WalkOptions, stores ...NamedHarness) {
	t.Helper()
	j := travel(t, o, stores)
	t.Logf("seed %d, %d messages\n%s%s", o.Seed, len(j.trail), mix(j.tally), j.collisions)
	for _, problem := range j.thin {
		t.Error(problem)
	}
	for _, x := range j.worlds {
		t.Run(x.name, func(t *testing.T) {
			t.Run("T64_P27_same_answers_and_lawful_lives", func(t *testing.T) {
				if x.wrong != "" {
					t.Errorf("seed %d, message %d: %s\n%s", o.Seed, len(j.trail), x.wrong, shorten(t, j.trail, storeNamed(stores, x.name)))
				}
			})
		})
	}
}

// journey is what came of a walk.
type journey struct {
	worlds     []*world
	trail      []step
	tally      map[string]int // message and answer
	collisions string
	thin       []string // why the walk would show nothing
}

// travel walks until the end or the first thing that is wrong.
func travel(t testing.TB, o WalkOptions, stores []NamedHarness) *journey {
	t.Helper()
	w := newWalk(t, stores)
	g := newGenerator(o.Seed, w.model)
	j := &journey{worlds: w.worlds, tally: map[string]int{}}
	for i := 0; i < o.Ops && !w.broken(); i++ {
		s := g.next()
		j.trail = append(j.trail, s)
		j.tally[w.take(s)]++
		g.took(s)
		if i%500 == 499 || i == o.Ops-1 {
			w.compareAll()
		}
	}
	j.collisions = g.collisions()
	if !w.broken() {
		j.thin = g.thin(j.tally)
	}
	return j
}

func storeNamed(stores []NamedHarness, name string) NamedHarness {
	i := slices.IndexFunc(stores, func(s NamedHarness) bool { return s.Name == name })
	return stores[i]
}

// mix prints what was sent and what came back, most frequent first.
func mix(tally map[string]int) string {
	kinds := slices.SortedFunc(maps.Keys(tally), func(a, b string) int {
		if tally[a] != tally[b] {
			return tally[b] - tally[a]
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&b, "%7d %s\n", tally[kind], kind)
	}
	return b.String()
}

// step is one element of a walk: a message, or a move of the clock.
type step struct {
	advance time.Duration
	message message
}

func (s step) String() string {
	if s.message == nil {
		return fmt.Sprintf("advance %v", s.advance)
	}
	return fmt.Sprintf("%s %+v", s.message.kind(), s.message)
}

// message is one request, in a form that any store and the model understand.
// Times in it count from the start of the walk.
type message interface {
	kind() string
	target() canonical.RunKey
	send(context.Context, *world) string // the store's reply
	predict(*model) string               // the model's
}

// walk is a model and the stores that are compared with it.
type walk struct {
	model  *model
	worlds []*world
}

func newWalk(t testing.TB, stores []NamedHarness) *walk {
	t.Helper()
	w := &walk{model: newModel()}
	for _, s := range stores {
		h := s.Open(t)
		w.worlds = append(w.worlds, &world{name: s.Name, h: h, base: h.Now(), expires: map[canonical.Identity]time.Time{}, born: map[canonical.RunKey]lifeBook{}})
	}
	return w
}

func (w *walk) broken() bool {
	return slices.ContainsFunc(w.worlds, func(x *world) bool { return x.wrong != "" })
}

// take gives one step to everybody and says what it was and how it was answered.
func (w *walk) take(s step) string {
	if s.message == nil {
		w.model.now += s.advance
		for _, x := range w.worlds {
			x.h.Advance(s.advance)
		}
		return "advance"
	}
	word, _, _ := strings.Cut(w.compare(s.message), ";")
	for _, x := range w.worlds {
		x.checkKeys(s.message.target(), w.model)
		switch s.message.(type) {
		case openMessage, closeMessage, releaseMessage:
			x.checkScopeKeys(s.message.target().Scope, w.model)
		}
	}
	return s.message.kind() + ": " + word
}

// compare sends a message to everybody and returns the model's answer.
func (w *walk) compare(m message) string {
	want := m.predict(w.model)
	for _, x := range w.worlds {
		x.now = w.model.now
		if got := m.send(context.Background(), x); got != want {
			x.fail("%s %+v\nanswered  %s\nthe model %s", m.kind(), m, got, want)
		}
	}
	return want
}

// compareAll reads everything of every run and compares.
func (w *walk) compareAll() {
	for _, run := range runPool() {
		w.compare(useMessage{run.Scope})
		w.compare(listMessage{run.Scope, 100})
		for _, x := range w.worlds {
			x.checkScopeKeys(run.Scope, w.model)
		}
		for _, m := range []message{inspectMessage{run}, orderMessage{run, 0, 1000}, outstandingMessage{run}, headsMessage{run, namePool()}} {
			w.compare(m)
		}
		if r := w.model.find(run); r != nil {
			for _, name := range r.order {
				w.compare(recordMessage{run, name})
				w.compare(viewMessage{run, name})
				w.compare(settlementMessage{run, name})
			}
		}
	}
}
