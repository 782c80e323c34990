package redisstore

import (
	"context"
	"slices"

	"github.com/toolharness/harness/canonical"
)

// FindEvidence implements [canonical.Reader]. One trip. The ledger has the names
// by evidence id for as long as the run lives.
func (s *Store) FindEvidence(ctx context.Context, run canonical.RunKey, id canonical.EvidenceID) (canonical.CallName, error) {
	const op = "find"
	none := canonical.CallName{}
	if err := run.Validate(); err != nil {
		return none, err
	}
	if err := canonical.CheckEvidenceID(op, id); err != nil {
		return none, err
	}
	names := []string{"v", "st", "e:" + string(id)}
	key := s.keys(run).ledger()
	cmd := s.client.HMGet(ctx, key, names...)
	if err := cmd.Err(); err != nil {
		return none, s.explain(ctx, op, none, key, err)
	}
	h := present(names, cmd.Val())
	if h["st"] == "" {
		return none, refused(op, none, canonical.ErrRunMissing)
	}
	if newerLedger(h["v"]) {
		return none, refused(op, none, canonical.ErrNewerVersion)
	}
	text, there := h[names[2]]
	if !there {
		return none, refused(op, none, canonical.ErrMissing)
	}
	call, err := canonical.ParseCallName(text)
	if err != nil {
		return none, refused(op, none, canonical.ErrCorrupt)
	}
	return call, nil
}

// newerLedger reports whether a ledger with this version field was written by a
// version that this one does not read.
func newerLedger(written string) bool {
	var n numbers
	version := n.int(written)
	return written != "" && (n.bad || version > canonical.SchemaVersion)
}

// RawPart implements [canonical.Reader]. Two trips: what is known of the raw
// result, then the pieces that the part lies in. A result of up to 1 MiB is one
// piece.
func (s *Store) RawPart(ctx context.Context, run canonical.RunKey, call canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
	const op = "raw part"
	if err := canonical.CheckPart(offset, most); err != nil {
		return canonical.RawPart{}, err
	}
	if err := checkCall(run, call); err != nil {
		return canonical.RawPart{}, err
	}
	rec, err := s.rawHolder(ctx, op, run, call)
	if err != nil {
		return canonical.RawPart{}, err
	}
	end, err := rec.head.Raw.Part(offset, most)
	if err != nil {
		return canonical.RawPart{}, err
	}
	part := canonical.RawPart{Raw: rec.head.Raw, Bytes: canonical.Body{}, Offset: offset}
	if end > offset {
		part.Bytes, err = s.span(ctx, rec, offset, end)
	}
	if err != nil {
		return canonical.RawPart{}, err
	}
	return part, nil
}

// rawHolder is the record of a call whose raw result is kept.
func (s *Store) rawHolder(ctx context.Context, op string, run canonical.RunKey, call canonical.CallName) (stored, error) {
	records, faults, err := s.records(ctx, run, []canonical.CallName{call})
	switch {
	case err != nil:
		return stored{}, trouble(ctx, op, err)
	case faults[0] != nil:
		return stored{}, refused(op, call, faults[0])
	case !records[0].head.Raw.Stored:
		return stored{}, refused(op, call, canonical.ErrMissing)
	default:
		return records[0], nil
	}
}

// span reads and verifies the pieces between two offsets and cuts them to size.
func (s *Store) span(ctx context.Context, rec stored, offset, end int64) (canonical.Body, error) {
	const op = "raw part"
	id := rec.head.Identity
	fault := error(nil)
	list, skip, ok := rec.raw.span(rec.raw.names(kindRaw, rec.accepted), offset, end)
	if !ok {
		fault = canonical.ErrCorrupt
	}
	bodies := make([]canonical.Body, len(list))
	for i := range list {
		list[i].key, list[i].to, list[i].fault = s.keys(id.RunKey).record(id.Call), &bodies[i], &fault
	}
	if err := s.fetch(ctx, list); err != nil {
		return nil, trouble(ctx, op, err)
	}
	if fault != nil {
		return nil, standing(op, id.Call, fault, string(rec.head.State))
	}
	all := slices.Concat(bodies...)
	size := end - offset
	return all[skip : skip+size : skip+size], nil
}

// span lists the fields in which the bytes from offset to end lie, each to be
// verified by its own digest, and how many bytes of the first come before offset.
// It reports false where the record does not name as many fields as there are
// pieces.
func (d descriptor) span(names []string, offset, end int64) (list []fetch, skip int64, ok bool) {
	pieces := d.Pieces
	if len(pieces) == 0 {
		pieces = []piece{{Size: d.Size, SHA256: d.SHA256}}
	}
	if len(names) != len(pieces) {
		return nil, 0, false
	}
	var at int64
	for i, p := range pieces {
		if at < end && at+p.Size > offset {
			if list == nil {
				skip = offset - at
			}
			list = append(list, fetch{names: names[i : i+1], desc: descriptor{Size: p.Size, SHA256: p.SHA256}})
		}
		at += p.Size
	}
	return list, skip, true
}
