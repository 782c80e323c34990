package section

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolharness/harness/benchmarks/measure"
	"github.com/toolharness/harness/benchmarks/report"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/runprogress"
)

// progressRecords is how many records a report is made of.
const progressRecords = 1000

// progressRaw is the raw of each, in bytes, of which none may move.
const progressRaw = 16 << 10

// progress is what a report on a run's records costs.
func progress(ctx context.Context, e *Env) (report.Table, error) {
	t := report.Table{Title: "Progress: 1,000 records with facts, 16 KiB of raw each", Columns: []report.Column{
		{Name: "way"}, {Name: "ms", Digits: 2}, {Name: "time / MGET"}, {Name: "out B a record"}, {Name: "redis us a record", Digits: 2},
		{Name: "client us a record", Digits: 2}, {Name: "reads"}, {Name: "allocs a record", Digits: 1},
	}}
	e.Logf("progress: %d records", progressRecords)
	if err := e.server.Empty(ctx, e.Pages); err != nil {
		return t, err
	}
	run, names, err := e.factsRun(ctx)
	if err != nil {
		return t, err
	}
	size, err := e.bytesOf(ctx, run, names)
	if err != nil {
		return t, err
	}
	keys, err := e.plainStrings(ctx, size)
	if err != nil {
		return t, err
	}
	reports := max(1, e.Calls/100)
	subject := func(name string, call func(context.Context) error) measure.Subject {
		return measure.Subject{Name: name, Sample: func(ctx context.Context) (measure.Sample, error) {
			return measure.Take(ctx, measure.Work{Calls: reports, Callers: 1, Server: e.server, Call: func(ctx context.Context, _ int) error { return call(ctx) }})
		}}
	}
	r, err := measure.Rounds(ctx, e.plan(),
		subject("MGET of as many bytes", func(ctx context.Context) error { return e.client.MGet(ctx, keys...).Err() }),
		subject("Heads", func(ctx context.Context) error { _, err := e.store.Heads(ctx, run, names); return err }),
		subject("report of a run", func(ctx context.Context) error { _, err := runprogress.FromStore(ctx, e.store, run); return err }))
	if err != nil {
		return t, err
	}
	for i, name := range r.Names {
		per := func(what func(measure.Sample) float64) float64 { return r.Of(i, what) / progressRecords }
		t.Add(name, 1000/r.Of(i, func(s measure.Sample) float64 { return s.Rate }), r.Time(i, 0),
			per(func(s measure.Sample) float64 { return s.Out }), per(func(s measure.Sample) float64 { return measure.Micros(s.Redis) }),
			per(func(s measure.Sample) float64 { return measure.Micros(s.Client) }),
			r.Of(i, func(s measure.Sample) float64 { return s.Reads }), per(func(s measure.Sample) float64 { return s.Allocs }))
	}
	t.Notef("The strings of MGET are as long as what the server sends for a record, %d bytes: head fields, facts and the frames around "+
		"them. No raw moves; it would be %d bytes a record.", size, progressRaw)
	return t, nil
}

// factsRun makes a run whose records have facts.
func (e *Env) factsRun(ctx context.Context) (canonical.RunKey, []canonical.CallName, error) {
	state, err := openRun(ctx, e.store, "run-facts")
	if err != nil {
		return canonical.RunKey{}, nil, err
	}
	set := e.source.Set(progressRaw)
	raw := canonical.NewRaw(set.Raw[0])
	var names []canonical.CallName
	for i := range progressRecords {
		facts, err := evidence.EncodeFacts([]evidence.Fact{
			evidence.NewFact(evidence.Subject{Kind: "table", ID: "Track"}, "rows", fmt.Sprint(i)),
			evidence.NewFact(evidence.Subject{Kind: "genre", ID: "Rock"}, "longest track", "Occupation / Precipice"),
		})
		if err != nil {
			return canonical.RunKey{}, nil, err
		}
		a := admissionOf(state, fmt.Sprintf("call_%08d", i), set.Requests[0])
		if _, err := e.store.Admit(ctx, a); err != nil {
			return canonical.RunKey{}, nil, err
		}
		if _, err := e.store.Complete(ctx, endingOf(a, raw, set.Agent[0], facts)); err != nil {
			return canonical.RunKey{}, nil, err
		}
		names = append(names, a.Call)
	}
	return state.Run, names, nil
}

// bytesOf is what the server sends for one record, on the average.
func (e *Env) bytesOf(ctx context.Context, run canonical.RunKey, names []canonical.CallName) (int, error) {
	before, err := e.server.Use(ctx)
	if err != nil {
		return 0, err
	}
	between, err := e.server.Use(ctx) // its difference to before is what a question costs
	if err != nil {
		return 0, err
	}
	heads, err := e.store.Heads(ctx, run, names)
	if err != nil {
		return 0, err
	}
	for _, head := range heads {
		if head.Fault != nil || len(head.Facts) == 0 {
			return 0, fmt.Errorf("a record without facts: %w", head.Fault)
		}
	}
	after, err := e.server.Use(ctx)
	if err != nil {
		return 0, err
	}
	sent := after.Sub(between).Out - between.Sub(before).Out
	if each := sent / int64(len(names)); each < progressRaw {
		return int(each), nil
	}
	return 0, fmt.Errorf("%d bytes for %d records: raw was moved", sent, len(names))
}

// plainStrings writes as many strings of that size and gives their keys.
func (e *Env) plainStrings(ctx context.Context, size int) ([]string, error) {
	keys := floorKeys(progressRecords)
	for i, key := range keys {
		text := strings.Repeat(string(rune('a'+i%26)), size)
		if err := e.client.Set(ctx, key+":plain", text, life).Err(); err != nil {
			return nil, err
		}
		keys[i] = key + ":plain"
	}
	return keys, nil
}
