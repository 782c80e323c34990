package section

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/benchmarks/bed"
	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/benchmarks/measure"
	"github.com/toolharness/harness/benchmarks/report"
	"github.com/toolharness/harness/redisstore"
)

// Options say how much is measured.
type Options struct {
	Rounds  int    // of every comparison
	Calls   int    // of one sample, at most
	Bytes   int    // of raw in one sample, at most; a few calls are made in any case
	Sizes   []int  // of raw, in bytes
	Callers []int  // goroutines
	Long    int    // calls in the long run of section scale
	Full    int    // records in the full store of section scale
	Seed    uint64 // of the order within rounds
	Pages   bool   // servers keep their memory between samples
	Cold    bool   // without the round that is thrown away

	// Logf tells a person how far it has come; never nil.
	Logf func(format string, args ...any)
}

// Env is what sections share: one redis-server, and one client and store for each
// way to it. It is for one goroutine.
type Env struct {
	Options
	source *content.Source
	server *bed.Server
	client *redis.Client
	store  *redisstore.Store
}

// Section is one benchmark.
type Section struct {
	Name string
	Run  func(context.Context, *Env) (report.Table, error)
}

// All are the sections, in the order in which they run.
func All() []Section {
	return []Section{
		{"calls", calls}, {"cpu", cpu}, {"batch", batch}, {"line", line},
		{"progress", progress}, {"scale", scale}, {"cluster", cluster},
	}
}

// Start starts the server that sections share.
func Start(ctx context.Context, o Options) (*Env, error) {
	source, err := content.Load()
	if err != nil {
		return nil, err
	}
	e := &Env{Options: o, source: source}
	if e.server, err = bed.Start(); err != nil {
		return nil, err
	}
	e.client = e.server.Client(e.pool())
	e.store, err = redisstore.Dial(ctx, e.server.URL(), storeOptions(e.pool()))
	if err != nil {
		_ = e.Close() // the first error says what is wrong
		return nil, err
	}
	return e, nil
}

// Close ends the server.
func (e *Env) Close() error {
	if e.store != nil {
		_ = e.store.Close() // its server goes now
	}
	_ = e.client.Close()
	return e.server.Close()
}

// Redis is the version of the server.
func (e *Env) Redis(ctx context.Context) (string, error) { return e.server.Version(ctx) }

// pool has a connection for every caller, as a host that knows its callers has.
func (e *Env) pool() int { return max(slices.Max(e.Callers), 16) + 2 }

func storeOptions(pool int) *redisstore.Options {
	return &redisstore.Options{PoolSize: pool, IOTimeout: bed.IOTimeout}
}

func (e *Env) plan() measure.Plan {
	return measure.Plan{Rounds: e.Rounds, Seed: e.Seed, Cold: e.Cold}
}

// number is how many calls one sample has.
func (e *Env) number(size, callers int) int {
	return max(min(e.Calls, e.Bytes/size), 2*callers, 4)
}

// sizeName is a size as people write it.
func sizeName(bytes int) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	default:
		return fmt.Sprintf("%d B", bytes)
	}
}
