package runprogress_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// backend is one kind of store that a report is made from.
type backend struct {
	name  string
	start func(*testing.T) *deck
}

// deck is a fresh store with the handles that tests need beside the contract.
type deck struct {
	canonical.Store
	advance func(time.Duration)                  // nil where time is real
	newer   func(*testing.T, canonical.Identity) // makes a record one of a newer version; nil where there is no server
	foreign func(*testing.T, canonical.Identity) // puts something else in a record's place; nil where there is no server
}

func fakeBackend() backend {
	return backend{"fake", func(t *testing.T) *deck {
		clock := fakes.NewClock()
		store := fakes.NewStore(clock)
		return &deck{
			Store:   store,
			advance: clock.Advance,
		}
	}}
}

// bench drives one run of a store as a boundary would.
type bench struct {
	*deck
	t        *testing.T
	run      canonical.RunKey
	state    canonical.RunState
	done     runprogress.Tracker
	admitted map[canonical.CallName]canonical.Admitted
}

const runToken = canonical.Token("token-of-the-run")

func newBench(t *testing.T, d *deck) *bench {
	t.Helper()
	return openBench(t, d, canonical.RunKey{Scope: canonical.Scope{Tenant: "acme"}, Run: "r1"})
}

func openBench(t *testing.T, d *deck, run canonical.RunKey) *bench {
	t.Helper()
	limits := canonical.DefaultLimits()
	state, err := d.OpenRun(t.Context(), canonical.Opening{
		Run: run, Token: runToken, Duration: time.Hour, Limits: limits,
		Budget: canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited},
	})
	if err != nil {
		t.Fatalf("OpenRun: %v", err)
	}
	return &bench{deck: d, t: t, run: run, state: state, admitted: map[canonical.CallName]canonical.Admitted{}}
}

// call reads "id" or "turn:id".
func call(name string) canonical.CallName {
	if n, err := canonical.ParseCallName(name); err == nil {
		return n
	}
	return canonical.CallName{ID: canonical.ToolCallID(name)}
}

func claimOf(n canonical.CallName) canonical.Claim {
	return canonical.Claim("claim-" + canonical.Body(n.String()).SHA256()[:32])
}

func (b *bench) identity(name string) canonical.Identity {
	return canonical.Identity{RunKey: b.run, Call: call(name)}
}

func (b *bench) admit(name, tool string) {
	b.t.Helper()
	n := call(name)
	admitted, err := b.Admit(b.t.Context(), canonical.Admission{
		Run: b.run, Call: n, Claim: claimOf(n), EvidenceID: canonical.EvidenceID(canonical.Body(n.String()).SHA256()[:32]),
		Tool: tool, Effect: canonical.EffectRead, Request: canonical.Body(`{}`), ToolBudget: canonical.Unlimited,
		NotAfter: b.state.Now.Add(time.Hour), Timeout: time.Minute, Closing: 10 * time.Second, TTL: 24 * time.Hour,
	})
	if err != nil {
		b.t.Fatalf("Admit %s: %v", name, err)
	}
	b.admitted[n] = admitted
}

// end ends an admitted call and notes it, as the boundary does.
func (b *bench) end(name string, e canonical.Ending) {
	b.t.Helper()
	e.Run, e.Call = b.run, call(name)
	e.Claim = claimOf(e.Call)
	e.Expires = b.admitted[e.Call].Expires
	if _, err := b.Complete(b.t.Context(), e); err != nil {
		b.t.Fatalf("Complete %s: %v", name, err)
	}
	b.done.Completed(e.Call, b.admitted[e.Call].Seq)
}

func (b *bench) found(name string, facts ...evidence.Fact) {
	b.t.Helper()
	encoded, err := evidence.EncodeFacts(facts)
	if err != nil {
		b.t.Fatal(err)
	}
	b.end(name, succeeded(encoded, "raw of "+name, "agent of "+name))
}

func (b *bench) absent(name string, c evidence.Coverage) {
	b.t.Helper()
	encoded, err := evidence.EncodeCoverage(c)
	if err != nil {
		b.t.Fatal(err)
	}
	b.end(name, canonical.Ending{Verdict: lifecycle.Succeed(evidence.None), Coverage: encoded,
		Raw: canonical.NewRaw([]byte("[]")), Agent: canonical.Body("nothing")})
}

func succeeded(facts []byte, raw, agent string) canonical.Ending {
	return canonical.Ending{Verdict: lifecycle.Succeed(evidence.Found), Facts: facts, Raw: canonical.NewRaw([]byte(raw)), Agent: canonical.Body(agent)}
}

func (b *bench) fail(name string, code lifecycle.Code, x lifecycle.Execution) {
	b.t.Helper()
	b.end(name, canonical.Ending{Verdict: lifecycle.Fail(code, x)})
}

// answered admits a call and ends it with facts.
func (b *bench) answered(name, tool string, facts ...evidence.Fact) {
	b.t.Helper()
	b.admit(name, tool)
	b.found(name, facts...)
}

func (b *bench) close() {
	b.t.Helper()
	if _, err := b.CloseRun(b.t.Context(), canonical.Closing{Run: b.run, Token: runToken}); err != nil {
		b.t.Fatalf("CloseRun: %v", err)
	}
}

// report is what the process that made the calls says.
func (b *bench) report() runprogress.Report {
	b.t.Helper()
	r, err := runprogress.Project(b.t.Context(), b, b.run, b.done.Calls())
	if err != nil {
		b.t.Fatalf("Project: %v", err)
	}
	return r
}

// elsewhere is what a process says that knows only the store.
func (b *bench) elsewhere() runprogress.Report {
	b.t.Helper()
	r, err := runprogress.FromStore(b.t.Context(), b, b.run)
	if err != nil {
		b.t.Fatalf("FromStore: %v", err)
	}
	return r
}

func rows(table, count string) evidence.Fact {
	return evidence.NewFact(evidence.Subject{Kind: "table", ID: table}, "rows", count)
}

func encoded(t *testing.T, r runprogress.Report) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// factIDs lists which call each fact belongs to, in the report's order.
func factIDs(r runprogress.Report) string {
	text := ""
	for _, f := range r.Facts {
		text += fmt.Sprintf("%d:%s:%s ", f.Seq, f.Tool, f.ToolCallID)
	}
	return text
}

// excluded lists which call is excluded why.
func excluded(r runprogress.Report) string {
	text := ""
	for _, x := range r.Excluded {
		text += fmt.Sprintf("%d:%s:%s%s ", x.Seq, x.ToolCallID, x.Reason, x.Code)
	}
	return text
}

// asked wraps a store and counts what is asked of it; alter may change the heads
// that it answers.
type asked struct {
	canonical.Store
	heads, orders, inspects, most int
	alter                         func([]canonical.Head) []canonical.Head
}

func (a *asked) Inspect(ctx context.Context, run canonical.RunKey) (canonical.RunState, error) {
	a.inspects++
	return a.Store.Inspect(ctx, run)
}

func (a *asked) Heads(ctx context.Context, run canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
	a.heads++
	a.most = max(a.most, len(names))
	heads, err := a.Store.Heads(ctx, run, names)
	if err == nil && a.alter != nil {
		heads = a.alter(heads)
	}
	return heads, err
}

func (a *asked) Order(ctx context.Context, run canonical.RunKey, after int64, most int) ([]canonical.Numbered, error) {
	a.orders++
	return a.Store.Order(ctx, run, after, most)
}
