// Package citest_test is the README's test of a tool loop without a server.
package citest_test

// README:start
import (
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/redisstore/embedded"
)

func TestNoOrdersIsNotAnOutage(t *testing.T) {
	server, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b, err := boundary.New(boundary.Config{Store: server.Store(), Authorizer: boundary.AllowAll{}, Now: server.Now})
	if err != nil {
		t.Fatal(err)
	}
	tools, run, call := newTools(t, b), openRun(t, b), boundary.Call{ID: "call_1", Name: "orders", Arguments: []byte(`{"customer":"7"}`)}
	if got := tools.Dispatch(t.Context(), run, call)[0].Outcome.Evidence(); got != "NO_EVIDENCE" {
		t.Errorf("got %s; want NO_EVIDENCE", got)
	}
	if got := tools.Dispatch(t.Context(), run, call)[0].Outcome.Code(); got != "DUPLICATE_TOOL_CALL" {
		t.Errorf("the same id again: got %s", got)
	}
}

// README:end
