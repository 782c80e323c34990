package recovery_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore/embedded"
)

// The store is gone at the very moment in which the tool's result should be
// stored. The model is told not to repeat the call, the host holds the result,
// and settles it later.
func TestRecovery(t *testing.T) {
	server, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	store := fakes.NewFaulty(server.Store(), "outage")
	store.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
	var held []boundary.Retained
	b, err := boundary.New(boundary.Config{
		Store: store, Authorizer: boundary.AllowAll{}, Now: server.Now,
		OnRetained: func(_ context.Context, r boundary.Retained) { held = append(held, r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	entries := 0
	tools, err := boundary.NewToolset(b, boundary.Tool{
		Name: "stock", Effect: boundary.EffectRead, Projector: projector.Func(asIs),
		Executor: boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			entries++
			_, err := fmt.Fprint(raw, `{"in_stock":7}`)
			return err
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "shop"}})
	if err != nil {
		t.Fatal(err)
	}

	result := tools.Dispatch(t.Context(), run, boundary.Call{ID: "call_1", Name: "stock", Arguments: []byte(`{}`)})[0]
	if code := result.Outcome.Code(); code != "RESULT_NOT_STORED" || result.Outcome.Execution().Ran() != "yes" {
		t.Fatalf("during the outage: %v, want RESULT_NOT_STORED, ran: yes", result.Outcome)
	}
	if len(held) != 1 || string(held[0].Raw.Bytes) != `{"in_stock":7}` {
		t.Fatalf("the host holds %v, want the one result", held)
	}

	store.Heal(fakes.MethodComplete)
	if err := b.Settle(t.Context(), held[0]); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	stored, err := run.Lookup(t.Context(), canonical.CallName{ID: "call_1"})
	if err != nil || stored.Text() != `{"in_stock":7}` {
		t.Errorf("stored %q, %v; want the result", stored.Text(), err)
	}
	if entries != 1 {
		t.Errorf("the tool was entered %d times, want once", entries)
	}
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v, want nothing left", err)
	}
}

// asIs shows the raw result, which is small and public here.
func asIs(_ context.Context, in projector.Input) (projector.Projection, error) {
	return projector.Projection{Result: in.Raw, Status: evidence.Found}, nil
}
