package localstore

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// FileName is what a program calls the file where it is told a directory only.
const FileName = "harness.db"

// MaxWait bounds Options.Wait.
const MaxWait = 10 * time.Minute

// Strength is what every answer of this store reports: it is on the disk of this
// machine.
const Strength = evidence.StrengthFsync

// Options change how a file is opened. The zero value is good for most.
type Options struct {
	// Now is the time that runs and records are judged by; nil for the machine's.
	// The store's own time never goes back, also where this one does.
	Now func() time.Time

	// Wait is how long Open waits for another process to let go of the file, at most
	// MaxWait. Zero: not at all.
	Wait time.Duration
}

// Store is a [canonical.Store] in one file. It is safe for concurrent use, in one
// process at a time. Open makes it.
type Store struct {
	db    *bolt.DB
	file  *os.File // below db
	path  string
	clock clock

	writer  chan struct{} // held by the one who writes
	commits sync.RWMutex  // writer's side held while a commit is under way
	mu      sync.Mutex    // guards queue and the states of its jobs
	queue   []*job

	failed    atomic.Pointer[error] // why no message is taken any more
	stuck     atomic.Bool           // a transaction on damaged pages could not be ended
	rawPieces atomic.Int64          // of raw results, read so far
}

var (
	_ canonical.Store   = (*Store)(nil)
	_ canonical.Batcher = (*Store)(nil)
)

// Path is the file that was opened.
func (s *Store) Path() string { return s.path }

// Close lets the file go. Messages that are being written are finished, those that
// wait are answered with ErrClosed. A second Close does nothing.
func (s *Store) Close() error {
	s.writer <- struct{}{}
	defer func() { <-s.writer }()
	if reason := s.failed.Load(); reason != nil && *reason == ErrClosed {
		return nil
	}
	var err error
	if s.failed.Load() == nil {
		err = s.transact(nil, func(t *tx) error { t.dirty = true; return nil }) // keeps the time that was told last
	}
	closed := ErrClosed
	s.failed.Store(&closed)
	s.commits.Lock()
	defer s.commits.Unlock()
	if shut := s.letGo(); err == nil {
		err = shut
	}
	if err != nil {
		return &Error{Op: "close", cause: err}
	}
	return nil
}

// letGo waits for readers and closes the file.
func (s *Store) letGo() error {
	if s.stuck.Load() { // the database would wait for good
		return errors.Join(ErrDamaged, abandon(s.file))
	}
	return s.db.Close()
}

// usable says why no message is taken, if none is.
func (s *Store) usable() error {
	if reason := s.failed.Load(); reason != nil {
		return *reason
	}
	return nil
}

// fail refuses every later message.
func (s *Store) fail() {
	broken := ErrBroken
	s.failed.CompareAndSwap(nil, &broken)
}

// prepared is what every method asks of its arguments and its context before
// anything is done: a message of a cancelled context is not sent.
func prepared(ctx context.Context, op string, checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return &Error{Op: op, cause: err}
	}
	return nil
}
