package redisstore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// policyInterval is how long OpenRun trusts what it saw of the server's eviction
// policy.
const policyInterval = time.Minute

// policy is an eviction policy and when this process saw it.
type policy struct {
	name string // empty where the server does not say
	seen time.Time
}

// refuseEviction refuses where the server may evict keys (P30). It asks at most
// once a minute. A server that does not answer INFO memory counts as acceptable;
// Health says so.
func (s *Store) refuseEviction(ctx context.Context) error {
	if s.accept {
		return nil
	}
	s.mu.Lock()
	known := s.policy
	s.mu.Unlock()
	if known.seen.IsZero() || time.Since(known.seen) > policyInterval {
		infos, err := s.infos(ctx, "memory")
		if err != nil {
			return trouble(ctx, "open", err)
		}
		known = policy{name: worstPolicy(infos), seen: time.Now()}
		if !evicts(known.name) { // a "no" is asked again: somebody may have mended it
			s.mu.Lock()
			s.policy = known
			s.mu.Unlock()
		}
	}
	if evicts(known.name) {
		return &EvictionError{Policy: known.name}
	}
	return nil
}

func evicts(name string) bool { return name != "" && name != "noeviction" }

// worstPolicy is the one that evicts, if any of the servers has one.
func worstPolicy(infos []info) string {
	name := ""
	for _, i := range infos {
		if name = i["maxmemory_policy"]; evicts(name) {
			return name
		}
	}
	return name
}

// info is one server's answer to INFO.
type info map[string]string

// infos asks every master for a section of INFO. A server that refuses the
// question gives an empty info; the error is trouble with the way to it.
func (s *Store) infos(ctx context.Context, section string) ([]info, error) {
	var mu sync.Mutex
	var list []info
	err := s.eachMaster(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		text, err := c.Info(ctx, section).Result()
		if err != nil && !answered(err) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		list = append(list, parseInfo(text))
		return nil
	})
	return list, err
}

func (s *Store) eachMaster(ctx context.Context, do func(context.Context, redis.UniversalClient) error) error {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return do(ctx, c) })
	}
	return do(ctx, s.client)
}

func parseInfo(text string) info {
	i := info{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			i[name] = value
		}
	}
	return i
}
