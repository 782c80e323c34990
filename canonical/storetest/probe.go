package storetest

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Times of the suite. They lie minutes and hours apart, so that what passes on a
// real server while a subtest runs decides nothing.
const (
	runDuration = 2 * time.Hour
	recordTTL   = 24 * time.Hour
	toolTimeout = 10 * time.Minute
	closingTime = 5 * time.Minute
	dueTime     = toolTimeout + closingTime
	grace       = 10 * time.Minute
	callReserve = int64(64 << 10)
)

// probe is one subtest at work: a store, and the words in which clauses are
// written down. Its failures quote the clause.
type probe struct {
	T
	h      Harness
	s      canonical.Store
	ctx    context.Context
	clause []string
}

// Errorf reports a broken clause and quotes it.
func (p *probe) Errorf(format string, args ...any) {
	p.T.Helper()
	p.T.Errorf(format+"%s", append(args, quote(p.clause))...)
}

// Fatalf is Errorf where nothing more can be checked.
func (p *probe) Fatalf(format string, args ...any) {
	p.T.Helper()
	p.T.Fatalf(format+"%s", append(args, quote(p.clause))...)
}

// must stops the subtest at an error that has nothing to do with its clause, or
// is the breach itself.
func (p *probe) must(what string, err error) {
	p.T.Helper()
	if err != nil {
		p.Fatalf("%s = %v, want success", what, err)
	}
}

// refused checks that err is a "no" for the given reason. Its text must say so
// without more than a name and numbers.
func (p *probe) refused(what string, err, want error) {
	p.T.Helper()
	var no *canonical.RefusedError
	if !errors.Is(err, want) || !errors.As(err, &no) {
		p.Errorf("%s = %v, want a RefusedError around %q", what, err, want)
	}
}

// stands checks a refusal that names the state of the record in the way.
func (p *probe) stands(what string, err, want error, first lifecycle.State) {
	p.T.Helper()
	p.refused(what, err, want)
	var no *canonical.RefusedError
	if errors.As(err, &no) && no.First != first {
		p.Errorf("%s: the state in the way is %q, want %q", what, no.First, first)
	}
}

// same compares two answers of one store.
func (p *probe) same(what string, got, want any) {
	p.T.Helper()
	if !reflect.DeepEqual(got, want) {
		p.Errorf("%s = %+v, want %+v", what, got, want)
	}
}

// near compares two times, one of which was computed.
func (p *probe) near(what string, got, want time.Time) {
	p.T.Helper()
	if d := got.Sub(want).Abs(); d > p.h.Slack {
		p.Errorf("%s = %v, want %v (at most %v apart)", what, got.UTC(), want.UTC(), p.h.Slack)
	}
}

// runKey is the run that most subtests use.
func runKey() canonical.RunKey { return runNamed("run-1") }

func runNamed(id canonical.RunID) canonical.RunKey {
	return canonical.RunKey{Scope: canonical.Scope{Tenant: "acme", Owner: "alice", Namespace: "suite"}, Run: id}
}

// named is a call without a turn.
func named(id canonical.ToolCallID) canonical.CallName { return canonical.CallName{ID: id} }

const theToken canonical.Token = "token-of-the-run"

func opening(change ...func(*canonical.Opening)) canonical.Opening {
	o := canonical.Opening{
		Run: runKey(), Token: theToken, Duration: runDuration,
		Principal: canonical.Principal{User: "alice", Account: "acme", Agent: "agent-7", Connector: "sql"},
		Budget:    canonical.Budget{Calls: 16, PerTool: 8, Bytes: 16 * callReserve},
		Limits: canonical.Limits{
			RecordTTL: recordTTL, RequestBytes: 64 << 10, RawBytes: 4 << 20, AgentBytes: 16 << 10, FactsBytes: 8 << 10,
			RecordBytes: 5 << 20, ToolTimeout: toolTimeout, ProjectorTimeout: 2 * time.Minute, ClosingTimeout: 3 * time.Minute,
		},
		Continues: []canonical.RunID{"run-before"},
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

// budget changes the budget of an opening.
func budget(calls, perTool int, bytes int64) func(*canonical.Opening) {
	return func(o *canonical.Opening) { o.Budget = canonical.Budget{Calls: calls, PerTool: perTool, Bytes: bytes} }
}

func (p *probe) open(change ...func(*canonical.Opening)) canonical.RunState {
	p.T.Helper()
	state, err := p.s.OpenRun(p.ctx, opening(change...))
	p.must("OpenRun", err)
	return state
}

func (p *probe) close() canonical.ClosedRun {
	p.T.Helper()
	closed, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: runKey(), Token: theToken})
	p.must("CloseRun", err)
	return closed
}

// state is what a reader sees of the run.
func (p *probe) state() canonical.RunState {
	p.T.Helper()
	state, err := p.s.Inspect(p.ctx, runKey())
	p.must("Inspect", err)
	return state
}

func (p *probe) complete(e canonical.Ending) canonical.Ended {
	p.T.Helper()
	got, err := p.s.Complete(p.ctx, e)
	p.must("Complete "+string(e.Call.ID), err)
	return got
}

func (p *probe) save(m canonical.Saving) canonical.Ended {
	p.T.Helper()
	got, err := p.s.Save(p.ctx, m)
	p.must("Save "+string(m.Call.ID), err)
	return got
}

func (p *probe) sweep(change ...func(*canonical.Sweeping)) []canonical.Swept {
	p.T.Helper()
	m := canonical.Sweeping{Run: runKey(), Grace: grace, Max: 100}
	for _, f := range change {
		f(&m)
	}
	swept, err := p.s.Sweep(p.ctx, m)
	p.must("Sweep", err)
	return swept
}

func (p *probe) record(name canonical.CallName) canonical.Record {
	p.T.Helper()
	r, err := p.s.Record(p.ctx, runKey(), name)
	p.must("Record "+name.String(), err)
	return r
}

func (p *probe) head(name canonical.CallName) canonical.Head {
	p.T.Helper()
	return p.headIn(runKey(), name)
}

func (p *probe) headIn(run canonical.RunKey, name canonical.CallName) canonical.Head {
	p.T.Helper()
	heads, err := p.s.Heads(p.ctx, run, []canonical.CallName{name})
	p.must("Heads", err)
	if len(heads) != 1 {
		p.Fatalf("Heads of one name = %d heads, want 1", len(heads))
	}
	return heads[0]
}

func (p *probe) outstanding() canonical.Outstanding {
	p.T.Helper()
	o, err := p.s.Outstanding(p.ctx, runKey())
	p.must("Outstanding", err)
	return o
}

// blocked reports the answer to an admission of a new name that has nothing
// else against it.
func (p *probe) blocked(id canonical.ToolCallID) error {
	_, err := p.s.Admit(p.ctx, p.admission(id))
	return err
}
