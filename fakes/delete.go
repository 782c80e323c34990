package fakes

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Delete implements [canonical.Remover]. A late result has bodies too and goes
// with the record; a verdict stays.
func (s *Store) Delete(ctx context.Context, key canonical.RunKey, call canonical.CallName) error {
	if err := key.Validate(); err != nil {
		return err
	}
	if err := call.Validate(); err != nil {
		return err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r := s.find(key, s.now())
	if r == nil {
		return nil
	}
	if err := r.usable("delete", call); err != nil {
		return err
	}
	rec := r.record(call)
	if rec == nil {
		return nil
	}
	if rec.head.State == lifecycle.Projecting {
		return standing("delete", rec, canonical.ErrStillOpen)
	}
	if _, waits := r.effects[call]; waits {
		return standing("delete", rec, canonical.ErrUnresolvedEffect)
	}
	r.ledger.reserved -= rec.held()
	delete(r.records, call)
	if set := r.settled[call]; set != nil {
		set.late, set.outcome = nil, ""
	}
	return nil
}
