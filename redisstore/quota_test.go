package redisstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/redisstore"
)

// heldKey and quotaKey are where the reservations of the tests' scope stand.
func (e env) heldKey() string  { return scopeBase(e.prefix, runKey("").Scope) + "held" }
func (e env) quotaKey() string { return scopeBase(e.prefix, runKey("").Scope) + "quota" }

// bounded opens a run of so many calls, ten bytes each, under a quota of records.
func bounded(t testing.TB, id string, calls int, quota int64) canonical.Opening {
	t.Helper()
	o := opening(t, runKey(id))
	o.Budget = canonical.Budget{Calls: calls, PerTool: canonical.Unlimited, Bytes: int64(10 * calls)}
	o.Quota = canonical.Quota{Records: quota}
	return o
}

func mustOpen(t testing.TB, s *redisstore.Store, o canonical.Opening) canonical.RunState {
	t.Helper()
	state, err := s.OpenRun(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func wantUse(t testing.TB, e env, when string, runs int, records int64) {
	t.Helper()
	got, err := e.store.ScopeUse(ctx, runKey("").Scope)
	if want := (canonical.Use{Runs: runs, Records: records, Bytes: 10 * records}); err != nil || got != want {
		t.Errorf("reserved %s is %+v, %v; want %+v", when, got, err, want)
	}
}

// Two clients open runs for the last of a quota. What they got, and what is
// reserved for it, is the same afterwards, in every round; and again when all runs
// were closed, pruned and over.
func TestQuota(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		t.Run("P26_two_clients_open_for_the_last_of_a_quota", func(t *testing.T) {
			stores := []*redisstore.Store{dial(t, e.url, e.options()), dial(t, e.url, e.options())}
			const perClient, calls, fit = 8, 5, 3
			var opened []canonical.RunKey
			var last canonical.RunState
			for round := range 5 {
				quota := int64(calls*(fit*(round+1)) + calls - 1)
				states := make([]canonical.RunState, 2*perClient)
				errs := make([]error, len(states))
				var all sync.WaitGroup
				start := make(chan struct{})
				for i := range states {
					o := bounded(t, fmt.Sprintf("r%d-%d", round, i), calls, quota)
					all.Go(func() {
						<-start
						states[i], errs[i] = stores[i%2].OpenRun(ctx, o)
					})
				}
				close(start)
				all.Wait()
				for i, err := range errs {
					switch {
					case err == nil:
						opened, last = append(opened, states[i].Run), states[i]
					case !errors.Is(err, canonical.ErrQuota):
						t.Errorf("a loser was told %v, want ErrQuota", err)
					}
				}
				if len(opened) != fit*(round+1) {
					t.Fatalf("after round %d %d runs are open, where %d fit", round, len(opened), fit*(round+1))
				}
				wantUse(t, e, "by those that fitted", len(opened), int64(calls*len(opened)))
			}
			a := admission(last, "c1", canonical.EffectRead)
			a.Reserve = 40
			complete(t, e.store, ready(a, admit(t, e.store, a).Expires, []byte("raw")))
			for _, run := range opened {
				if _, err := stores[0].CloseRun(ctx, canonical.Closing{Run: run, Token: token}); err != nil {
					t.Fatal(err)
				}
			}
			state, err := e.store.Inspect(ctx, a.Run)
			if err != nil {
				t.Fatal(err)
			}
			if use, err := e.store.ScopeUse(ctx, a.Run.Scope); err != nil || use != (canonical.Use{Runs: len(opened), Records: 1, Bytes: state.Reserved}) {
				t.Errorf("when all are closed %+v is reserved, %v; want one record of %d bytes", use, err, state.Reserved)
			}
			if err := errors.Join(e.store.Delete(ctx, a.Run, a.Call), e.store.ReleaseRun(ctx, a.Run)); err != nil {
				t.Fatal(err)
			}
			if use, err := e.store.ScopeUse(ctx, a.Run.Scope); err != nil || use != (canonical.Use{Runs: len(opened), Records: 1}) {
				t.Errorf("when all are pruned %+v is reserved, %v; want one record without bytes", use, err)
			}
			e.advance(48 * time.Hour)
			wantUse(t, e, "when all are over", 0, 0)
			mustOpen(t, e.store, bounded(t, "next", calls, calls))
			wantUse(t, e, "by the first of the next day", 1, calls)
		})
	})
}

func TestQuota_keys_of_a_foreign_type(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		for _, key := range []string{e.heldKey(), e.quotaKey()} {
			reserved := bounded(t, "r"+fmt.Sprint(len(key)), 5, 100)
			mustOpen(t, e.store, reserved)
			if err := e.client.Set(ctx, key, "somebody else's", time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
			_, opened := e.store.OpenRun(ctx, bounded(t, "other", 5, 100))
			_, looked := e.store.ScopeUse(ctx, runKey("").Scope)
			_, closed := e.store.CloseRun(ctx, canonical.Closing{Run: reserved.Run, Token: token})
			released := e.store.ReleaseRun(ctx, reserved.Run)
			for what, err := range map[string]error{"OpenRun": opened, "ScopeUse": looked, "CloseRun": closed, "ReleaseRun": released} {
				if !errors.Is(err, canonical.ErrForeign) {
					t.Errorf("%s = %v, want ErrForeign", what, err)
				}
			}
			if got := e.client.Get(ctx, key).Val(); got != "somebody else's" {
				t.Errorf("the key holds %q", got)
			}
			if _, err := e.store.Inspect(ctx, runKey("other")); !errors.Is(err, canonical.ErrRunMissing) {
				t.Errorf("the run that was refused = %v, want ErrRunMissing", err)
			}
			if err := e.client.Del(ctx, key).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range e.keys(t) {
			if e.client.PTTL(ctx, key).Val() < 0 {
				t.Errorf("%s has no expiry", key)
			}
		}
	})
}

// Thousands of reservations that are over count for nothing while they are still
// there, and an opening that needs their room takes all of them out.
func TestQuota_much_is_over(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		const over = 2500
		mustOpen(t, e.store, bounded(t, "living", 5, 100))
		members, fields := make([]redis.Z, over), []any{"n", 5 + over, "b", 50 + 10*over}
		for i := range members {
			name := fmt.Sprintf("over-%d:mark", i)
			members[i] = redis.Z{Score: float64(i + 1), Member: name}
			fields = append(fields, "r:"+name, "1:10:0")
		}
		if err := errors.Join(e.client.ZAdd(ctx, e.heldKey(), members...).Err(), e.client.HSet(ctx, e.quotaKey(), fields...).Err()); err != nil {
			t.Fatal(err)
		}
		wantUse(t, e, "beside what is over", 1, 5)
		if _, err := e.store.OpenRun(ctx, bounded(t, "large", 96, 100)); !errors.Is(err, canonical.ErrQuota) {
			t.Errorf("OpenRun beyond the quota = %v, want ErrQuota", err)
		} else if no, _ := errors.AsType[*canonical.RefusedError](err); no.Wanted != 101 || no.Limit != 100 {
			t.Errorf("wanted %d, limit %d; want 101, 100", no.Wanted, no.Limit)
		}
		mustOpen(t, e.store, bounded(t, "fits", 95, 100))
		wantUse(t, e, "to the last record", 2, 100)
		if left, fields := e.client.ZCard(ctx, e.heldKey()).Val(), e.client.HLen(ctx, e.quotaKey()).Val(); left != 2 || fields != 4 {
			t.Errorf("%d reservations in %d fields are left, want 2 in 4", left, fields)
		}
	})
}

// A process that dies between the two trips of an opening leaves its reservation
// behind, which the same opening takes up and which is void with the run's life.
func TestQuota_reserved_and_never_opened(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		o := bounded(t, "r1", 5, 5)
		mustOpen(t, e.store, o)
		if err := e.client.Del(ctx, e.base(o.Run)+"run").Err(); err != nil { // as if it had never been written
			t.Fatal(err)
		}
		wantUse(t, e, "by nobody who lives", 1, 5)
		if _, err := e.store.OpenRun(ctx, bounded(t, "r2", 1, 5)); !errors.Is(err, canonical.ErrQuota) {
			t.Errorf("OpenRun of another run = %v, want ErrQuota", err)
		}
		if state := mustOpen(t, e.store, o); state.Phase != canonical.RunOpen {
			t.Errorf("the same opening again: %s", state.Phase)
		}
		wantUse(t, e, "by the same opening again", 1, 5)
		if err := e.client.Del(ctx, e.base(o.Run)+"run").Err(); err != nil {
			t.Fatal(err)
		}
		e.advance(25 * time.Hour)
		wantUse(t, e, "when the life is over", 0, 0)
		mustOpen(t, e.store, bounded(t, "r2", 5, 5))
	})
}

// Reservations that an evicting server has lost do not stay in the sums.
func TestQuota_reservations_that_are_lost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		first := bounded(t, "r1", 5, 10)
		mustOpen(t, e.store, first)
		if err := e.client.Del(ctx, e.heldKey()).Err(); err != nil {
			t.Fatal(err)
		}
		wantUse(t, e, "when the list of reservations is lost", 0, 0)
		mustOpen(t, e.store, bounded(t, "r2", 10, 10))
		wantUse(t, e, "by one run after that", 1, 10)
		if _, err := e.store.CloseRun(ctx, canonical.Closing{Run: first.Run, Token: token}); err != nil {
			t.Errorf("closing the run whose reservation is lost = %v", err)
		}
		wantUse(t, e, "after it was closed", 1, 10)
		if err := e.client.Del(ctx, e.quotaKey()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.store.CloseRun(ctx, canonical.Closing{Run: runKey("r2"), Token: token}); err != nil {
			t.Errorf("closing where all numbers are lost = %v", err)
		}
		for _, key := range e.keys(t) {
			if e.client.PTTL(ctx, key).Val() < 0 {
				t.Errorf("%s has no expiry", key)
			}
		}
	})
}

// A close that is overtaken by a later one on its way does not undo it.
func TestQuota_close_that_comes_late(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		state := mustOpen(t, e.store, bounded(t, "r1", 5, 5))
		admit(t, e.store, func() canonical.Admission {
			a := admission(state, "c1", canonical.EffectRead)
			a.Reserve = 10
			return a
		}())
		if _, err := e.store.CloseRun(ctx, canonical.Closing{Run: state.Run, Token: token}); err != nil {
			t.Fatal(err)
		}
		wantUse(t, e, "after close", 1, 1)
		var name string
		for field := range e.client.HGetAll(ctx, e.quotaKey()).Val() {
			if len(field) > 2 && field[:2] == "r:" {
				name = field
			}
		}
		later := fmt.Sprintf("0:0:%d", state.Now.Add(time.Hour).UnixMilli())
		if err := e.client.HSet(ctx, e.quotaKey(), "n", 0, "b", 0, name, later).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.store.CloseRun(ctx, canonical.Closing{Run: state.Run, Token: token}); err != nil {
			t.Fatal(err)
		}
		wantUse(t, e, "when somebody has looked later", 1, 0)
	})
}

func TestQuota_trips(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) env{"embedded": mini, "redis": shared} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t)
			warm := bounded(t, "warm", 5, 100)
			mustOpen(t, e.store, warm)
			wantUse(t, e, "at first", 1, 5)
			if _, err := e.store.CloseRun(ctx, canonical.Closing{Run: warm.Run, Token: token}); err != nil {
				t.Fatal(err)
			}
			s, w := wired(t, e, -1)
			mustOpen(t, s, opening(t, runKey("plain"))) // asks for the policy as well
			o := bounded(t, "r1", 5, 5)
			w.took(t, "an opening under a quota", 2, func() error { _, err := s.OpenRun(ctx, o); return err })
			w.took(t, "the same again", 2, func() error { _, err := s.OpenRun(ctx, o); return err })
			full := func() error {
				if _, err := s.OpenRun(ctx, bounded(t, "r2", 1, 5)); !errors.Is(err, canonical.ErrQuota) {
					return fmt.Errorf("%w, want ErrQuota", err)
				}
				return nil
			}
			w.took(t, "a full quota", 2, full)
			w.took(t, "an opening without", 1, func() error { _, err := s.OpenRun(ctx, opening(t, runKey("r3"))); return err })
			w.took(t, "a use", 1, func() error { _, err := s.ScopeUse(ctx, o.Run.Scope); return err })
			w.took(t, "a close with a reservation", 2, func() error {
				_, err := s.CloseRun(ctx, canonical.Closing{Run: o.Run, Token: token})
				return err
			})
			w.took(t, "a release", 2, func() error { return s.ReleaseRun(ctx, o.Run) })
			w.took(t, "a close without", 1, func() error {
				_, err := s.CloseRun(ctx, canonical.Closing{Run: runKey("r3"), Token: token})
				return err
			})
			w.took(t, "a release of nothing", 1, func() error { return s.ReleaseRun(ctx, runKey("r3")) })
		})
	}
}

// Answers that are lost on the way, each of the trips', reserve nothing twice and
// keep nothing that was refused.
func TestQuota_answers_are_lost(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) env{"embedded": mini, "redis": shared} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t)
			s, w := wired(t, e, 3)
			mustOpen(t, s, opening(t, runKey("plain")))
			for lost := range int64(3) {
				o := bounded(t, fmt.Sprintf("r%d", lost), 5, 100)
				w.lose.Store(lost)
				mustOpen(t, s, o)
				wantUse(t, e, "after lost answers", int(lost+1), 5*(lost+1))
				w.lose.Store(lost)
				taken := o
				taken.Token = "another-token"
				if _, err := s.OpenRun(ctx, taken); !errors.Is(err, canonical.ErrRunTaken) {
					t.Errorf("OpenRun with another token = %v, want ErrRunTaken", err)
				}
				wantUse(t, e, "after a refusal and lost answers", int(lost+1), 5*(lost+1))
			}
			w.lose.Store(1)
			if _, err := s.CloseRun(ctx, canonical.Closing{Run: runKey("r0"), Token: token}); err != nil {
				t.Fatal(err)
			}
			wantUse(t, e, "after a close", 3, 10)
		})
	}
}
