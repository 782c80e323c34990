package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/internal/cuts"
	"github.com/toolharness/harness/redisstore"
)

// Config is one soak.
type Config struct {
	Addr    string       // of an empty redis-server with appendonly yes and appendfsync always
	Entries string       // path of the file of entries
	Calls   int          // how many are made
	Rate    int          // of them a second, at most; 0: as fast as they go
	Ends    int          // how often the server is ended, by turns by Restart and by Crash
	Restart func() error // SIGTERM and start
	Crash   func() error // SIGKILL and start
}

// lanes work side by side, each with a client of its own.
const lanes = 6

// odds are the chances of each write to a connection to go wrong.
var odds = cuts.Odds{LoseRequest: 0.003, CutRequest: 0.003, LoseReply: 0.006}

// soak is one under way.
type soak struct {
	Config
	outside *redis.Client // plain, without faults; to look
	store   *redisstore.Store
	tokens  chan struct{}
	made    atomic.Int64 // calls
	entered atomic.Int64 // tool bodies
	cutters []*cuts.Cutter

	mu       sync.Mutex
	told     map[string]int
	problems []string
	open     []canonical.RunKey // runs that were left with open calls
	runs     int
}

// Run makes the calls and reports everything that was not as it should be. The
// error says that the soak itself could not go on.
func Run(ctx context.Context, c Config) (*Report, error) {
	store, err := redisstore.Dial(ctx, "redis://"+c.Addr+"/0", nil)
	if err != nil {
		return nil, err
	}
	s := &soak{Config: c, store: store, tokens: make(chan struct{}), told: map[string]int{}}
	s.outside = redis.NewClient(&redis.Options{
		Addr: c.Addr, MaxRetries: 20, MaxRetryBackoff: time.Second, ContextTimeoutEnabled: true, DisableIdentity: true,
	})
	report, err := s.conduct(ctx)
	return report, errors.Join(err, store.Close(), s.outside.Close())
}

func (s *soak) conduct(ctx context.Context) (*Report, error) {
	samples := newSampler(s.outside)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	feeding, stop := context.WithCancel(ctx)
	var helpers, workers sync.WaitGroup
	helpers.Go(func() { s.feed(ctx) })
	helpers.Go(func() { samples.run(feeding) })
	helpers.Go(func() {
		if err := s.disturb(feeding); err != nil {
			cancel(err)
		}
	})
	for i := range lanes {
		l, err := s.newLane(i)
		if err != nil {
			cancel(err)
			break
		}
		workers.Go(func() {
			if err := l.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	workers.Wait()
	stop()
	helpers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	report := s.report(samples)
	err := s.finish(ctx, report)
	return report, err
}

// feed hands out one token a call.
func (s *soak) feed(ctx context.Context) {
	defer close(s.tokens)
	start := time.Now()
	for n := range s.Calls {
		if s.Rate > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(n) * time.Second / time.Duration(s.Rate))))
		}
		select {
		case s.tokens <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// found notes what should not be.
func (s *soak) found(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

func (s *soak) count(told string) {
	s.made.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[told]++
}
