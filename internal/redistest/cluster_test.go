package redistest_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
)

func TestCluster_is_ready_and_whole(t *testing.T) {
	t.Parallel()
	start := time.Now()
	c := redistest.Cluster(t, redistest.ClusterOptions{Replicas: 1})
	t.Logf("ready after %v", time.Since(start))
	if n := len(c.Nodes()); n != 6 {
		t.Fatalf("%d nodes, want 6", n)
	}
	seen := map[*redistest.Process]int{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if err := c.Client().Set(context.Background(), key, "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		primary, replicas := c.Primary(key), c.Replicas(key)
		seen[primary]++
		if len(replicas) != 1 || !slices.Contains(c.Nodes()[3:], replicas[0]) || !slices.Contains(c.Nodes()[:3], primary) {
			t.Errorf("key %s: primary %s, replicas %d; want one of the first three nodes and one of the others", key, primary.Addr(), len(replicas))
		}
		if got, err := primary.Client().Get(context.Background(), key).Result(); err != nil || got != "v" {
			t.Errorf("key %s on %s = %q, %v", key, primary.Addr(), got, err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("the keys lie on %d nodes, want 3", len(seen))
	}
	for _, node := range c.Nodes() {
		if role := info(t, node.Client(), "replication", "role"); (role == "master") != slices.Contains(c.Nodes()[:3], node) {
			t.Errorf("%s is a %s", node.Addr(), role)
		}
	}
}

func TestCluster_without_replicas_and_with_arguments(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, redistest.ClusterOptions{Args: []string{"--maxmemory", "64mb"}, NodeTimeout: 5 * time.Second})
	for _, node := range c.Nodes() {
		if size, timeout := config(t, node.Client(), "maxmemory"), config(t, node.Client(), "cluster-node-timeout"); size != "67108864" || timeout != "5000" {
			t.Errorf("maxmemory %s, node timeout %s; want 67108864, 5000", size, timeout)
		}
	}
	if n := len(c.Nodes()); n != 3 || len(c.Replicas("k")) != 0 {
		t.Errorf("%d nodes and %d replicas, want 3 and 0", n, len(c.Replicas("k")))
	}
	if !strings.HasPrefix(c.URL(), "redis+cluster://127.0.0.1:") || strings.Count(c.URL(), ",") != 2 {
		t.Errorf("URL %s", c.URL())
	}
}

// A replica takes over from a primary that is killed, or that hangs.
func TestCluster_fails_over(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, redistest.ClusterOptions{Replicas: 1})
	for what, act := range map[string]struct{ stop, back func(*redistest.Process) }{
		"killed": {(*redistest.Process).Kill, (*redistest.Process).Start},
		"paused": {(*redistest.Process).Pause, (*redistest.Process).Resume},
	} {
		if len(c.Replicas("k")) != 1 {
			t.Fatalf("%d replicas, want 1", len(c.Replicas("k")))
		}
		primary, replica := c.Primary("k"), c.Replicas("k")[0]
		start := time.Now()
		act.stop(primary)
		if !eventually(func() bool { return c.Primary("k") == replica }) {
			t.Fatalf("%s: %s is not replaced", what, primary.Addr())
		}
		t.Logf("%s: replaced after %v", what, time.Since(start))
		act.back(primary)
		c.Settle()
		if got := c.Replicas("k"); c.Primary("k") != replica || !slices.Contains(got, primary) {
			t.Errorf("%s: the old primary came back, and is no replica", what)
		}
		if err := c.Client().Set(context.Background(), "k", what, 0).Err(); err != nil {
			t.Errorf("%s: SET after all: %v", what, err)
		}
	}
}

func TestCluster_moves_a_slot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Cluster(t, redistest.ClusterOptions{})
	for _, key := range []string{"{k}1", "{k}2"} {
		if err := c.Client().Set(ctx, key, key, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	from := c.Primary("{k}1")
	to := c.Nodes()[0]
	if to == from {
		to = c.Nodes()[1]
	}
	move := c.Move("{k}1", to)
	move.Carry("{k}1")
	if err := from.Client().Get(ctx, "{k}1").Err(); !redis.HasErrorPrefix(err, "ASK") {
		t.Errorf("a key that has gone = %v, want ASK", err)
	}
	if got, err := from.Client().Get(ctx, "{k}2").Result(); err != nil || got != "{k}2" {
		t.Errorf("a key that is still there = %q, %v", got, err)
	}
	move.Finish()
	for _, key := range []string{"{k}1", "{k}2"} {
		if err := from.Client().Get(ctx, key).Err(); !redis.HasErrorPrefix(err, "MOVED") {
			t.Errorf("%s after the move = %v, want MOVED", key, err)
		}
		if got, err := to.Client().Get(ctx, key).Result(); err != nil || got != key {
			t.Errorf("%s in its new place = %q, %v", key, got, err)
		}
	}
	c.Settle()
	if got := c.Primary("{k}1"); got != to {
		t.Errorf("the slot is served by %s, want %s", got.Addr(), to.Addr())
	}
}

func TestCluster_ends_with_its_test(t *testing.T) {
	t.Parallel()
	var addrs, dirs []string
	t.Run("holder", func(t *testing.T) {
		c := redistest.Cluster(t, redistest.ClusterOptions{Replicas: 1})
		c.Nodes()[4].Kill() // one that is gone already is no trouble
		for _, node := range c.Nodes() {
			addrs = append(addrs, node.Addr())
		}
		dirs = append(dirs, config(t, c.Nodes()[0].Client(), "dir"))
	})
	t.Run("shared", func(t *testing.T) { redistest.SharedCluster(t) })
	for _, addr := range addrs {
		if !refuses(addr) {
			t.Errorf("%s still answers after its test", addr)
		}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("directory %s: %v, want it removed", dir, err)
		}
	}
}

func TestSharedCluster_one_cluster_separate_spaces(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, b := redistest.SharedCluster(t), redistest.SharedCluster(t)
	if a.URL() != b.URL() || len(a.Addrs()) != 6 || a.Prefix() == b.Prefix() {
		t.Fatalf("holders at %s, %s with prefixes %s, %s; want one cluster of six, two prefixes", a.URL(), b.URL(), a.Prefix(), b.Prefix())
	}
	t.Run("holder", func(t *testing.T) {
		c := redistest.SharedCluster(t)
		for _, key := range []string{"x", "y", "z"} {
			if err := c.Client().Set(ctx, c.Prefix()+":"+key, "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if keys, err := c.Keys(ctx); err != nil || len(keys) != 3 {
			t.Errorf("own keys %q, %v; want three", keys, err)
		}
		if keys, err := a.Keys(ctx); err != nil || len(keys) != 0 {
			t.Errorf("another holder's keys %q, %v; want none", keys, err)
		}
	})
	if err := a.Client().ForEachMaster(ctx, func(ctx context.Context, n *redis.Client) error {
		list, err := n.Keys(ctx, "space*:[xyz]").Result()
		if len(list) > 0 {
			t.Errorf("keys that their holder left behind: %q", list)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
