package redisstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
)

// runsKey is where the list of the tests' scope stands.
func (e env) runsKey() string { return scopeBase(e.prefix, runKey("").Scope) + "runs" }

// listed are the runs that are listed in the tests' scope.
func listed(t testing.TB, e env) []string {
	t.Helper()
	list, err := e.store.ListRuns(ctx, runKey("").Scope, canonical.ListedRun{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, run := range list {
		ids = append(ids, string(run.Run))
	}
	return ids
}

func wantListed(t testing.TB, e env, want ...string) {
	t.Helper()
	if got := listed(t, e); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("listed are %v, want %v", got, want)
	}
}

func TestList_of_a_foreign_type(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		if err := e.client.Set(ctx, e.runsKey(), "somebody else's", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.store.OpenRun(ctx, opening(t, runKey("r"))); !errors.Is(err, canonical.ErrForeign) {
			t.Errorf("OpenRun = %v, want ErrForeign", err)
		}
		if _, err := e.store.ListRuns(ctx, runKey("").Scope, canonical.ListedRun{}, 10); !errors.Is(err, canonical.ErrForeign) {
			t.Errorf("ListRuns = %v, want ErrForeign", err)
		}
		if got := e.client.Get(ctx, e.runsKey()).Val(); got != "somebody else's" {
			t.Errorf("the key holds %q", got)
		}
		for _, key := range e.keys(t) {
			if e.client.PTTL(ctx, key).Val() < 0 {
				t.Errorf("%s has no expiry", key)
			}
		}
	})
}

// A process that dies between the list and the ledger leaves a run in the list
// that is not there; a ledger that was evicted looks the same.
func TestList_without_a_ledger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		for i := range 5 {
			o := opening(t, runKey(fmt.Sprintf("r%d", i)))
			o.Duration += time.Duration(i) * time.Minute
			if _, err := e.store.OpenRun(ctx, o); err != nil {
				t.Fatal(err)
			}
		}
		for _, lost := range []string{"r0", "r1", "r3"} {
			if err := e.client.Del(ctx, e.base(runKey(lost))+"run").Err(); err != nil {
				t.Fatal(err)
			}
		}
		wantListed(t, e, "r2", "r4")
		page, err := e.store.ListRuns(ctx, runKey("").Scope, canonical.ListedRun{}, 1)
		if err != nil || len(page) != 1 || page[0].Run != "r2" {
			t.Errorf("a page of one = %v, %v; want r2", page, err)
		}
	})
}

// Whoever opens a run again puts right what the list has lost, or has too early.
func TestList_that_was_lost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		state := open(t, e.store, "r1")
		if err := e.client.Del(ctx, e.runsKey()).Err(); err != nil {
			t.Fatal(err)
		}
		wantListed(t, e)
		open(t, e.store, "r1")
		wantListed(t, e, "r1")
		soon := state.Now.Add(time.Minute)
		if err := e.client.ZAdd(ctx, e.runsKey(), redis.Z{Score: float64(soon.UnixMilli()), Member: "r1"}).Err(); err != nil {
			t.Fatal(err)
		}
		e.flushScripts(t)
		open(t, e.store, "r1")
		if at := e.client.ZScore(ctx, e.runsKey(), "r1").Val(); int64(at) < state.Expires.UnixMilli() {
			t.Errorf("the run is listed until %.0f, its life ends %d", at, state.Expires.UnixMilli())
		}
		if left := e.client.PTTL(ctx, e.runsKey()).Val(); left < 24*time.Hour {
			t.Errorf("the list expires in %v, before its run", left)
		}
	})
}

// Runs that are over leave the list when others are opened, some at a time, and
// in between nobody reads them.
func TestList_is_pruned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		over := make([]redis.Z, 2500)
		for i := range over {
			over[i] = redis.Z{Score: float64(i + 1), Member: fmt.Sprintf("over-%d", i)}
		}
		if err := e.client.ZAdd(ctx, e.runsKey(), over...).Err(); err != nil {
			t.Fatal(err)
		}
		for i, left := range []int64{1500 + 1, 500 + 2, 3, 4} {
			open(t, e.store, fmt.Sprintf("r%d", i))
			if got := e.client.ZCard(ctx, e.runsKey()).Val(); got != left {
				t.Errorf("after %d openings the list has %d entries, want %d", i+1, got, left)
			}
			if got := listed(t, e); len(got) != i+1 {
				t.Errorf("after %d openings %v are listed", i+1, got)
			}
		}
	})
}

func TestList_trips(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) env{"embedded": mini, "redis": shared} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t)
			open(t, e.store, "r1")
			over := redis.Z{Score: 1, Member: "over"}
			if err := e.client.ZAdd(ctx, e.runsKey(), over).Err(); err != nil {
				t.Fatal(err)
			}
			s, w := wired(t, e, -1)
			if _, err := s.OpenRun(ctx, opening(t, runKey("r2"))); err != nil { // asks for the policy as well
				t.Fatal(err)
			}
			w.took(t, "an opening", 1, func() error { _, err := s.OpenRun(ctx, opening(t, runKey("r3"))); return err })
			w.took(t, "the same opening", 1, func() error { _, err := s.OpenRun(ctx, opening(t, runKey("r3"))); return err })
			w.took(t, "a list", 2, func() error {
				_, err := s.ListRuns(ctx, runKey("").Scope, canonical.ListedRun{}, 100)
				return err
			})
			w.took(t, "an empty list", 1, func() error {
				_, err := s.ListRuns(ctx, canonical.Scope{Tenant: "nobody"}, canonical.ListedRun{}, 100)
				return err
			})
		})
	}
}
