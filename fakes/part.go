package fakes

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

// FindEvidence implements [canonical.Reader].
func (s *Store) FindEvidence(ctx context.Context, key canonical.RunKey, id canonical.EvidenceID) (canonical.CallName, error) {
	if err := canonical.CheckEvidenceID("find", id); err != nil {
		return canonical.CallName{}, err
	}
	r, _, leave, err := s.living(ctx, "find", key)
	if err != nil {
		return canonical.CallName{}, err
	}
	defer leave()
	call, ok := r.ledger.evidence[id]
	if !ok {
		return canonical.CallName{}, refuse("find", canonical.CallName{}, canonical.ErrMissing)
	}
	return call, nil
}

// RawPart implements [canonical.Reader]. A raw result is one piece here, of any
// size.
func (s *Store) RawPart(ctx context.Context, key canonical.RunKey, call canonical.CallName, offset int64, max int) (canonical.RawPart, error) {
	if err := canonical.CheckPart(offset, max); err != nil {
		return canonical.RawPart{}, err
	}
	rec, leave, err := s.stored(ctx, "raw part", key, call)
	if err != nil {
		return canonical.RawPart{}, err
	}
	defer leave()
	if !rec.raw.Present() {
		return canonical.RawPart{}, refuse("raw part", call, canonical.ErrMissing)
	}
	end, err := rec.head.Raw.Part(offset, max)
	if err != nil {
		return canonical.RawPart{}, err
	}
	part := canonical.RawPart{Raw: rec.head.Raw, Bytes: canonical.Body{}, Offset: offset}
	if end == offset {
		return part, nil
	}
	s.rawReads++
	if rec.raw.Bytes.SHA256() != rec.raw.SHA256 {
		return canonical.RawPart{}, standing("raw part", rec, canonical.ErrCorrupt)
	}
	part.Bytes = rec.raw.Bytes[offset:end].Clone()
	return part, nil
}
