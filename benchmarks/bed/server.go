package bed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/toolharness/harness/internal/redistest"
)

// Server is a redis-server that belongs to a benchmark, or a cluster of them. Its
// methods are not safe for concurrent use.
type Server struct {
	host  *host
	url   string
	nodes []*redistest.Process
	asks  []*redis.Client // one for each node, for what is not measured
}

// Start starts one redis-server. The arguments are appended to its command line.
func Start(args ...string) (*Server, error) {
	s := &Server{host: &host{}}
	err := s.host.try(func() {
		p := redistest.Server(s.host, args...)
		s.url, s.nodes = p.URL(), []*redistest.Process{p}
	})
	return s.ready(err)
}

// StartCluster starts a cluster of primaries without replicas.
func StartCluster(primaries int) (*Server, error) {
	s := &Server{host: &host{}}
	err := s.host.try(func() {
		c := redistest.Cluster(s.host, redistest.ClusterOptions{Primaries: primaries})
		s.url, s.nodes = c.URL(), c.Nodes()
	})
	return s.ready(err)
}

func (s *Server) ready(err error) (*Server, error) {
	if err != nil {
		return nil, errors.Join(err, s.host.close())
	}
	for _, node := range s.nodes {
		s.asks = append(s.asks, ClientOf(node.Addr(), 1))
	}
	return s, nil
}

// Close ends the processes. What they hold is gone.
func (s *Server) Close() error {
	var all error
	for _, ask := range s.asks {
		all = errors.Join(all, ask.Close())
	}
	return errors.Join(all, s.host.close())
}

// URL is the address in the form redisstore.Dial takes.
func (s *Server) URL() string { return s.url }

// Addr is host and port of the first node.
func (s *Server) Addr() string { return s.nodes[0].Addr() }

// Empty removes everything, scripts apart. With pages the server keeps the memory
// for what comes next, as one does whose records expire and are replaced; without,
// it gives it back and pays a page fault for every page it takes again.
func (s *Server) Empty(ctx context.Context, pages bool) error {
	mode := "SYNC"
	if pages {
		mode = "ASYNC"
	}
	for _, ask := range s.asks {
		if err := ask.Do(ctx, "FLUSHALL", mode).Err(); err != nil {
			return fmt.Errorf("bed: emptying the server: %w", err)
		}
		for pages {
			info, err := readInfo(ctx, ask, "memory")
			if err != nil {
				return err
			}
			if info["lazyfree_pending_objects"] == 0 {
				break
			}
			time.Sleep(5 * time.Millisecond) // the server frees in a thread of its own and tells nobody
		}
	}
	return nil
}

// IOTimeout is what a read or write may take: more than anybody would wait for, since
// nothing here fails for being slow. The store's clients get it too.
const IOTimeout = time.Minute

// Client makes a client with the options of the one that redisstore.Dial makes, where
// it is told the same IOTimeout.
func (s *Server) Client(pool int) *redis.Client { return ClientOf(s.Addr(), pool) }

// ClientOf is Client for a server that is not ours, an embedded one for instance.
func ClientOf(addr string, pool int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, PoolSize: pool, MaxRetries: 3,
		DialTimeout: 2 * time.Second, ReadTimeout: IOTimeout, WriteTimeout: IOTimeout,
		ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}
