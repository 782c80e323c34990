package section

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolharness/harness/benchmarks/bed"
	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/benchmarks/measure"
	"github.com/toolharness/harness/benchmarks/report"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/runprogress"
)

// Sizes of section scale.
const (
	thousand  = 1000 // calls that are compared
	listPage  = 100  // records of a page of a list
	fillBatch = 200  // calls in one pipeline while the store is filled
)

// end is a server with a run, at one end of the comparison.
type end struct {
	server *bed.Server
	store  *redisstore.Store
	state  canonical.RunState
	calls  int // in the run, all ended
	round  int
}

// scale is whether anything grows with the length of a run or with what a store
// holds: the first thousand calls of a run on an empty server, and the next thousand
// of a long run in a full one, side by side.
func scale(ctx context.Context, e *Env) (report.Table, error) {
	t := report.Table{Title: fmt.Sprintf("Scale: a run of %d calls in a store of %d records", e.Long, e.Full), Columns: []report.Column{
		{Name: "what"}, {Name: "first thousand us", Digits: 1}, {Name: "last thousand us", Digits: 1}, {Name: "last / first"},
		{Name: "redis us first", Digits: 1}, {Name: "redis us last", Digits: 1}, {Name: "redis last / first"},
	}}
	other, err := bed.Start()
	if err != nil {
		return t, err
	}
	defer other.Close()
	store, err := redisstore.Dial(ctx, other.URL(), storeOptions(4))
	if err != nil {
		return t, err
	}
	defer store.Close()
	first, last := &end{server: e.server, store: e.store}, &end{server: other, store: store}
	if err := e.server.Empty(ctx, e.Pages); err != nil {
		return t, err
	}
	kept, err := last.fillStore(ctx, e)
	if err != nil {
		return t, err
	}
	e.Logf("scale: comparing")
	n := min(thousand, e.Calls)
	for _, m := range []struct {
		what  string
		calls int
		take  func(context.Context, *Env, *end, int) (measure.Sample, error)
	}{
		{"admission", n, takeAdmissions}, {"completion", n, takeCompletions},
		{"list page of 100", max(1, n/20), takeListPages}, {"report on the last 1,000", max(1, n/100), takeReports},
	} {
		subject := func(name string, at *end) measure.Subject {
			return measure.Subject{Name: name, Sample: func(ctx context.Context) (measure.Sample, error) {
				if at == first {
					if err := at.restart(ctx, e, n); err != nil {
						return measure.Sample{}, err
					}
				}
				return m.take(ctx, e, at, m.calls)
			}}
		}
		r, err := measure.Rounds(ctx, e.plan(), subject("first", first), subject("last", last))
		if err != nil {
			return t, fmt.Errorf("%s: %w", m.what, err)
		}
		took := func(s measure.Sample) float64 { return 1e6 / s.Rate }
		spent := func(s measure.Sample) float64 { return measure.Micros(s.Redis) }
		t.Add(m.what, r.Of(0, took), r.Of(1, took), r.Time(1, 0), r.Of(0, spent), r.Of(1, spent), r.Quotient(1, 0, spent))
	}
	t.Notef("The full store took %.0f MB, %.0f bytes a record, with requests of %d and raw of %d bytes.",
		float64(kept)/1e6, float64(kept)/float64(max(e.Full, e.Long)), len(smallRequest), smallRawBytes)
	return t, nil
}

// smallRequest and smallRawBytes make records of which many fit into memory.
const (
	smallRequest  = `{"query":"select count(*) from Track where GenreId = 1"}`
	smallRawBytes = 256
)

// fillStore makes a long run and as many others as it takes to fill the store. It
// answers how much memory the server uses then.
func (at *end) fillStore(ctx context.Context, e *Env) (int64, error) {
	var err error
	if at.state, err = openRun(ctx, at.store, "run-long"); err != nil {
		return 0, err
	}
	if err := at.grow(ctx, e, e.Long); err != nil {
		return 0, err
	}
	for held, i := e.Long, 0; held < e.Full; i++ {
		state, err := openRun(ctx, at.store, fmt.Sprintf("run-%06d", i))
		if err != nil {
			return 0, err
		}
		n := min(thousand, e.Full-held)
		if err := fill(ctx, e, at.store, state, 0, n); err != nil {
			return 0, err
		}
		if held += n; held%100_000 == 0 {
			e.Logf("scale: %d records", held)
		}
	}
	use, err := at.server.Use(ctx)
	return use.Memory, err
}

// restart makes a new run of a few calls, on an emptied server.
func (at *end) restart(ctx context.Context, e *Env, calls int) error {
	if err := at.server.Empty(ctx, e.Pages); err != nil {
		return err
	}
	var err error
	if at.state, err = openRun(ctx, at.store, fmt.Sprintf("run-short-%d", at.round)); err != nil {
		return err
	}
	at.round++
	at.calls = 0
	return at.grow(ctx, e, max(calls, listPage))
}

// grow adds ended calls to the run.
func (at *end) grow(ctx context.Context, e *Env, calls int) error {
	err := fill(ctx, e, at.store, at.state, at.calls, calls)
	at.calls += calls
	return err
}

// fill makes calls in pipelines.
func fill(ctx context.Context, e *Env, s *redisstore.Store, state canonical.RunState, from, calls int) error {
	for done := 0; done < calls; {
		m, err := smallMessages(e, state, from+done, min(fillBatch, calls-done))
		if err != nil {
			return err
		}
		for _, answer := range s.AdmitBatch(ctx, m.admissions) {
			if answer.Err != nil {
				return answer.Err
			}
		}
		for _, answer := range s.CompleteBatch(ctx, m.endings) {
			if answer.Err != nil {
				return answer.Err
			}
		}
		done += len(m.admissions)
	}
	return nil
}

// smallMessages are those of calls of which many fit into memory, with a fact each.
func smallMessages(e *Env, state canonical.RunState, from, calls int) (m messages, err error) {
	raw := canonical.NewRaw(e.source.Body(content.Rows, 0, smallRawBytes))
	facts, err := evidence.EncodeFacts([]evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "table", ID: "Track"}, "rows", "1297")})
	for i := range calls {
		a := admissionOf(state, callID(from+i), []byte(smallRequest))
		m.admissions, m.endings = append(m.admissions, a), append(m.endings, endingOf(a, raw, raw.Bytes[:128], facts))
	}
	return m, err
}

func callID(i int) string { return fmt.Sprintf("call_%08d", i) }

// next makes messages for calls that the run does not have yet.
func (at *end) next(e *Env, n int) (messages, error) {
	m, err := smallMessages(e, at.state, at.calls, n)
	at.calls += n
	return m, err
}

func (at *end) admitAll(ctx context.Context, m messages, measured bool) (measure.Sample, error) {
	return at.each(ctx, measured, len(m.admissions), func(ctx context.Context, i int) error {
		_, err := at.store.Admit(ctx, m.admissions[i])
		return err
	})
}

func (at *end) completeAll(ctx context.Context, m messages, measured bool) (measure.Sample, error) {
	return at.each(ctx, measured, len(m.endings), func(ctx context.Context, i int) error {
		_, err := at.store.Complete(ctx, m.endings[i])
		return err
	})
}

// each calls f for every number, measured or not.
func (at *end) each(ctx context.Context, measured bool, n int, f func(context.Context, int) error) (measure.Sample, error) {
	if measured {
		return measure.Take(ctx, measure.Work{Calls: n, Callers: 1, Call: f, Server: at.server})
	}
	for i := range n {
		if err := f(ctx, i); err != nil {
			return measure.Sample{}, err
		}
	}
	return measure.Sample{}, nil
}

func takeAdmissions(ctx context.Context, e *Env, at *end, n int) (measure.Sample, error) {
	m, err := at.next(e, n)
	if err != nil {
		return measure.Sample{}, err
	}
	s, err := at.admitAll(ctx, m, true)
	_, then := at.completeAll(ctx, m, false)
	return s, errors.Join(err, then)
}

func takeCompletions(ctx context.Context, e *Env, at *end, n int) (measure.Sample, error) {
	m, err := at.next(e, n)
	if err != nil {
		return measure.Sample{}, err
	}
	if _, err := at.admitAll(ctx, m, false); err != nil {
		return measure.Sample{}, err
	}
	return at.completeAll(ctx, m, true)
}

// takeListPages reads the last page of the run's list: names, then heads.
func takeListPages(ctx context.Context, _ *Env, at *end, n int) (measure.Sample, error) {
	return at.each(ctx, true, n, func(ctx context.Context, _ int) error {
		page, err := at.store.Order(ctx, at.state.Run, int64(at.calls-listPage), listPage)
		if err != nil {
			return err
		}
		names := make([]canonical.CallName, len(page))
		for i, numbered := range page {
			names[i] = numbered.Call
		}
		if len(names) != listPage {
			return fmt.Errorf("a page of %d, want %d", len(names), listPage)
		}
		_, err = at.store.Heads(ctx, at.state.Run, names)
		return err
	})
}

// takeReports makes reports on what came since a cursor.
func takeReports(ctx context.Context, _ *Env, at *end, n int) (measure.Sample, error) {
	after := runprogress.Cursor{After: int64(max(0, at.calls-thousand))}
	return at.each(ctx, true, n, func(ctx context.Context, _ int) error {
		_, _, err := runprogress.Continue(ctx, at.store, at.state.Run, after)
		return err
	})
}
