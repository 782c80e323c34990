package retrieval

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// Open gives the raw result itself, byte for byte, verified as a whole. It is for
// the host alone: nothing is redacted. The bytes are the caller's.
func (r *Reader) Open(ctx context.Context, ref evidence.Reference) (canonical.Body, error) {
	const op = "open"
	give, err := r.take(op)
	if err != nil {
		return nil, err
	}
	defer give()
	head, err := r.referred(ctx, op, ref)
	if err != nil {
		return nil, err
	}
	if err := r.registered(ctx, op, head); err != nil {
		return nil, err
	}
	return r.raw(ctx, op, head)
}

// Record gives the whole record that a reference names, verified. It is for the
// host alone: nothing is redacted. It shares no memory with anything.
func (r *Reader) Record(ctx context.Context, ref evidence.Reference) (canonical.Record, error) {
	const op = "record"
	give, err := r.take(op)
	if err != nil {
		return canonical.Record{}, err
	}
	defer give()
	head, err := r.referred(ctx, op, ref)
	if err != nil {
		return canonical.Record{}, err
	}
	record, err := r.record(ctx, op, head)
	if err != nil {
		return canonical.Record{}, err
	}
	return record, fits(op, ref, record.Head)
}

// record reads a whole record and verifies what a store alone cannot: that the
// run's ledger has this call under this evidence id, and that the operation key
// is the digest of this identity and this request.
func (r *Reader) record(ctx context.Context, op string, head canonical.Head) (canonical.Record, error) {
	if head.Raw.Stored && head.Raw.Size > r.rawBytes {
		return canonical.Record{}, &Error{Op: op, Err: ErrTooLarge, Got: head.Raw.Size, Limit: r.rawBytes}
	}
	record, err := r.store.Record(ctx, head.Identity.RunKey, head.Identity.Call)
	if err != nil {
		return canonical.Record{}, of(op, err)
	}
	// The key is of the request as it was sent. Where bodies were redacted before
	// they were stored, that is not the stored one.
	key := record.Identity.OperationKey(record.Request)
	if record.Identity != head.Identity || record.Redacted == "" && record.OperationKey != key {
		return canonical.Record{}, fail(op, "", ErrCorrupt)
	}
	return record, r.registered(ctx, op, record.Head)
}

// registered compares a record with the run's ledger and order: the run knows its
// evidence id as that of this call, and its sequence as the place of this call.
func (r *Reader) registered(ctx context.Context, op string, head canonical.Head) error {
	key, call := head.Identity.RunKey, head.Identity.Call
	named, err := r.store.FindEvidence(ctx, key, head.EvidenceID)
	if err := of(op, err); err != nil && !isMissing(err) {
		return err
	}
	var at []canonical.Numbered
	if err == nil && named == call {
		if at, err = r.store.Order(ctx, key, head.Seq-1, 1); err == nil && len(at) == 1 && at[0] == (canonical.Numbered{Seq: head.Seq, Call: call}) {
			return nil
		}
		if err := of(op, err); err != nil && !isMissing(err) {
			return err
		}
	}
	// Either the record says what its run does not, or both went while they were
	// read. The record tells the two apart.
	if _, err := r.head(ctx, op, head.Identity.Run, call); err != nil {
		return err
	}
	return fail(op, "", ErrCorrupt)
}
