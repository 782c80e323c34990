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
	Name    string    // as the Redis store's keys, without the run's prefix
	Expires time.Time // of the entry
	Content string    // digest over everything in it, lower-case hex
}

// Entries lists what is kept of a run, by name; nothing when its life is over.
// Two equal lists mean that nothing was written in between.
func (s *Store) Entries(key canonical.RunKey) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(key, s.now())
	if r == nil {
		return nil
	}
	end := r.ledger.expires
	var entries []Entry
	add := func(name string, expires time.Time, content string) {
		entries = append(entries, Entry{name, expires, canonical.Body(content).SHA256()})
	}
	add("run", end, fmt.Sprintf("%+v", r.ledger))
	if len(r.order) > 0 {
		add("order", end, fmt.Sprint(r.order))
	}
	if len(r.open) > 0 {
		add("open", end, fmt.Sprint(r.open))
	}
	if len(r.effects) > 0 {
		add("effects", end, fmt.Sprint(r.effects))
	}
	for call, rec := range r.records {
		add("call:"+call.String(), rec.head.Expires, rec.content())
	}
	for call, set := range r.settled {
		add("settled:"+call.String(), end, set.content())
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
