package redistest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Space is a part of a shared cluster that belongs to one test: all keys that
// begin with its prefix.
type Space struct {
	prefix string
	addrs  []string
	client *redis.ClusterClient
}

// Prefix is how the keys of this test begin. It is no part of any other's.
func (s *Space) Prefix() string { return s.prefix }

// Addrs are host and port of all nodes.
func (s *Space) Addrs() []string { return s.addrs }

// URL names all nodes in the form redisstore.Dial takes; the prefix is not part of
// it.
func (s *Space) URL() string { return "redis+cluster://" + strings.Join(s.addrs, ",") }

// Client is a client of the whole cluster that retries nothing, closed with the
// test.
func (s *Space) Client() *redis.ClusterClient { return s.client }

// Keys lists the keys of this test on all primaries, in no order.
func (s *Space) Keys(ctx context.Context) ([]string, error) {
	var mu sync.Mutex
	var all []string
	err := s.client.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		list, err := c.Keys(ctx, s.prefix+"*").Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, list...)
		return err
	})
	return all, err
}

func (s *Space) empty(ctx context.Context) error {
	return s.client.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		list, err := c.Keys(ctx, s.prefix+"*").Result()
		if err != nil || len(list) == 0 {
			return err
		}
		_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, key := range list { // of many slots, so not in one command
				p.Unlink(ctx, key)
			}
			return nil
		})
		return err
	})
}

// SharedCluster gives the test a prefix on a cluster of three primaries with a
// replica each, which all tests of this binary share. It is started for the first
// holder and ended after the last one, so a parent test that holds a space keeps
// it running for its subtests. A test that kills, pauses or reconfigures a node
// takes Cluster instead.
//
// Without a redis-server on the PATH the test is skipped, or fails where
// HARNESS_REQUIRE_REDIS asks for one.
func SharedCluster(t testing.TB) *Space {
	t.Helper()
	binary := requireBinary(t)
	addrs, number, err := theCluster.take(binary)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s := &Space{prefix: fmt.Sprintf("space%06d", number), addrs: addrs, client: newClusterClient(addrs)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		if err := errors.Join(s.empty(ctx), s.client.Close(), theCluster.give()); err != nil {
			t.Errorf("redistest: %v", err)
		}
	})
	return s
}

// theCluster is to clusters what theShared is to servers.
var theCluster clusterPool

// clusterPool is a cluster and how many tests hold a part of it.
type clusterPool struct {
	mu      sync.Mutex
	nodes   []*Process
	holders int
	last    int // number of the last space
}

func (p *clusterPool) take(binary string) (addrs []string, number int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holders == 0 {
		// Nobody kills a node of it. A machine that is busy for some seconds shall
		// not make one look dead.
		o := ClusterOptions{Replicas: 1, NodeTimeout: 30 * time.Second}.withDefaults()
		p.nodes = newNodes(nil, binary, o)
		if err := formCluster(p.nodes, o); err != nil {
			return nil, 0, errors.Join(err, shutAll(p.nodes))
		}
	}
	p.holders++
	p.last++
	return addrsOf(p.nodes), p.last, nil
}

// give takes a space back; the last one ends the cluster.
func (p *clusterPool) give() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holders--
	if p.holders > 0 {
		return nil
	}
	return shutAll(p.nodes)
}

func shutAll(nodes []*Process) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, p := range nodes {
		wg.Go(func() { errs[i] = p.shut() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
