package findings

import (
	"fmt"
	"strings"

	"github.com/toolharness/harness/evidence"
)

// MaxListed bounds each part of [Ledger.Text], in lines.
const MaxListed = 64

// Text states what the model itself has declared so far, for a prompt: a part for
// each standing, a line of at most MaxLine code points for each id, what is over
// the bound counted. It has no row of a refused proposal but their number.
func (l *Ledger) Text() string {
	var b strings.Builder
	rows := l.standings()
	for _, part := range []struct {
		title string
		in    func(Row) bool
	}{
		{"You called a fact:", func(r Row) bool { return r.Standing == StandingFact && r.Backing == BacksFact }},
		{"You cited as fact, though nothing was found there:", func(r Row) bool { return r.Standing == StandingFact && r.Backing == BacksAbsence }},
		{"You ruled out:", func(r Row) bool { return r.Standing == StandingRuledOut }},
		{"You called open:", func(r Row) bool { return r.Standing == StandingOpen }},
		{"You called noise:", func(r Row) bool { return r.Standing == StandingNoise }},
	} {
		writePart(&b, part.title, rows, part.in)
	}
	if n := l.count(RowRefusal); n > 0 {
		fmt.Fprintf(&b, "Citations refused: %d.\n", n)
	}
	if n := l.count(RowUnsettled); n > 0 {
		fmt.Fprintf(&b, "Ruled out only because nothing was found: %d.\n", n)
	}
	if n := l.Omitted(); n > 0 {
		fmt.Fprintf(&b, "Not kept for want of room: %d.\n", n)
	}
	return b.String()
}

func writePart(b *strings.Builder, title string, rows []Row, in func(Row) bool) {
	n := 0
	for _, r := range rows {
		if !in(r) {
			continue
		}
		n++
		if n == 1 {
			b.WriteString(title + "\n")
		}
		if n <= MaxListed {
			b.WriteString(line(fmt.Sprintf("- %s %q", evidence.Line(r.ID, MaxListedID), r.Line)) + "\n")
		}
	}
	if n > MaxListed {
		fmt.Fprintf(b, "- and %d more\n", n-MaxListed)
	}
}

func (l *Ledger) count(kind RowKind) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, r := range l.rows {
		if r.Kind == kind {
			n++
		}
	}
	return n
}
