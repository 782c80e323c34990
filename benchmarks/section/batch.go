package section

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/benchmarks/measure"
	"github.com/toolharness/harness/benchmarks/report"
	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// batches are how many reads a message has.
var batches = [...]int{1, 4, 8, 16}

// batchSizes are those that a message of several calls often has, in bytes.
var batchSizes = [...]int{1 << 10, 16 << 10}

// batch is messages of several reads, each through Toolset.Dispatch.
func batch(ctx context.Context, e *Env) (report.Table, error) {
	t := report.Table{Title: "Batch: k reads of one message, one caller", Columns: []report.Column{
		{Name: "raw"}, {Name: "k"}, {Name: "way"}, {Name: "calls/s"}, {Name: "us a call", Digits: 1}, {Name: "time / floor"},
		{Name: "trips a call", Digits: 3}, {Name: "reads a message", Digits: 2}, {Name: "allocs a call", Digits: 1},
	}}
	for _, size := range batchSizes {
		set := e.source.Set(size)
		for _, k := range batches {
			n := max(2, e.number(size, 1)/k) * k
			e.Logf("batch: %s, k = %d, %d calls a sample", sizeName(size), k, n)
			r, err := measure.Rounds(ctx, e.plan(), e.batchFloor(set, n, k), e.dispatch(set, n, k))
			if err != nil {
				return t, err
			}
			for i, name := range r.Names {
				rate := r.Of(i, func(s measure.Sample) float64 { return s.Rate }) * float64(k)
				t.Add(sizeName(size), k, name, rate, 1e6/rate, r.Time(i, 0), 2/float64(k),
					r.Of(i, func(s measure.Sample) float64 { return s.Reads }),
					r.Of(i, func(s measure.Sample) float64 { return s.Allocs })/float64(k))
			}
		}
	}
	t.Notef("The floor is k SETs in one pipeline and k in another. Trips are waits for replies. The server counts reads from its sockets, " +
		"of which a write of more than its buffer of 16 KiB takes several; where a message is small they are its trips.")
	return t, nil
}

func (e *Env) batchFloor(set content.Set, n, k int) measure.Subject {
	return measure.Subject{Name: "floor", Sample: func(ctx context.Context) (measure.Sample, error) {
		if err := e.server.Empty(ctx, e.Pages); err != nil {
			return measure.Sample{}, err
		}
		keys := floorKeys(n)
		return measure.Take(ctx, measure.Work{Calls: n / k, Callers: 1, Server: e.server, Call: func(ctx context.Context, i int) error {
			return e.floorPipelines(ctx, keys[i*k:(i+1)*k], set)
		}})
	}}
}

func (e *Env) dispatch(set content.Set, n, k int) measure.Subject {
	return measure.Subject{Name: "dispatch", Sample: func(ctx context.Context) (measure.Sample, error) {
		if err := e.server.Empty(ctx, e.Pages); err != nil {
			return measure.Sample{}, err
		}
		config := configOf(e.store)
		config.Parallelism = k
		b, err := boundary.New(config)
		if err != nil {
			return measure.Sample{}, err
		}
		tools, err := boundary.NewToolset(b, toolsOf(set)...)
		if err != nil {
			return measure.Sample{}, err
		}
		run, err := b.OpenRun(ctx, spec("run-batch"))
		if err != nil {
			return measure.Sample{}, err
		}
		asked := callsOf(set, n)
		s, err := measure.Take(ctx, measure.Work{Calls: n / k, Callers: 1, Server: e.server, Call: func(ctx context.Context, i int) error {
			for _, result := range tools.Dispatch(ctx, run, asked[i*k:(i+1)*k]...) {
				if result.Err != nil {
					return result.Err
				}
			}
			return nil
		}})
		return s, errors.Join(err, b.Shutdown(context.WithoutCancel(ctx)))
	}}
}

// toolsOf is one tool for each variant.
func toolsOf(set content.Set) []boundary.Tool {
	var tools []boundary.Tool
	for v, action := range actionsOf(set) {
		tools = append(tools, boundary.Tool{
			Name: toolName(v), Effect: action.Effect, Executor: action.Executor, Projector: action.Projector,
		})
	}
	return tools
}

func toolName(variant int) string { return fmt.Sprintf("search_%d", variant) }

func callsOf(set content.Set, n int) []boundary.Call {
	asked := make([]boundary.Call, n)
	for i := range asked {
		v := i % content.Variants
		asked[i] = boundary.Call{ID: canonical.ToolCallID(fmt.Sprintf("call_%08d", i)), Name: toolName(v), Arguments: set.Requests[v]}
	}
	return asked
}
