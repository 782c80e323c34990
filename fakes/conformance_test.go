package fakes_test

import (
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/fakes"
)

// newHarness is a fresh store with everything that the suite can make use of.
func newHarness() storetest.Harness {
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
		ScopeKeys: func(scope canonical.Scope) []storetest.Key {
			var keys []storetest.Key
			for _, e := range s.ScopeEntries(scope) {
				keys = append(keys, storetest.Key{Name: e.Name, Expires: e.Expires})
			}
			return keys
		},
		Fingerprint: s.Fingerprint,
		SnapshotLedger: func(run canonical.RunKey) func() {
			snapshot, _ := s.SnapshotLedger(run)
			return func() { s.RestoreLedger(snapshot) }
		},
		PlantForeign:     func(id canonical.Identity) { s.SetForeign(id) },
		PlantNewer:       func(id canonical.Identity) { s.SetRecordVersion(id, canonical.SchemaVersion+1) },
		PlantNewerLedger: func(run canonical.RunKey) { s.SetLedgerVersion(run, canonical.SchemaVersion+1) },
		Corrupt:          func(id canonical.Identity) { s.Corrupt(id) },
		RawReads:         s.RawReads,
	}
}

func TestT64_conformance(t *testing.T) {
	t.Parallel()
	t.Run("fake", func(t *testing.T) {
		storetest.Run(t, func(testing.TB) storetest.Harness { return newHarness() })
	})
}

func TestWalk(t *testing.T) {
	t.Parallel()
	storetest.Walk(t, storetest.WalkOptions{Seed: 1, Ops: 20_000},
		storetest.NamedHarness{Name: "fake", Open: func(testing.TB) storetest.Harness { return newHarness() }})
}

func BenchmarkStore(b *testing.B) {
	b.Run("fake", func(b *testing.B) {
		storetest.Bench(b, func(testing.TB) storetest.Harness { return newHarness() })
	})
}
