package redisstore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

func TestT64_conformance(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) { storetest.Run(t, embeddedHarness) })
	t.Run("redis", func(t *testing.T) {
		redistest.Shared(t) // keeps the server running between subtests
		storetest.Run(t, redisHarness)
	})
	t.Run("cluster", func(t *testing.T) {
		redistest.SharedCluster(t)
		storetest.Run(t, clusterHarness)
	})
}

// embeddedHarness is the store on a server whose time stands still.
func embeddedHarness(t testing.TB) storetest.Harness {
	m := redistest.Mini(t)
	h := &probes{t: t, client: m.Client(), ahead: func() time.Duration { return 0 }}
	store := h.store(h.watched(&redis.Options{Addr: m.Addr()}))
	return h.harness(store, m.Now, m.Advance, 0)
}

// redisHarness is the store on a redis-server.
func redisHarness(t testing.TB) storetest.Harness {
	db := redistest.Shared(t)
	h := &probes{t: t, client: db.Client()}
	return h.realTime(h.watched(&redis.Options{Addr: db.Addr(), DB: db.DB()}), func(d time.Duration) { shift(t, db.Client(), "*", d) })
}

// clusterHarness is the store on a cluster of three primaries with replicas, with
// the client that Dial makes, or nearly.
func clusterHarness(t testing.TB) storetest.Harness {
	space := redistest.SharedCluster(t)
	h := &probes{t: t, client: space.Client(), prefix: space.Prefix()}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: space.Addrs(), ContextTimeoutEnabled: true, ClusterStateReloadInterval: time.Second})
	client.OnNewNode(func(node *redis.Client) { node.AddHook(h) }) // not all that the store sends passes hooks of the whole client
	t.Cleanup(func() { _ = client.Close() })
	return h.realTime(client, func(d time.Duration) { shiftCluster(t, space, d) })
}

// realTime is a store on servers whose time is real and goes on while a subtest
// runs; moves of it are made by shift. What has passed since the last move is taken
// from the next one, so that a long walk on a busy machine does not drift away from
// the time that it believes in.
func (p *probes) realTime(client redis.UniversalClient, shift func(time.Duration)) storetest.Harness {
	s := &shifted{}
	p.ahead = s.offset
	s.Store = p.store(client)
	now := func() time.Time { return time.Now().Add(s.offset()) }
	last := time.Now()
	return p.harness(s, now, func(d time.Duration) {
		d = max(0, d-time.Since(last)).Round(time.Millisecond)
		shift(d)
		s.ahead.Add(int64(d))
		last = time.Now()
	}, 20*time.Second)
}

// probes are what the suite asks for beside the store, by a client of its own.
type probes struct {
	t      testing.TB
	client redis.UniversalClient
	prefix string // of the store's keys; empty for the usual one
	ahead  func() time.Duration
	drop   atomic.Bool
	raw    atomic.Int64
}

// watched is a client of one server through which the probes see what is sent.
func (p *probes) watched(o *redis.Options) *redis.Client {
	o.ContextTimeoutEnabled = true
	client := redis.NewClient(o)
	p.t.Cleanup(func() { _ = client.Close() })
	client.AddHook(p)
	return client
}

func (p *probes) store(client redis.UniversalClient) *redisstore.Store {
	s, err := redisstore.New(client, &redisstore.Options{Prefix: p.prefix})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p *probes) harness(s canonical.Store, now func() time.Time, advance func(time.Duration), slack time.Duration) storetest.Harness {
	return storetest.Harness{
		Store: s, Now: now, Advance: advance, Slack: slack,
		Keys: p.keys, ScopeKeys: p.scopeKeys, Fingerprint: p.fingerprint, SnapshotLedger: p.snapshot,
		PlantForeign: p.plantForeign, PlantNewer: p.plantNewer, PlantNewerLedger: p.plantNewerLedger,
		Corrupt: p.corrupt, RawReads: func() int { return int(p.raw.Load()) }, DropPiece: func() { p.dropNext(s) },
	}
}

// dropNext loses a part of the next body. The server must know the script by
// then: a delivery that it answers with NOSCRIPT is repeated in any case.
func (p *probes) dropNext(s canonical.Store) {
	ghost := canonical.Ending{Run: runKey("ghost"), Call: callName("ghost"), Claim: "ghost", Verdict: lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.Completed)}
	if _, err := s.Complete(ctx, ghost); !errors.Is(err, canonical.ErrMissing) {
		p.t.Fatalf("the end of a call that is not there = %v", err)
	}
	p.drop.Store(true)
}

// base is how the keys of a run begin, as doc.go has them.
func base(run canonical.RunKey) string { return baseOf(redisstore.DefaultPrefix, run) }

func baseOf(prefix string, run canonical.RunKey) string {
	return fmt.Sprintf("%s:v1:{%s:%s}:", cmp.Or(prefix, redisstore.DefaultPrefix), run.Scope.Digest(), run.Run)
}

// scopeBase is how the keys of a scope as a whole begin.
func scopeBase(prefix string, scope canonical.Scope) string {
	return fmt.Sprintf("%s:v1:{%s}:", cmp.Or(prefix, redisstore.DefaultPrefix), scope.Digest())
}

func (p *probes) base(run canonical.RunKey) string { return baseOf(p.prefix, run) }

func (p *probes) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *probes) names(run canonical.RunKey) []string { return p.namesBehind(p.base(run)) }

// namesBehind lists the keys that begin with a prefix and its hash tag.
func (p *probes) namesBehind(base string) []string {
	all, err := p.slotKeys(base)
	p.must(err)
	all = slices.DeleteFunc(all, func(key string) bool { return !strings.HasPrefix(key, base) })
	slices.Sort(all)
	return all
}

// slotKeys lists the keys that may begin so; on a cluster, those of the slot.
func (p *probes) slotKeys(key string) ([]string, error) {
	cluster, ok := p.client.(*redis.ClusterClient)
	if !ok {
		return p.client.Keys(ctx, "*").Result()
	}
	slot, err := cluster.ClusterKeySlot(ctx, key).Result()
	p.must(err)
	node, err := cluster.MasterForKey(ctx, key)
	p.must(err)
	return node.ClusterGetKeysInSlot(ctx, int(slot), 10_000).Result()
}

func (p *probes) keys(run canonical.RunKey) []storetest.Key { return p.lives(p.names(run)) }

func (p *probes) scopeKeys(scope canonical.Scope) []storetest.Key {
	return p.lives(p.namesBehind(scopeBase(p.prefix, scope)))
}

// lives asks for the expiry of each key.
func (p *probes) lives(names []string) []storetest.Key {
	ends := make([]*redis.DurationCmd, len(names))
	_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, name := range names {
			ends[i] = pipe.PExpireTime(ctx, name)
		}
		return nil
	})
	p.must(err)
	var keys []storetest.Key
	for i, name := range names {
		at := ends[i].Val()
		if at == -2 { // went between the two questions
			continue
		}
		keys = append(keys, storetest.Key{Name: name, Expires: time.UnixMilli(at.Milliseconds()).Add(p.ahead()), Immortal: at < 0})
	}
	return keys
}

// fingerprint is everything of a run as text, in the time of the harness.
func (p *probes) fingerprint(run canonical.RunKey) string {
	var b strings.Builder
	for _, name := range p.names(run) {
		rest := strings.TrimPrefix(name, p.base(run))
		at, err := p.client.PExpireTime(ctx, name).Result()
		p.must(err)
		fmt.Fprintf(&b, "%s expires %d\n", rest, (at + p.ahead()).Milliseconds())
		kind, err := p.client.Type(ctx, name).Result()
		p.must(err)
		switch kind {
		case "hash":
			p.writeHash(&b, name, rest)
		case "zset":
			p.writeSet(&b, name, rest)
		default:
			text, err := p.client.Get(ctx, name).Result()
			p.must(err)
			fmt.Fprintf(&b, "  %q\n", text)
		}
	}
	return b.String()
}

func (p *probes) writeHash(b *strings.Builder, name, rest string) {
	h, err := p.client.HGetAll(ctx, name).Result()
	p.must(err)
	for _, field := range slices.Sorted(maps.Keys(h)) {
		value := h[field]
		if slices.Contains(timeFields(rest), field) {
			ms, err := strconv.ParseInt(value, 10, 64)
			p.must(err)
			value = strconv.FormatInt(ms+p.ahead().Milliseconds(), 10)
		}
		if len(value) > 200 {
			value = canonical.Body(value).SHA256()
		}
		fmt.Fprintf(b, "  %s = %q\n", field, value)
	}
}

func (p *probes) writeSet(b *strings.Builder, name, rest string) {
	members, err := p.client.ZRangeWithScores(ctx, name, 0, -1).Result()
	p.must(err)
	for _, z := range members {
		if hasTimes(rest) && z.Score != 0 {
			z.Score += float64(p.ahead().Milliseconds())
		}
		fmt.Fprintf(b, "  %.0f %v\n", z.Score, z.Member)
	}
}

func (p *probes) snapshot(run canonical.RunKey) func() {
	key := p.base(run) + "run"
	was, err := p.client.HGetAll(ctx, key).Result()
	p.must(err)
	at, err := p.client.PExpireTime(ctx, key).Result()
	p.must(err)
	return func() {
		p.must(p.client.Del(ctx, key).Err())
		p.must(p.client.HSet(ctx, key, was).Err())
		p.must(p.client.PExpireAt(ctx, key, time.UnixMilli(at.Milliseconds())).Err())
	}
}

func (p *probes) record(id canonical.Identity) string {
	return p.base(id.RunKey) + "call:" + id.Call.String()
}

func (p *probes) plantForeign(id canonical.Identity) {
	p.must(p.client.Set(ctx, p.record(id), "somebody else's", time.Hour).Err())
}

func (p *probes) plantNewer(id canonical.Identity) {
	p.must(p.client.HSet(ctx, p.record(id), "v", canonical.SchemaVersion+1).Err())
}

func (p *probes) plantNewerLedger(run canonical.RunKey) {
	p.must(p.client.HSet(ctx, p.base(run)+"run", "v", canonical.SchemaVersion+1).Err())
}

func (p *probes) corrupt(id canonical.Identity) {
	h, err := p.client.HGetAll(ctx, p.record(id)).Result()
	p.must(err)
	for field, value := range h {
		if strings.HasPrefix(field, "raw:") || strings.HasPrefix(field, "ag:") {
			flipped := []byte(value)
			flipped[len(flipped)/2] ^= 1
			p.must(p.client.HSet(ctx, p.record(id), field, flipped).Err())
		}
	}
}

// DialHook implements [redis.Hook].
func (p *probes) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (p *probes) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		p.count(cmd)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook]. A dropped piece is one that
// arrives under a name that nobody asks for.
func (p *probes) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if args := cmd.Args(); cmd.Name() == "hset" && p.drop.CompareAndSwap(true, false) {
				args[2] = "raw:lost:" + strconv.Itoa(len(args))
			}
		}
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			p.count(cmd)
		}
		return err
	}
}

// count notes answers that had raw in them.
func (p *probes) count(cmd redis.Cmder) {
	read, ok := cmd.(*redis.SliceCmd)
	if !ok {
		return
	}
	for i, arg := range cmd.Args()[1:] {
		if name, ok := arg.(string); ok && strings.HasPrefix(name, "raw:") && len(read.Val()) > i-1 && i > 0 && read.Val()[i-1] != nil {
			p.raw.Add(1)
		}
	}
}
