package storetest_test

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
)

func brokenLists() []broken {
	return []broken{
		{"K68", "runs_are_listed_by_id", func(g *good, k *hooks, _ *storetest.Harness) {
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				page, err := g.ListRuns(ctx, scope, after, most)
				slices.SortFunc(page, func(a, b canonical.ListedRun) int { return strings.Compare(string(a.Run), string(b.Run)) })
				return page, err
			}
		}},
		{"K68", "the_page_begins_with_the_given_run", func(g *good, k *hooks, _ *storetest.Harness) {
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				after.Run = ""
				return g.ListRuns(ctx, scope, after, most)
			}
		}},
		{"K68", "of_runs_that_end_together_a_page_shows_one", func(g *good, k *hooks, _ *storetest.Harness) {
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				page, err := g.ListRuns(ctx, scope, after, most)
				return slices.DeleteFunc(page, func(r canonical.ListedRun) bool { return r.Expires.Equal(after.Expires) }), err
			}
		}},
		{"K68", "a_page_is_longer_than_asked", func(g *good, k *hooks, _ *storetest.Harness) {
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				return g.ListRuns(ctx, scope, after, min(most+1, canonical.MaxListedRuns))
			}
		}},
		{"K68", "opening_again_moves_a_run_to_the_end", func(g *good, k *hooks, _ *storetest.Harness) {
			again := map[canonical.RunID]bool{}
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				_, err := g.Inspect(ctx, o.Run)
				g.locked(func() { again[o.Run.Run] = err == nil })
				return g.OpenRun(ctx, o)
			}
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				all, err := g.ListRuns(ctx, scope, canonical.ListedRun{}, canonical.MaxListedRuns)
				for i := range all {
					if again[all[i].Run] {
						all[i].Expires = lasting(all[i].Expires)
					}
				}
				slices.SortFunc(all, canonical.ListedRun.Compare)
				all = slices.DeleteFunc(all, func(r canonical.ListedRun) bool { return r.Compare(after) <= 0 })
				return all[:min(len(all), most)], err
			}
		}},
		{"K68", "runs_of_all_owners_are_listed", func(g *good, k *hooks, _ *storetest.Harness) {
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				var all []canonical.ListedRun
				for _, owner := range []string{"alice", "bob"} {
					scope.Owner = owner
					page, err := g.ListRuns(ctx, scope, after, most)
					if err != nil {
						return nil, err
					}
					all = append(all, page...)
				}
				slices.SortFunc(all, canonical.ListedRun.Compare)
				return all[:min(len(all), most)], nil
			}
		}},
		{"K68", "closed_runs_are_not_listed", func(g *good, k *hooks, _ *storetest.Harness) {
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				page, err := g.ListRuns(ctx, scope, after, most)
				return slices.DeleteFunc(page, func(r canonical.ListedRun) bool {
					s, _ := g.Inspect(ctx, canonical.RunKey{Scope: scope, Run: r.Run})
					return s.Phase == canonical.RunClosed
				}), err
			}
		}},
		{"K68", "a_run_that_is_over_stays_listed", func(g *good, k *hooks, _ *storetest.Harness) {
			known := []canonical.ListedRun{}
			k.state = func(s *canonical.RunState) {
				g.locked(func() { known = append(known, canonical.ListedRun{Run: s.Run.Run, Expires: s.Expires}) })
			}
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				page, err := g.ListRuns(ctx, scope, after, most)
				if len(page) == 0 && err == nil {
					for _, r := range known {
						if r.Compare(after) > 0 {
							return []canonical.ListedRun{r}, nil
						}
					}
				}
				return page, err
			}
		}},
		{"K68", "a_scope_without_runs_is_missing", func(g *good, k *hooks, _ *storetest.Harness) {
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				page, err := g.ListRuns(ctx, scope, after, most)
				if err == nil && len(page) == 0 && after == (canonical.ListedRun{}) {
					return nil, &canonical.RefusedError{Op: "list runs", Err: canonical.ErrRunMissing}
				}
				return page, err
			}
		}},
		{"K68", "any_number_may_be_asked_for", func(g *good, k *hooks, _ *storetest.Harness) {
			k.listRuns = func(scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
				page, err := g.ListRuns(ctx, scope, after, most)
				if _, is := errors.AsType[*canonical.ArgumentError](err); is {
					return page, nil
				}
				return page, err
			}
		}},
		{"K07", "the_list_of_a_scope_has_no_expiry", func(g *good, k *hooks, h *storetest.Harness) {
			h.ScopeKeys = func(scope canonical.Scope) []storetest.Key {
				keys := g.scopeKeys(scope)
				for i := range keys {
					keys[i].Immortal = true
				}
				return keys
			}
		}},
		{"K71", "the_list_of_a_scope_outlives_its_runs", func(g *good, k *hooks, h *storetest.Harness) {
			known := map[canonical.Scope]bool{}
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				g.locked(func() { known[o.Run.Scope] = true })
				return g.OpenRun(ctx, o)
			}
			h.ScopeKeys = func(scope canonical.Scope) []storetest.Key {
				keys := g.scopeKeys(scope)
				if len(keys) == 0 && known[scope] {
					keys = append(keys, storetest.Key{Name: "runs", Expires: lasting(g.clock.Now())})
				}
				return keys
			}
		}},
	}
}
