package storetest_test

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/lifecycle"
)

// made pretends that an admission created a record.
func made(g *good, a canonical.Admission) canonical.Admitted {
	now := g.clock.Now()
	return canonical.Admitted{
		State: lifecycle.Projecting, Seq: 1, EvidenceID: a.EvidenceID, Now: now, Left: time.Hour,
		Due: now.Add(a.Timeout + a.Closing), Expires: now.Add(a.TTL), Strength: "memory",
	}
}

// lets is a store that admits what it should refuse for one reason.
func lets(when error) func(*good, *hooks, *storetest.Harness) {
	return func(g *good, k *hooks, _ *storetest.Harness) {
		k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
			got, err := g.Admit(ctx, a)
			if errors.Is(err, when) {
				return made(g, a), nil
			}
			return got, err
		}
	}
}

// tells is a store that gives one refusal for another where do says so.
func tells(do func(g *good, a canonical.Admission, was error) error) func(*good, *hooks, *storetest.Harness) {
	return func(g *good, k *hooks, _ *storetest.Harness) {
		k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
			got, err := g.Admit(ctx, a)
			if err != nil {
				if other := do(g, a, err); other != nil {
					return canonical.Admitted{}, &canonical.RefusedError{Op: "admit", Call: a.Call, Err: other}
				}
			}
			return got, err
		}
	}
}

func brokenAdmissions() []broken {
	return []broken{
		{"K10", "the_operation_key_is_lost", func(g *good, k *hooks, _ *storetest.Harness) {
			k.head = func(h *canonical.Head) { h.OperationKey = "" }
		}},
		{"K10", "sequences_start_at_zero", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				got.Seq--
				return got, err
			}
		}},
		{"K10", "an_open_call_has_an_evidence_status", func(g *good, k *hooks, _ *storetest.Harness) {
			k.head = func(h *canonical.Head) {
				if h.State == lifecycle.Projecting {
					h.Evidence = "EVIDENCE_FOUND"
				}
			}
		}},
		{"K11", "a_redelivery_gets_a_new_evidence_id", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				got.EvidenceID = a.EvidenceID
				return got, err
			}
		}},
		{"K11", "a_redelivery_moves_the_expiry", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				got.Expires = got.Now.Add(a.TTL)
				return got, err
			}
		}},
		{"K11", "a_closed_run_refuses_our_own_claim", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				if s, err := g.Inspect(ctx, a.Run); err == nil && s.Phase == canonical.RunClosed {
					return canonical.Admitted{}, &canonical.RefusedError{Op: "admit", Err: canonical.ErrRunClosed}
				}
				return g.Admit(ctx, a)
			}
		}},
		{"K12", "an_ended_call_is_entered_again", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				got.State, got.Code = lifecycle.Projecting, ""
				return got, err
			}
		}},
		{"K13", "the_first_ones_state_is_not_told", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				if errors.Is(err, canonical.ErrDuplicate) {
					err = &canonical.RefusedError{Op: "admit", Err: canonical.ErrDuplicate}
				}
				return got, err
			}
		}},
		{"K13", "an_ended_call_may_be_repeated", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				if g.head(a.Run, a.Call).State == lifecycle.Error {
					return made(g, a), nil
				}
				return g.Admit(ctx, a)
			}
		}},
		{"K13", "a_duplicate_replaces_the_request", func(g *good, k *hooks, _ *storetest.Harness) {
			latest := map[canonical.CallName]canonical.Body{}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				g.locked(func() { latest[a.Call] = a.Request.Clone() })
				return g.Admit(ctx, a)
			}
			k.record = func(r *canonical.Record) { g.locked(func() { r.Request = latest[r.Identity.Call].Clone() }) }
		}},
		{"K14", "a_deleted_name_is_admitted_again", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				if errors.Is(err, canonical.ErrDuplicate) && !g.head(a.Run, a.Call).Exists() {
					return made(g, a), nil
				}
				return got, err
			}
		}},
		{"K15", "the_name_has_no_turn", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				if err := a.Validate(); err == nil {
					a.Call.Turn = ""
				}
				return g.Admit(ctx, a)
			}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) { e.Call.Turn = ""; return g.Complete(ctx, e) }
			k.readRecord = func(run canonical.RunKey, name canonical.CallName) (canonical.Record, error) {
				name.Turn = ""
				return g.Record(ctx, run, name)
			}
		}},
		{"K15", "ids_are_folded", func(g *good, k *hooks, _ *storetest.Harness) {
			fold := func(n canonical.CallName) canonical.CallName {
				n.ID = canonical.ToolCallID(strings.ToLower(string(n.ID)))
				return n
			}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) { a.Call = fold(a.Call); return g.Admit(ctx, a) }
			k.readRecord = func(run canonical.RunKey, name canonical.CallName) (canonical.Record, error) {
				return g.Record(ctx, run, fold(name))
			}
		}},
		{"K16", "budgets_come_before_capacity", tells(func(g *good, a canonical.Admission, was error) error {
			if s, err := g.Inspect(ctx, a.Run); err == nil && errors.Is(was, canonical.ErrCapacity) && s.LastSeq >= int64(s.Budget.Calls) {
				return canonical.ErrRunBudget
			}
			return nil
		})},
		{"K16", "the_tool_budget_comes_before_the_runs", tells(func(g *good, a canonical.Admission, was error) error {
			if errors.Is(was, canonical.ErrRunBudget) {
				return canonical.ErrToolBudget
			}
			return nil
		})},
		{"K16", "the_deadline_comes_before_not_after", tells(func(g *good, a canonical.Admission, was error) error {
			if s, err := g.Inspect(ctx, a.Run); err == nil && errors.Is(was, canonical.ErrTooLate) && s.Left <= 0 {
				return canonical.ErrDeadline
			}
			return nil
		})},
		{"K16", "a_closed_run_comes_before_duplicates", tells(func(g *good, a canonical.Admission, was error) error {
			if s, err := g.Inspect(ctx, a.Run); err == nil && s.Phase == canonical.RunClosed {
				return canonical.ErrRunClosed
			}
			return nil
		})},
		{"K17", "a_refusal_is_charged", func(g *good, k *hooks, _ *storetest.Harness) {
			charged := map[canonical.RunKey]int64{}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				if errors.As(err, new(*canonical.RefusedError)) && !errors.Is(err, canonical.ErrDuplicate) {
					g.locked(func() { charged[a.Run]++ })
				}
				return got, err
			}
			k.state = func(s *canonical.RunState) { g.locked(func() { s.LastSeq += charged[s.Run] }) }
		}},
		{"K17", "a_refusal_leaves_a_key", func(g *good, k *hooks, h *storetest.Harness) {
			left := map[canonical.RunKey]string{}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				if err != nil {
					g.locked(func() { left[a.Run] = "call:" + a.Call.String() })
				}
				return got, err
			}
			h.Fingerprint = func(run canonical.RunKey) string { return g.Fingerprint(run) + left[run] }
		}},
		{"K18", "not_after_is_ignored", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				a.NotAfter = a.NotAfter.Add(1000 * time.Hour)
				return g.Admit(ctx, a)
			}
		}},
		{"K19", "the_deadline_itself_still_admits", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				if s, _ := g.Inspect(ctx, a.Run); errors.Is(err, canonical.ErrDeadline) && s.Left == 0 {
					return made(g, a), nil
				}
				return got, err
			}
		}},
		{"K23", "two_admissions_win_one_name", func(g *good, k *hooks, _ *storetest.Harness) {
			var inside atomic.Int32
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				if g.head(a.Run, a.Call).Exists() { // looks first, acts later
					return g.Admit(ctx, a)
				}
				inside.Add(1)
				for i := 0; i < 10_000 && inside.Load() < 2; i++ {
					runtime.Gosched()
				}
				got, err := g.Admit(ctx, a)
				inside.Add(-1)
				if errors.Is(err, canonical.ErrDuplicate) && g.head(a.Run, a.Call).Exists() {
					return made(g, a), nil
				}
				return got, err
			}
		}},
		{"K23", "two_admissions_win_the_last_unit", func(g *good, k *hooks, _ *storetest.Harness) {
			var inside atomic.Int32
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				s, _ := g.Inspect(ctx, a.Run)
				room := s.LastSeq < int64(s.Budget.Calls)
				inside.Add(1)
				for i := 0; i < 10_000 && inside.Load() < 2; i++ {
					runtime.Gosched()
				}
				got, err := g.Admit(ctx, a)
				inside.Add(-1)
				if room && errors.Is(err, canonical.ErrRunBudget) {
					return made(g, a), nil
				}
				return got, err
			}
		}},
		{"K25", "a_newer_record_is_overwritten", lets(canonical.ErrNewerVersion)},
		{"K25", "a_foreign_key_is_overwritten", lets(canonical.ErrForeign)},
	}
}

func brokenBudgets() []broken {
	return []broken{
		{"K20", "the_last_unit_is_given_twice", lets(canonical.ErrRunBudget)},
		{"K20", "the_ledgers_tool_budget_is_ignored", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				was := o.Budget
				o.Budget.PerTool = canonical.Unlimited
				s, err := g.OpenRun(ctx, o)
				s.Budget = was
				return s, err
			}
		}},
		{"K20", "a_failed_call_is_refunded", func(g *good, k *hooks, _ *storetest.Harness) {
			refund := map[canonical.RunKey]bool{}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				g.locked(func() { refund[e.Run] = refund[e.Run] || e.Verdict.State == lifecycle.Error })
				return g.Complete(ctx, e)
			}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				back := false
				g.locked(func() { back = refund[a.Run] })
				if back && errors.Is(err, canonical.ErrRunBudget) {
					return made(g, a), nil
				}
				return got, err
			}
		}},
		{"K21", "capacity_is_not_counted", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) { a.Reserve = 0; return g.Admit(ctx, a) }
		}},
		{"K21", "an_ending_gives_nothing_back", func(g *good, k *hooks, _ *storetest.Harness) {
			kept := map[canonical.RunKey]int64{}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				before, _ := g.Inspect(ctx, e.Run)
				got, err := g.Complete(ctx, e)
				after, _ := g.Inspect(ctx, e.Run)
				g.locked(func() { kept[e.Run] += before.Reserved - after.Reserved })
				return got, err
			}
			k.state = func(s *canonical.RunState) { g.locked(func() { s.Reserved += kept[s.Run] }) }
		}},
		{"K22", "the_barrier_is_never_up", lets(canonical.ErrUnresolvedEffect)},
		{"K22", "an_overdue_read_raises_the_barrier", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				out, err := g.Outstanding(ctx, a.Run)
				if err == nil && len(out.Open) > 0 && !out.Now.Before(out.Open[0].Due) && !g.head(a.Run, a.Call).Exists() {
					return canonical.Admitted{}, &canonical.RefusedError{Op: "admit", Err: canonical.ErrUnresolvedEffect}
				}
				return g.Admit(ctx, a)
			}
		}},
		{"K22", "an_effect_that_nobody_set_is_taken_for_a_read", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				if a.Effect == "" {
					a.Effect = canonical.EffectRead
				}
				return g.Admit(ctx, a)
			}
		}},
		{"K22", "the_barrier_is_up_for_every_run", func(g *good, k *hooks, _ *storetest.Harness) {
			up := map[canonical.Scope]bool{}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				blocked := false
				g.locked(func() { blocked = up[a.Run.Scope] })
				got, err := g.Admit(ctx, a)
				if errors.Is(err, canonical.ErrUnresolvedEffect) {
					g.locked(func() { up[a.Run.Scope] = true })
				}
				if blocked && err == nil && !got.Own {
					return canonical.Admitted{}, &canonical.RefusedError{Op: "admit", Err: canonical.ErrUnresolvedEffect}
				}
				return got, err
			}
		}},
	}
}
