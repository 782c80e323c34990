package fakes

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/toolharness/harness/canonical"
)

// Entry is one thing that a store keeps of a run.
type Entry struct {
	Name    string // as the Redis store's keys, without the run's prefix
	Expires time.Time
}

// Entries lists what is kept of a run, by name; nothing when its life is over.
func (s *Store) Entries(key canonical.RunKey) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(key, s.now())
	if r == nil {
		return nil
	}
	return r.entries()
}

// Fingerprint is a digest over everything that is kept of a run, expiries
// included; empty when its life is over. Two equal ones mean that nothing was
// written in between.
func (s *Store) Fingerprint(key canonical.RunKey) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(key, s.now())
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%+v %v %v %v %v", r.ledger, r.order, r.open, r.effects, r.foreign)
	for _, e := range r.entries() {
		text += fmt.Sprintf("\n%s %v", e.Name, e.Expires)
	}
	for _, n := range r.order {
		if rec := r.record(n.Call); rec != nil {
			text += "\n" + rec.content()
		}
		if set := r.settled[n.Call]; set != nil {
			text += "\n" + set.content()
		}
	}
	return canonical.Body(text).SHA256()
}

func (r *run) entries() []Entry {
	end := r.ledger.expires
	entries := []Entry{{"run", end}}
	for _, set := range []struct {
		name   string
		filled bool
	}{{"order", len(r.order) > 0}, {"open", len(r.open) > 0}, {"effects", len(r.effects) > 0}} {
		if set.filled {
			entries = append(entries, Entry{set.name, end})
		}
	}
	for call := range r.records {
		if rec := r.record(call); rec != nil {
			entries = append(entries, Entry{"call:" + call.String(), rec.head.Expires})
		}
	}
	for call := range r.settled {
		entries = append(entries, Entry{"settled:" + call.String(), end})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries
}

// content spells a record out. Bodies and secrets print as placeholders, so
// their digests stand beside them.
func (rec *record) content() string {
	bodies := []canonical.Body{rec.request, rec.raw.Bytes, rec.agent, rec.head.Facts, rec.head.Coverage, canonical.Body(rec.claim)}
	text := fmt.Sprintf("%+v %+v %s %v %d", rec.head, rec.raw, rec.outcome, rec.swept, rec.reserve)
	for _, b := range bodies {
		text += fmt.Sprint(b == nil) + b.SHA256()
	}
	return text
}

func (set *settlement) content() string {
	text := set.outcome
	if set.late != nil {
		text += fmt.Sprintf(" %+v %s %s", *set.late, set.late.Raw.Bytes.SHA256(), set.late.Agent.SHA256())
	}
	if set.resolved != nil {
		text += fmt.Sprintf(" %+v", *set.resolved)
	}
	return text
}
