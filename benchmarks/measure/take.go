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
	var s spent
	if err := w.ask(ctx, &s.use[0]); err != nil {
		return Sample{}, err
	}
	runtime.GC()
	s.look(0)
	took, err := w.run(ctx, times)
	if err != nil {
		return Sample{}, err
	}
	s.look(1) // before the server is asked, which is work of this process
	if err := w.ask(ctx, &s.use[1]); err != nil {
		return Sample{}, err
	}
	return w.sample(times, took, s), nil
}

// spent is what process and server had used before and after.
type spent struct {
	mem    [2]runtime.MemStats
	client [2]time.Duration
	use    [2]bed.Use
}

func (s *spent) look(at int) {
	runtime.ReadMemStats(&s.mem[at])
	s.client[at] = processTime()
}

func (w Work) ask(ctx context.Context, use *bed.Use) (err error) {
	if w.Server != nil {
		*use, err = w.Server.Use(ctx)
	}
	return err
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

func (w Work) sample(times []time.Duration, took time.Duration, x spent) Sample {
	n := float64(w.Calls)
	use := x.use[1].Sub(x.use[0])
	if w.Server != nil {
		use.Reads -= w.Server.Questions()
	}
	slices.Sort(times)
	at := func(q float64) time.Duration { return times[int(q*float64(len(times)-1))] }
	return Sample{
		Rate: n / took.Seconds(), P50: at(0.5), P99: at(0.99), Max: times[len(times)-1],
		Allocs: float64(x.mem[1].Mallocs-x.mem[0].Mallocs) / n, AllocSize: float64(x.mem[1].TotalAlloc-x.mem[0].TotalAlloc) / n,
		Client: time.Duration(float64(x.client[1]-x.client[0]) / n), Redis: time.Duration(float64(use.CPU) / n),
		Reads: float64(use.Reads) / n, In: float64(use.In) / n, Out: float64(use.Out) / n, Kept: float64(use.Memory) / n,
	}
}
