package section

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolharness/harness/benchmarks/bed"
	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/benchmarks/measure"
	"github.com/toolharness/harness/benchmarks/report"
	"github.com/toolharness/harness/redisstore"
)

// Of section cluster.
const (
	primaries      = 3
	clusterCallers = 16
	callsPerSpread = 10 // calls of a run, so that many runs lie on all nodes
)

// clusterSizes are those whose cost is the calls' own, and not their bytes'.
var clusterSizes = [...]int{1 << 10, 16 << 10}

// cluster is many runs on several nodes against one, and whether any command was
// sent to a node that does not serve its slot.
func cluster(ctx context.Context, e *Env) (report.Table, error) {
	t := report.Table{Title: fmt.Sprintf("Cluster: many runs on %d primaries, %d callers", primaries, clusterCallers), Columns: []report.Column{
		{Name: "raw"}, {Name: "on"}, {Name: "calls/s"}, {Name: "p50 us"}, {Name: "p99 us"}, {Name: "time / one node"},
		{Name: "redis us", Digits: 1}, {Name: "client us", Digits: 1},
	}}
	nodes, err := bed.StartCluster(primaries)
	if err != nil {
		return t, err
	}
	defer nodes.Close()
	store, err := redisstore.Dial(ctx, nodes.URL(), storeOptions(e.pool()))
	if err != nil {
		return t, err
	}
	defer store.Close()
	before, err := nodes.Use(ctx)
	if err != nil {
		return t, err
	}
	var keys []int64
	for _, size := range clusterSizes {
		set, n := e.source.Set(size), e.number(size, clusterCallers)
		e.Logf("cluster: %s, %d calls a sample", sizeName(size), n)
		r, err := measure.Rounds(ctx, e.plan(), spread("one node", e.server, e.store, n, set, e.Pages), spread(fmt.Sprintf("%d primaries", primaries), nodes, store, n, set, e.Pages))
		if err != nil {
			return t, err
		}
		for i, name := range r.Names {
			of := func(what func(measure.Sample) float64) float64 { return r.Of(i, what) }
			t.Add(sizeName(size), name, of(func(s measure.Sample) float64 { return s.Rate }),
				of(func(s measure.Sample) float64 { return measure.Micros(s.P50) }), of(func(s measure.Sample) float64 { return measure.Micros(s.P99) }),
				r.Time(i, 0), of(func(s measure.Sample) float64 { return measure.Micros(s.Redis) }), of(func(s measure.Sample) float64 { return measure.Micros(s.Client) }))
		}
		if keys, err = nodes.Keys(ctx); err != nil {
			return t, err
		}
	}
	after, err := nodes.Use(ctx)
	if err != nil {
		return t, err
	}
	t.Notef("Commands that came to a node which does not serve their slot (MOVED, ASK, CROSSSLOT): %d. Keys on the nodes after the last round: %v.",
		after.Sub(before).Moved, keys)
	t.Notef("All nodes and the client share this machine's processors: what more machines would bring is not shown, what the cluster client costs is.")
	return t, nil
}

// spread is Store calls over many short runs.
func spread(name string, server *bed.Server, store *redisstore.Store, n int, set content.Set, pages bool) measure.Subject {
	return measure.Subject{Name: name, Sample: func(ctx context.Context) (measure.Sample, error) {
		if err := server.Empty(ctx, pages); err != nil {
			return measure.Sample{}, err
		}
		call, end, err := invokeIn(store, max(1, n/callsPerSpread)).begin(ctx, n, set)
		if err != nil {
			return measure.Sample{}, err
		}
		s, err := measure.Take(ctx, measure.Work{Calls: n, Callers: clusterCallers, Call: call, Server: server})
		return s, errors.Join(err, end())
	}}
}
