package localstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/toolharness/harness/canonical"
)

// FormatVersion is the version of the file that this code writes. It opens this
// one, and refuses a newer one with ErrNewerFormat.
const FormatVersion = 1

// The file's own buckets, and the keys of the first.
const (
	bucketFile   = "harness" // what is known of the file as a whole
	bucketRuns   = "runs"    // a bucket each, by scope and id
	bucketScopes = "scopes"  // runs of a scope, by the end of their life
	bucketEnds   = "ends"    // runs and records of all scopes, by the end of their life
	keyFormat    = "format"
	keyClock     = "clock"
)

// Open opens the file at path, or makes it there, readable by this user alone. The
// directory must exist. What was kept and has expired since is removed first. o may
// be nil. A file that cannot be used is a [*FileError], an option out of bounds an
// [*OptionError].
func Open(path string, o *Options) (*Store, error) {
	var set Options
	if o != nil {
		set = *o
	}
	if set.Wait < 0 || set.Wait > MaxWait {
		return nil, &OptionError{Field: "Wait", Reason: "out of range, 0 to " + MaxWait.String()}
	}
	if set.Now == nil {
		set.Now = time.Now
	}
	s := &Store{path: path, clock: clock{read: set.Now}, writer: make(chan struct{}, 1)}
	err := s.openFile(set.Wait)
	if err == nil {
		err = s.begun()
	}
	if err != nil {
		if s.db != nil {
			err = errors.Join(err, s.letGo())
		}
		return nil, &FileError{Path: path, Err: err}
	}
	return s, nil
}

// openFile opens the database. The entry of a new file in its directory is made
// durable too, since the database does that for the file's content alone.
func (s *Store) openFile(wait time.Duration) (err error) {
	defer faulting()()
	defer func() {
		if recover() != nil {
			err = errors.Join(ErrDamaged, abandon(s.file))
		}
	}()
	s.db, err = bolt.Open(s.path, 0o600, &bolt.Options{
		Timeout: max(wait, time.Nanosecond), FreelistType: bolt.FreelistMapType, NoStatistics: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			s.file, err = os.OpenFile(name, flag, mode)
			return s.file, err
		},
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil && s.fileIsShort():
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil:
		return err
	}
	return syncDirectory(filepath.Dir(s.path))
}

// fileIsShort reports whether there is a file that is too short for a database.
func (s *Store) fileIsShort() bool {
	info, err := os.Stat(s.path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size() < int64(4*os.Getpagesize())
}

func syncDirectory(dir string) error {
	if runtime.GOOS == "windows" { // cannot be asked for there
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// begun checks that the file is one of ours, or empty, takes over its time, and
// removes what has expired.
func (s *Store) begun() error {
	var fresh bool
	err := s.look(context.Background(), func(t *tx) error {
		info, err := s.file.Stat()
		if err != nil {
			return err
		}
		if info.Size() < t.bolt.Size() {
			return ErrDamaged // cut off behind the pages that say where the others are
		}
		fresh, err = t.recognize()
		return err
	})
	if err != nil {
		return err
	}
	if fresh {
		return s.transact(nil, func(t *tx) error { return t.found() })
	}
	for left := true; left; {
		err := s.transact(nil, func(t *tx) error {
			left = t.expire(expiredAtOpen, expiredAtOpen)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recognize reads format and time of the file. fresh is a database without
// anything in it.
func (t *tx) recognize() (fresh bool, err error) {
	b := t.bolt.Bucket([]byte(bucketFile))
	if b == nil {
		first, _ := t.bolt.Cursor().First()
		if first != nil {
			return false, ErrForeignFile
		}
		return true, nil
	}
	format, err := unseal(bucketFile, keyFormat, b.Get([]byte(keyFormat)))
	if errors.Is(err, canonical.ErrForeign) {
		return false, ErrForeignFile
	}
	written, _, ok := numberOf(string(format))
	switch {
	case errors.Is(err, canonical.ErrNewerVersion), err == nil && ok && written > FormatVersion:
		return false, ErrNewerFormat
	case err != nil || !ok || written < 1:
		return false, ErrDamaged
	}
	for _, name := range []string{bucketRuns, bucketScopes, bucketEnds} {
		if t.bolt.Bucket([]byte(name)) == nil {
			return false, ErrDamaged
		}
	}
	last, err := unseal(bucketFile, keyClock, b.Get([]byte(keyClock)))
	ms, _, ok := numberOf(string(last))
	if err != nil || !ok {
		return false, ErrDamaged
	}
	t.s.clock.reach(ms)
	return false, nil
}

// found writes what every file has.
func (t *tx) found() error {
	for _, name := range []string{bucketFile, bucketRuns, bucketScopes, bucketEnds} {
		if _, err := t.bolt.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	t.put(t.bolt.Bucket([]byte(bucketFile)), keyFormat, seal(bucketFile, keyFormat, []byte(number(FormatVersion))))
	return nil
}

// tick keeps the time of the transaction.
func (t *tx) tick() {
	t.put(t.bolt.Bucket([]byte(bucketFile)), keyClock, seal(bucketFile, keyClock, []byte(number(t.now.UnixMilli()))))
}
