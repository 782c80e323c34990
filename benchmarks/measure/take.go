package measure

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolharness/harness/benchmarks/bed"
)

// Work is a number of calls that callers share.
type Work struct {
	Calls   int
	Callers int // goroutines
	Call    func(ctx context.Context, i int) error
	Server  *bed.Server // asked what it did; nil where there is none to ask
}

// Sample is what calls have cost. All but Rate and the latencies are per call.
type Sample struct {
	Rate      float64 // calls a second
	P50, P99  time.Duration
	Max       time.Duration
	Allocs    float64
	AllocSize float64       // bytes
	Client    time.Duration // processor time of this process
	Redis     time.Duration // processor time of the server's thread that runs commands
	Reads     float64       // read events of the server
	In, Out   float64       // bytes that the server read and wrote
	Kept      float64       // bytes of memory that the server uses more than before
}

// Take does the work once. The first error of a call ends it.
func Take(ctx context.Context, w Work) (Sample, error) {
	times := make([]time.Duration, w.Calls)
	runtime.GC()
	before, err := w.look(ctx)
	if err != nil {
		return Sample{}, err
	}
	took, err := w.run(ctx, times)
	if err != nil {
		return Sample{}, err
	}
	after, err := w.look(ctx)
	if err != nil {
		return Sample{}, err
	}
	return w.sample(times, took, before, after), nil
}

// look is what process and server have used up to now.
type look struct {
	mem    runtime.MemStats
	client time.Duration
	use    bed.Use
}

func (w Work) look(ctx context.Context) (look, error) {
	var l look
	var err error
	if w.Server != nil {
		if l.use, err = w.Server.Use(ctx); err != nil {
			return l, err
		}
	}
	runtime.ReadMemStats(&l.mem)
	l.client = processTime()
	return l, nil
}

// run lets the callers take numbers until there are none left.
func (w Work) run(ctx context.Context, times []time.Duration) (time.Duration, error) {
	var next atomic.Int64
	var first error
	var once sync.Once
	var all sync.WaitGroup
	start := time.Now()
	for range w.Callers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= w.Calls {
					return
				}
				began := time.Now()
				if err := w.Call(ctx, i); err != nil {
					once.Do(func() { first = err })
					next.Store(int64(w.Calls))
					return
				}
				times[i] = time.Since(began)
			}
		})
	}
	all.Wait()
	return time.Since(start), first
}

func (w Work) sample(times []time.Duration, took time.Duration, before, after look) Sample {
	n := float64(w.Calls)
	use := after.use.Sub(before.use)
	if w.Server != nil {
		use.Reads -= w.Server.Questions()
	}
	slices.Sort(times)
	at := func(q float64) time.Duration { return times[int(q*float64(len(times)-1))] }
	return Sample{
		Rate: n / took.Seconds(), P50: at(0.5), P99: at(0.99), Max: times[len(times)-1],
		Allocs: float64(after.mem.Mallocs-before.mem.Mallocs) / n, AllocSize: float64(after.mem.TotalAlloc-before.mem.TotalAlloc) / n,
		Client: time.Duration(float64(after.client-before.client) / n), Redis: time.Duration(float64(use.CPU) / n),
		Reads: float64(use.Reads) / n, In: float64(use.In) / n, Out: float64(use.Out) / n, Kept: float64(use.Memory) / n,
	}
}
