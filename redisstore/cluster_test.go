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

// cluster is two masters, each with half of the slots.
func cluster(t *testing.T) [2]*redistest.Process {
	t.Helper()
	var nodes [2]*redistest.Process
	for i := range nodes {
		nodes[i] = redistest.Server(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", freePort(t), "--cluster-node-timeout", "2000")
	}
	const half, last = 8192, 16383
	bus, err := nodes[1].Client().ConfigGet(ctx, "cluster-port").Result()
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(nodes[1].Addr(), ":")
	if err := errors.Join(
		nodes[0].Client().ClusterAddSlotsRange(ctx, 0, half-1).Err(),
		nodes[1].Client().ClusterAddSlotsRange(ctx, half, last).Err(),
		nodes[1].Client().Do(ctx, "cluster", "set-config-epoch", "2").Err(),
		nodes[0].Client().Do(ctx, "cluster", "meet", host, port, bus["cluster-port"]).Err(),
	); err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(20 * time.Second)
	for _, node := range nodes {
		for !strings.Contains(node.Client().ClusterInfo(ctx).Val(), "cluster_state:ok") || strings.Count(node.Client().ClusterNodes(ctx).Val(), "connected") < 2 {
			if time.Now().After(limit) {
				t.Fatalf("no cluster: %s", node.Client().ClusterInfo(ctx).Val())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nodes
}

func TestDial_cluster(t *testing.T) {
	t.Parallel()
	nodes := cluster(t)
	s := dial(t, "redis+cluster://"+nodes[0].Addr()+","+nodes[1].Addr(), nil)
	for i := range 6 {
		works(t, s, fmt.Sprintf("run-%d", i))
	}
	for i, node := range nodes {
		if n := node.Client().DBSize(ctx).Val(); n == 0 {
			t.Errorf("node %d holds nothing, so the test has not left one slot", i)
		}
	}
	report, err := s.Health(ctx)
	if err != nil || len(report.Findings) != 0 || !report.Cluster || report.Masters != 2 || report.Policy != "noeviction" {
		t.Errorf("health = %+v, %v; want two masters and no findings", report, err)
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

// A slot that moves to another node between admission and ending.
func TestCluster_slot_moves(t *testing.T) {
	t.Parallel()
	nodes := cluster(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr(), nodes[1].Addr()}, ClusterStateReloadInterval: time.Hour, ContextTimeoutEnabled: true})
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
	move(t, nodes, base(state.Run)+"run")
	for i, size := range []int{3 << 20, 64 << 10, 10} {
		raw := bytes.Repeat([]byte{byte(i)}, size)
		complete(t, s, ready(calls[i], state.Expires, raw))
		if rec, err := s.Record(ctx, state.Run, calls[i].Call); err != nil || !bytes.Equal(rec.Raw.Bytes, raw) {
			t.Errorf("%d bytes after the move: %v", size, err)
		}
	}
}

// move hands the slot of a key, with all keys in it, to the other node.
func move(t *testing.T, nodes [2]*redistest.Process, key string) {
	t.Helper()
	slot, err := nodes[0].Client().ClusterKeySlot(ctx, key).Result()
	if err != nil {
		t.Fatal(err)
	}
	from, to := nodes[0], nodes[1]
	if slot >= 8192 {
		from, to = to, from
	}
	id := func(p *redistest.Process) string { return p.Client().Do(ctx, "cluster", "myid").Val().(string) }
	must := func(cmd *redis.Cmd) {
		t.Helper()
		if err := cmd.Err(); err != nil {
			t.Fatal(err)
		}
	}
	must(to.Client().Do(ctx, "cluster", "setslot", slot, "importing", id(from)))
	must(from.Client().Do(ctx, "cluster", "setslot", slot, "migrating", id(to)))
	keys, err := from.Client().ClusterGetKeysInSlot(ctx, int(slot), 100).Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("keys in the slot: %v, %v", keys, err)
	}
	host, port, _ := strings.Cut(to.Addr(), ":")
	args := []any{"migrate", host, port, "", 0, 5000, "keys"}
	for _, k := range keys {
		args = append(args, k)
	}
	must(from.Client().Do(ctx, args...))
	must(to.Client().Do(ctx, "cluster", "setslot", slot, "node", id(to)))
	must(from.Client().Do(ctx, "cluster", "setslot", slot, "node", id(to)))
}
