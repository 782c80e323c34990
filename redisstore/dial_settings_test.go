package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func clientOf(t *testing.T, address string, o *Options) redis.UniversalClient {
	t.Helper()
	target, err := parseTarget(address)
	if err != nil {
		t.Fatal(err)
	}
	c := target.client(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// What Dial sets, where the caller says nothing and where it says something. A
// client that is not right for this store would be named by Health.
func TestDial_settings(t *testing.T) {
	t.Parallel()
	own := &Options{MaxRetries: 7, DialTimeout: time.Minute, IOTimeout: time.Hour, PoolSize: 3}
	for _, address := range []string{"redis://h", "rediss://u:p@h", "unix:///s", "redis+sentinel://h/m", "rediss+sentinel://h/m"} {
		o := clientOf(t, address, &Options{}).(*redis.Client).Options()
		if !o.ContextTimeoutEnabled || o.MaxRetries != 3 || o.ReadTimeout != 3*time.Second || o.WriteTimeout != 3*time.Second ||
			o.DialTimeout != 2*time.Second || o.ClientSideCache != nil || o.ClientSideCacheConfig != nil {
			t.Errorf("%s: settings %+v", address, o)
		}
		o = clientOf(t, address, own).(*redis.Client).Options()
		if o.MaxRetries != 7 || o.ReadTimeout != time.Hour || o.WriteTimeout != time.Hour || o.DialTimeout != time.Minute || o.PoolSize != 3 {
			t.Errorf("%s: settings %+v, want those asked for", address, o)
		}
		if o := clientOf(t, address, &Options{MaxRetries: -1}).(*redis.Client).Options(); o.MaxRetries != 0 {
			t.Errorf("%s: %d retries, want none", address, o.MaxRetries)
		}
	}
	for _, address := range []string{"redis+cluster://h,i", "rediss+cluster://u:p@h"} {
		o := clientOf(t, address, &Options{}).(*redis.ClusterClient).Options()
		if !o.ContextTimeoutEnabled || o.MaxRedirects != 3 || o.MaxRetries != -1 || o.ReadTimeout != 1500*time.Millisecond || o.WriteTimeout != 1500*time.Millisecond ||
			o.DialTimeout != 2*time.Second || o.DialerRetries != 1 || o.ClusterStateReloadInterval != time.Second || o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
			t.Errorf("%s: settings %+v", address, o)
		}
		if o := clientOf(t, address, own).(*redis.ClusterClient).Options(); o.MaxRedirects != 7 || o.MaxRetries != -1 || o.PoolSize != 3 || o.ReadTimeout != time.Hour || o.WriteTimeout != time.Hour {
			t.Errorf("%s: settings %+v, want those asked for", address, o)
		}
		if o := clientOf(t, address, &Options{MaxRetries: -1}).(*redis.ClusterClient).Options(); o.MaxRedirects != 1 {
			t.Errorf("%s without retries follows %d times, want once", address, o.MaxRedirects)
		}
	}
	for _, address := range []string{"redis+cluster://h", "redis://h"} { // and Health has nothing against them
		var r Report
		r.client(clientOf(t, address, &Options{}))
		if len(r.Findings) != 0 {
			t.Errorf("%s: findings %+v", address, r.Findings)
		}
	}
}
