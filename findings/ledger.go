package findings

import (
	"fmt"
	"slices"
	"sync"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// Bounds of a ledger. Rows over them are counted in [Ledger.Omitted] and have no
// part in what the ledger says.
const (
	MaxRows       = 4096
	MaxLedgerText = 1 << 20 // bytes of all texts of all rows
)

// RowKind says what a row is about.
type RowKind string

// The kinds of rows.
const (
	RowBasis     RowKind = "basis"                // why a proposal was made: Basis, Expect, Proposition, Predicts, Dropped
	RowStanding  RowKind = "standing"             // what the model says of ID: Standing, Line, Assertions, Backing, Unknown
	RowConflict  RowKind = "conflict"             // two facts of the model disagree on Key: Witnesses
	RowRefusal   RowKind = "refusal"              // why a citation was refused: ID or Frame, Reason
	RowUnsettled RowKind = "unsettled-by-absence" // ID was ruled out because nothing was found: Scope, NotChecked, CannotCover, TryInstead (F46)
)

// Origin is what a row was declared on: a proposed call, or a final answer.
type Origin struct {
	Call   canonical.CallName
	Answer Stage // RawAnswer or TransformedAnswer; then Call is empty
}

// Row is one line of the ledger. Fields that its kind does not name are empty. A
// row says what a model declared, and never that it is true (F22).
type Row struct {
	Kind   RowKind `json:"kind"`
	Origin Origin  `json:"-"`

	// Refused: the proposal was not admitted. Such rows are kept for diagnosis
	// and change nothing: no standing, no offer, no conflict (F21).
	Refused bool `json:"refused,omitzero"`

	ID          string          `json:"id,omitzero"`      // as written; cut at MaxListedID bytes, with a mark
	Unknown     bool            `json:"unknown,omitzero"` // the id was not found, or was not admitted (F40)
	Standing    Standing        `json:"standing,omitzero"`
	Backing     Backing         `json:"backing,omitzero"`
	Line        string          `json:"line,omitzero"`
	Assertions  []evidence.Fact `json:"assertions,omitzero"`
	Cut         int             `json:"cut,omitzero"` // assertions over the bound
	Basis       Basis           `json:"basis,omitzero"`
	Expect      Expect          `json:"expect,omitzero"`
	Proposition string          `json:"proposition,omitzero"`
	Predicts    string          `json:"predicts,omitzero"`
	Dropped     int             `json:"dropped,omitzero"`
	Reason      Reason          `json:"reason,omitzero"`
	Frame       *Frame          `json:"frame,omitzero"`
	Key         string          `json:"key,omitzero"`       // subject kind, subject id and predicate, quoted
	Witnesses   []string        `json:"witnesses,omitzero"` // the ids whose results the model read differently
	Scope       string          `json:"scope,omitzero"`     // where was looked, one line
	NotChecked  []string        `json:"not_checked,omitzero"`
	CannotCover []evidence.Gap  `json:"cannot_cover,omitzero"`
	TryInstead  string          `json:"try_instead,omitzero"`
}

// Format prints kind, reason and sizes, none of the model's words.
func (r Row) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{%s refused %t standing %q backing %q reason %q, %d bytes}", r.Kind, r.Refused, r.Standing, r.Backing, r.Reason, r.size())
}

// Ledger keeps what a model declared, in order. Rows are added and never changed
// or taken away (F39). The zero value is empty and ready; it is safe for
// concurrent use. Nothing here is read to decide on an admission or to report a
// fact.
type Ledger struct {
	mu      sync.Mutex
	rows    []Row
	text    int
	omitted int
	sums    fold
}

// File adds the rows of one admission: what was said of the proposal, then for
// each citation its standing, and beside it a refusal, an unsettled absence or a
// conflict.
func (l *Ledger) File(origin Origin, a Admission) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused := a.Refused()
	d := a.Declaration
	if d.said() {
		l.add(Row{Kind: RowBasis, Origin: origin, Refused: refused, Basis: d.Basis, Expect: d.Expect,
			Proposition: d.Proposition, Predicts: d.Predicts, Dropped: d.Dropped})
	}
	for i, c := range d.Previous {
		if i < len(a.Verdicts) {
			l.file(origin, refused, c, a.Verdicts[i])
		}
	}
	for _, v := range a.Verdicts[min(len(d.Previous), len(a.Verdicts)):] {
		l.add(Row{Kind: RowRefusal, Origin: origin, Refused: true, Reason: v.Refused, Frame: d.Frame})
	}
}

func (l *Ledger) file(origin Origin, refused bool, c Citation, v Verdict) {
	base := Row{Origin: origin, Refused: refused, ID: listed(c.ID)}
	standing := base
	standing.Kind, standing.Standing, standing.Line = RowStanding, c.Standing, c.Line
	standing.Assertions, standing.Cut = slices.Clone(c.Assertions), c.Cut
	standing.Backing, standing.Unknown = v.Backing, v.Refused != ""
	added := l.add(standing)
	switch {
	case v.Refused != "":
		base.Kind, base.Reason = RowRefusal, v.Refused
		l.add(base)
	case c.Standing == StandingRuledOut && v.Backing == BacksAbsence:
		base.Kind, base.Scope = RowUnsettled, v.Coverage.Sentence(2*MaxLine)
		base.NotChecked, base.CannotCover = slices.Clone(v.Coverage.Unchecked), slices.Clone(v.Coverage.Uncovered)
		base.TryInstead = v.Coverage.TryInstead
		l.add(base)
	}
	if !added || refused {
		return
	}
	for _, conflict := range l.sums.conflicts(standing) {
		conflict.Kind, conflict.Origin = RowConflict, origin
		l.add(conflict)
	}
}

// add appends a row where there is room for it.
func (l *Ledger) add(r Row) bool {
	size := r.size()
	if len(l.rows) >= MaxRows || l.text+size > MaxLedgerText {
		l.omitted++
		return false
	}
	l.text += size
	l.rows = append(l.rows, r)
	l.sums.apply(r)
	return true
}

// Rows are all rows in order, as a copy.
func (l *Ledger) Rows() []Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows)
}

// Omitted counts rows that had no room. Then a later standing may be missing.
func (l *Ledger) Omitted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.omitted
}

// Standing is the last standing that an admitted proposal gave to an id; false
// where none did.
func (l *Ledger) Standing(id string) (Row, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.sums.last[listed(id)]
	if !ok {
		return Row{}, false
	}
	return l.rows[at], true
}

// standings are the last standings, in the order in which their ids were first
// spoken of.
func (l *Ledger) standings() []Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Row, 0, len(l.sums.order))
	for _, id := range l.sums.order {
		all = append(all, l.rows[l.sums.last[id]])
	}
	return all
}

// Format prints counts.
func (l *Ledger) Format(f fmt.State, _ rune) {
	if l == nil {
		fmt.Fprint(f, "{no ledger}")
		return
	}
	fmt.Fprintf(f, "{%d rows, %d omitted}", len(l.Rows()), l.Omitted())
}

// size is the bytes of a row's texts.
func (r Row) size() int {
	n := len(r.ID) + len(r.Line) + len(r.Proposition) + len(r.Predicts) + len(r.Key) + len(r.Scope) + len(r.TryInstead)
	if r.Frame != nil {
		n += len(r.Frame.Text)
	}
	for _, a := range r.Assertions {
		n += len(a.Subject.Kind) + len(a.Subject.ID) + len(a.Predicate) + len(a.Value)
	}
	for _, list := range [][]string{r.Witnesses, r.NotChecked} {
		for _, item := range list {
			n += len(item)
		}
	}
	for _, g := range r.CannotCover {
		n += len(g.What) + len(g.Reason)
	}
	return n
}

// listed is an id as the ledger keeps it: whole up to the length of a valid one.
func listed(id string) string { return evidence.Clip(id, MaxListedID) }
