package boundary_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

func TestReference(t *testing.T) {
	onStores(t, backends(), []scenario{{"the_outcome_and_a_lookup_give_the_same_one", sameReference}})
}

// sameReference: what a caller is given at once names the same stored bytes as
// what anybody reads later, also where raw was saved ahead or lies in pieces.
func sameReference(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 16}}})
	for _, size := range []int{0, 100, 300 << 10, 3 << 20} {
		for _, effect := range []canonical.Effect{canonical.EffectRead, canonical.EffectWrite} {
			id := fmt.Sprintf("%s-%d", effect, size)
			env := b.writeEnvelope(id)
			env.ReadOnly = effect.Read()
			got := b.Invoke(t.Context(), b.run, env, boundary.Action{
				Executor: says(strings.Repeat("x", size)), Projector: sized(), Effect: effect,
			})
			if got.Err != nil {
				t.Fatalf("%s: %v", id, got.Err)
			}
			at, ok := got.Outcome.Reference()
			if !ok || at.Bytes != int64(size) || at.ToolCallID != id || at.Strength != evidence.StrengthMemory {
				t.Errorf("%s: reference %+v, %t", id, at, ok)
			}
			again, err := b.run.Lookup(t.Context(), named(id))
			if err != nil {
				t.Fatalf("%s: Lookup: %v", id, err)
			}
			if later, _ := again.Reference(); later != at {
				t.Errorf("%s: looked up %+v, given at once %+v", id, later, at)
			}
		}
	}
}

// sized shows the size of the raw alone.
func sized() projector.Projector {
	return projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		return projector.Projection{Result: fmt.Appendf(nil, "%d bytes", len(in.Raw)), Status: evidence.Found}, nil
	})
}
