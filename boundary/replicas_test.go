package boundary_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// replicated is a store that asks one replica, and its replicas to stop and start.
type replicated struct {
	store   *redisstore.Store
	freeze  func()
	recover func()
}

func replicatedServer(t *testing.T) replicated {
	g := redistest.Replicated(t, 1)
	return replicated{dialAsking(t, g.Primary.URL()), g.Replicas[0].Pause, func() { g.Replicas[0].Resume(); g.Synchronize(t) }}
}

func replicatedCluster(t *testing.T) replicated {
	c := redistest.Cluster(t, redistest.ClusterOptions{Replicas: 1, NodeTimeout: 30 * time.Second})
	each := func(do func(*redistest.Process)) {
		for _, replica := range c.Nodes()[3:] {
			do(replica)
		}
	}
	return replicated{dialAsking(t, c.URL()), func() { each((*redistest.Process).Pause) }, func() { each((*redistest.Process).Resume); c.Settle() }}
}

func dialAsking(t *testing.T, url string) *redisstore.Store {
	t.Helper()
	store, err := redisstore.Dial(t.Context(), url, &redisstore.Options{Replicas: 1, ReplicaTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return store
}

// P31: one replica is asked for, and there, or not.
func TestReplicas(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) replicated{"redis": replicatedServer, "cluster": replicatedCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("P31_one_replica_is_asked_for", func(t *testing.T) {
				servers := start(t)
				b := newBench(t, &deck{Store: servers.store, now: time.Now, advance: pass, soon: time.Second}, setup{})
				replicaThere(t, b, "before")
				replicaGoesInside(t, b, servers)
				replicaGone(t, b, servers)
				servers.recover()
				replicaThere(t, b, "after")
			})
		})
	}
}

func (b *bench) either(id string, e boundary.Executor, write bool) boundary.Result {
	b.t.Helper()
	env, action := b.call(id, write, e)
	return b.Invoke(b.t.Context(), b.run, env, action)
}

func wantStrength(t *testing.T, got boundary.Result, want evidence.Strength) {
	t.Helper()
	if ref, ok := got.Outcome.Reference(); !ok || ref.Strength != want {
		t.Errorf("reference %+v, want the strength %q", ref, want)
	}
}

func replicaThere(t *testing.T, b *bench, id string) {
	t.Helper()
	for _, write := range []bool{false, true} {
		got := b.either(fmt.Sprintf("%s-%t", id, write), says("ok"), write)
		wantReady(t, got, "seen: ok")
		wantStrength(t, got, "replicas:1")
	}
}

// replicaGoesInside: the call was admitted by both, its end reaches only one. That
// is a result like any other, with what it rests on.
func replicaGoesInside(t *testing.T, b *bench, servers replicated) {
	t.Helper()
	got := b.read("inside", &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		servers.freeze()
		_, err := io.WriteString(raw, "ok")
		return err
	}})
	wantReady(t, got, "seen: ok")
	wantStrength(t, got, evidence.StrengthMemory)
}

// replicaGone: the admission reaches too few. Nothing is entered, and the record
// says so; its place in the budget is used.
func replicaGone(t *testing.T, b *bench, servers replicated) {
	t.Helper()
	for id, write := range map[string]bool{"read": false, "write": true} {
		tool := says("no")
		before, err := servers.store.Inspect(t.Context(), b.run.Key())
		if err != nil {
			t.Fatal(err)
		}
		wantFailed(t, b.either(id, tool, write), lifecycle.StoreUnavailable, lifecycle.NotStarted)
		wantEntered(t, tool, 0)
		rec := b.record(id)
		if rec.State != lifecycle.Error || rec.Code != lifecycle.StoreUnavailable || rec.Execution != lifecycle.NotStarted || rec.Stage != canonical.StageStore {
			t.Errorf("record %s %s %s at %s, want ERROR STORE_UNAVAILABLE not_started", rec.State, rec.Code, rec.Execution, rec.Stage)
		}
		if after, err := servers.store.Inspect(t.Context(), b.run.Key()); err != nil || after.LastSeq != before.LastSeq+1 {
			t.Errorf("%d admissions, %v; want %d", after.LastSeq, err, before.LastSeq+1)
		}
		wantFailed(t, b.either(id, tool, write), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	}
	report, err := b.run.Facts(t.Context())
	if err != nil || len(report.Excluded) != 2 {
		t.Errorf("the report leaves out %+v, %v; want the two that were not started", report.Excluded, err)
	}
}
