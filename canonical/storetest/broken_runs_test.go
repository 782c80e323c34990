package storetest_test

import (
	"errors"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
)

func brokenRuns() []broken {
	return []broken{
		{"K01", "the_deadline_is_an_hour_late", func(g *good, k *hooks, _ *storetest.Harness) {
			k.state = func(s *canonical.RunState) { s.Deadline = s.Deadline.Add(time.Hour) }
		}},
		{"K01", "the_run_expires_with_its_deadline", func(g *good, k *hooks, _ *storetest.Harness) {
			k.state = func(s *canonical.RunState) { s.Expires = s.Deadline }
		}},
		{"K02", "opening_again_starts_the_clock_anew", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				s, err := g.OpenRun(ctx, o)
				s.Deadline = s.Now.Add(o.Duration)
				return s, err
			}
		}},
		{"K02", "opening_again_opens_a_closed_run", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				s, err := g.OpenRun(ctx, o)
				s.Phase = canonical.RunOpen
				return s, err
			}
		}},
		{"K03", "other_parameters_are_let_in", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				s, err := g.OpenRun(ctx, o)
				if errors.Is(err, canonical.ErrRunConflict) {
					return g.Inspect(ctx, o.Run)
				}
				return s, err
			}
		}},
		{"K03", "another_token_is_let_in", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				s, err := g.OpenRun(ctx, o)
				if errors.Is(err, canonical.ErrRunTaken) {
					return g.Inspect(ctx, o.Run)
				}
				return s, err
			}
		}},
		{"K03", "the_principal_is_not_compared", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				if s, err := g.Inspect(ctx, o.Run); err == nil {
					o.Principal = s.Principal
				}
				return g.OpenRun(ctx, o)
			}
		}},
		{"K04", "too_long_a_run_is_cut", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				o.Duration = min(o.Duration, o.Limits.MaxDuration())
				return g.OpenRun(ctx, o)
			}
		}},
		{"K04", "the_numbers_are_missing", func(g *good, k *hooks, _ *storetest.Harness) {
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				s, err := g.OpenRun(ctx, o)
				if errors.Is(err, canonical.ErrRunTooLong) {
					err = &canonical.RefusedError{Op: "open", Err: canonical.ErrRunTooLong}
				}
				return s, err
			}
		}},
		{"K05", "join_takes_any_token", func(g *good, k *hooks, _ *storetest.Harness) {
			k.joinRun = func(run canonical.RunKey, _ canonical.Token) (canonical.RunState, error) { return g.Inspect(ctx, run) }
		}},
		{"K05", "join_of_a_missing_run_is_taken", func(g *good, k *hooks, _ *storetest.Harness) {
			k.joinRun = func(run canonical.RunKey, token canonical.Token) (canonical.RunState, error) {
				s, err := g.JoinRun(ctx, run, token)
				if errors.Is(err, canonical.ErrRunMissing) {
					err = &canonical.RefusedError{Op: "join", Err: canonical.ErrRunTaken}
				}
				return s, err
			}
		}},
		{"K06", "close_forgets_what_is_unresolved", func(g *good, k *hooks, _ *storetest.Harness) {
			k.closeRun = func(c canonical.Closing) (canonical.ClosedRun, error) {
				closed, err := g.CloseRun(ctx, c)
				closed.Unresolved = nil
				return closed, err
			}
		}},
		{"K06", "a_second_close_is_refused", func(g *good, k *hooks, _ *storetest.Harness) {
			k.closeRun = func(c canonical.Closing) (canonical.ClosedRun, error) {
				if s, err := g.Inspect(ctx, c.Run); err == nil && s.Phase == canonical.RunClosed {
					return canonical.ClosedRun{}, &canonical.RefusedError{Op: "close", Err: canonical.ErrRunClosed}
				}
				return g.CloseRun(ctx, c)
			}
		}},
		{"K06", "calls_in_flight_cannot_end", func(g *good, k *hooks, _ *storetest.Harness) {
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				if s, err := g.Inspect(ctx, e.Run); err == nil && s.Phase == canonical.RunClosed {
					return canonical.Ended{}, &canonical.RefusedError{Op: "complete", Err: canonical.ErrRunClosed}
				}
				return g.Complete(ctx, e)
			}
		}},
		{"K07", "a_key_has_no_expiry_after_NOSCRIPT", func(g *good, k *hooks, h *storetest.Harness) {
			ended := map[canonical.RunKey]bool{} // the fields went out, the script behind them was not known
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				g.locked(func() { ended[e.Run] = true })
				return g.Complete(ctx, e)
			}
			h.Keys = func(run canonical.RunKey) []storetest.Key {
				keys := g.keys(run)
				for i := range keys {
					keys[i].Immortal = ended[run] && strings.HasPrefix(keys[i].Name, "call:")
				}
				return keys
			}
		}},
		{"K07", "open_is_reborn_without_expiry", func(g *good, k *hooks, h *storetest.Harness) {
			births := map[canonical.RunKey]int{}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				out, _ := g.Outstanding(ctx, a.Run)
				got, err := g.Admit(ctx, a)
				if err == nil && !got.Own && len(out.Open) == 0 {
					g.locked(func() { births[a.Run]++ })
				}
				return got, err
			}
			h.Keys = func(run canonical.RunKey) []storetest.Key {
				keys := g.keys(run)
				for i := range keys {
					keys[i].Immortal = keys[i].Name == "open" && births[run] > 1
				}
				return keys
			}
		}},
		{"K07", "a_refused_create_moves_the_TTL", func(g *good, k *hooks, _ *storetest.Harness) {
			moved := map[canonical.Identity]bool{}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				if errors.Is(err, canonical.ErrDuplicate) {
					g.locked(func() { moved[canonical.Identity{RunKey: a.Run, Call: a.Call}] = true })
				}
				return got, err
			}
			k.head = func(h *canonical.Head) {
				g.locked(func() {
					if moved[h.Identity] {
						h.Expires = lasting(h.Expires)
					}
				})
			}
		}},
		{"K08", "what_a_message_has_seen_is_ignored", func(g *good, k *hooks, _ *storetest.Harness) {
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) { a.Seen = 0; return g.Admit(ctx, a) }
			k.complete = func(e canonical.Ending) (canonical.Ended, error) { e.Seen = 0; return g.Complete(ctx, e) }
		}},
		{"K08", "a_damaged_run_cannot_be_read_or_ended", func(g *good, k *hooks, _ *storetest.Harness) {
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				if s, err := g.Inspect(ctx, e.Run); err == nil && s.Phase == canonical.RunDamaged {
					return canonical.Ended{}, &canonical.RefusedError{Op: "complete", Err: canonical.ErrRunDamaged}
				}
				return g.Complete(ctx, e)
			}
		}},
		{"K71", "something_is_left_for_ever", func(g *good, k *hooks, h *storetest.Harness) {
			known := map[canonical.RunKey]bool{}
			k.openRun = func(o canonical.Opening) (canonical.RunState, error) {
				g.locked(func() { known[o.Run] = true })
				return g.OpenRun(ctx, o)
			}
			h.Keys = func(run canonical.RunKey) []storetest.Key {
				keys := g.keys(run)
				if known[run] && len(keys) == 0 {
					keys = append(keys, storetest.Key{Name: "settled:x", Expires: lasting(g.clock.Now())})
				}
				return keys
			}
		}},
		{"K71", "a_run_that_is_over_is_still_told", func(g *good, k *hooks, _ *storetest.Harness) {
			last := map[canonical.RunKey]canonical.RunState{}
			k.state = func(s *canonical.RunState) { g.locked(func() { last[s.Run] = *s }) }
			k.inspect = func(run canonical.RunKey) (canonical.RunState, error) {
				s, err := g.Inspect(ctx, run)
				if was, ok := last[run]; err != nil && ok {
					return was, nil
				}
				return s, err
			}
		}},
	}
}
