package storetest_test

import (
	"errors"
	"slices"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
)

func brokenReads() []broken {
	return []broken{
		{"K60", "missing_heads_are_left_out", func(g *good, k *hooks, _ *storetest.Harness) {
			k.heads = func(run canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
				heads, err := g.Store.Heads(ctx, run, names)
				if len(names) == 1 {
					return heads, err
				}
				return slices.DeleteFunc(heads, func(h canonical.Head) bool { return !h.Exists() }), err
			}
		}},
		{"K60", "heads_come_in_the_stores_own_order", func(g *good, k *hooks, _ *storetest.Harness) {
			k.heads = func(run canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
				heads, err := g.Store.Heads(ctx, run, names)
				slices.SortStableFunc(heads, func(a, b canonical.Head) int { return int(a.Seq - b.Seq) })
				return heads, err
			}
		}},
		{"K60", "one_unreadable_record_hides_the_others", func(g *good, k *hooks, _ *storetest.Harness) {
			k.heads = func(run canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
				heads, err := g.Store.Heads(ctx, run, names)
				for _, h := range heads {
					if h.Fault != nil {
						return nil, &canonical.RefusedError{Op: "heads", Err: h.Fault}
					}
				}
				return heads, err
			}
		}},
		{"K60", "an_unreadable_record_looks_missing", func(g *good, k *hooks, _ *storetest.Harness) {
			k.heads = func(run canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
				heads, err := g.Store.Heads(ctx, run, names)
				for i := range heads {
					if heads[i].Fault != nil {
						heads[i] = canonical.Head{}
					}
				}
				return heads, err
			}
		}},
		{"K60", "a_list_moves_raw", func(g *good, k *hooks, _ *storetest.Harness) {
			k.heads = func(run canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
				heads := make([]canonical.Head, len(names))
				for i, name := range names {
					if r, err := g.Store.Record(ctx, run, name); err == nil {
						heads[i] = r.Head
					}
				}
				return heads, nil
			}
		}},
		{"K61", "digests_are_not_checked", func(g *good, k *hooks, _ *storetest.Harness) {
			k.readRecord = func(run canonical.RunKey, name canonical.CallName) (canonical.Record, error) {
				r, err := g.Store.Record(ctx, run, name)
				if errors.Is(err, canonical.ErrCorrupt) {
					err = nil
				}
				return r, err
			}
		}},
		{"K61", "a_missing_record_is_an_empty_view", func(g *good, k *hooks, _ *storetest.Harness) {
			k.view = func(run canonical.RunKey, name canonical.CallName) (canonical.View, error) {
				v, err := g.Store.View(ctx, run, name)
				if errors.Is(err, canonical.ErrMissing) {
					err = nil
				}
				return v, err
			}
		}},
		{"K62", "the_page_begins_with_the_given_entry", func(g *good, k *hooks, _ *storetest.Harness) {
			k.order = func(run canonical.RunKey, after int64, most int) ([]canonical.Numbered, error) {
				return g.Store.Order(ctx, run, after-1, most)
			}
		}},
		{"K62", "the_order_loses_what_is_gone", func(g *good, k *hooks, _ *storetest.Harness) {
			k.order = func(run canonical.RunKey, after int64, most int) ([]canonical.Numbered, error) {
				page, err := g.Store.Order(ctx, run, after, most)
				return slices.DeleteFunc(page, func(n canonical.Numbered) bool { return !g.head(run, n.Call).Exists() }), err
			}
		}},
		{"K62", "pages_are_sorted_by_name", func(g *good, k *hooks, _ *storetest.Harness) {
			k.order = func(run canonical.RunKey, after int64, most int) ([]canonical.Numbered, error) {
				page, err := g.Store.Order(ctx, run, after, most)
				slices.SortFunc(page, func(a, b canonical.Numbered) int {
					if a.Call.String() < b.Call.String() {
						return -1
					}
					return 1
				})
				return page, err
			}
		}},
		{"K63", "reading_gives_a_new_life", func(g *good, k *hooks, h *storetest.Harness) {
			last := map[canonical.RunKey]time.Time{}
			k.view = func(run canonical.RunKey, name canonical.CallName) (canonical.View, error) {
				g.locked(func() { last[run] = g.clock.Now() })
				return g.Store.View(ctx, run, name)
			}
			h.Fingerprint = func(run canonical.RunKey) string { return g.Fingerprint(run) + last[run].String() }
		}},
		{"K63", "a_refused_join_is_counted", func(g *good, k *hooks, h *storetest.Harness) {
			tries := map[canonical.RunKey]int{}
			k.joinRun = func(run canonical.RunKey, token canonical.Token) (canonical.RunState, error) {
				s, err := g.Store.JoinRun(ctx, run, token)
				if err != nil {
					g.locked(func() { tries[run]++ })
				}
				return s, err
			}
			h.Fingerprint = func(run canonical.RunKey) string { return g.Fingerprint(run) + string(rune('0'+tries[run])) }
		}},
		{"K64", "the_order_of_a_run_that_is_gone_is_empty", func(g *good, k *hooks, _ *storetest.Harness) {
			k.order = func(run canonical.RunKey, after int64, most int) ([]canonical.Numbered, error) {
				page, err := g.Store.Order(ctx, run, after, most)
				if errors.Is(err, canonical.ErrRunMissing) {
					err = nil
				}
				return page, err
			}
		}},
		{"K64", "nothing_is_outstanding_in_a_run_that_is_gone", func(g *good, k *hooks, _ *storetest.Harness) {
			k.outstanding = func(run canonical.RunKey) (canonical.Outstanding, error) {
				out, err := g.Store.Outstanding(ctx, run)
				if errors.Is(err, canonical.ErrRunMissing) {
					err = nil
				}
				return out, err
			}
		}},
		{"K65", "no_settlement_is_an_error", func(g *good, k *hooks, _ *storetest.Harness) {
			k.settlement = func(run canonical.RunKey, name canonical.CallName) (canonical.Settlement, error) {
				got, err := g.Store.SettlementOf(ctx, run, name)
				if got.Late == nil && got.Resolved == nil {
					err = &canonical.RefusedError{Op: "settlement", Err: canonical.ErrMissing}
				}
				return got, err
			}
		}},
		{"K65", "a_verdict_is_not_told", func(g *good, k *hooks, _ *storetest.Harness) {
			k.settlement = func(run canonical.RunKey, name canonical.CallName) (canonical.Settlement, error) {
				got, err := g.Store.SettlementOf(ctx, run, name)
				got.Resolved = nil
				return got, err
			}
		}},
		{"K70", "an_open_call_can_be_deleted", func(g *good, k *hooks, _ *storetest.Harness) {
			k.remove = func(run canonical.RunKey, name canonical.CallName) error {
				if err := g.Store.Delete(ctx, run, name); !errors.Is(err, canonical.ErrStillOpen) {
					return err
				}
				return nil
			}
		}},
		{"K70", "an_unresolved_effect_can_be_deleted", func(g *good, k *hooks, _ *storetest.Harness) {
			k.remove = func(run canonical.RunKey, name canonical.CallName) error {
				if err := g.Store.Delete(ctx, run, name); !errors.Is(err, canonical.ErrUnresolvedEffect) {
					return err
				}
				return nil
			}
		}},
		{"K70", "delete_keeps_the_record", func(g *good, k *hooks, _ *storetest.Harness) {
			k.remove = func(canonical.RunKey, canonical.CallName) error { return nil }
		}},
		{"K70", "deleting_what_is_missing_is_an_error", func(g *good, k *hooks, _ *storetest.Harness) {
			k.remove = func(run canonical.RunKey, name canonical.CallName) error {
				if !g.head(run, name).Exists() {
					return &canonical.RefusedError{Op: "delete", Err: canonical.ErrMissing}
				}
				return g.Store.Delete(ctx, run, name)
			}
		}},
	}
}
