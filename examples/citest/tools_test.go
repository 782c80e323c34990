package citest_test

import (
	"context"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/examples/customprojector"
	"github.com/toolharness/harness/projector"
)

func newTools(t *testing.T, b *boundary.ToolBoundary) *boundary.Toolset {
	t.Helper()
	tools, err := boundary.NewToolset(b, boundary.Tool{
		Name: "orders", Description: "Orders of a customer.", Effect: boundary.EffectRead,
		Projector: projector.Func(customprojector.Orders),
		Executor: boundary.JSON(func(context.Context, struct {
			Customer string `json:"customer"`
		}) (map[string]any, error) {
			return map[string]any{"status": "ok", "orders": []string{}}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func openRun(t *testing.T, b *boundary.ToolBoundary) *boundary.Run {
	t.Helper()
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}
