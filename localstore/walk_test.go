package localstore_test

import (
	"testing"

	"github.com/toolharness/harness/canonical/storetest"
)

// TestWalk compares the store with the suite's model, message by message.
func TestWalk(t *testing.T) {
	t.Parallel()
	storetest.Walk(t, storetest.WalkOptions{Seed: 11, Ops: 10_000},
		storetest.NamedHarness{Name: "local", Open: localHarness})
}
