package redisstore_test

import (
	"testing"

	"github.com/toolharness/harness/canonical/storetest"
)

func TestWalk(t *testing.T) {
	t.Parallel()
	storetest.Walk(t, storetest.WalkOptions{Seed: 2, Ops: 20_000},
		storetest.NamedHarness{Name: "embedded", Open: embeddedHarness},
		storetest.NamedHarness{Name: "redis", Open: redisHarness})
}
