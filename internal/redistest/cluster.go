package redistest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Slots is how many slots a cluster has.
const Slots = 16384

// ClusterOptions say which cluster a test wants. The zero value is three
// primaries without replicas.
type ClusterOptions struct {
	Primaries   int           // zero: 3, below which no failover can be voted for
	Replicas    int           // of each primary
	NodeTimeout time.Duration // until a node that is silent counts as failing; zero: 1 s
	Args        []string      // for every node, appended to its command line
}

func (o ClusterOptions) withDefaults() ClusterOptions {
	if o.Primaries == 0 {
		o.Primaries = 3
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = time.Second
	}
	return o
}

// ClusterNodes is a cluster of one test. Its methods may be called from several
// goroutines; each fails the test when it cannot do what it says.
type ClusterNodes struct {
	t       testing.TB
	options ClusterOptions
	nodes   []*Process
	client  *redis.ClusterClient
}

// Cluster starts a cluster for one test and ends it with the test. It returns
// when every node says that the cluster is well and every replica follows, which
// takes two to three seconds: a node that has just started serves nothing for
// the first two.
//
// A primary that is killed or paused is replaced by a replica about a second
// after the node timeout. When it is back, it becomes a replica itself.
//
// Without a redis-server on the PATH the test is skipped, or fails where
// HARNESS_REQUIRE_REDIS asks for one.
func Cluster(t testing.TB, o ClusterOptions) *ClusterNodes {
	t.Helper()
	o = o.withDefaults()
	c := &ClusterNodes{t: t, options: o, nodes: newNodes(t, requireBinary(t), o)}
	t.Cleanup(c.end)
	if err := formCluster(c.nodes, o); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	c.client = newClusterClient(c.Addrs())
	return c
}

// Nodes are all nodes; those that were born as primaries come first, in the order
// of their slots.
func (c *ClusterNodes) Nodes() []*Process { return c.nodes }

// Addrs are host and port of all nodes.
func (c *ClusterNodes) Addrs() []string { return addrsOf(c.nodes) }

// URL names all nodes in the form redisstore.Dial takes.
func (c *ClusterNodes) URL() string { return "redis+cluster://" + strings.Join(c.Addrs(), ",") }

// Client is a client of the cluster that follows slots and retries nothing,
// closed with the test.
func (c *ClusterNodes) Client() *redis.ClusterClient { return c.client }

// Primary is the node that serves the slot of a key, as the nodes that answer see
// it. Between the death of a primary and the promotion of its replica that is the
// dead one.
func (c *ClusterNodes) Primary(key string) *Process {
	c.t.Helper()
	return c.serving(key)[0]
}

// Replicas are the nodes that follow the primary of a key.
func (c *ClusterNodes) Replicas(key string) []*Process {
	c.t.Helper()
	return c.serving(key)[1:]
}

// serving lists the nodes of a key's slot, the primary first.
func (c *ClusterNodes) serving(key string) []*Process {
	c.t.Helper()
	slot := c.Slot(key)
	witness := c.witness()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	list, err := witness.client.ClusterNodes(ctx).Result()
	c.must("CLUSTER NODES", err)
	var found []*Process
	members := parseMembers(list)
	for _, owner := range members {
		if !owner.serves(slot) {
			continue
		}
		found = append(found, c.node(owner.addr))
		for _, m := range members {
			if m.follows == owner.id {
				found = append(found, c.node(m.addr))
			}
		}
	}
	if len(found) == 0 {
		c.t.Fatalf("redistest: nobody serves %q:\n%s", key, list)
	}
	return found
}

// witness is a node that answers.
func (c *ClusterNodes) witness() *Process {
	c.t.Helper()
	for _, p := range c.nodes {
		if p.answers() {
			return p
		}
	}
	c.t.Fatalf("redistest: no node of the cluster answers")
	return nil
}

func (c *ClusterNodes) node(addr string) *Process {
	c.t.Helper()
	for _, p := range c.nodes {
		if p.Addr() == addr {
			return p
		}
	}
	c.t.Fatalf("redistest: the cluster has a node %q that is not ours", addr)
	return nil
}

func (c *ClusterNodes) must(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("redistest: %s: %v", what, err)
	}
}

// Slot is the slot of a key.
func (c *ClusterNodes) Slot(key string) int {
	c.t.Helper()
	slot, err := c.witness().client.ClusterKeySlot(context.Background(), key).Result()
	c.must("CLUSTER KEYSLOT", err)
	return int(slot)
}

// Settle waits until the nodes that answer agree on everything: who serves which
// slot, who follows whom, and who has failed. A node that was just killed or
// paused is not yet known to have failed, so wait for [ClusterNodes.Primary] to
// change first.
func (c *ClusterNodes) Settle() {
	c.t.Helper()
	await(c.t, startLimit, func() error { return agree(c.nodes, 0) })
}

// agree reports what hinders the nodes that answer from seeing the same cluster, of
// so many nodes unless zero is given.
func agree(nodes []*Process, count int) error {
	views := map[string]bool{}
	for _, p := range nodes {
		if !p.answers() {
			continue
		}
		view, err := well(p, count)
		if err != nil {
			return err
		}
		views[view] = true
	}
	if len(views) != 1 {
		return fmt.Errorf("%d views of the cluster: %v", len(views), views)
	}
	return nil
}

// end shuts the nodes; the log of each is shown where the test failed.
func (c *ClusterNodes) end() {
	if c.client != nil {
		_ = c.client.Close()
	}
	var wg sync.WaitGroup
	for _, p := range c.nodes {
		wg.Go(p.end)
	}
	wg.Wait()
}

func newNodes(t testing.TB, binary string, o ClusterOptions) []*Process {
	args := append([]string{
		"--cluster-config-file", "nodes.conf",
		"--cluster-node-timeout", strconv.FormatInt(o.NodeTimeout.Milliseconds(), 10),
		"--cluster-replica-validity-factor", "0", // a replica that lost its primary long ago may still be voted for
		"--cluster-allow-replica-migration", "no", // or a test that kills two nodes finds them elsewhere
		"--repl-diskless-sync-delay", "0",
	}, o.Args...)
	nodes := make([]*Process, o.Primaries*(1+o.Replicas))
	for i := range nodes {
		nodes[i] = &Process{t: t, spec: spec{binary: binary, args: args, clustered: true}}
	}
	return nodes
}

// formCluster starts the nodes and makes them one cluster. The first ones get the
// slots, the others follow them in turn.
func formCluster(nodes []*Process, o ClusterOptions) error {
	if err := launchAll(nodes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for i, p := range nodes[:o.Primaries] {
		first, behind := i*Slots/o.Primaries, (i+1)*Slots/o.Primaries
		err := errors.Join(
			p.client.ClusterAddSlotsRange(ctx, first, behind-1).Err(),
			p.client.Do(ctx, "cluster", "set-config-epoch", i+1).Err(), // all would begin with the same, and quarrel
		)
		if err != nil {
			return fmt.Errorf("slots of node %d: %w", i, err)
		}
	}
	if err := meet(ctx, nodes); err != nil {
		return err
	}
	for i, p := range nodes[o.Primaries:] {
		if err := replicate(ctx, p, nodes[i%o.Primaries]); err != nil {
			return err
		}
	}
	return poll(startLimit, func() error { return agree(nodes, len(nodes)) })
}

func launchAll(nodes []*Process) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, p := range nodes {
		wg.Go(func() { errs[i] = p.launch() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// meet introduces every node to every other, so that nobody waits for gossip.
func meet(ctx context.Context, nodes []*Process) error {
	for i, p := range nodes {
		for _, q := range nodes[:i] {
			if err := p.client.Do(ctx, "cluster", "meet", "127.0.0.1", q.spec.port, q.spec.bus).Err(); err != nil {
				return fmt.Errorf("cluster meet: %w", err)
			}
		}
	}
	return nil
}

// replicate waits until the primary is known to its replica, which then follows.
func replicate(ctx context.Context, p, primary *Process) error {
	id, err := primary.client.ClusterMyID(ctx).Result()
	if err != nil {
		return err
	}
	return poll(startLimit, func() error { return p.client.ClusterReplicate(ctx, id).Err() })
}

// well reports what a node still misses, or how it sees the cluster. It must know
// so many nodes, unless zero is given.
func well(p *Process, nodes int) (view string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state, err := p.client.ClusterInfo(ctx).Result()
	if err != nil {
		return "", err
	}
	if !strings.Contains(state, "cluster_state:ok") {
		return "", fmt.Errorf("%s: %s", p.Addr(), state)
	}
	list, err := p.client.ClusterNodes(ctx).Result()
	if err != nil {
		return "", err
	}
	n := strings.Count(list, " connected")
	if nodes > 0 && n != nodes || strings.Contains(list, "handshake") || strings.Contains(list, "fail?") {
		return "", fmt.Errorf("%s is connected to %d nodes:\n%s", p.Addr(), n, list)
	}
	if strings.Contains(list, "myself,slave") {
		return roles(list), follows(p)
	}
	return roles(list), streams(p, followers(list))
}

// roles is what CLUSTER NODES says of who follows whom, who serves which slots and
// who has failed.
func roles(list string) string {
	var lines []string
	for _, m := range parseMembers(list) {
		lines = append(lines, fmt.Sprintf("%s %s follows %s, slots %v", m.id, m.state, m.follows, m.ranges))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// followers counts the replicas of the node that was asked which have not failed.
func followers(list string) int {
	members := parseMembers(list)
	n := 0
	for _, me := range members {
		for _, m := range members {
			if me.asked && m.follows == me.id && !strings.Contains(m.state, "fail") {
				n++
			}
		}
	}
	return n
}

// member is a line of CLUSTER NODES.
type member struct {
	id, addr, follows string
	asked             bool     // it is the one that says all this
	state             string   // as in "master" or "slave,fail"
	ranges            []string // of slots; none that is on its way
}

func parseMembers(list string) []member {
	var all []member
	for line := range strings.Lines(list) {
		fields := strings.Fields(line) // id address flags primary ping pong epoch link slots...
		if len(fields) < 8 {
			continue
		}
		addr, _, _ := strings.Cut(fields[1], "@")
		state, asked := strings.CutPrefix(fields[2], "myself,")
		m := member{id: fields[0], addr: addr, follows: fields[3], asked: asked, state: state}
		for _, r := range fields[8:] {
			if !strings.HasPrefix(r, "[") {
				m.ranges = append(m.ranges, r)
			}
		}
		all = append(all, m)
	}
	return all
}

func (m member) serves(slot int) bool {
	return slices.ContainsFunc(m.ranges, func(r string) bool {
		first, last, several := strings.Cut(r, "-")
		if !several {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		return err1 == nil && err2 == nil && from <= slot && slot <= to
	})
}

func addrsOf(nodes []*Process) []string {
	addrs := make([]string, len(nodes))
	for i, p := range nodes {
		addrs[i] = p.Addr()
	}
	return addrs
}

// newClusterClient looks every tenth of a second who serves what, so that a test
// that kills a node need not wait for its own client.
func newClusterClient(addrs []string) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, ContextTimeoutEnabled: true, ClusterStateReloadInterval: 100 * time.Millisecond, DisableIdentity: true,
	})
}
