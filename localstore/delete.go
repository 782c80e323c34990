package localstore

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Delete implements [canonical.Remover]. One transaction. A late result has bodies
// too and goes with the record; a verdict stays.
func (s *Store) Delete(ctx context.Context, key canonical.RunKey, call canonical.CallName) error {
	if err := prepared(ctx, "delete", key.Validate, call.Validate); err != nil {
		return err
	}
	return s.write(ctx, "delete", func(t *tx) error { return t.remove(key, call) })
}

func (t *tx) remove(key canonical.RunKey, call canonical.CallName) error {
	const op = "delete"
	r, fault := t.find(key)
	if r == nil && fault == nil {
		return nil
	}
	if fault == nil {
		fault = r.fault
	}
	var rec *record
	var effects []effect
	var set settlement
	var settled bool
	if fault == nil {
		rec, fault = r.record(call)
	}
	if fault == nil && rec != nil {
		effects, fault = r.effects()
	}
	if fault == nil && rec != nil {
		set, settled, fault = r.settlement(call)
	}
	switch {
	case fault != nil:
		return refuse(op, call, fault)
	case rec == nil:
		return nil
	case rec.State == lifecycle.Projecting:
		return standing(op, rec, canonical.ErrStillOpen)
	case waits(effects, call) >= 0:
		return standing(op, rec, canonical.ErrUnresolvedEffect)
	}
	r.ledger.Reserved -= rec.held()
	r.keep()
	r.dropRecord(rec)
	r.store(prefixGuard+call.String(), guard{Seq: rec.Seq, Expires: rec.Expires, Deleted: true})
	t.delete(t.bucket(bucketEnds), endOfRecord(r.name, rec))
	if settled && set.Late != nil {
		r.dropBody(set.Late.Raw)
		r.dropBody(set.Late.Agent)
		set.Late = nil
		r.keepSettlement(call, set)
	}
	return nil
}

// dropRecord removes a record and its bodies.
func (r *run) dropRecord(rec *record) {
	r.dropBody(&rec.Request)
	r.dropBody(rec.Raw)
	r.dropBody(rec.Agent)
	r.t.delete(r.b, prefixCall+rec.call.String())
}
