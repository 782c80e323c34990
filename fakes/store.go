package fakes

import (
	"context"
	"sync"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// Store is a [canonical.Store] in memory. It keeps every clause of the contract
// and is safe for concurrent use: one mutex makes each method one step. Time is
// the clock's, in whole milliseconds as on a server; what has expired is
// forgotten when it is touched next.
//
// A store must be made by [NewStore].
type Store struct {
	clock *Clock

	mu       sync.Mutex
	runs     map[canonical.RunKey]*run
	rawReads int
}

var (
	_ canonical.Store   = (*Store)(nil)
	_ canonical.Batcher = (*Store)(nil)
)

// NewStore returns an empty store whose time is clock's.
func NewStore(clock *Clock) *Store {
	return &Store{clock: clock, runs: map[canonical.RunKey]*run{}}
}

// Strength is what every answer of this store reports: nothing of it outlives
// the process.
const Strength = evidence.StrengthMemory

// run is everything that is kept of one run. The ledger is a value of its own,
// so that a test can put an older one back (see [Store.SnapshotLedger]).
type run struct {
	now     time.Time // of the message at work
	ledger  ledger
	records map[canonical.CallName]*record
	order   []canonical.Numbered
	open    map[canonical.CallName]time.Time // PROJECTING, by due time
	effects map[canonical.CallName]time.Time // not read and not known, by due time; zero: ended unknown
	settled map[canonical.CallName]*settlement
	foreign map[canonical.CallName]bool
	share   *share // of the scope's quota; nil for a run that was opened without one
}

// now is the store's time. The mutex is held.
func (s *Store) now() time.Time { return s.clock.Now().Truncate(time.Millisecond).UTC() }

// enter locks the store for one method, unless the caller has gone already: a
// message of a cancelled context is not sent.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// find returns a living run, or nil. One whose life is over is removed.
func (s *Store) find(key canonical.RunKey, now time.Time) *run {
	r := s.runs[key]
	if r == nil {
		return nil
	}
	if !now.Before(r.ledger.expires) {
		delete(s.runs, key)
		return nil
	}
	r.now = now
	return r
}

// record returns a living record, or nil. One whose life is over is removed.
func (r *run) record(name canonical.CallName) *record {
	rec := r.records[name]
	if rec != nil && !r.now.Before(rec.head.Expires) {
		delete(r.records, name)
		return nil
	}
	return rec
}

// refuse is a store's "no".
func refuse(op string, call canonical.CallName, sentinel error) *canonical.RefusedError {
	return &canonical.RefusedError{Op: op, Call: call, Err: sentinel}
}

// standing is a "no" because of a record that is there.
func standing(op string, rec *record, sentinel error) *canonical.RefusedError {
	return &canonical.RefusedError{Op: op, Call: rec.head.Identity.Call, Err: sentinel, First: rec.head.State}
}
