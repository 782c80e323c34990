package storetest_test

import (
	"errors"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
)

func brokenQuotas() []broken {
	return []broken{
		{"K72", "nothing_is_reserved", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				if err := o.Validate(); err != nil {
					return canonical.RunState{}, err
				}
				o.Quota = canonical.Quota{}
				return g.OpenRun(ctx, o)
			}
		}},
		{"K72", "bytes_are_not_bounded", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				if o.Quota.Records > 0 {
					o.Quota.Bytes = 0
				}
				return g.OpenRun(ctx, o)
			}
		}},
		{"K72", "a_full_quota_has_no_numbers", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				s, err := g.OpenRun(ctx, o)
				if errors.Is(err, canonical.ErrQuota) {
					err = &canonical.RefusedError{Op: "open", Err: canonical.ErrQuota}
				}
				return s, err
			}
		}},
		{"K72", "a_budget_without_limit_reserves_nothing", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				if o.Budget.Calls == canonical.Unlimited || o.Budget.Bytes == canonical.Unlimited {
					o.Quota = canonical.Quota{}
				}
				return g.OpenRun(ctx, o)
			}
		}},
		{"K72", "each_opening_reserves", func(g *good, k *hooks, _ *storetest.Harness) {
			more := canonical.Use{}
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				_, there := g.Inspect(ctx, o.Run)
				s, err := g.OpenRun(ctx, o)
				if there == nil && err == nil && o.Quota.Set() {
					g.locked(func() { more.Records += int64(o.Budget.Calls) })
				}
				return s, err
			}
			k.scopeUse = func(scope canonical.Scope) (canonical.Use, error) {
				use, err := g.ScopeUse(ctx, scope)
				use.Records += more.Records
				return use, err
			}
		}},
		{"K72", "a_run_that_is_there_is_refused_for_the_quota", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				use, _ := g.ScopeUse(ctx, o.Run.Scope)
				if o.Quota.Records > 0 && use.Records > o.Quota.Records {
					return canonical.RunState{}, &canonical.RefusedError{Op: "open", Err: canonical.ErrQuota}
				}
				return g.OpenRun(ctx, o)
			}
		}},
		{"K72", "a_refused_opening_keeps_its_reservation", func(g *good, k *hooks, _ *storetest.Harness) {
			lost := int64(0)
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				s, err := g.OpenRun(ctx, o)
				if errors.Is(err, canonical.ErrRunTaken) && o.Quota.Set() {
					g.locked(func() { lost += int64(o.Budget.Calls) })
				}
				return s, err
			}
			k.scopeUse = func(scope canonical.Scope) (canonical.Use, error) {
				use, err := g.ScopeUse(ctx, scope)
				use.Records += lost
				return use, err
			}
		}},
		{"K73", "close_gives_nothing_back", func(g *good, k *hooks, _ *storetest.Harness) {
			first := map[canonical.Scope]canonical.Use{}
			k.closeRun = func(c canonical.Closing) (canonical.ClosedRun, error) {
				use, _ := g.ScopeUse(ctx, c.Run.Scope)
				g.locked(func() {
					if first[c.Run.Scope] == (canonical.Use{}) {
						first[c.Run.Scope] = use
					}
				})
				return g.CloseRun(ctx, c)
			}
			k.scopeUse = func(scope canonical.Scope) (canonical.Use, error) {
				use, err := g.ScopeUse(ctx, scope)
				use.Records, use.Bytes = max(use.Records, first[scope].Records), max(use.Bytes, first[scope].Bytes)
				return use, err
			}
		}},
		{"K73", "close_gives_back_what_open_calls_hold", func(g *good, k *hooks, _ *storetest.Harness) {
			k.scopeUse = func(scope canonical.Scope) (canonical.Use, error) {
				use, err := g.ScopeUse(ctx, scope)
				if s, bad := g.Inspect(ctx, canonical.RunKey{Scope: scope, Run: "run-1"}); bad == nil && s.Phase == canonical.RunClosed {
					out, _ := g.Outstanding(ctx, s.Run)
					use.Bytes -= int64(len(out.Open))
				}
				return use, err
			}
		}},
		{"K73", "a_second_close_gives_nothing_back", func(g *good, k *hooks, _ *storetest.Harness) {
			k.closeRun = func(c canonical.Closing) (canonical.ClosedRun, error) {
				if s, err := g.Inspect(ctx, c.Run); err == nil && s.Phase == canonical.RunClosed {
					return canonical.ClosedRun{LastSeq: s.LastSeq}, nil
				}
				return g.CloseRun(ctx, c)
			}
		}},
		{"K73", "release_does_nothing", func(g *good, k *hooks, _ *storetest.Harness) {
			k.releaseRun = func(run canonical.RunKey) error {
				_, err := g.Inspect(ctx, run)
				return err
			}
		}},
		{"K73", "release_takes_from_an_open_run", func(g *good, k *hooks, _ *storetest.Harness) {
			taken := int64(0)
			k.releaseRun = func(run canonical.RunKey) error {
				if s, err := g.Inspect(ctx, run); err == nil && s.Phase == canonical.RunOpen {
					g.locked(func() { taken += s.LastSeq })
				}
				return g.ReleaseRun(ctx, run)
			}
			k.scopeUse = func(scope canonical.Scope) (canonical.Use, error) {
				use, err := g.ScopeUse(ctx, scope)
				use.Records -= taken
				return use, err
			}
		}},
		{"K74", "what_is_over_counts_until_somebody_looks", func(g *good, k *hooks, _ *storetest.Harness) {
			last := map[canonical.Scope]canonical.Use{}
			k.scopeUse = func(scope canonical.Scope) (canonical.Use, error) {
				use, err := g.ScopeUse(ctx, scope)
				was := last[scope]
				g.locked(func() { last[scope] = use })
				if use.Runs < was.Runs {
					return was, err
				}
				return use, err
			}
		}},
		{"K74", "what_is_over_still_takes_room", func(g *good, k *hooks, _ *storetest.Harness) {
			taken := map[canonical.RunKey]int64{}
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				sum := int64(o.Budget.Calls)
				for _, calls := range taken {
					sum += calls
				}
				if o.Quota.Records > 0 && sum > o.Quota.Records {
					return canonical.RunState{}, &canonical.RefusedError{Op: "open", Err: canonical.ErrQuota, Wanted: sum, Limit: o.Quota.Records}
				}
				g.locked(func() { taken[o.Run] = int64(o.Budget.Calls) })
				return g.OpenRun(ctx, o)
			}
		}},
		{"K75", "looking_and_reserving_are_two_steps", func(g *good, k *hooks, _ *storetest.Harness) {
			looked, several := 0, make(chan struct{})
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				use, err := g.ScopeUse(ctx, o.Run.Scope)
				if err != nil || use.Records+int64(o.Budget.Calls) > o.Quota.Records {
					return canonical.RunState{}, &canonical.RefusedError{Op: "open", Err: canonical.ErrQuota}
				}
				g.locked(func() {
					if looked++; looked == 8 {
						close(several)
					}
				})
				<-several // each has looked before any of them reserves
				o.Quota = canonical.Quota{Records: canonical.MaxQuota}
				return g.OpenRun(ctx, o)
			}
		}},
		{"K75", "room_that_is_contended_is_given_to_nobody", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				o.Quota.Records -= int64(o.Budget.Calls)
				return g.OpenRun(ctx, o)
			}
		}},
		{"K76", "a_scope_that_nobody_knows_is_an_error", func(g *good, k *hooks, _ *storetest.Harness) {
			k.scopeUse = func(scope canonical.Scope) (canonical.Use, error) {
				use, err := g.ScopeUse(ctx, scope)
				if use == (canonical.Use{}) && err == nil {
					err = &canonical.RefusedError{Op: "use", Err: canonical.ErrMissing}
				}
				return use, err
			}
		}},
		{"K76", "runs_without_a_quota_count", func(g *good, k *hooks, _ *storetest.Harness) {
			k.scopeUse = func(scope canonical.Scope) (canonical.Use, error) {
				use, err := g.ScopeUse(ctx, scope)
				all, _ := g.ListRuns(ctx, scope, canonical.ListedRun{}, 100)
				if err == nil {
					use.Runs = len(all)
				}
				return use, err
			}
		}},
		{"K76", "the_use_of_all_scopes_is_told", func(g *good, k *hooks, _ *storetest.Harness) {
			k.scopeUse = func(scope canonical.Scope) (canonical.Use, error) {
				use, err := g.ScopeUse(ctx, scope)
				if scope.Owner == "bob" {
					scope.Owner = "alice"
					return g.ScopeUse(ctx, scope)
				}
				return use, err
			}
		}},
	}
}
