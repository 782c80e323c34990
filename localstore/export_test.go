package localstore

import (
	"context"
	"runtime"

	bolt "go.etcd.io/bbolt"
)

// DB is the database below, for tests that look at the file or harm it.
func (s *Store) DB() *bolt.DB { return s.db }

// RawPieces counts how often raw results, or pieces of them, were read.
func (s *Store) RawPieces() int { return int(s.rawPieces.Load()) }

// Commits counts the transactions that were committed to the file.
func (s *Store) Commits() (n int) {
	err := s.db.View(func(tx *bolt.Tx) error {
		n = tx.ID()
		return nil
	})
	if err != nil {
		panic(err)
	}
	return n
}

// HoldWriter keeps every message waiting until release is called.
func (s *Store) HoldWriter() (release func()) {
	s.writer <- struct{}{}
	return func() { <-s.writer }
}

// AwaitQueue returns when so many messages wait.
func (s *Store) AwaitQueue(n int) {
	for {
		s.mu.Lock()
		waiting := len(s.queue)
		s.mu.Unlock()
		if waiting == n {
			return
		}
		runtime.Gosched()
	}
}

// What tests must know of the file's layout.
const (
	BucketRuns   = bucketRuns
	BucketScopes = bucketScopes
	BucketEnds   = bucketEnds
	KeyBodies    = keyBodies
	KeyLedger    = keyLedger
	PrefixGuard  = prefixGuard
	PrefixFound  = prefixFound
	PrefixCall   = prefixCall
	PieceBytes   = pieceBytes
	SealBytes    = sealBytes
)

// NameOf is the name of a run's bucket.
var NameOf = nameOf

// Seal wraps a value as the file has it.
var Seal = seal

// Number writes a number as the file has it.
func Number(n int64) []byte { return []byte(number(n)) }

// Panicking reads a page that does not fit.
func (s *Store) Panicking() error {
	return s.view(context.Background(), "test", func(*tx) error { panic("page 7: invalid") })
}

// Failing writes something, and then fails.
func (s *Store) Failing(err error) error {
	return s.write(context.Background(), "test", func(t *tx) error {
		t.put(t.bucket(bucketFile), "half", []byte("half"))
		return err
	})
}

// Left reports whether what Failing wrote is there.
func (s *Store) Left() (left bool) {
	err := s.db.View(func(tx *bolt.Tx) error {
		left = tx.Bucket([]byte(bucketFile)).Get([]byte("half")) != nil
		return nil
	})
	return left || err != nil
}
