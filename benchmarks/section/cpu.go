package section

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/benchmarks/measure"
	"github.com/toolharness/harness/benchmarks/report"
)

// Of pipelines that are meant to keep the server busy.
const (
	pipelined     = 64      // calls in one
	pipelineBytes = 4 << 20 // of raw, at most
)

// cpu is what a call costs the one thread of the server that runs commands, when
// the costs of waking it up are shared by many: the limit of what one server does.
func cpu(ctx context.Context, e *Env) (report.Table, error) {
	t := report.Table{Title: "Redis CPU: many calls in each pipeline, memory kept", Columns: []report.Column{
		{Name: "raw"}, {Name: "way"}, {Name: "redis us a call", Digits: 1}, {Name: "calls per s of Redis CPU"}, {Name: "time / floor"},
		{Name: "in B"}, {Name: "out B"}, {Name: "kept B"},
	}}
	for _, size := range e.Sizes {
		set := e.source.Set(size)
		each := max(1, min(pipelined, pipelineBytes/size))
		n := max(each, e.number(size, 1)/each*each)
		e.Logf("cpu: %s, %d calls a sample, %d in a pipeline", sizeName(size), n, each)
		r, err := measure.Rounds(ctx, e.plan(), e.pipedFloor(set, n, each), e.pipedStore(set, n, each))
		if err != nil {
			return t, err
		}
		for i, name := range r.Names {
			spent := r.Of(i, func(s measure.Sample) float64 { return measure.Micros(s.Redis) }) / float64(each)
			per := func(what func(measure.Sample) float64) float64 { return r.Of(i, what) / float64(each) }
			t.Add(sizeName(size), name, spent, float64(time.Second/time.Microsecond)/spent,
				r.Quotient(i, 0, func(s measure.Sample) float64 { return float64(s.Redis) }),
				per(func(s measure.Sample) float64 { return s.In }), per(func(s measure.Sample) float64 { return s.Out }),
				per(func(s measure.Sample) float64 { return s.Kept }))
		}
	}
	t.Notef("Up to %d admissions in one pipeline, then their completions in another; the processor time is that of the server's main thread.", pipelined)
	return t, nil
}

// piped is a subject whose call is a pipeline of each calls.
func (e *Env) piped(name string, n, each int, begin func(context.Context) (func(context.Context, int) error, error)) measure.Subject {
	return measure.Subject{Name: name, Sample: func(ctx context.Context) (measure.Sample, error) {
		if err := e.server.Empty(ctx, true); err != nil {
			return measure.Sample{}, err
		}
		call, err := begin(ctx)
		if err != nil {
			return measure.Sample{}, err
		}
		return measure.Take(ctx, measure.Work{Calls: n / each, Callers: 1, Call: call, Server: e.server})
	}}
}

func (e *Env) pipedStore(set content.Set, n, each int) measure.Subject {
	return e.piped("store", n, each, func(ctx context.Context) (func(context.Context, int) error, error) {
		m, err := prepared(ctx, e.store, n, set)
		return func(ctx context.Context, i int) error {
			for _, answer := range e.store.AdmitBatch(ctx, m.admissions[i*each:(i+1)*each]) {
				if answer.Err != nil {
					return answer.Err
				}
			}
			for _, answer := range e.store.CompleteBatch(ctx, m.endings[i*each:(i+1)*each]) {
				if answer.Err != nil {
					return answer.Err
				}
			}
			return nil
		}, err
	})
}

func (e *Env) pipedFloor(set content.Set, n, each int) measure.Subject {
	return e.piped("floor", n, each, func(context.Context) (func(context.Context, int) error, error) {
		keys := floorKeys(n)
		return func(ctx context.Context, i int) error {
			return e.floorPipelines(ctx, keys[i*each:(i+1)*each], set)
		}, nil
	})
}

// floorPipelines writes requests in one pipeline, and everything in another.
func (e *Env) floorPipelines(ctx context.Context, keys []string, set content.Set) error {
	_, err := e.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			p.Set(ctx, key, set.Requests[i%content.Variants], life)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = e.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			p.SetArgs(ctx, key, set.Whole[i%content.Variants], redis.SetArgs{Mode: "XX", KeepTTL: true})
		}
		return nil
	})
	return err
}
