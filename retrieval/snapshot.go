package retrieval

import (
	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
)

// SnapshotVersion is the version of snapshots that this code writes and reads.
const SnapshotVersion = 1

// MaxSnapshot bounds a snapshot in bytes, before anything of it is read.
const MaxSnapshot = 1 << 20

// snapshot is the saved form of Receipts. It has no configuration, no handle, no
// credential and no body, so that nothing of the kind can be restored from it.
type snapshot struct {
	Version  int             `json:"version"`
	Scope    canonical.Scope `json:"scope"`
	Receipts []Receipt       `json:"receipts"` // oldest first
}

// Snapshot is the receipts as they are, to be saved with a session. It asks
// nobody, commits nothing and shares no memory with r.
func (r *Receipts) Snapshot() ([]byte, error) {
	r.mu.Lock()
	s := snapshot{Version: SnapshotVersion, Scope: r.scope, Receipts: clones(r.list)}
	r.mu.Unlock()
	data, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return nil, &Error{Op: "snapshot", Err: ErrSnapshot, cause: err}
	}
	return data, nil
}

// Restore replaces all receipts by those of a snapshot, acknowledgements
// included: what was acknowledged after the snapshot was taken is protected
// again, and can be acknowledged again from the same record. Everything is
// checked before anything changes, and one bad receipt refuses all. Of more than
// r's limit the newest are kept. No bytes are no receipts: a session from before
// there was evidence.
func (r *Receipts) Restore(data []byte) error {
	list, err := r.read(data)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = r.bounded(list)
	return nil
}

func (r *Receipts) read(data []byte) ([]Receipt, error) {
	const op = "restore"
	if len(data) == 0 {
		return nil, nil
	}
	if len(data) > MaxSnapshot {
		return nil, &Error{Op: op, Err: ErrSnapshot, Got: int64(len(data)), Limit: MaxSnapshot}
	}
	var v struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(data, &v) != nil { // a later version may have more members
		return nil, fail(op, "", ErrSnapshot)
	}
	if v.Version != SnapshotVersion {
		return nil, &Error{Op: op, Field: "version", Err: ErrVersion, Got: int64(v.Version), Limit: SnapshotVersion}
	}
	var s snapshot
	if json.Unmarshal(data, &s, json.RejectUnknownMembers(true)) != nil {
		return nil, fail(op, "", ErrSnapshot)
	}
	if s.Scope != r.scope {
		return nil, fail(op, "scope", ErrScope)
	}
	if len(s.Receipts) > MaxReceipts {
		return nil, &Error{Op: op, Field: "receipts", Err: ErrSnapshot, Got: int64(len(s.Receipts)), Limit: MaxReceipts}
	}
	seen := map[Pair]bool{}
	for i, receipt := range s.Receipts {
		call := Pair{Run: receipt.Run, Call: receipt.Pair().Call}
		if err := receipt.check(op); err != nil || seen[call] {
			return nil, &Error{Op: op, Field: "receipts", Err: ErrSnapshot, Got: int64(i), Limit: int64(len(s.Receipts)), cause: err}
		}
		seen[call] = true
	}
	return s.Receipts, nil
}
