package redistest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
)

func TestReplicated_replicas_follow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := redistest.Replicated(t, 2)
	set(t, g.Primary.Client(), "k", 0)
	if n, err := g.Primary.Client().Wait(ctx, 2, 0).Result(); err != nil || n != 2 {
		t.Errorf("WAIT = %d, %v; want 2 replicas", n, err)
	}
	for _, r := range g.Replicas {
		if got, err := r.Client().Get(ctx, "k").Result(); err != nil || got != "v" {
			t.Errorf("%s has %q, %v", r.Addr(), got, err)
		}
		if err := r.Client().Set(ctx, "k", "w", 0).Err(); !redis.HasErrorPrefix(err, "READONLY") {
			t.Errorf("a write to a replica = %v, want READONLY", err)
		}
	}
	g.Replicas[0].Stop()
	g.Replicas[1].Restart()
	g.Synchronize(t)
	if got, err := g.Replicas[1].Client().Get(ctx, "k").Result(); err != nil || got != "v" {
		t.Errorf("after its restart the replica has %q, %v", got, err)
	}
}

func TestSentinel_promotes_a_replica(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := redistest.Replicated(t, 2)
	p := g.Sentinel(t, "user watcher on >seen allchannels +@all")
	s := redis.NewSentinelClient(&redis.Options{Addr: p.Addr(), Username: "watcher", Password: "seen"})
	defer s.Close()
	master := func() string {
		addr, err := s.GetMasterAddrByName(ctx, redistest.MasterName).Result()
		if err != nil || len(addr) != 2 {
			t.Fatalf("the sentinel says %q, %v", addr, err)
		}
		return addr[0] + ":" + addr[1]
	}
	if got := master(); got != g.Primary.Addr() {
		t.Fatalf("the sentinel watches %s, want %s", got, g.Primary.Addr())
	}
	g.Primary.Kill()
	if !eventually(func() bool { return master() != g.Primary.Addr() }) {
		t.Fatal("nobody was promoted")
	}
	promoted := master()
	i := slices.IndexFunc(g.Replicas, func(r *redistest.Process) bool { return r.Addr() == promoted })
	if i < 0 || info(t, g.Replicas[i].Client(), "replication", "role") != "master" {
		t.Errorf("the sentinel promoted %s, which is not one of the replicas, or no master", promoted)
	}
}
