package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/redisstore"
)

// findings are level and subject of each finding of a report.
func findings(r redisstore.Report) []string {
	out := []string{}
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s %s", f.Level, f.About))
	}
	return out
}

func TestHealth_of_a_good_server(t *testing.T) {
	t.Parallel()
	e := server(t)
	r, err := e.store.Health(ctx)
	if err != nil || len(r.Findings) != 0 || !r.OK() {
		t.Errorf("health = %+v, %v; want no findings", r, err)
	}
	if !strings.HasPrefix(r.Version, "7.") && !strings.HasPrefix(r.Version, "8.") || r.Masters != 1 || r.Cluster || r.Policy != "noeviction" || r.UsedBytes < 1 || r.MaxBytes != 0 {
		t.Errorf("health = %+v", r)
	}
	if n := e.client.DBSize(ctx).Val(); n != 0 {
		t.Errorf("Health wrote %d keys", n)
	}
}

// What a server does not say is told as unknown, and counts as acceptable.
func TestHealth_of_a_server_that_says_little(t *testing.T) {
	t.Parallel()
	e := mini(t)
	r, err := e.store.Health(ctx)
	if err != nil || !r.OK() || r.Version != "" || r.Policy != "" {
		t.Errorf("health = %+v, %v; want unknown version and policy and no fault", r, err)
	}
	if got, want := findings(r), []string{"warning version", "warning eviction"}; !reflect.DeepEqual(got, want) {
		t.Errorf("findings %v, want %v", got, want)
	}
	open(t, e.store, "r")
}

func TestHealth_warns_of_memory(t *testing.T) {
	t.Parallel()
	e := server(t)
	used := stat(t, e, "memory", "used_memory")
	for percent, want := range map[int64]bool{200: true, 90: true, 50: false} {
		if err := e.client.ConfigSet(ctx, "maxmemory", fmt.Sprint(used*100/percent)).Err(); err != nil {
			t.Fatal(err)
		}
		r, err := e.store.Health(ctx)
		if err != nil || !r.OK() || has(r, redisstore.Warning, "memory") != want || r.MaxBytes == 0 {
			t.Errorf("with %d %% used: %+v, %v; want a warning: %v", percent, r, err, want)
		}
	}
}

func TestHealth_of_scripts_that_may_not_run(t *testing.T) {
	t.Parallel()
	p := redistest.Server(t)
	if err := p.Client().Do(ctx, "acl", "setuser", "mute", "on", "nopass", "allkeys", "+@all", "-eval", "-evalsha").Err(); err != nil {
		t.Fatal(err)
	}
	s := dial(t, "redis://mute:x@"+p.Addr(), nil)
	r, err := s.Health(ctx)
	if err != nil || r.OK() || !has(r, redisstore.Fault, "scripts") {
		t.Errorf("health = %+v, %v; want a fault about scripts", r, err)
	}
	if _, err := s.OpenRun(ctx, opening(t, runKey("r"))); err == nil {
		t.Error("a run was opened without scripts")
	}
}

// wantFindings compares the findings about the client with names of settings, each
// of which one finding begins with.
func wantFindings(t *testing.T, what string, r redisstore.Report, want []string) {
	t.Helper()
	if len(r.Findings) != len(want) {
		t.Errorf("%s: findings %+v, want %v", what, r.Findings, want)
		return
	}
	for i, f := range r.Findings {
		if f.About != "client" || !strings.HasPrefix(string(f.Level)+" "+f.Text, want[i]) {
			t.Errorf("%s: finding %s %s: %s; want %s", what, f.Level, f.About, f.Text, want[i])
		}
	}
}

func TestHealth_of_clients_with_wrong_settings(t *testing.T) {
	t.Parallel()
	e := server(t)
	addr := e.client.(*redis.Client).Options().Addr
	good := func(change func(*redis.Options)) redis.UniversalClient {
		o := &redis.Options{Addr: addr, ContextTimeoutEnabled: true}
		change(o)
		return redis.NewClient(o)
	}
	for what, c := range map[string]struct {
		client redis.UniversalClient
		want   []string
	}{
		"as dialled":       {good(func(*redis.Options) {}), nil},
		"context ignored":  {redis.NewClient(&redis.Options{Addr: addr}), []string{"warning ContextTimeoutEnabled"}},
		"no read timeout":  {good(func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -1, time.Second }), []string{"warning ReadTimeout"}},
		"no write timeout": {good(func(o *redis.Options) { o.WriteTimeout = -2 }), []string{"warning WriteTimeout"}},
		"a cache":          {good(func(o *redis.Options) { o.ClientSideCacheConfig = &redis.ClientSideCacheConfig{} }), []string{"fault ClientSideCache"}},
		"all of it": {redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: -1}),
			[]string{"warning ContextTimeoutEnabled", "warning ReadTimeout", "warning WriteTimeout"}},
		"another kind": {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": addr}}), []string{"warning settings of this kind"}},
	} {
		s, err := redisstore.New(c.client, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Health(ctx)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		wantFindings(t, what, r, c.want)
		if err := c.client.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHealth_of_cluster_clients(t *testing.T) {
	t.Parallel()
	addrs := redistest.SharedCluster(t).Addrs()
	for what, c := range map[string]struct {
		change func(*redis.ClusterOptions)
		want   []string
	}{
		"as dialled":        {func(*redis.ClusterOptions) {}, nil},
		"default reload":    {func(o *redis.ClusterOptions) { o.ClusterStateReloadInterval = 0 }, []string{"warning ClusterStateReloadInterval"}},
		"patient dialling":  {func(o *redis.ClusterOptions) { o.DialTimeout, o.DialerRetries = 0, 0 }, []string{"warning DialTimeout"}},
		"follows nothing":   {func(o *redis.ClusterOptions) { o.MaxRedirects = -1 }, []string{"fault MaxRedirects"}},
		"reads from anyone": {func(o *redis.ClusterOptions) { o.RouteRandomly = true }, []string{"fault RouteRandomly"}},
		"reads from near":   {func(o *redis.ClusterOptions) { o.RouteByLatency = true }, []string{"fault RouteByLatency"}},
		"reads from others": {func(o *redis.ClusterOptions) { o.ReadOnly = true }, []string{"fault ReadOnly"}},
		"a clock of its own": {func(o *redis.ClusterOptions) {
			o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout = false, -1, time.Second
		},
			[]string{"warning ContextTimeoutEnabled", "warning ReadTimeout"}},
		"slots of its own": {func(o *redis.ClusterOptions) { o.ClusterSlots = allSlots(addrs[0]) }, []string{"warning ClusterSlots"}},
	} {
		o := &redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true, ClusterStateReloadInterval: time.Second, DialTimeout: time.Second, DialerRetries: 1}
		c.change(o)
		client := redis.NewClusterClient(o)
		s, err := redisstore.New(client, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Health(ctx)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		wantFindings(t, what, r, c.want)
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

func allSlots(addr string) func(context.Context) ([]redis.ClusterSlot, error) {
	return func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
	}
}

func TestHealth_of_a_replica(t *testing.T) {
	t.Parallel()
	g := redistest.Replicated(t, 1)
	r, err := dial(t, g.Replicas[0].URL(), nil).Health(ctx)
	if err != nil || r.OK() || !has(r, redisstore.Fault, "role") {
		t.Errorf("health of a replica = %+v, %v; want a fault about its role", r, err)
	}
	if r, err := dial(t, g.Primary.URL(), nil).Health(ctx); err != nil || len(r.Findings) != 0 {
		t.Errorf("health of its primary = %+v, %v; want no findings", r, err)
	}
}

func TestHealth_of_a_server_that_is_gone(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		p := redistest.Server(t)
		s := dial(t, p.URL(), &redisstore.Options{MaxRetries: -1, DialTimeout: 100 * time.Millisecond})
		state := open(t, s, "r")
		p.Stop()
		_, err := s.Health(ctx)
		var failed *redisstore.Error
		if !errors.As(err, &failed) || failed.Op != "health" {
			t.Errorf("health = %v, want an Error", err)
		}
		if _, err := s.Admit(ctx, admission(state, "c1", "read")); !errors.As(err, &failed) || failed.Op != "admit" {
			t.Errorf("admit = %v, want an Error", err)
		}
	})
}
