package checker

import (
	"fmt"
	"sort"
	"strings"
)

// withoutTTL lists the keys of a run that have no expiry, or another than the
// one that was chosen at birth: the ledger's for the run, the record's own.
func (r *run) withoutTTL() []string {
	var bad []string
	for part, at := range r.expiry {
		want := number(r.ledger["ex"])
		if call, ok := strings.CutPrefix(part, "call:"); ok && r.records[call] != nil {
			want = number(r.records[call].fields["ex"])
		}
		switch {
		case at <= 0:
			bad = append(bad, part+" has no expiry")
		case r.ledger == nil || want < 0 || r.isForeign(part):
			// what it was born with is not known any more
		case at != want:
			bad = append(bad, fmt.Sprintf("%s expires at %d, and was born to expire at %d", part, at, want))
		}
	}
	sort.Strings(bad)
	return bad
}

func (r *run) isForeign(part string) bool {
	for _, f := range r.foreign {
		if f == part {
			return true
		}
	}
	return false
}

// miscounted compares budgets, sequence and order of a run with its admissions.
// gone are what injections took away from it.
func (r *run) miscounted(gone map[string]bool) []string {
	if r.ledger == nil || gone["put back"] || gone["server"] {
		return nil
	}
	var bad []string
	guards := r.guards()
	if n := number(r.ledger["sq"]); n != int64(len(guards)) {
		bad = append(bad, fmt.Sprintf("the last sequence is %d, and %d calls are guarded", n, len(guards)))
	}
	uses := int64(0)
	for field, value := range r.ledger {
		if strings.HasPrefix(field, "u:") {
			uses += number(value)
		}
	}
	if uses != int64(len(guards)) {
		bad = append(bad, fmt.Sprintf("%d calls are counted against tools, and %d are guarded", uses, len(guards)))
	}
	if !r.isForeign("order") && len(r.order) != len(guards) {
		bad = append(bad, fmt.Sprintf("%d calls are in order, and %d are guarded", len(r.order), len(guards)))
	}
	for _, name := range guards {
		if !r.isForeign("order") && int64(r.order[name]) != number(r.ledger["c:"+name]) {
			bad = append(bad, "order and guard of "+name+" differ")
		}
	}
	for name := range r.open {
		if rec := r.records[name]; rec != nil && rec.fields["st"] != "PROJECTING" {
			bad = append(bad, name+" has ended and is in the set of open calls")
		}
	}
	if !gone["expired"] && !gone["foreign"] && len(r.foreign) == 0 {
		held := int64(0)
		for _, rec := range r.records {
			held += number(rec.fields["rs"])
		}
		if n := number(r.ledger["rs"]); n != held {
			bad = append(bad, fmt.Sprintf("%d bytes are reserved, the records hold %d", n, held))
		}
	}
	sort.Strings(bad)
	return bad
}

// quota is what the runs of a scope have reserved.
type quota struct {
	held map[string]float64 // reservations
	sums map[string]string  // n and b, and r:<reservation> for each
}

// miscounted compares the sums of a quota with its reservations. Nothing is
// pruned while an audit looks, so both have the same ones.
func (q *quota) miscounted() []string {
	if q.held == nil && q.sums == nil {
		return nil
	}
	var bad []string
	var records, bytes int64
	for field, value := range q.sums {
		name, ok := strings.CutPrefix(field, "r:")
		if !ok {
			continue
		}
		if _, there := q.held[name]; !there {
			bad = append(bad, "a reservation that no run holds: "+name)
		}
		parts := strings.Split(value, ":")
		if len(parts) != 3 {
			bad = append(bad, "a reservation that is none: "+value)
			continue
		}
		records, bytes = records+number(parts[0]), bytes+number(parts[1])
	}
	for name := range q.held {
		if _, there := q.sums["r:"+name]; !there {
			bad = append(bad, "a run that holds nothing that was reserved: "+name)
		}
	}
	if n, b := number(q.sums["n"]), number(q.sums["b"]); n != records || b != bytes {
		bad = append(bad, fmt.Sprintf("the sums are %d calls and %d bytes, the reservations come to %d and %d", n, b, records, bytes))
	}
	sort.Strings(bad)
	return bad
}
