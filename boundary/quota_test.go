package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func TestQuota(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"P26_two_processes_open_for_the_last_of_a_quota", openForTheLast},
		{"P26_what_is_not_used_is_given_back", quotaGivenBack},
		{"a_budget_without_limit", unboundedUnderQuota},
		{"a_scope_of_its_own", quotaOfAScope},
	})
}

// underQuota is a process whose host bounds the records of each scope.
func underQuota(t *testing.T, d *deck, records int64) *bench {
	t.Helper()
	return process(t, d, boundary.Config{ScopeQuota: canonical.Quota{Records: records}})
}

// wants is a run of the usual scope with room for so many calls.
func wants(calls int) boundary.RunSpec {
	return boundary.RunSpec{Scope: testScope(), Budget: canonical.Budget{Calls: calls}}
}

func usedBy(t *testing.T, d *deck) canonical.Use {
	t.Helper()
	use, err := d.ScopeUse(t.Context(), testScope())
	if err != nil {
		t.Fatal(err)
	}
	return use
}

func openForTheLast(t *testing.T, d *deck) {
	processes := []*bench{underQuota(t, d, 19), underQuota(t, d, 19)}
	var mu sync.Mutex
	var opened []*boundary.Run
	var wave sync.WaitGroup
	for i := range 12 {
		wave.Go(func() {
			run, err := processes[i%2].OpenRun(context.WithoutCancel(t.Context()), wants(5))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				opened = append(opened, run)
				return
			}
			host, ok := errors.AsType[*boundary.Error](err)
			if !ok || host.Code != lifecycle.CapacityExhausted || host.Execution != lifecycle.NotStarted || !errors.Is(err, canonical.ErrQuota) {
				t.Errorf("a loser was told %v, want CAPACITY_EXHAUSTED with %v in it", err, canonical.ErrQuota)
			}
		})
	}
	wave.Wait()
	if len(opened) != 3 {
		t.Fatalf("%d runs are open, where 3 fit", len(opened))
	}
	if use := usedBy(t, d); use.Runs != 3 || use.Records != 15 {
		t.Errorf("reserved is %+v, want 15 records of 3 runs", use)
	}
	for _, run := range opened {
		if err := run.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if use := usedBy(t, d); use != (canonical.Use{Runs: 3}) {
		t.Errorf("after closing, reserved is %+v, want nothing", use)
	}
}

func quotaGivenBack(t *testing.T, d *deck) {
	b := underQuota(t, d, 10)
	run, err := b.OpenRun(t.Context(), wants(10))
	if err != nil {
		t.Fatal(err)
	}
	envelope := boundary.Envelope{RunID: run.ID(), ToolCallID: "a", Tool: "sql", Input: []byte(`{}`), Authorized: true, ReadOnly: true}
	wantReady(t, b.Invoke(t.Context(), run, envelope, reading(says("ok"))), "seen: ok")
	_, err = b.OpenRun(t.Context(), wants(1))
	wantRunError(t, err, lifecycle.CapacityExhausted, canonical.ErrQuota)
	for range 2 {
		if err := run.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	held, err := d.Inspect(t.Context(), run.Key())
	if err != nil {
		t.Fatal(err)
	}
	if use := usedBy(t, d); use != (canonical.Use{Runs: 1, Records: 1, Bytes: held.Reserved}) {
		t.Errorf("reserved is %+v, want one record of %d bytes", use, held.Reserved)
	}
	if _, err := b.OpenRun(t.Context(), wants(9)); err != nil {
		t.Errorf("a run of what is left: %v", err)
	}
	if err := errors.Join(d.Delete(t.Context(), run.Key(), named("a")), d.ReleaseRun(t.Context(), run.Key())); err != nil {
		t.Fatal(err)
	}
	budget, err := canonical.Budget{Calls: 9}.WithDefaults(canonical.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if use := usedBy(t, d); use != (canonical.Use{Runs: 2, Records: 10, Bytes: budget.Bytes}) {
		t.Errorf("after pruning, reserved is %+v, want the second run's capacity and one record without bytes", use)
	}
}

func unboundedUnderQuota(t *testing.T, d *deck) {
	b := underQuota(t, d, 10)
	for _, budget := range []canonical.Budget{{Calls: canonical.Unlimited}, {Calls: 1, Bytes: canonical.Unlimited}} {
		spec := wants(1)
		spec.Budget = budget
		_, err := b.OpenRun(t.Context(), spec)
		wantRunError(t, err, lifecycle.InvalidInput, nil)
	}
	if use := usedBy(t, d); use != (canonical.Use{}) {
		t.Errorf("reserved is %+v, want nothing", use)
	}
}

func quotaOfAScope(t *testing.T, d *deck) {
	b := underQuota(t, d, 5)
	for i := range 3 {
		spec := wants(5)
		spec.Scope.Owner = fmt.Sprint("owner-", i)
		spec.MaxDuration = time.Minute
		if _, err := b.OpenRun(t.Context(), spec); err != nil {
			t.Errorf("the first run of owner %d: %v", i, err)
		}
		_, err := b.OpenRun(t.Context(), spec)
		wantRunError(t, err, lifecycle.CapacityExhausted, canonical.ErrQuota)
	}
	if _, err := process(t, d, boundary.Config{}).OpenRun(t.Context(), wants(5)); err != nil {
		t.Errorf("a run without a quota: %v", err)
	}
}
