package unknowneffect_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore/embedded"
)

// The mail service breaks the connection after it was sent a message. Whether it
// took the message cannot be told from here, so nothing else runs in this run
// until somebody has looked.
func TestUnknownEffect(t *testing.T) {
	server, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b, err := boundary.New(boundary.Config{
		Store: server.Store(), Authorizer: boundary.AllowAll{}, Now: server.Now,
		Effects: boundary.EffectPolicy{Write: true}, // without this no write is let through at all
	})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := boundary.NewToolset(b,
		boundary.Tool{Name: "send_mail", Effect: boundary.EffectWrite, Projector: projector.Func(done), Executor: boundary.ExecutorFunc(
			func(context.Context, boundary.Input, io.Writer) error { return errors.New("connection reset") })},
		boundary.Tool{Name: "read_mail", Effect: boundary.EffectRead, Projector: projector.Func(done), Executor: boundary.ExecutorFunc(
			func(context.Context, boundary.Input, io.Writer) error { return nil })},
	)
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(id boundary.ToolCallID, tool string) boundary.Outcome {
		return tools.Dispatch(t.Context(), run, boundary.Call{ID: id, Name: tool, Arguments: []byte(`{}`)})[0].Outcome
	}

	if got := ask("call_1", "send_mail"); got.Code() != "OUTCOME_UNKNOWN" || got.Execution().Ran() != "unknown" {
		t.Errorf("the write: %v, want OUTCOME_UNKNOWN, ran: unknown", got)
	}
	if got := ask("call_2", "read_mail"); got.Code() != "UNRESOLVED_EFFECT" || got.Execution().Ran() != "no" {
		t.Errorf("the next call: %v, want UNRESOLVED_EFFECT, ran: no", got)
	}
	open, err := run.Unresolved(t.Context())
	if err != nil || len(open) != 1 || open[0].Call.ID != "call_1" {
		t.Fatalf("unresolved: %v, %v; want call_1", open, err)
	}

	// A person has looked into the mail service's log.
	if err := run.Resolve(t.Context(), open[0].Call, canonical.NotApplied, "mail log of the day: no such message"); err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	if got := ask("call_3", "read_mail"); got.IsError() {
		t.Errorf("after the verdict: %v, want READY", got)
	}
	again, err := run.Lookup(t.Context(), open[0].Call)
	if err != nil || again.Code() != "OUTCOME_UNKNOWN" {
		t.Errorf("the record says %v, %v; want what it said before: a verdict stands beside it", again, err)
	}
}

func done(context.Context, projector.Input) (projector.Projection, error) {
	return projector.Projection{Result: []byte(`{"mails":0,"searched":"inbox"}`), Status: evidence.None, Coverage: evidence.Searched("", "inbox")}, nil
}
