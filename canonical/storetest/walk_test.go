package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
)

// forgetful is a store with one fault that only a conversation shows.
type forgetful struct {
	*fakes.Store
	fault string
	moved map[string]bool
}

func (s *forgetful) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	got, err := s.Store.Admit(ctx, a)
	switch {
	case s.fault == "a_duplicate_moves_the_TTL" && errors.Is(err, canonical.ErrDuplicate):
		s.moved["call:"+a.Call.String()] = true
	case s.fault == "an_own_claim_gets_another_sequence" && got.Own:
		got.Seq++
	case s.fault == "a_second_claim_wins" && errors.Is(err, canonical.ErrDuplicate):
		return canonical.Admitted{State: "PROJECTING"}, nil
	}
	return got, err
}

func (s *forgetful) Settle(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	got, err := s.Store.Settle(ctx, e)
	if s.fault == "settlements_are_overwritten" && errors.Is(err, canonical.ErrConflict) {
		return canonical.Ended{}, nil
	}
	return got, err
}

func (s *forgetful) Delete(ctx context.Context, run canonical.RunKey, name canonical.CallName) error {
	err := s.Store.Delete(ctx, run, name)
	if s.fault == "delete_is_not_told_what_is_open" && errors.Is(err, canonical.ErrStillOpen) {
		return nil
	}
	return err
}

func (s *forgetful) CloseRun(ctx context.Context, c canonical.Closing) (canonical.ClosedRun, error) {
	closed, err := s.Store.CloseRun(ctx, c)
	if err == nil && s.fault == "close_gives_back_too_much" {
		s.moved[string(c.Run.Run)] = true
	}
	return closed, err
}

func (s *forgetful) ScopeUse(ctx context.Context, scope canonical.Scope) (canonical.Use, error) {
	use, err := s.Store.ScopeUse(ctx, scope)
	if len(s.moved) > 0 && use.Records > 0 && s.fault == "close_gives_back_too_much" {
		use.Records--
	}
	return use, err
}

func (s *forgetful) ListRuns(ctx context.Context, scope canonical.Scope, after canonical.ListedRun, max int) ([]canonical.ListedRun, error) {
	page, err := s.Store.ListRuns(ctx, scope, after, max)
	if s.fault == "the_last_of_a_list_is_forgotten" && len(page) > 1 {
		page = page[:len(page)-1]
		page[len(page)-1].Expires = page[len(page)-1].Expires.Add(time.Hour)
	}
	return page, err
}

func (s *forgetful) harness(clock *fakes.Clock) Harness {
	return Harness{Store: s, Now: clock.Now, Advance: clock.Advance, Keys: func(run canonical.RunKey) []Key {
		var keys []Key
		for _, e := range s.Entries(run) {
			if s.moved[e.Name] {
				e.Expires = e.Expires.Add(time.Hour)
			}
			keys = append(keys, Key{Name: e.Name, Expires: e.Expires, Immortal: s.fault == "open_is_immortal" && e.Name == "open"})
		}
		return keys
	}}
}

func faultyStore(fault string) NamedHarness {
	return NamedHarness{Name: "faulty", Open: func(testing.TB) Harness {
		clock := fakes.NewClock()
		return (&forgetful{Store: fakes.NewStore(clock), fault: fault, moved: map[string]bool{}}).harness(clock)
	}}
}

func TestWalk_finds_what_is_wrong_and_shortens_it(t *testing.T) {
	t.Parallel()
	for fault, most := range map[string]int{
		"a_duplicate_moves_the_TTL": 4, "an_own_claim_gets_another_sequence": 4, "a_second_claim_wins": 4, "open_is_immortal": 3,
		"close_gives_back_too_much": 6, "the_last_of_a_list_is_forgotten": 3,
		"settlements_are_overwritten": 6, "delete_is_not_told_what_is_open": 4,
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			stores := []NamedHarness{faultyStore("none"), faultyStore(fault)}
			stores[0].Name = "right"
			j := travel(t, WalkOptions{Seed: 5, Ops: 5000}, stores)
			if j.worlds[0].wrong != "" || j.worlds[1].wrong == "" {
				t.Fatalf("right store: %q; wrong store: %q; want only the second to be found out", j.worlds[0].wrong, j.worlds[1].wrong)
			}
			text := shorten(t, j.trail, stores[1])
			if got := strings.Count(text, "\n  "); got > most || got == 0 || !strings.Contains(text, "messages suffice") {
				t.Errorf("shortened from %d to %d messages, want at most %d:\n%s", len(j.trail), got, most, text)
			}
		})
	}
}

func TestWalk_is_the_same_for_a_seed(t *testing.T) {
	t.Parallel()
	text := func(seed uint64) string {
		j := travel(t, WalkOptions{Seed: seed, Ops: 300}, []NamedHarness{faultyStore("none")})
		var b strings.Builder
		for _, s := range j.trail {
			b.WriteString(s.String())
		}
		return b.String()
	}
	first, again := text(7), text(7)
	if first != again {
		t.Error("two walks of one seed differ")
	}
	if first == text(8) {
		t.Error("the walks of two seeds are the same")
	}
}

func TestWalk_that_shows_nothing_fails(t *testing.T) {
	t.Parallel()
	j := travel(t, WalkOptions{Seed: 1, Ops: 50}, []NamedHarness{faultyStore("none")})
	if len(j.thin) == 0 {
		t.Error("a walk of 50 messages is called enough")
	}
	j = travel(t, WalkOptions{Seed: 1, Ops: 20_000}, []NamedHarness{faultyStore("none")})
	for _, problem := range j.thin {
		t.Error(problem)
	}
}

func TestWalk_times_stay_away_from_every_boundary(t *testing.T) {
	t.Parallel()
	life := walkDuration + walkTTL
	for what, d := range map[string]time.Duration{
		"deadline": walkDuration, "record": walkTTL, "run": life, "timeout": walkTimeout + walkClosing,
		"timeout cut by the deadline": walkDuration + walkClosing, "sweep": walkTimeout + walkClosing + walkGrace, "not after": walkNotAfter,
	} {
		if rest := d % walkTick; rest < walkGrid || rest > walkTick-walkGrid {
			t.Errorf("%s: %v is %v from where the clock can stand, want at least %v", what, d, min(rest, walkTick-rest), walkGrid)
		}
	}
}
