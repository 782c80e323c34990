package findings

import (
	"slices"
	"strconv"

	"github.com/toolharness/harness/evidence"
)

// fold is what the rows of a ledger come to. It can be made again from the rows
// alone, which is how a stored ledger is read.
type fold struct {
	rows       int
	last       map[string]int // row of the last standing, by id
	order      []string
	facts      map[string]map[string]string // values of the model's facts, by key and id
	conflicted map[string]bool              // keys that have their row
	keys       map[string][]string          // of the facts of an id, so that a new standing can take them back
}

// apply takes a row into account. Only standings of admitted proposals count.
func (f *fold) apply(r Row) {
	at := f.rows
	f.rows++
	switch {
	case r.Kind == RowConflict:
		f.conflicted = put(f.conflicted, r.Key, true)
	case r.Kind != RowStanding || r.Refused || r.Unknown:
	default:
		if _, known := f.last[r.ID]; !known {
			f.order = append(f.order, r.ID)
		}
		f.last = put(f.last, r.ID, at)
		f.retract(r.ID)
		f.assert(r)
	}
}

// retract forgets the facts of an id: its last standing wins.
func (f *fold) retract(id string) {
	for _, key := range f.keys[id] {
		delete(f.facts[key], id)
	}
	delete(f.keys, id)
}

// assert notes what the model says that a result shows, where the result may be
// read as a fact.
func (f *fold) assert(r Row) {
	if r.Standing != StandingFact || r.Backing != BacksFact {
		return
	}
	for _, a := range r.Assertions {
		key := assertionKey(a)
		f.facts = put(f.facts, key, put(f.facts[key], r.ID, a.Value))
		f.keys = put(f.keys, r.ID, append(f.keys[r.ID], key))
	}
}

// conflicts are the keys on which a row, already applied, disagrees with another
// result, each once in the life of the ledger (F39).
func (f *fold) conflicts(r Row) []Row {
	var all []Row
	for _, key := range f.keys[r.ID] {
		if f.conflicted[key] {
			continue
		}
		mine := f.facts[key][r.ID]
		var ids []string
		for id, value := range f.facts[key] {
			if value != mine {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		f.conflicted = put(f.conflicted, key, true)
		ids = append(ids, r.ID)
		slices.Sort(ids)
		all = append(all, Row{Key: key, Witnesses: ids[:min(len(ids), MaxOffered)]})
	}
	return all
}

// assertionKey names what an assertion is about. Quoting keeps the parts apart.
func assertionKey(a evidence.Fact) string {
	return strconv.Quote(a.Subject.Kind) + " " + strconv.Quote(a.Subject.ID) + " " + strconv.Quote(a.Predicate)
}

func put[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	if m == nil {
		m = make(map[K]V)
	}
	m[k] = v
	return m
}
