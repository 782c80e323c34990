package storetest_test

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// keysLeft adds what was left behind to a harness's list of keys.
func keysLeft(g *good, h *storetest.Harness, left map[canonical.RunKey]string) {
	h.Keys = func(run canonical.RunKey) []storetest.Key {
		keys := g.keys(run)
		g.locked(func() {
			if name := left[run]; name != "" {
				keys = append(keys, storetest.Key{Name: name, Immortal: true})
			}
		})
		return keys
	}
}

// holders remembers the claim of each record.
func holders(g *good, k *hooks) func(canonical.RunKey, canonical.CallName) canonical.Claim {
	claims := map[canonical.Identity]canonical.Claim{}
	k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
		got, err := g.Admit(ctx, a)
		if err == nil {
			g.locked(func() { claims[canonical.Identity{RunKey: a.Run, Call: a.Call}] = a.Claim })
		}
		return got, err
	}
	return func(run canonical.RunKey, name canonical.CallName) (c canonical.Claim) {
		g.locked(func() { c = claims[canonical.Identity{RunKey: run, Call: name}] })
		return c
	}
}

func brokenEndings() []broken {
	return []broken{
		{"K30", "a_save_is_not_kept", func(g *good, k *hooks, _ *storetest.Harness) {
			k.save = func(m canonical.Saving) (canonical.Ended, error) {
				if g.head(m.Run, m.Call).State == lifecycle.Projecting {
					return canonical.Ended{Strength: "memory"}, nil
				}
				return g.Save(ctx, m)
			}
		}},
		{"K30", "a_saved_call_counts_as_READY", func(g *good, k *hooks, _ *storetest.Harness) { // facts from PROJECTING
			k.head = func(h *canonical.Head) {
				if h.State == lifecycle.Projecting && h.Raw.Stored {
					h.State, h.Evidence, h.Execution = lifecycle.Ready, evidence.Found, lifecycle.Completed
				}
			}
		}},
		{"K30", "anybody_may_save", func(g *good, k *hooks, _ *storetest.Harness) {
			holder := holders(g, k)
			k.save = func(m canonical.Saving) (canonical.Ended, error) {
				m.Claim = holder(m.Run, m.Call)
				return g.Save(ctx, m)
			}
		}},
		{"K31", "other_bytes_are_success", func(g *good, k *hooks, _ *storetest.Harness) {
			k.save = func(m canonical.Saving) (canonical.Ended, error) {
				got, err := g.Save(ctx, m)
				if errors.Is(err, canonical.ErrConflict) {
					return canonical.Ended{Repeat: true}, nil
				}
				return got, err
			}
		}},
		{"K31", "a_refused_save_removes_the_accepted_raw", func(g *good, k *hooks, _ *storetest.Harness) {
			cleaned := map[canonical.Identity]bool{}
			k.save = func(m canonical.Saving) (canonical.Ended, error) {
				got, err := g.Save(ctx, m)
				if errors.Is(err, canonical.ErrConflict) {
					g.locked(func() { cleaned[canonical.Identity{RunKey: m.Run, Call: m.Call}] = true })
				}
				return got, err
			}
			k.record = func(r *canonical.Record) {
				g.locked(func() {
					if cleaned[r.Identity] {
						r.Raw.Bytes = nil
					}
				})
			}
		}},
		{"K32", "facts_are_lost", func(g *good, k *hooks, _ *storetest.Harness) {
			k.head = func(h *canonical.Head) { h.Facts = nil }
		}},
		{"K32", "nothing_found_becomes_something_found", func(g *good, k *hooks, _ *storetest.Harness) {
			k.head = func(h *canonical.Head) {
				if h.Evidence == evidence.None {
					h.Evidence = evidence.Found
				}
			}
		}},
		{"K32", "the_claim_is_ignored", func(g *good, k *hooks, _ *storetest.Harness) {
			holder := holders(g, k)
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				if claim := holder(e.Run, e.Call); claim != "" {
					e.Claim = claim
				}
				return g.Complete(ctx, e)
			}
		}},
		{"K32", "an_ERROR_has_an_agent_result", func(g *good, k *hooks, _ *storetest.Harness) {
			k.view = func(run canonical.RunKey, name canonical.CallName) (canonical.View, error) {
				v, err := g.View(ctx, run, name)
				if v.State == lifecycle.Error {
					v.Agent = canonical.Body("sorry")
				}
				return v, err
			}
		}},
		{"K33", "a_repeat_is_a_conflict", func(g *good, k *hooks, _ *storetest.Harness) {
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if got.Repeat {
					return canonical.Ended{}, &canonical.RefusedError{Op: "complete", Err: canonical.ErrConflict, First: e.Verdict.State}
				}
				return got, err
			}
		}},
		{"K33", "a_repeat_is_dated_anew", func(g *good, k *hooks, _ *storetest.Harness) {
			repeated := map[canonical.Identity]bool{}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if got.Repeat {
					g.locked(func() { repeated[canonical.Identity{RunKey: e.Run, Call: e.Call}] = true })
				}
				return got, err
			}
			k.head = func(h *canonical.Head) {
				g.locked(func() {
					if repeated[h.Identity] {
						h.Ended = g.clock.Now()
					}
				})
			}
		}},
		{"K33", "a_repeat_gives_capacity_back_twice", func(g *good, k *hooks, _ *storetest.Harness) {
			twice := map[canonical.RunKey]int64{}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if got.Repeat {
					g.locked(func() { twice[e.Run] += 100 })
				}
				return got, err
			}
			k.state = func(s *canonical.RunState) { g.locked(func() { s.Reserved -= twice[s.Run] }) }
		}},
		{"K34", "ERROR_becomes_READY", func(g *good, k *hooks, _ *storetest.Harness) {
			healed := map[canonical.Identity]bool{}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if errors.Is(err, canonical.ErrConflict) && e.Verdict.State == lifecycle.Ready && g.head(e.Run, e.Call).State == lifecycle.Error {
					g.locked(func() { healed[canonical.Identity{RunKey: e.Run, Call: e.Call}] = true })
					return canonical.Ended{Strength: "memory"}, nil
				}
				return got, err
			}
			k.head = func(h *canonical.Head) {
				g.locked(func() {
					if healed[h.Identity] {
						h.State, h.Code, h.Evidence = lifecycle.Ready, "", evidence.Found
					}
				})
			}
		}},
		{"K34", "cleanup_removes_the_accepted_raw", func(g *good, k *hooks, _ *storetest.Harness) {
			cleaned := map[canonical.Identity]bool{}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if errors.Is(err, canonical.ErrConflict) {
					g.locked(func() { cleaned[canonical.Identity{RunKey: e.Run, Call: e.Call}] = true })
				}
				return got, err
			}
			k.record = func(r *canonical.Record) {
				g.locked(func() {
					if cleaned[r.Identity] {
						r.Raw.Bytes = nil
					}
				})
			}
		}},
		{"K35", "a_late_ending_revives_the_key", func(g *good, k *hooks, h *storetest.Harness) {
			left := map[canonical.RunKey]string{}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if errors.Is(err, canonical.ErrMissing) {
					g.locked(func() { left[e.Run] = "call:" + e.Call.String() })
				}
				return got, err
			}
			keysLeft(g, h, left)
		}},
		{"K35", "an_ending_of_nothing_is_success", func(g *good, k *hooks, _ *storetest.Harness) {
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if errors.Is(err, canonical.ErrMissing) {
					return canonical.Ended{Strength: "memory"}, nil
				}
				return got, err
			}
		}},
		{"K37", "an_unknown_ending_leaves_the_barrier", func(g *good, k *hooks, _ *storetest.Harness) {
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if err == nil && e.Verdict.Execution == lifecycle.Unknown {
					_ = g.Resolve(ctx, canonical.Resolution{Run: e.Run, Call: e.Call, Verdict: canonical.NotApplied, Evidence: "none"})
				}
				return got, err
			}
		}},
		{"K37", "ended_calls_stay_open", func(g *good, k *hooks, _ *storetest.Harness) {
			ended := map[canonical.RunKey][]canonical.OpenCall{}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if err == nil && !got.Repeat {
					g.locked(func() { ended[e.Run] = append(ended[e.Run], canonical.OpenCall{Call: e.Call, Due: g.clock.Now()}) })
				}
				return got, err
			}
			k.outstanding = func(run canonical.RunKey) (canonical.Outstanding, error) {
				out, err := g.Outstanding(ctx, run)
				g.locked(func() { out.Open = append(out.Open, ended[run]...) })
				return out, err
			}
		}},
		{"K38", "two_endings_win", func(g *good, k *hooks, _ *storetest.Harness) {
			var inside atomic.Int32
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				if g.head(e.Run, e.Call).State != lifecycle.Projecting { // looks first, acts later
					return g.Complete(ctx, e)
				}
				inside.Add(1)
				for i := 0; i < 10_000 && inside.Load() < 2; i++ {
					runtime.Gosched()
				}
				got, err := g.Complete(ctx, e)
				inside.Add(-1)
				if errors.Is(err, canonical.ErrConflict) {
					return canonical.Ended{Strength: "memory"}, nil
				}
				return got, err
			}
		}},
		{"K39", "any_verdict_is_taken", func(g *good, k *hooks, _ *storetest.Harness) {
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if errors.As(err, new(*lifecycle.CompletionError)) {
					return canonical.Ended{}, nil
				}
				return got, err
			}
		}},
		{"K39", "an_impossible_verdict_is_a_conflict", func(g *good, k *hooks, _ *storetest.Harness) {
			k.settle = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Settle(ctx, e)
				if errors.As(err, new(*lifecycle.CompletionError)) {
					err = &canonical.RefusedError{Op: "settle", Err: canonical.ErrConflict}
				}
				return got, err
			}
		}},
		{"K40", "an_ending_gives_a_new_life", func(g *good, k *hooks, _ *storetest.Harness) {
			k.head = func(h *canonical.Head) {
				if h.State.Final() {
					h.Expires = h.Ended.Add(h.Expires.Sub(h.Created))
				}
			}
		}},
		{"K40", "a_large_body_gives_a_new_life", func(g *good, k *hooks, h *storetest.Harness) {
			large := map[string]bool{}
			k.complete = func(e canonical.Ending) (canonical.Ended, error) {
				got, err := g.Complete(ctx, e)
				if len(e.Raw.Bytes) > 1<<20 {
					g.locked(func() { large["call:"+e.Call.String()] = true })
				}
				return got, err
			}
			h.Keys = func(run canonical.RunKey) []storetest.Key {
				keys := g.keys(run)
				for i := range keys {
					if large[keys[i].Name] {
						keys[i].Expires = lasting(keys[i].Expires)
					}
				}
				return keys
			}
		}},
	}
}

// changed is a store that gives back other bytes than it got.
func changed(how func(canonical.Body) canonical.Body) func(*good, *hooks, *storetest.Harness) {
	return func(g *good, k *hooks, _ *storetest.Harness) {
		k.record = func(r *canonical.Record) { r.Raw.Bytes = how(r.Raw.Bytes) }
	}
}

func brokenBytes() []broken {
	return []broken{
		{"K24", "the_request_is_the_callers_memory", func(g *good, k *hooks, _ *storetest.Harness) {
			kept := map[canonical.CallName]canonical.Body{}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				g.locked(func() { kept[a.Call] = a.Request })
				return g.Admit(ctx, a)
			}
			k.record = func(r *canonical.Record) {
				g.locked(func() {
					if b := kept[r.Identity.Call]; b != nil && len(b) == len(r.Request) {
						r.Request = b
					}
				})
			}
		}},
		{"K24", "readers_share_the_stores_memory", func(g *good, k *hooks, _ *storetest.Harness) {
			kept := map[canonical.CallName]canonical.Body{}
			k.record = func(r *canonical.Record) {
				g.locked(func() {
					if kept[r.Identity.Call] == nil && r.Agent != nil {
						kept[r.Identity.Call] = r.Agent
					}
					if b := kept[r.Identity.Call]; b != nil {
						r.Agent = b
					}
				})
			}
		}},
		{"K36", "bytes_that_are_no_text_are_replaced", changed(func(b canonical.Body) canonical.Body {
			if b == nil {
				return nil
			}
			return canonical.Body(strings.ToValidUTF8(string(b), "?"))
		})},
		{"K36", "an_empty_result_becomes_none", changed(func(b canonical.Body) canonical.Body {
			if len(b) == 0 {
				return nil
			}
			return b
		})},
		{"K36", "a_body_ends_at_NUL", changed(func(b canonical.Body) canonical.Body {
			head, _, cut := strings.Cut(string(b), "\x00")
			if cut {
				return canonical.Body(head)
			}
			return b
		})},
		{"K36", "a_body_is_cut_at_a_mebibyte", changed(func(b canonical.Body) canonical.Body { return b[:min(len(b), 1<<20):min(len(b), 1<<20)] })},
		{"K36", "a_result_too_large_to_keep_loses_its_size", func(g *good, k *hooks, _ *storetest.Harness) {
			k.head = func(h *canonical.Head) {
				if !h.Raw.Stored {
					h.Raw = canonical.RawInfo{}
				}
			}
		}},
	}
}
