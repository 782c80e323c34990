package localstore

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

// FindEvidence implements [canonical.Reader].
func (s *Store) FindEvidence(ctx context.Context, key canonical.RunKey, id canonical.EvidenceID) (canonical.CallName, error) {
	const op = "find"
	none := canonical.CallName{}
	if err := prepared(ctx, op, key.Validate, func() error { return canonical.CheckEvidenceID(op, id) }); err != nil {
		return none, err
	}
	var call canonical.CallName
	err := s.view(ctx, op, func(t *tx) error {
		r, err := t.ledgered(op, key, none, canonical.ErrRunMissing)
		if err != nil {
			return err
		}
		name, fault := r.get(prefixFound + string(id))
		if fault == nil && name == nil {
			fault = canonical.ErrMissing
		}
		if fault == nil {
			if call, err = canonical.ParseCallName(string(name)); err != nil {
				fault = canonical.ErrCorrupt
			}
		}
		if fault != nil {
			return refuse(op, none, fault)
		}
		return nil
	})
	if err != nil {
		return none, err
	}
	return call, nil
}

// RawPart implements [canonical.Reader]. Only the pieces of 256 KiB are read that
// the part lies in.
func (s *Store) RawPart(ctx context.Context, key canonical.RunKey, call canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
	const op = "raw part"
	if err := canonical.CheckPart(offset, most); err != nil {
		return canonical.RawPart{}, err
	}
	var part canonical.RawPart
	err := s.stored(ctx, op, key, call, func(r *run, rec *record) error {
		if !rec.saved() {
			return refuse(op, call, canonical.ErrMissing)
		}
		info := rec.Raw.info()
		end, err := info.Part(offset, most)
		if err != nil {
			return err
		}
		if end > offset {
			s.rawPieces.Add(1 + (end-1)/pieceBytes - offset/pieceBytes)
		}
		bytes, err := r.readPart(*rec.Raw, offset, end)
		if err != nil {
			return standing(op, rec, err)
		}
		part = canonical.RawPart{Raw: info, Bytes: bytes, Offset: offset}
		return nil
	})
	if err != nil {
		return canonical.RawPart{}, err
	}
	return part, nil
}
