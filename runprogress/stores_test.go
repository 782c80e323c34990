package runprogress_test

import (
	"errors"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/runprogress"
)

func backends() []backend { return []backend{fakeBackend()} }

func second(_ runprogress.Report, err error) error { return err }

func isRunMissing(err error) bool { return errors.Is(err, canonical.ErrRunMissing) }

// snapshot keeps the run's ledger and returns what puts it back.
func snapshot(t *testing.T, d *deck, run canonical.RunKey) func() {
	t.Helper()
	store := d.Store.(*fakes.Store)
	old, ok := store.SnapshotLedger(run)
	if !ok {
		t.Fatal("no ledger")
	}
	return func() {
		if !store.RestoreLedger(old) {
			t.Fatal("the run is gone")
		}
	}
}
