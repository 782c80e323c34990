package bounds

import (
	"strconv"

	"github.com/toolharness/harness/evidence"
)

// MaxFacts is how many facts one result states; with the fact that counts the
// others they are the 16 that a call may have in a run's report.
const MaxFacts = 15

// OmittedPredicate is the predicate of the fact that counts the others.
const OmittedPredicate = "facts_omitted"

// Facts takes facts while they fit, in the order given; from the first that does
// not, all are counted and stated in a last fact. It is for one goroutine.
type Facts struct {
	subject evidence.Subject
	list    []evidence.Fact
	room    int // bytes left, the last fact's taken out
	full    bool
	omitted int
}

// NewFacts starts a list of at most room bytes in its stored form. The subject
// is that of the fact which counts the others. Room for not even that one is a
// *projector.Error.
func NewFacts(subject evidence.Subject, room int) (*Facts, error) {
	f := &Facts{subject: subject}
	need := len("[]") + size(evidence.NewFact(subject, OmittedPredicate, "9223372036854775807"))
	if need > room {
		return nil, tooLarge(need, room)
	}
	f.room = room - need
	return f, nil
}

// Add states one fact of any text; see [evidence.NewFact].
func (f *Facts) Add(subject evidence.Subject, predicate, value string) {
	fact := evidence.NewFact(subject, predicate, value)
	if cost := size(fact); len(f.list) < MaxFacts && cost <= f.room && !f.full {
		f.list = append(f.list, fact)
		f.room -= cost
		return
	}
	f.full = true
	f.omitted++
}

// Omit counts n facts as left out that were never given to Add. Later ones can
// still be added.
func (f *Facts) Omit(n int) { f.omitted += max(n, 0) }

// List returns the facts.
func (f *Facts) List() []evidence.Fact {
	if f.omitted > 0 {
		return append(f.list, evidence.NewFact(f.subject, OmittedPredicate, strconv.Itoa(f.omitted)))
	}
	return f.list
}

// size is what a fact adds to the stored form.
func size(fact evidence.Fact) int {
	encoded, err := evidence.EncodeFacts([]evidence.Fact{fact})
	if err != nil {
		return 1 << 30 // cannot be stored, so it never fits
	}
	return len(encoded) - len("[]") + len(",")
}
