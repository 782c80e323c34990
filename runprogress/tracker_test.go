package runprogress_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/runprogress"
)

// T73: the type has no place for anything that a tool returned. A new field must
// be argued for here.
func TestT73_tracker_holds_identities_only(t *testing.T) {
	t.Parallel()
	allowed := map[reflect.Type]bool{
		reflect.TypeFor[sync.Mutex]():                   true,
		reflect.TypeFor[map[canonical.CallName]int64](): true,
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[runprogress.Tracker]()) {
		if !allowed[f.Type] {
			t.Errorf("field %s is a %v, want only a mutex and names with sequences", f.Name, f.Type)
		}
	}
}

func TestTracker_order_is_that_of_admission(t *testing.T) {
	t.Parallel()
	var tracker runprogress.Tracker
	if got := tracker.Calls(); len(got) != 0 {
		t.Errorf("an empty tracker has %v", got)
	}
	for _, n := range []canonical.Numbered{{Seq: 3, Call: call("c")}, {Seq: 1, Call: call("a")}, {Seq: 2, Call: call("1:a")}, {Seq: 3, Call: call("c")}, {Seq: 9, Call: call("c")}} {
		tracker.Completed(n.Call, n.Seq)
	}
	want := []canonical.Numbered{{Seq: 1, Call: call("a")}, {Seq: 2, Call: call("1:a")}, {Seq: 3, Call: call("c")}}
	got := tracker.Calls()
	if !slices.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
	got[0] = canonical.Numbered{}
	if again := tracker.Calls(); !slices.Equal(again, want) {
		t.Errorf("a caller's change reached the tracker: %v", again)
	}
}

func TestTracker_many_goroutines(t *testing.T) {
	t.Parallel()
	var tracker runprogress.Tracker
	var wg sync.WaitGroup
	const calls, writers = 200, 8
	for w := range writers {
		wg.Go(func() {
			for i := range calls {
				seq := (i*7 + w*13) % calls // each writer in another order
				tracker.Completed(call(fmt.Sprintf("call_%d", seq)), int64(seq+1))
				_ = tracker.Calls()
			}
		})
	}
	wg.Wait()
	got := tracker.Calls()
	if len(got) != calls {
		t.Fatalf("%d calls, want %d", len(got), calls)
	}
	for i, n := range got {
		if n.Seq != int64(i+1) || n.Call != call(fmt.Sprintf("call_%d", i)) {
			t.Fatalf("place %d is %v", i, n)
		}
	}
}
