package demo_test

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/demo"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/recording"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
	"github.com/toolharness/harness/executors/docsearch"
)

func runKey(id canonical.RunID) canonical.RunKey {
	return canonical.RunKey{Scope: canonical.Scope{Tenant: "demo", Namespace: "chinook"}, Run: id}
}

func callName(id canonical.ToolCallID) canonical.CallName { return canonical.CallName{ID: id} }

// builtOnce is one index for all tests: it is never written to, and building one takes longer than all the rest of a demo.
var builtOnce = sync.OnceValues(func() (*docsearch.Index, error) { return demo.BuildArticles(context.Background()) })

// quick are options with that index.
func quick(t *testing.T, o demo.Options) demo.Options {
	t.Helper()
	articles, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	return o.With(articles)
}

// rawResults runs every recorded call once more, without boundary or store: what the tools return, by id.
func rawResults(t *testing.T) map[string]string {
	t.Helper()
	db, err := sqlread.OpenImage(data.Chinook(), sqlread.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tools := map[string]boundary.Executor{}
	for _, tool := range sqlagent.New("chinook", db).ForBoundary() {
		tools[tool.Name] = tool.Executor
	}
	conversations, err := recording.Parse(data.Conversations())
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]string{}
	for _, c := range conversations {
		for _, call := range c.Calls {
			if tool := tools[call.Tool]; tool != nil {
				var raw bytes.Buffer
				if err := tool.Execute(t.Context(), boundary.Input{Arguments: []byte(call.Arguments)}, &raw); err != nil {
					t.Fatal(err)
				}
				results[call.ID] = raw.String()
			}
		}
	}
	return results
}
