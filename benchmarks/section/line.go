package section

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/benchmarks/measure"
	"github.com/toolharness/harness/benchmarks/report"
	"github.com/toolharness/harness/canonical"
)

// Sizes of section line, in bytes.
const (
	smallRaw = 1 << 10
	largeRaw = 4 << 20
)

// smallCalls is how many small calls a sample has for each that -calls allows: their
// 99th percentile needs many, and they are cheap.
const smallCalls = 2

// line is whether small calls have to wait for large ones: a caller of small calls
// alone, beside a caller that completes 4 MiB without end, and beside one that does
// the same work on a store in memory, which competes for the processor alone.
func line(ctx context.Context, e *Env) (report.Table, error) {
	t := report.Table{Title: "Head of line: calls with 1 KiB of raw beside constant completions of 4 MiB", Columns: []report.Column{
		{Name: "beside"}, {Name: "calls/s"}, {Name: "p50 us"}, {Name: "p99 us"}, {Name: "max us"}, {Name: "p50 / alone"}, {Name: "p99 / alone"},
		{Name: "large calls/s", Digits: 1},
	}}
	n := smallCalls * e.number(smallRaw, 1)
	e.Logf("line: %d small calls a sample", n)
	small, large := e.source.Set(smallRaw), e.source.Set(largeRaw)
	var alone, other, same counter
	r, err := measure.Rounds(ctx, e.plan(),
		e.smallBeside("nothing", n, small, large, nil, &alone),
		e.smallBeside("4 MiB in memory", n, small, large, fakeStore, &other),
		e.smallBeside("4 MiB on the same server", n, small, large, func() canonical.Store { return e.store }, &same))
	if err != nil {
		return t, err
	}
	for i, name := range r.Names {
		p50 := func(s measure.Sample) float64 { return measure.Micros(s.P50) }
		p99 := func(s measure.Sample) float64 { return measure.Micros(s.P99) }
		t.Add(name, r.Of(i, func(s measure.Sample) float64 { return s.Rate }), r.Of(i, p50), r.Of(i, p99),
			r.Of(i, func(s measure.Sample) float64 { return measure.Micros(s.Max) }),
			r.Quotient(i, 0, p50), r.Quotient(i, 0, p99), []*counter{&alone, &other, &same}[i].rate())
	}
	t.Notef("All through Invoke. The second row is the control: the large calls take the processor there, and not the server.")
	return t, nil
}

// counter counts large calls and the seconds in which they were made, over rounds.
type counter struct {
	calls   atomic.Int64
	seconds float64
}

func (c *counter) rate() float64 { return float64(c.calls.Load()) / c.seconds }

// smallBeside measures small calls while large ones are made on another store.
func (e *Env) smallBeside(name string, n int, small, large content.Set, store func() canonical.Store, count *counter) measure.Subject {
	return measure.Subject{Name: name, Sample: func(ctx context.Context) (measure.Sample, error) {
		if err := e.server.Empty(ctx, e.Pages); err != nil {
			return measure.Sample{}, err
		}
		call, end, err := invoke(e.store).begin(ctx, n, small)
		if err != nil {
			return measure.Sample{}, err
		}
		stop := func() error { return nil }
		if store != nil {
			if stop, err = constantly(ctx, store(), large, count); err != nil {
				return measure.Sample{}, err
			}
		}
		s, err := measure.Take(ctx, measure.Work{Calls: n, Callers: 1, Call: call, Server: e.server})
		count.seconds += float64(n) / s.Rate
		return s, errors.Join(err, stop(), end())
	}}
}

// constantly makes one call after the other until stop is called.
func constantly(ctx context.Context, s canonical.Store, set content.Set, count *counter) (stop func() error, err error) {
	b, run, err := openBoundary(ctx, s, "run-large")
	if err != nil {
		return nil, err
	}
	actions := actionsOf(set)
	var done atomic.Bool
	var all sync.WaitGroup
	var failed error
	all.Go(func() {
		for i := 0; !done.Load() && failed == nil; i++ {
			v := i % content.Variants
			failed = b.Invoke(ctx, run, envelope(run, fmt.Sprintf("large_%d", i), set.Requests[v]), actions[v]).Err
			count.calls.Add(1)
		}
	})
	return func() error {
		done.Store(true)
		all.Wait()
		return errors.Join(failed, b.Shutdown(context.WithoutCancel(ctx)))
	}, nil
}
