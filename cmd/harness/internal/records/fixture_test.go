package records_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/records"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/projector"
)

var scope = canonical.Scope{Tenant: "acme", Namespace: "shop"}

// What the tool accounts returns, and its view.
const (
	secret = `{"greeting":"Grüße","password":"hunter2","note":"Bearer abcdef0123456789abcdef"}`
	view   = `{"greeting":"Grüße","password":"[REDACTED]","note":"Bearer [REDACTED]"}`
	binary = "a\xff\xfeb"
)

// bench is a store in memory with a boundary on it.
type bench struct {
	store    *fakes.Store
	clock    *fakes.Clock
	boundary *boundary.ToolBoundary
	reader   *records.Reader
	project  projector.Projection // of every result
}

func newBench(t *testing.T) *bench {
	t.Helper()
	clock := fakes.NewClock()
	b := &bench{clock: clock, store: fakes.NewStore(clock), project: projector.Projection{
		Result: []byte("one account"), Status: evidence.Found, Coverage: evidence.Searched("customer Müller", "accounts", "archive"),
		Facts: []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "customer", ID: "青松"}, "balance", "7.50")},
	}}
	var err error
	b.boundary, err = boundary.New(boundary.Config{
		Store: b.store, Authorizer: boundary.AllowAll{}, Now: clock.Now, Effects: boundary.EffectPolicy{Write: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.boundary.Shutdown(context.Background()) })
	if b.reader, err = records.New(b.store, scope); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) open(t *testing.T, id canonical.RunID) *boundary.Run {
	t.Helper()
	run, err := b.boundary.OpenRun(t.Context(), boundary.RunSpec{ID: id, Scope: scope, Principal: boundary.Principal{Agent: "tester"}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// call makes one call of the tool, which returns the raw result, or fails where there is none.
func (b *bench) call(t *testing.T, run *boundary.Run, name canonical.CallName, tool, raw string) {
	t.Helper()
	effect := canonical.EffectRead
	if tool == "send_mail" {
		effect = canonical.EffectWrite
	}
	result := b.boundary.Invoke(t.Context(), run, boundary.Envelope{
		RunID: run.ID(), Turn: name.Turn, ToolCallID: name.ID, Tool: tool, Input: []byte(`{"customer":"Müller"}`), Authorized: true, ReadOnly: effect.Read(),
	}, boundary.Action{
		Effect: effect,
		Executor: boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, w io.Writer) error {
			if raw == "" {
				return errors.New("connection reset")
			}
			_, err := io.WriteString(w, raw)
			return err
		}),
		Projector: projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return b.project, nil
		}),
	})
	if (raw == "") != result.Outcome.IsError() {
		t.Fatalf("%s: %v", name, result.Err)
	}
}

// The calls of the run that most tests look at.
var (
	plain   = canonical.CallName{ID: "call_1"}
	inTurn  = canonical.CallName{Turn: "m1", ID: "call:2"}
	failed  = canonical.CallName{ID: "call_3"}
	unknown = canonical.CallName{ID: "mail:4"}
)

// fill makes a run with a call of every kind, and resolves what became of the last.
func (b *bench) fill(t *testing.T) *boundary.Run {
	t.Helper()
	run := b.open(t, "run-1")
	b.call(t, run, plain, "accounts", secret)
	b.call(t, run, inTurn, "blobs", binary)
	b.call(t, run, failed, "accounts", "")
	b.call(t, run, unknown, "send_mail", "")
	if err := run.Resolve(t.Context(), unknown, canonical.NotApplied, "mail log: no such message"); err != nil {
		t.Fatal(err)
	}
	return run
}

// printed is what a document looks like in a pipe.
func printed(t *testing.T, d interface{ Text(*console.Console) }) string {
	t.Helper()
	var out strings.Builder
	c := console.New(&out, 0)
	d.Text(c)
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	return out.String()
}

func at(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 5e8, time.UTC) }
