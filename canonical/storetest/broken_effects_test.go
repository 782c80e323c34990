package storetest_test

import (
	"errors"
	"slices"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/lifecycle"
)

// settles is a store whose Settle answers success where it should refuse.
func settles(when error) func(*good, *hooks, *storetest.Harness) {
	return func(g *good, k *hooks, _ *storetest.Harness) {
		k.settle = func(e canonical.Ending) (canonical.Ended, error) {
			got, err := g.Settle(ctx, e)
			if errors.Is(err, when) {
				return canonical.Ended{Repeat: true, Strength: "memory"}, nil
			}
			return got, err
		}
	}
}

// resolves is a store whose Resolve answers success where it should refuse.
func resolves(when error) func(*good, *hooks, *storetest.Harness) {
	return func(g *good, k *hooks, _ *storetest.Harness) {
		k.resolve = func(m canonical.Resolution) error {
			if err := g.Resolve(ctx, m); !errors.Is(err, when) {
				return err
			}
			return nil
		}
	}
}

func brokenEffects() []broken {
	return []broken{
		{"K50", "grace_is_ignored", func(g *good, k *hooks, _ *storetest.Harness) {
			k.sweep = func(m canonical.Sweeping) ([]canonical.Swept, error) {
				m.Grace = min(m.Grace, 0)
				return g.Sweep(ctx, m)
			}
		}},
		{"K50", "more_than_max_are_swept", func(g *good, k *hooks, _ *storetest.Harness) {
			k.sweep = func(m canonical.Sweeping) ([]canonical.Swept, error) {
				if m.Validate() == nil {
					m.Max = 1000
				}
				return g.Sweep(ctx, m)
			}
		}},
		{"K50", "the_latest_are_swept_first", func(g *good, k *hooks, _ *storetest.Harness) {
			k.sweep = func(m canonical.Sweeping) ([]canonical.Swept, error) {
				swept, err := g.Sweep(ctx, m)
				slices.Reverse(swept)
				return swept, err
			}
		}},
		{"K51", "a_saved_raw_is_dropped_by_the_sweep", func(g *good, k *hooks, _ *storetest.Harness) {
			k.record = func(r *canonical.Record) {
				if r.Stage == canonical.StageSweep {
					r.Raw.Bytes = nil
				}
			}
		}},
		{"K51", "a_swept_write_is_called_orphaned", func(g *good, k *hooks, _ *storetest.Harness) {
			k.head = func(h *canonical.Head) {
				if h.Code == lifecycle.OutcomeUnknown {
					h.Code = lifecycle.Orphaned
				}
			}
		}},
		{"K51", "a_swept_write_raises_no_barrier", func(g *good, k *hooks, _ *storetest.Harness) {
			k.sweep = func(m canonical.Sweeping) ([]canonical.Swept, error) {
				swept, err := g.Sweep(ctx, m)
				for _, s := range swept {
					_ = g.Resolve(ctx, canonical.Resolution{Run: m.Run, Call: s.Call, Verdict: canonical.NotApplied, Evidence: "none"})
				}
				return swept, err
			}
		}},
		{"K52", "an_owner_ends_a_swept_call", func(g *good, k *hooks, _ *storetest.Harness) {
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if errors.Is(err, canonical.ErrConflict) && g.head(e.Run, e.Call).Stage == canonical.StageSweep {
					return canonical.Ended{Strength: "memory"}, nil
				}
				return got, err
			}
		}},
		{"K52", "a_sweep_ends_what_its_owner_ended", func(g *good, k *hooks, _ *storetest.Harness) {
			k.sweep = func(m canonical.Sweeping) ([]canonical.Swept, error) {
				swept, err := g.Sweep(ctx, m)
				order, _ := g.Order(ctx, m.Run, 0, m.Max)
				for _, n := range order {
					if h := g.head(m.Run, n.Call); h.State == lifecycle.Ready && g.clock.Now().After(h.Due) {
						swept = append(swept, canonical.Swept{Call: n.Call, Code: lifecycle.Orphaned, Execution: lifecycle.Unknown})
					}
				}
				return swept, err
			}
		}},
		{"K53", "a_settlement_changes_the_record", func(g *good, k *hooks, _ *storetest.Harness) {
			late := map[canonical.Identity]canonical.Ending{}
			k.settle = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Settle(ctx, e)
				if err == nil {
					g.locked(func() { late[canonical.Identity{RunKey: e.Run, Call: e.Call}] = e })
				}
				return got, err
			}
			k.head = func(h *canonical.Head) {
				g.locked(func() {
					if e, ok := late[h.Identity]; ok {
						h.State, h.Code, h.Evidence, h.Execution = e.Verdict.State, e.Verdict.Code, e.Verdict.Evidence, e.Verdict.Execution
					}
				})
			}
		}},
		{"K53", "another_settlement_is_success", settles(canonical.ErrConflict)},
		{"K53", "an_open_call_is_settled_beside_its_record", func(g *good, k *hooks, _ *storetest.Harness) {
			k.settle = func(e canonical.Ending) (canonical.Ended, error) {
				if g.head(e.Run, e.Call).State == lifecycle.Projecting && e.Validate() == nil {
					return canonical.Ended{Strength: "memory"}, nil
				}
				return g.Settle(ctx, e)
			}
		}},
		{"K53", "a_settlement_goes_with_its_record", func(g *good, k *hooks, _ *storetest.Harness) {
			k.settlement = func(run canonical.RunKey, name canonical.CallName) (canonical.Settlement, error) {
				if !g.head(run, name).Exists() {
					return canonical.Settlement{}, nil
				}
				return g.SettlementOf(ctx, run, name)
			}
		}},
		{"K54", "anybody_may_settle", func(g *good, k *hooks, _ *storetest.Harness) {
			holder := holders(g, k)
			k.settle = func(e canonical.Ending) (canonical.Ended, error) {
				if claim := holder(e.Run, e.Call); claim != "" {
					e.Claim = claim
				}
				return g.Settle(ctx, e)
			}
		}},
		{"K54", "settling_nothing_is_success", settles(canonical.ErrMissing)},
		{"K55", "a_verdict_does_not_lift_the_barrier", func(g *good, k *hooks, _ *storetest.Harness) {
			resolved := map[canonical.RunKey]bool{}
			k.resolve = func(m canonical.Resolution) error {
				err := g.Resolve(ctx, m)
				g.locked(func() { resolved[m.Run] = resolved[m.Run] || err == nil })
				return err
			}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				stuck := false
				g.locked(func() { stuck = resolved[a.Run] })
				if stuck {
					return canonical.Admitted{}, &canonical.RefusedError{Op: "admit", Err: canonical.ErrUnresolvedEffect}
				}
				return g.Admit(ctx, a)
			}
		}},
		{"K55", "a_second_verdict_is_success", resolves(canonical.ErrConflict)},
		{"K55", "an_open_call_can_be_resolved", resolves(canonical.ErrStillOpen)},
		{"K55", "a_late_result_lifts_the_barrier", func(g *good, k *hooks, _ *storetest.Harness) {
			k.settle = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Settle(ctx, e)
				if err == nil && g.head(e.Run, e.Call).Execution == lifecycle.Unknown {
					_ = g.Resolve(ctx, canonical.Resolution{Run: e.Run, Call: e.Call, Verdict: canonical.Applied, Evidence: "late"})
				}
				return got, err
			}
		}},
		{"K56", "listing_sweeps", func(g *good, k *hooks, _ *storetest.Harness) {
			k.outstanding = func(run canonical.RunKey) (canonical.Outstanding, error) {
				out, err := g.Outstanding(ctx, run)
				_, _ = g.Sweep(ctx, canonical.Sweeping{Run: run, Max: 10})
				_, _ = g.CloseRun(ctx, canonical.Closing{Run: run, Token: "token-of-the-run"})
				return out, err
			}
		}},
		{"K56", "due_times_are_missing", func(g *good, k *hooks, _ *storetest.Harness) {
			k.outstanding = func(run canonical.RunKey) (canonical.Outstanding, error) {
				out, err := g.Outstanding(ctx, run)
				for i := range out.Open {
					out.Open[i].Due = out.Now
				}
				return out, err
			}
		}},
	}
}
