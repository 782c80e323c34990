package redisstore_test

import (
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/fakes"
)

// TestWalk compares four stores message by message: the suite's model, the fake,
// miniredis and redis-server.
func TestWalk(t *testing.T) {
	t.Parallel()
	storetest.Walk(t, storetest.WalkOptions{Seed: 2, Ops: 20_000},
		storetest.NamedHarness{Name: "fake", Open: fakeHarness},
		storetest.NamedHarness{Name: "embedded", Open: embeddedHarness},
		storetest.NamedHarness{Name: "redis", Open: redisHarness})
}

// TestWalk_cluster is a shorter walk for the store whose servers are the slowest.
// The keys of a run lie in one slot, so it finds nothing that TestWalk does not,
// unless a script or a transaction leaves its slot.
func TestWalk_cluster(t *testing.T) {
	t.Parallel()
	storetest.Walk(t, storetest.WalkOptions{Seed: 7, Ops: 4_000},
		storetest.NamedHarness{Name: "cluster", Open: clusterHarness})
}

func fakeHarness(testing.TB) storetest.Harness {
	clock := fakes.NewClock()
	s := fakes.NewStore(clock)
	return storetest.Harness{
		Store: s, Now: clock.Now, Advance: clock.Advance,
		Keys: func(run canonical.RunKey) []storetest.Key {
			var keys []storetest.Key
			for _, e := range s.Entries(run) {
				keys = append(keys, storetest.Key{Name: e.Name, Expires: e.Expires})
			}
			return keys
		},
	}
}
