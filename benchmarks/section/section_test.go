package section

import (
	"context"
	"errors"
	"testing"

	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Ways must write what they claim to: a benchmark of calls that were refused, or that
// stored something else, would be fast.
func TestWays_leave_records_with_the_bytes(t *testing.T) {
	t.Parallel()
	source, err := content.Load()
	if err != nil {
		t.Fatal(err)
	}
	set := source.Set(16 << 10)
	for name, make := range map[string]func(canonical.Store) way{"store": storeAlone, "invoke": invoke} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := fakeStore()
			call, end, err := make(store).begin(t.Context(), 3, set)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if err := call(t.Context(), i); err != nil {
					t.Fatal(err)
				}
			}
			if err := call(t.Context(), 0); name == "invoke" && err == nil {
				t.Error("the same call again is no error, and would cost next to nothing")
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			run := canonical.RunKey{Scope: benchScope(), Run: "run-000000"}
			for i := range 3 {
				rec, err := store.Record(t.Context(), run, canonical.CallName{ID: canonical.ToolCallID(callID(i))})
				if err != nil {
					t.Fatal(err)
				}
				if rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != string(set.Raw[i]) || string(rec.Agent) != string(set.Agent[i]) || string(rec.Request) != string(set.Requests[i]) {
					t.Errorf("record %d is %s with %d bytes of raw", i, rec.State, len(rec.Raw.Bytes))
				}
			}
		})
	}
}

func TestConstantly_tells_of_a_call_that_failed(t *testing.T) {
	t.Parallel()
	source, err := content.Load()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var count counter
	if stop, err := constantly(ctx, fakeStore(), source.Set(1<<10), &count); err == nil {
		if err := stop(); err == nil {
			t.Error("calls of a caller that has gone are no error")
		}
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
