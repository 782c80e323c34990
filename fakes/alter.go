package fakes

import "github.com/toolharness/harness/canonical"

// This file is what happens to a server's data without a message: a snapshot is
// restored, a disk flips bytes, another program or a later version wrote under
// our names. Code under test meets it through the same Store.

// LedgerSnapshot is a ledger as it was: parameters, counters and guards of a run
// without its records. It is valid for the store and run it was taken of.
type LedgerSnapshot struct {
	run    canonical.RunKey
	ledger ledger
}

// SnapshotLedger copies the ledger of a living run; false when there is none.
func (s *Store) SnapshotLedger(key canonical.RunKey) (LedgerSnapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(key, s.now())
	if r == nil {
		return LedgerSnapshot{}, false
	}
	return LedgerSnapshot{run: key, ledger: r.ledger.clone()}, true
}

// RestoreLedger puts an older ledger in the place of the one that is there, as
// after the promotion of a replica that lagged. Records stay as they are. It
// reports whether the run still lives.
func (s *Store) RestoreLedger(snapshot LedgerSnapshot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(snapshot.run, s.now())
	if r == nil {
		return false
	}
	r.ledger = snapshot.ledger.clone()
	return true
}

// SetLedgerVersion makes a run look written by another version of this module.
// It reports whether the run lives.
func (s *Store) SetLedgerVersion(key canonical.RunKey, version int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(key, s.now())
	if r == nil {
		return false
	}
	r.ledger.version = version
	return true
}

// SetRecordVersion makes a record look written by another version of this
// module. It reports whether there is one.
func (s *Store) SetRecordVersion(id canonical.Identity, version int) bool {
	return s.change(id, func(rec *record) { rec.head.Version = version })
}

// Corrupt flips one bit of the stored raw and agent result, where they are not
// empty. It reports whether there is a record.
func (s *Store) Corrupt(id canonical.Identity) bool {
	return s.change(id, func(rec *record) {
		for _, body := range []canonical.Body{rec.raw.Bytes, rec.agent} {
			if len(body) > 0 {
				body[len(body)/2] ^= 1
			}
		}
	})
}

func (s *Store) change(id canonical.Identity, do func(*record)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id.RunKey, s.now())
	if r == nil || r.record(id.Call) == nil {
		return false
	}
	do(r.record(id.Call))
	return true
}

// SetForeign puts something that is not ours where the record of a call would
// stand. It reports whether the run lives.
func (s *Store) SetForeign(id canonical.Identity) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id.RunKey, s.now())
	if r == nil {
		return false
	}
	r.foreign[id.Call] = true
	return true
}

// RawReads counts how often a raw result was copied out of the store.
func (s *Store) RawReads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rawReads
}
