package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/redisstore"
)

// Reports from the field on servers that hang, change their role, evict, or are
// reached through something.
func TestBugLog_servers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		t.Run("B59_a_whole_run_lies_in_one_slot", func(t *testing.T) { oneSlot(t, e) })
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		for _, s := range []struct {
			name string
			run  func(*testing.T)
		}{
			{"B56_a_deadline_bounds_every_message", deadlineBounds},
			{"B57_a_primary_becomes_a_replica_and_back", changesRole},
			{"B59_behind_one_address_that_forwards", behindProxy},
			{"B62_every_policy_that_evicts", evictingPolicies},
			{"B73_a_server_that_swallows_everything", swallowsEverything},
			{"B73_ten_thousand_failures_leak_nothing", failuresLeakNothing},
		} {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.run(t)
			})
		}
	})
}

// messages are all methods of a store, for one open call.
func messages(s *redisstore.Store, a canonical.Admission, got canonical.Admitted) map[string]func(context.Context) error {
	list := map[string]func(context.Context) error{
		"open":    func(ctx context.Context) error { _, err := s.OpenRun(ctx, opening0(string(a.Run.Run))); return err },
		"join":    func(ctx context.Context) error { _, err := s.JoinRun(ctx, a.Run, token); return err },
		"inspect": func(ctx context.Context) error { _, err := s.Inspect(ctx, a.Run); return err },
		"admit":   func(ctx context.Context) error { _, err := s.Admit(ctx, a); return err },
		"sweep": func(ctx context.Context) error {
			_, err := s.Sweep(ctx, canonical.Sweeping{Run: a.Run, Max: 1})
			return err
		},
		"resolve": func(ctx context.Context) error {
			return s.Resolve(ctx, canonical.Resolution{Run: a.Run, Call: a.Call, Verdict: canonical.Applied, Evidence: "x"})
		},
		"delete":      func(ctx context.Context) error { return s.Delete(ctx, a.Run, a.Call) },
		"outstanding": func(ctx context.Context) error { _, err := s.Outstanding(ctx, a.Run); return err },
		"heads": func(ctx context.Context) error {
			_, err := s.Heads(ctx, a.Run, []canonical.CallName{a.Call})
			return err
		},
		"view":       func(ctx context.Context) error { _, err := s.View(ctx, a.Run, a.Call); return err },
		"record":     func(ctx context.Context) error { _, err := s.Record(ctx, a.Run, a.Call); return err },
		"order":      func(ctx context.Context) error { _, err := s.Order(ctx, a.Run, 0, 1); return err },
		"settlement": func(ctx context.Context) error { _, err := s.SettlementOf(ctx, a.Run, a.Call); return err },
		"health":     func(ctx context.Context) error { _, err := s.Health(ctx); return err },
		"close": func(ctx context.Context) error {
			_, err := s.CloseRun(ctx, canonical.Closing{Run: a.Run, Token: token})
			return err
		},
	}
	for _, size := range []int{10, 64 << 10, 3 << 20} {
		end := ready(a, got.Expires, someBytes(1, size))
		list[fmt.Sprintf("save %d", size)] = func(ctx context.Context) error {
			_, err := s.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: end.Raw, Expires: got.Expires})
			return err
		}
		list[fmt.Sprintf("complete %d", size)] = func(ctx context.Context) error { _, err := s.Complete(ctx, end); return err }
		list[fmt.Sprintf("settle %d", size)] = func(ctx context.Context) error { _, err := s.Settle(ctx, end); return err }
	}
	return list
}

// deadlineBounds: a frozen server answers nothing. Every message comes back when
// its context ends, long before a socket's own limit, and leaves nothing running.
func deadlineBounds(t *testing.T) {
	const deadline, slack = 100 * time.Millisecond, time.Second
	p := redistest.Server(t)
	s, err := redisstore.Dial(ctx, p.URL(), &redisstore.Options{IOTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	state := open(t, s, "r")
	a := admission(state, "c1", canonical.EffectWrite)
	got := admit(t, s, a)
	list := messages(s, a, got)
	p.Pause()
	for what, send := range list {
		limited, cancel := context.WithTimeout(ctx, deadline)
		start := time.Now()
		err := send(limited)
		took := time.Since(start)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*canonical.RefusedError)) || !errors.As(err, new(*redisstore.Error)) {
			t.Errorf("%s = %v, want trouble with the deadline in it", what, err)
		}
		if took > deadline+slack {
			t.Errorf("%s came back after %v, its deadline was %v", what, took, deadline)
		}
	}
	p.Resume()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	stacks := make([]byte, 1<<20)
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(all, "redisstore.(*Store).Sweep") && !strings.Contains(all, "redisstore.(*Store).deliver") {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("something still waits:\n%s", all)
		}
	}
}

func changesRole(t *testing.T) {
	p := redistest.Server(t)
	s := dial(t, p.URL(), nil)
	state := open(t, s, "r")
	a := admission(state, "c1", canonical.EffectWrite)
	got := admit(t, s, a)
	before := snapshot(t, env{client: p.Client()})
	if err := p.Client().Do(ctx, "replicaof", "127.0.0.1", freePort(t)).Err(); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"open", "admit", "save 10", "save 65536", "complete 10", "complete 65536", "complete 3145728", "sweep", "close"} {
		b := a
		if what == "admit" {
			b = admission(state, "c2", canonical.EffectRead)
		}
		err := messages(s, b, got)[what](ctx)
		if what == "open" || what == "sweep" {
			continue // may be answered without a write
		}
		if err == nil || errors.As(err, new(*canonical.RefusedError)) || !errors.As(err, new(*redisstore.Error)) {
			t.Errorf("%s on a server that became a replica = %v, want trouble", what, err)
		}
	}
	if after := snapshot(t, env{client: p.Client()}); after != before {
		t.Errorf("something was written:\n%s\nwas\n%s", after, before)
	}
	if err := p.Client().Do(ctx, "replicaof", "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	complete(t, s, ready(a, got.Expires, someBytes(1, 64<<10))) // by the same client, at once
	if got := admit(t, s, admission(state, "c2", canonical.EffectRead)); got.Seq != 2 {
		t.Errorf("admitted as %d, want 2: the refused one has taken nothing", got.Seq)
	}
}

// oneSlot: all keys of a run share one hash tag, and the servers agree.
func oneSlot(t *testing.T, e env) {
	for i := range 4 {
		name := fmt.Sprintf("slot-%d", i)
		for _, step := range steps(e, e.store, name) {
			if err := step.send(); err != nil {
				t.Fatalf("%s: %s: %v", name, step.what, err)
			}
		}
		wantStory(t, e, name)
	}
	tags := map[string]bool{}
	for _, key := range e.keys(t) {
		_, rest, _ := strings.Cut(key, "{")
		tag, rest, ok := strings.Cut(rest, "}")
		if !ok || strings.ContainsAny(rest, "{}") || !strings.HasPrefix(key, strings.TrimSuffix(e.base(runKey("x")), "{"+runKey("x").Scope.Digest()+":x}:")) {
			t.Errorf("the key %q has not one hash tag behind the prefix", key)
		}
		tags[tag] = true
	}
	scope := runKey("x").Scope.Digest()
	if !tags[scope] || len(tags) != 5 {
		t.Errorf("%d hash tags for 4 runs and the list of their scope, want 5: %v", len(tags), tags)
	}
}

// behindProxy: one address that forwards bytes, as a managed service has.
func behindProxy(t *testing.T) {
	p := redistest.Server(t)
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	go func() {
		for {
			client, err := proxy.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", p.Addr())
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
	url := "redis://" + proxy.Addr().String()
	e := env{store: dial(t, url, nil), client: p.Client(), url: url, advance: func(d time.Duration) { shift(t, p.Client(), "*", d) }}
	for _, step := range steps(e, e.store, "proxied") {
		if err := step.send(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
	}
	wantStory(t, e, "proxied")
}

func evictingPolicies(t *testing.T) {
	p := redistest.Server(t, "--maxmemory", "100mb")
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "noeviction"} {
		if err := p.Client().ConfigSet(ctx, "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		s := dial(t, p.URL(), nil)
		_, err := s.OpenRun(ctx, opening0("r-"+policy))
		report, bad := s.Health(ctx)
		if policy == "noeviction" {
			if err != nil || bad != nil || !report.OK() {
				t.Errorf("%s: open = %v, health = %+v, %v; want both well", policy, err, report, bad)
			}
			continue
		}
		var evicting *redisstore.EvictionError
		if !errors.As(err, &evicting) || evicting.Policy != policy || bad != nil || report.OK() || report.Policy != policy || !has(report, redisstore.Fault, "eviction") {
			t.Errorf("%s: open = %v, health = %+v, %v; want both to name it", policy, err, report, bad)
		}
	}
	// A managed server that forbids CONFIG and INFO: nobody can know, and it is said.
	if err := p.Client().Do(ctx, "acl", "setuser", "managed", "on", ">secret", "allkeys", "+@all", "-config", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	s := dial(t, "redis://managed:secret@"+p.Addr(), nil)
	if _, err := s.OpenRun(ctx, opening0("managed")); err != nil {
		t.Errorf("open where the policy cannot be asked = %v", err)
	}
	if report, err := s.Health(ctx); err != nil || report.Policy != "" || !has(report, redisstore.Warning, "eviction") {
		t.Errorf("health where the policy cannot be asked = %+v, %v; want a warning", report, err)
	}
}

// swallowsEverything: an address that accepts and never answers.
func swallowsEverything(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var taken []net.Conn
	go func() {
		for {
			c, err := hole.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			taken = append(taken, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = hole.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range taken {
			_ = c.Close()
		}
	})
	limited, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	for what, c := range map[string]struct {
		ctx context.Context
		o   *redisstore.Options
	}{
		"a context that ends": {limited, nil},
		"limits of its own":   {ctx, &redisstore.Options{DialTimeout: 100 * time.Millisecond, IOTimeout: 100 * time.Millisecond, MaxRetries: -1}},
	} {
		start := time.Now()
		s, err := redisstore.Dial(c.ctx, "redis://"+hole.Addr().String(), c.o)
		if took := time.Since(start); s != nil || !errors.As(err, new(*redisstore.Error)) || took > 3*time.Second {
			t.Errorf("%s: start-up gave %v after %v, want trouble soon", what, err, took)
		}
	}
	client := redis.NewClient(&redis.Options{Addr: hole.Addr().String(), DialTimeout: 100 * time.Millisecond, ReadTimeout: 50 * time.Millisecond,
		PoolSize: 2, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisstore.New(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	state := canonical.RunState{Run: runKey("r"), Limits: canonical.DefaultLimits(), Now: time.Now()}
	a := admission(state, "c1", canonical.EffectRead)
	for what, send := range messages(s, a, canonical.Admitted{Expires: time.Now().Add(time.Hour)}) {
		start := time.Now()
		if err := send(ctx); err == nil || errors.As(err, new(*canonical.RefusedError)) || time.Since(start) > 5*time.Second {
			t.Errorf("%s = %v after %v, want trouble soon", what, err, time.Since(start))
		}
	}
}

// failuresLeakNothing: neither a "no" nor a dead server takes a connection away.
func failuresLeakNothing(t *testing.T) {
	const failures, pool = 10_000, 4
	p := redistest.Server(t)
	client := redis.NewClient(&redis.Options{Addr: p.Addr(), PoolSize: pool, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisstore.New(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	state := open(t, s, "r")
	a := admission(state, "c1", canonical.EffectRead)
	admit(t, s, a)
	rival := a
	rival.Claim = claimOf("rival")
	fail := func(want error) {
		var wait sync.WaitGroup
		for range pool {
			wait.Go(func() {
				for range failures / 2 / pool {
					if _, err := s.Admit(ctx, rival); err == nil || want != nil && !errors.Is(err, want) {
						t.Errorf("admit = %v, want %v", err, want)
						return
					}
				}
			})
		}
		wait.Wait()
	}
	size := func() uint32 { return client.PoolStats().TotalConns }
	fail(canonical.ErrDuplicate)
	if got := size(); got > pool {
		t.Errorf("%d connections after refusals, the pool has %d", got, pool)
	}
	p.Stop()
	fail(nil)
	if got := size(); got > pool {
		t.Errorf("%d connections after failures, the pool has %d", got, pool)
	}
	p.Start()
	var admitted canonical.Admitted
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // the client waits a moment before it dials again
		if state, err = s.OpenRun(ctx, opening0("r2")); err == nil {
			admitted, err = s.Admit(ctx, admission(state, "c1", canonical.EffectRead)) // on whichever connection
		}
		if err == nil {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("10 s after the server is back: %v", err)
		}
	}
	again := admission(state, "c1", canonical.EffectRead)
	complete(t, s, ready(again, admitted.Expires, []byte("x")))
	if stats := client.PoolStats(); stats.TotalConns > pool || stats.TotalConns != stats.IdleConns {
		t.Errorf("%d connections, %d of them idle, the pool has %d", stats.TotalConns, stats.IdleConns, pool)
	}
}
