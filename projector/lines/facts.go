package lines

import (
	"fmt"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// How many groups of a kind get a fact. With the record count they stay inside
// what a call may state.
const (
	factLevels   = 5
	factServices = 4
	factPatterns = 5
)

// facts says what the search returned: how many records, and how many of each
// level, service and pattern, with the times of the first and the last.
func (d *document) facts(room int) ([]evidence.Fact, error) {
	log := evidence.Subject{Kind: "log", ID: d.sources[0]}
	if more := len(d.sources) - 1; more > 0 {
		log.ID = evidence.Line(log.ID, evidence.MaxFactName/2) + fmt.Sprintf(" and %d more", more)
	}
	f, err := bounds.NewFacts(log, room)
	if err != nil {
		return nil, err
	}
	f.Add(log, "record_count", d.count(&d.tally.all))
	for _, kind := range []struct {
		name   string
		groups *groups
		most   int
	}{
		{"level", &d.tally.levels, factLevels}, {"service", &d.tally.services, factServices}, {"pattern", &d.tally.patterns, factPatterns},
	} {
		shown, _ := kind.groups.top(kind.most)
		named := 0
		for _, g := range shown {
			if g.name != "" { // a record without a level says nothing of any
				f.Add(evidence.Subject{Kind: kind.name, ID: g.name}, "record_count", d.count(g))
				named++
			}
		}
		f.Omit(kind.groups.named() - named)
	}
	return f.List(), nil
}

// named is the number of groups with a name.
func (g *groups) named() (n int) {
	for _, one := range g.list {
		if one.name != "" {
			n++
		}
	}
	return n
}

// count is a count with its accuracy, times and, where the log has them, the id
// of a record.
func (d *document) count(g *group) string {
	text := fmt.Sprintf("%s %d", d.accuracy(), g.count)
	if !g.first.IsZero() {
		text += ", first " + shownTime(g.first) + ", last " + shownTime(g.last)
	}
	if g.sample != "" {
		text += ", sample " + bounds.Quote(g.sample, evidence.MaxFactName)
	}
	return text
}
