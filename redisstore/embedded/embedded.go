package embedded

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/toolharness/harness/redisstore"
)

// tick is how exactly the server's clock follows the real one once Advance has
// set it apart. Until then it is the real one.
const tick = time.Millisecond

// Options configure a server. The zero value is what [Start] takes.
type Options struct {
	// Frozen stops time: it moves by Advance alone. For tests of deadlines and
	// expiry that must not depend on how fast the machine is.
	Frozen bool

	// At is where a frozen clock starts; zero: now. Ignored unless Frozen.
	// Cut to milliseconds.
	At time.Time

	// Prefix is [redisstore.Options].Prefix.
	Prefix string
}

// Server is a store in this process, empty at start and gone with Close. It is
// safe for concurrent use.
type Server struct {
	mini  *miniredis.Miniredis
	store *redisstore.Store

	mu     sync.Mutex
	frozen bool
	closed bool
	now    time.Time     // of a frozen clock
	ahead  time.Duration // of one that runs
	stop   chan struct{} // ends the goroutine that moves a running clock; nil before the first Advance
	done   chan struct{}
}

// Start starts a server whose time runs as real time does.
func Start() (*Server, error) { return StartWith(Options{}) }

// StartWith starts a server with options. The error is of the loopback listener
// or of the options.
func StartWith(o Options) (*Server, error) {
	s := &Server{mini: miniredis.NewMiniRedis(), frozen: o.Frozen, now: o.At}
	if s.frozen {
		if s.now.IsZero() {
			s.now = time.Now()
		}
		s.now = s.now.Truncate(time.Millisecond) // the unit of TIME and of every expiry
		s.mini.SetTime(s.now)
	}
	// A relative expiry runs by the same clock as TIME and the absolute ones, so
	// that one move of the clock moves all three, with nothing in between.
	s.mini.ClockTTL(true)
	if err := s.mini.Start(); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	store, err := redisstore.Dial(context.Background(), "redis://"+s.mini.Addr(), &redisstore.Options{Prefix: o.Prefix})
	if err != nil {
		s.mini.Close()
		return nil, err
	}
	s.store = store
	return s, nil
}

// Store is the store on this server. Close of the server closes it.
func (s *Server) Store() *redisstore.Store { return s.store }

// Addr is host and port on loopback, for other clients of the same server.
func (s *Server) Addr() string { return s.mini.Addr() }

// Now is the server's time, by which it judges deadlines and expiry.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return s.now
	}
	return time.Now().Add(s.ahead)
}

// Advance moves the server's time forward by d, in one step for every client:
// TIME, deadlines and every expiry. A d below zero moves nothing: a server has
// no answer for a key that expired and is asked for earlier.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d <= 0 || s.closed {
		return
	}
	if s.frozen {
		s.now = s.now.Add(d)
		s.mini.SetTime(s.now)
		return
	}
	s.ahead += d
	s.mini.SetTime(time.Now().Add(s.ahead))
	if s.stop == nil {
		s.stop, s.done = make(chan struct{}), make(chan struct{})
		go s.run(s.stop, s.done)
	}
}

// run keeps a clock running that Advance has set: the server takes the time it
// is told for the time it is.
func (s *Server) run(stop, done chan struct{}) {
	defer close(done)
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			s.mu.Lock()
			s.mini.SetTime(time.Now().Add(s.ahead))
			s.mu.Unlock()
		}
	}
}

// Close ends the server and its store; what they held is gone. Further calls do
// nothing.
func (s *Server) Close() {
	s.mu.Lock()
	again, stop, done := s.closed, s.stop, s.done
	s.closed, s.stop = true, nil
	s.mu.Unlock()
	if again {
		return
	}
	if stop != nil {
		close(stop)
		<-done
	}
	_ = s.store.Close() // its connections end with the server in any case
	s.mini.Close()
}
