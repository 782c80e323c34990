package redisstore

import (
	"crypto/tls"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
)

// Options configure a store. The zero value, and a nil *Options, are the
// defaults.
type Options struct {
	// Prefix begins every key: 1 to 64 bytes of A-Z a-z 0-9 . _ - : and empty
	// for [DefaultPrefix]. Stores with different prefixes share nothing.
	Prefix string

	// AcceptEviction opens runs on a server whose maxmemory-policy may evict
	// keys. A guard that was evicted lets a call run twice.
	AcceptEviction bool

	// Replicas is how many replicas must have an admission before its call may be
	// entered; zero asks for none. Endings are sent with the same question, and what
	// was reached is in their Strength. Where an admission reached fewer, it is
	// refused with [canonical.ErrStrength].
	Replicas int

	// ReplicaTimeout bounds the wait for replicas, of one message. Zero: 500 ms. At
	// least a millisecond, and less than half of what a read may take.
	ReplicaTimeout time.Duration

	// The rest is for Dial alone; New takes the client as it is.

	TLS         *tls.Config   // replaces what a rediss URL would set
	PoolSize    int           // connections per node; zero: 10 for each CPU
	MaxRetries  int           // of a command whose answer was lost; zero: 3, -1: none
	DialTimeout time.Duration // zero: 2 s
	IOTimeout   time.Duration // for one read or write where the context allows more; zero: 3 s, on a cluster 1.5 s
}

// Store keeps runs and records on Redis. It implements [canonical.Store] and is
// safe for concurrent use.
type Store struct {
	client  redis.UniversalClient
	prefix  string
	accept  bool
	owned   bool
	unwatch func() // ends the goroutine of a cluster; nil without
	lua     scripts
	acks    acks // what is asked of replicas

	mu     sync.Mutex
	policy policy // what was last seen of the server's eviction policy
}

var (
	_ canonical.Store   = (*Store)(nil)
	_ canonical.Batcher = (*Store)(nil)
)

// New makes a store on a client that stays its caller's: Close does not close
// it. The client should have ContextTimeoutEnabled set, or a context's deadline
// does not reach a read that hangs; [Store.Health] reports that and other
// settings that are wrong. It may retry: every message means once what it means
// twice. New sends nothing.
func New(client redis.UniversalClient, o *Options) (*Store, error) {
	if client == nil {
		return nil, &OptionError{Field: "client", Reason: "missing"}
	}
	if o == nil {
		o = &Options{}
	}
	prefix := o.Prefix
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if err := checkPrefix(prefix); err != nil {
		return nil, err
	}
	asked, err := o.acks(client)
	if err != nil {
		return nil, err
	}
	return &Store{client: client, prefix: prefix, accept: o.AcceptEviction, lua: newScripts(), acks: asked}, nil
}

// Close closes the client where [Dial] made it, and does nothing otherwise. It
// must not be called while other methods run.
func (s *Store) Close() error {
	if !s.owned {
		return nil
	}
	if s.unwatch != nil {
		s.unwatch()
	}
	if err := s.client.Close(); err != nil {
		return &Error{Op: "close", cause: err}
	}
	return nil
}
