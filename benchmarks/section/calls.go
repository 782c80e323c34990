package section

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/benchmarks/bed"
	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/benchmarks/measure"
	"github.com/toolharness/harness/benchmarks/report"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
)

// place is a store and what belongs to it.
type place struct {
	name   string
	share  int // of the calls that a sample on Redis has, one in so many
	server *bed.Server
	empty  func(context.Context) error
	ways   []func() way // made anew for each sample
}

// calls is the main table: floor, store alone, whole invoke.
func calls(ctx context.Context, e *Env) (report.Table, error) {
	t := report.Table{Title: "Calls: two plain round trips, the store alone, the whole boundary", Columns: []report.Column{
		{Name: "on"}, {Name: "raw"}, {Name: "callers"}, {Name: "way"}, {Name: "calls/s"}, {Name: "p50 us"}, {Name: "p99 us"},
		{Name: "time / floor"}, {Name: "allocs", Digits: 1}, {Name: "client us", Digits: 1}, {Name: "redis us", Digits: 1}, {Name: "kept B"},
	}}
	mini, err := embedded.Start()
	if err != nil {
		return t, err
	}
	defer mini.Close()
	inside, err := e.inside(ctx, mini.Addr())
	if err != nil {
		return t, err
	}
	defer inside.close()
	places := []place{
		{"redis", 1, e.server, func(ctx context.Context) error { return e.server.Empty(ctx, e.Pages) }, []func() way{
			func() way { return floor(e.client) }, func() way { return storeAlone(e.store) }, func() way { return invoke(e.store) }}},
		{"embedded", 10, nil, func(ctx context.Context) error { return inside.client.FlushAll(ctx).Err() }, []func() way{
			func() way { return floor(inside.client) }, func() way { return storeAlone(inside.store) }, func() way { return invoke(inside.store) }}},
		{"fake", 1, nil, func(context.Context) error { return nil }, []func() way{
			func() way { return storeAlone(fakeStore()) }, func() way { return invoke(fakeStore()) }}},
	}
	for _, size := range e.Sizes {
		set := e.source.Set(size)
		for _, callers := range e.Callers {
			for _, p := range places {
				if err := e.cell(ctx, &t, p, set, callers); err != nil {
					return t, err
				}
			}
		}
	}
	t.Notef("time / floor is the median over %d rounds of the quotient within a round, with quartiles. On the fake there is no "+
		"floor; embedded and fake run in this process, so that their work is in allocs and client us. A redis-benchmark call is the two SETs of "+
		"the floor, by a client in C, from the rates of both sizes.", e.Rounds)
	return t, nil
}

func fakeStore() canonical.Store { return fakes.NewStore(fakes.NewClock()) }

// pair is a store and a client to the same server.
type pair struct {
	store  *redisstore.Store
	client *redis.Client
}

func (e *Env) inside(ctx context.Context, addr string) (pair, error) {
	store, err := redisstore.Dial(ctx, "redis://"+addr, storeOptions(e.pool()))
	if err != nil {
		return pair{}, err
	}
	return pair{store: store, client: bed.ClientOf(addr, e.pool())}, nil
}

func (p pair) close() { _ = errors.Join(p.store.Close(), p.client.Close()) } // of a server that ends now

// cell adds the rows of one place, size and number of callers.
func (e *Env) cell(ctx context.Context, t *report.Table, p place, set content.Set, callers int) error {
	n := e.number(set.Size, callers)
	if p.share > 1 {
		n = max(n/p.share, 2*callers, 4)
	}
	e.Logf("calls: %s, %s, %d callers, %d calls a sample", p.name, sizeName(set.Size), callers, n)
	var subjects []measure.Subject
	for _, w := range p.ways {
		subjects = append(subjects, p.subject(w, n, callers, set))
	}
	r, err := measure.Rounds(ctx, e.plan(), subjects...)
	if err != nil {
		return err
	}
	for i, name := range r.Names {
		var ratio any
		if r.Names[0] == "floor" {
			ratio = r.Time(i, 0)
		}
		of := func(what func(measure.Sample) float64) float64 { return r.Of(i, what) }
		var redisTime, kept any
		if p.server != nil {
			redisTime = of(func(s measure.Sample) float64 { return measure.Micros(s.Redis) })
			kept = of(func(s measure.Sample) float64 { return s.Kept })
		}
		t.Add(p.name, sizeName(set.Size), callers, name,
			of(func(s measure.Sample) float64 { return s.Rate }),
			of(func(s measure.Sample) float64 { return measure.Micros(s.P50) }),
			of(func(s measure.Sample) float64 { return measure.Micros(s.P99) }), ratio,
			of(func(s measure.Sample) float64 { return s.Allocs }),
			of(func(s measure.Sample) float64 { return measure.Micros(s.Client) }), redisTime, kept)
	}
	if p.server == nil {
		return nil
	}
	return e.plainCell(ctx, t, set, callers, n)
}

// subject takes a sample of a way on an emptied place.
func (p place) subject(w func() way, calls, callers int, set content.Set) measure.Subject {
	return measure.Subject{Name: w().name, Sample: func(ctx context.Context) (measure.Sample, error) {
		if err := p.empty(ctx); err != nil {
			return measure.Sample{}, err
		}
		call, end, err := w().begin(ctx, calls, set)
		if err != nil {
			return measure.Sample{}, err
		}
		s, err := measure.Take(ctx, measure.Work{Calls: calls, Callers: callers, Call: call, Server: p.server})
		return s, errors.Join(err, end())
	}}
}

// plainCell adds what redis-benchmark reaches, or says that it is missing.
func (e *Env) plainCell(ctx context.Context, t *report.Table, set content.Set, callers, calls int) error {
	seconds := 0.0 // for one call
	for _, size := range []int{len(set.Requests[0]), len(set.Whole[0])} {
		if err := e.server.Empty(ctx, e.Pages); err != nil {
			return err
		}
		rate, err := e.server.PlainRate(ctx, size, callers, max(calls, 100))
		if errors.Is(err, bed.ErrNoTool) {
			if len(t.Notes) == 0 {
				t.Notef("%v: a slow floor would not show.", err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		seconds += 1 / rate
	}
	t.Add("redis", sizeName(set.Size), callers, "redis-benchmark", 1/seconds, nil, nil, nil, nil, nil, nil, nil)
	return e.server.Empty(ctx, e.Pages)
}
