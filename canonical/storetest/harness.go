package storetest

import (
	"time"

	"github.com/toolharness/harness/canonical"
)

// Harness is one fresh, empty store and what a test may do to it. The first
// three fields are required. The others are capabilities: where one is nil, the
// subtests that need it are skipped and say so.
type Harness struct {
	Store   canonical.Store
	Now     func() time.Time    // the store's time
	Advance func(time.Duration) // moves the store's time, and with it every expiry; called while nothing else runs.
	// Where time runs by itself, what has passed since the last move may be taken off.

	// Slack is how far Now may be from the time that the store itself uses, and
	// how far an expiry may be from what it should be. Zero for a time that
	// stands still; less than a minute.
	Slack time.Duration

	// Keys lists everything that the store keeps of a run, whatever it is called.
	Keys func(canonical.RunKey) []Key

	// ScopeKeys lists everything that the store keeps of a scope as a whole, beside
	// what Keys lists of its runs.
	ScopeKeys func(canonical.Scope) []Key

	// Fingerprint is a text over all content and all expiries of a run; equal ones
	// mean that nothing was written in between. Time is not moved in between.
	Fingerprint func(canonical.RunKey) string

	// SnapshotLedger copies the ledger of a run alone and returns how to put it
	// back, as the promotion of a replica does that lagged.
	SnapshotLedger func(canonical.RunKey) (restore func())

	// PlantForeign puts something that is not ours where the record of a call
	// stands or would stand.
	PlantForeign func(canonical.Identity)

	// PlantNewer makes an existing record look written by a newer version;
	// PlantNewerLedger a run.
	PlantNewer       func(canonical.Identity)
	PlantNewerLedger func(canonical.RunKey)

	// Corrupt flips a bit of the stored raw result and agent result of a record.
	Corrupt func(canonical.Identity)

	// RawReads counts how often raw bytes left the store.
	RawReads func() int

	// DropPiece lets one part of the next body on its way to the store get lost,
	// once, where large bodies travel in several.
	DropPiece func()
}

// Key is one thing that a store keeps.
type Key struct {
	Name     string
	Expires  time.Time // in the time of Harness.Now
	Immortal bool      // has no expiry
}

// T is the part of testing.TB that a subtest needs.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}
