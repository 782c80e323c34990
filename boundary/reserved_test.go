package boundary_test

import (
	"context"
	"io"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// owner is an executor that says which reserved name it belongs under.
type owner string

// Execute implements [boundary.Executor].
func (owner) Execute(context.Context, boundary.Input, io.Writer) error { return nil }

// ReservedName implements [boundary.ReservedExecutor].
func (o owner) ReservedName() string { return string(o) }

func TestReservedNames(t *testing.T) {
	t.Parallel()
	b := process(t, fakeBackend().start(t), boundary.Config{})
	for _, name := range boundary.ReservedTools() {
		for _, c := range []struct {
			executor boundary.Executor
			allowed  bool
		}{{says("x"), false}, {owner("another"), false}, {owner(name), true}} {
			_, err := boundary.NewToolset(b.ToolBoundary, boundary.Tool{Name: name, Effect: canonical.EffectRead, Executor: c.executor, Projector: seen()})
			if c.allowed != (err == nil) || !c.allowed && !isConfigError(err) {
				t.Errorf("%s with %T %v: %v, want allowed %t", name, c.executor, c.executor, err, c.allowed)
			}
		}
	}
	if _, err := boundary.NewToolset(b.ToolBoundary, boundary.Tool{Name: "evidence_reader", Effect: canonical.EffectRead, Executor: says("x"), Projector: seen()}); err != nil {
		t.Errorf("a name that only begins like a reserved one: %v", err)
	}
}
