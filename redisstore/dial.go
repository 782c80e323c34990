package redisstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Settings of the clients that Dial makes, where the caller gives none. They
// differ from go-redis's own in what a server that hangs or has gone costs.
const (
	// clusterReload is how often a cluster client looks who is master. Its own
	// default, a minute, keeps it on a dead master that long.
	clusterReload = time.Second

	// dialTimeout is for one connection.
	dialTimeout = 2 * time.Second

	// clusterDials is how often a cluster client tries to connect to a node before
	// it asks another who is master. The client's own five would keep it from
	// hearing of a failover for five times the above, where a node answers nothing.
	// Elsewhere there is nobody else to ask.
	clusterDials = 1

	// ioTimeout is for one write or the wait for one reply. On a cluster a node that
	// hangs costs it twice: once the command that waits, and once the question who
	// is master, which the client puts to any node.
	ioTimeout        = 3 * time.Second
	clusterIOTimeout = 1500 * time.Millisecond

	// retries of a command or pipeline whose reply was lost. A cluster client
	// counts in the same number how often it follows a slot that has moved.
	retries = 3
)

// Dial connects to a server, a Sentinel group or a cluster and asks it once
// whether it is there. The store owns the client; Close closes it.
//
//	redis://[user:password@]host[:port][/db]      rediss:// with TLS
//	unix://[user:password@]/path/to/socket[?db=n]
//	redis+sentinel://[user:password@]host[:port],.../master[?db=n&sentinel_username=..&sentinel_password=..]
//	redis+cluster://[user:password@]host[:port],...
//
// The last two exist with rediss, too. Percent escapes are read in user and
// password. Errors are a [*URLError], an [*OptionError] or an [*Error]; none
// repeats any part of the address.
func Dial(ctx context.Context, address string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	t, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	if err := o.checkClient(); err != nil {
		return nil, err
	}
	if o.TLS != nil && !t.tls {
		return nil, &OptionError{Field: "TLS", Reason: "is set, and the address does not ask for TLS"}
	}
	client := t.client(o)
	s, err := New(client, o)
	if err != nil {
		_ = client.Close() // nothing was sent on it
		return nil, err
	}
	s.owned = true
	if err := client.Ping(ctx).Err(); err != nil {
		_ = client.Close() // the first error is the one that says what is wrong
		return nil, trouble(ctx, "dial", err)
	}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		s.watch(cluster)
	}
	return s, nil
}

// watch has a cluster client look who is master, whether or not there is traffic.
// By itself it looks when a command begins and acts on it with the next: where all
// commands wait for a node that hangs, it would not look at all.
func (s *Store) watch(cluster *redis.ClusterClient) {
	stop, done := make(chan struct{}), make(chan struct{})
	s.unwatch = sync.OnceFunc(func() { close(stop); <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(clusterReload)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				cluster.ReloadState(context.Background()) // in the background, one at a time
			case <-stop:
				return
			}
		}
	}()
}

// maxPool bounds Options.PoolSize, and maxRetries Options.MaxRetries: beyond
// them a number is a slip.
const (
	maxPool    = 100_000
	maxRetries = 100
)

// checkClient refuses what the client would panic at or take for something else.
func (o *Options) checkClient() error {
	switch {
	case o.PoolSize < 0 || o.PoolSize > maxPool:
		return &OptionError{Field: "PoolSize", Reason: "not within 0 to 100000"}
	case o.MaxRetries < -1 || o.MaxRetries > maxRetries:
		return &OptionError{Field: "MaxRetries", Reason: "not within -1 to 100"}
	case o.DialTimeout < 0:
		return &OptionError{Field: "DialTimeout", Reason: "negative"}
	case o.IOTimeout < 0:
		return &OptionError{Field: "IOTimeout", Reason: "negative"}
	}
	return nil
}

func (t target) client(o *Options) redis.UniversalClient {
	u := &redis.UniversalOptions{
		Addrs: t.addrs, DB: t.db, Username: t.user, Password: t.password,
		SentinelUsername: t.sentinelUser, SentinelPassword: t.sentinelPassword, MasterName: t.master,
		MaxRetries: cmp.Or(o.MaxRetries, retries), PoolSize: o.PoolSize,
		DialTimeout: cmp.Or(o.DialTimeout, dialTimeout),
		ReadTimeout: cmp.Or(o.IOTimeout, ioTimeout), WriteTimeout: cmp.Or(o.IOTimeout, ioTimeout),
		ContextTimeoutEnabled: true, // or a context's deadline would not reach a read that hangs
		DisableIdentity:       true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled, // a handshake that only one vendor's service answers
		},
	}
	if t.tls {
		u.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if o.TLS != nil {
			u.TLSConfig = o.TLS.Clone()
		}
	}
	switch t.form {
	case formSentinel:
		return redis.NewFailoverClient(u.Failover())
	case formCluster:
		c := u.Cluster()
		c.ClusterStateReloadInterval, c.DialerRetries = clusterReload, clusterDials
		c.ReadTimeout = cmp.Or(o.IOTimeout, clusterIOTimeout)
		c.WriteTimeout = c.ReadTimeout
		c.MaxRedirects = max(1, u.MaxRetries) // a slot that has moved is followed once, whatever was asked for
		c.MaxRetries = -1                     // of one node: or each of the above would be so many
		return redis.NewClusterClient(c)
	case formSocket:
		simple := u.Simple()
		simple.Network, simple.Addr = "unix", t.addrs[0]
		return redis.NewClient(simple)
	default:
		return redis.NewClient(u.Simple())
	}
}
