package redisstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/redisstore"
)

func TestDial_cluster(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, redistest.ClusterOptions{})
	nodes := c.Nodes()
	s := dial(t, c.URL(), nil)
	for i := range 12 {
		works(t, s, fmt.Sprintf("run-%d", i))
	}
	for i, node := range nodes {
		if n := node.Client().DBSize(ctx).Val(); n == 0 {
			t.Errorf("node %d holds nothing, so the test has not left one slot", i)
		}
	}
	report, err := s.Health(ctx)
	if err != nil || len(report.Findings) != 0 || !report.Cluster || report.Masters != 3 || report.Policy != "noeviction" {
		t.Errorf("health = %+v, %v; want three masters and no findings", report, err)
	}
	if err := nodes[1].Client().ConfigSet(ctx, "maxmemory-policy", "volatile-lru").Err(); err != nil {
		t.Fatal(err)
	}
	if report, err := s.Health(ctx); err != nil || report.OK() || report.Policy != "volatile-lru" {
		t.Errorf("health = %+v, %v; want a fault where one master evicts", report, err)
	}
	if err := nodes[0].Client().ScriptFlush(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, "redis+cluster://"+nodes[0].Addr(), nil).OpenRun(ctx, opening(t, runKey("evict"))); !errors.As(err, new(*redisstore.EvictionError)) {
		t.Errorf("open where one master evicts = %v, want an EvictionError", err)
	}
}

// On a cluster a user needs the commands that say who serves what, besides those of
// a single server.
func TestDial_cluster_user_with_few_rights(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, redistest.ClusterOptions{})
	for _, node := range c.Nodes() {
		if err := node.Client().Do(ctx, fewRights("+cluster|slots")...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s := dial(t, "redis+cluster://few:s3cr%40t%2F%3A@"+strings.Join(c.Addrs(), ","), nil)
	for i := range 4 {
		works(t, s, fmt.Sprintf("run-%d", i))
	}
	if r, err := s.Health(ctx); err != nil || len(r.Findings) != 0 {
		t.Errorf("health = %+v, %v; want no findings", r, err)
	}
}

// A slot that moves to another node between admission and ending.
func TestCluster_slot_moves(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, redistest.ClusterOptions{})
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), ClusterStateReloadInterval: time.Hour, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisstore.New(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	state := open(t, s, "r")
	var calls []canonical.Admission
	for i := range 3 {
		a := admission(state, fmt.Sprintf("c%d", i), canonical.EffectWrite)
		admit(t, s, a)
		calls = append(calls, a)
	}
	key := base(state.Run) + "run"
	c.Move(key, another(c, key)).Finish()
	for i, size := range []int{3 << 20, 64 << 10, 10} {
		raw := bytes.Repeat([]byte{byte(i)}, size)
		complete(t, s, ready(calls[i], state.Expires, raw))
		if rec, err := s.Record(ctx, state.Run, calls[i].Call); err != nil || !bytes.Equal(rec.Raw.Bytes, raw) {
			t.Errorf("%d bytes after the move: %v", size, err)
		}
	}
}

// another is a primary that does not serve the key.
func another(c *redistest.ClusterNodes, key string) *redistest.Process {
	if first := c.Nodes()[0]; c.Primary(key) != first {
		return first
	}
	return c.Nodes()[1]
}
