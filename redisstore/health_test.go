package redisstore_test

import (
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

func TestHealth_of_clients_with_wrong_settings(t *testing.T) {
	t.Parallel()
	e := server(t)
	addr := e.client.(*redis.Client).Options().Addr
	for what, c := range map[string]struct {
		client redis.UniversalClient
		want   []string
	}{
		"as dialled":       {redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true}), []string{}},
		"context ignored":  {redis.NewClient(&redis.Options{Addr: addr}), []string{"warning client"}},
		"no read timeout":  {redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, ReadTimeout: -1}), []string{"warning client"}},
		"no write timeout": {redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, WriteTimeout: -2}), []string{"warning client"}},
		"another kind":     {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": addr}}), []string{"warning client"}},
	} {
		s, err := redisstore.New(c.client, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Health(ctx)
		if got := findings(r); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", what, got, err, c.want)
		}
		if err := c.client.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHealth_of_cluster_clients(t *testing.T) {
	t.Parallel()
	addrs := redistest.Cluster(t, redistest.ClusterOptions{}).Addrs()
	for what, c := range map[string]struct {
		o    redis.ClusterOptions
		want []string
	}{
		"as dialled":         {redis.ClusterOptions{ContextTimeoutEnabled: true, ClusterStateReloadInterval: time.Second}, []string{}},
		"default reload":     {redis.ClusterOptions{ContextTimeoutEnabled: true}, []string{"warning client"}},
		"reads from anybody": {redis.ClusterOptions{ContextTimeoutEnabled: true, ClusterStateReloadInterval: time.Second, RouteRandomly: true}, []string{"fault client"}},
	} {
		c.o.Addrs = addrs
		client := redis.NewClusterClient(&c.o)
		s, err := redisstore.New(client, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Health(ctx)
		if got := findings(r); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", what, got, err, c.want)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
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
