package lines

import (
	"cmp"
	"slices"
	"time"

	"github.com/toolharness/harness/evidence"
)

// Bounds of a tally, so that a log of nothing but different words cannot take
// more memory than it is worth.
const (
	maxGroups    = 4096 // of one kind; further ones are counted together
	patternBytes = evidence.MaxFactValue
)

// group counts records that have something in common.
type group struct {
	name        string // empty: the records without one
	count       int64
	first, last time.Time // of the records with a time
	sample      string    // id of the first record that has one
}

func (g *group) add(r Record) {
	g.count++
	if g.sample == "" {
		g.sample = r.ID
	}
	if r.Time.IsZero() {
		return
	}
	if g.first.IsZero() || r.Time.Before(g.first) {
		g.first = r.Time
	}
	if r.Time.After(g.last) {
		g.last = r.Time
	}
}

// groups are the groups of one kind, in the order of their first record.
type groups struct {
	byName map[string]*group
	list   []*group
	others int64 // records of groups beyond maxGroups
}

func (g *groups) add(name string, r Record) {
	one, ok := g.byName[name]
	if !ok {
		if len(g.list) == maxGroups {
			g.others++
			return
		}
		one = &group{name: name}
		g.byName[name] = one
		g.list = append(g.list, one)
	}
	one.add(r)
}

// top returns at most n groups, the largest first, and counts the records of all
// others. Groups of one size stay in the order of their first record.
func (g *groups) top(n int) (shown []*group, others int64) {
	sorted := slices.Clone(g.list)
	slices.SortStableFunc(sorted, func(a, b *group) int { return cmp.Compare(b.count, a.count) })
	shown = sorted[:min(n, len(sorted))]
	others = g.others
	for _, rest := range sorted[len(shown):] {
		others += rest.count
	}
	return shown, others
}

// tally counts records as they are read.
type tally struct {
	all                        group
	withoutTime                int64
	levels, services, patterns groups
}

func newTally() *tally {
	t := &tally{}
	for _, g := range []*groups{&t.levels, &t.services, &t.patterns} {
		g.byName = map[string]*group{}
	}
	return t
}

func (t *tally) add(r Record) {
	t.all.add(r)
	if r.Time.IsZero() {
		t.withoutTime++
	}
	t.levels.add(r.Level, r)
	t.services.add(r.Service, r)
	t.patterns.add(evidence.Line(Pattern(r.Message), patternBytes), r)
}
