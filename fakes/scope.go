package fakes

import (
	"context"
	"slices"
	"time"

	"github.com/toolharness/harness/canonical"
)

// ListRuns implements [canonical.Reader].
func (s *Store) ListRuns(ctx context.Context, scope canonical.Scope, after canonical.ListedRun, max int) ([]canonical.ListedRun, error) {
	if err := canonical.CheckListing(scope, after, max); err != nil {
		return nil, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []canonical.ListedRun
	for _, r := range s.scope(scope, s.now()) {
		run := canonical.ListedRun{Run: r.ledger.opening.Run.Run, Expires: r.ledger.expires}
		if run.Compare(after) > 0 {
			list = append(list, run)
		}
	}
	slices.SortFunc(list, canonical.ListedRun.Compare)
	return list[:min(len(list), max)], nil
}

// scope is the living runs of a scope. The mutex is held.
func (s *Store) scope(scope canonical.Scope, now time.Time) []*run {
	var runs []*run
	for key := range s.runs {
		if key.Scope != scope {
			continue
		}
		if r := s.find(key, now); r != nil {
			runs = append(runs, r)
		}
	}
	return runs
}

// ScopeEntries lists what is kept of a scope as a whole, by name, with the end of
// the last life in it; nothing when no run lives.
func (s *Store) ScopeEntries(scope canonical.Scope) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var listed, held time.Time
	for _, r := range s.scope(scope, s.now()) {
		if r.ledger.expires.After(listed) {
			listed = r.ledger.expires
		}
		if r.share != nil && r.ledger.expires.After(held) {
			held = r.ledger.expires
		}
	}
	var entries []Entry
	if !held.IsZero() {
		entries = append(entries, Entry{"held", held}, Entry{"quota", held})
	}
	if !listed.IsZero() {
		entries = append(entries, Entry{"runs", listed})
	}
	return entries
}
