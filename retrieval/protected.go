package retrieval

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// Pair is a call and its result as a host keeps them in a conversation.
type Pair struct {
	Run  canonical.RunID
	Call canonical.CallName
	Tool string // as the call named it
}

func (p Pair) check(op string) error {
	if _, err := canonical.ParseRunID(string(p.Run)); err != nil {
		return of(op, err)
	}
	if err := p.Call.Validate(); err != nil {
		return of(op, err)
	}
	return of(op, canonical.CheckToolName(p.Tool))
}

// Protected answers whether a host must keep its own copy of this call and its
// result: for compaction, eviction or anything else that drops text. It is true
// unless the store has, verified at this moment, a result of this very call by a
// tool of this name. With an error it is true: what could not be asked is
// protected. Nothing is written, so nothing has to be restored.
func (r *Reader) Protected(ctx context.Context, p Pair) (bool, error) {
	const op = "protected"
	if err := p.check(op); err != nil {
		return true, err
	}
	give, err := r.take(op)
	if err != nil {
		return true, err
	}
	defer give()
	head, err := r.head(ctx, op, p.Run, p.Call)
	switch {
	case isMissing(err):
		return true, nil
	case err != nil:
		return true, err
	case head.Tool != p.Tool:
		return true, nil
	}
	kept, err := r.kept(ctx, op, head)
	return !kept, err
}

// kept reports whether a result of the call is stored, with the record or as what
// was settled later, and is what was recorded of it.
func (r *Reader) kept(ctx context.Context, op string, head canonical.Head) (bool, error) {
	if head.Raw.Stored {
		if err := r.registered(ctx, op, head); err != nil {
			return false, err
		}
		_, err := r.raw(ctx, op, head)
		return err == nil, err
	}
	settled, err := r.store.SettlementOf(ctx, head.Identity.RunKey, head.Identity.Call) // verified by the store
	if err != nil {
		return false, of(op, err)
	}
	return settled.Late != nil && settled.Late.Raw.Present(), nil
}

// Acknowledge reads the record that a reference names and checks that it is that
// of this call, by a tool of this name, in this scope, with a result: null is one,
// as is an empty text; a status alone is none. It refuses anything else, and
// writes nothing: what a host keeps of it is a [Receipts].
func (r *Reader) Acknowledge(ctx context.Context, p Pair, ref evidence.Reference) error {
	const op = "acknowledge"
	if err := p.check(op); err != nil {
		return err
	}
	if ref.RunID != string(p.Run) || ref.Turn != string(p.Call.Turn) || ref.ToolCallID != string(p.Call.ID) {
		return fail(op, "reference", ErrAcknowledge)
	}
	give, err := r.take(op)
	if err != nil {
		return err
	}
	defer give()
	head, err := r.referred(ctx, op, ref)
	if err != nil {
		return err
	}
	if head.Tool != p.Tool {
		return fail(op, "tool", ErrAcknowledge)
	}
	if err := r.registered(ctx, op, head); err != nil {
		return err
	}
	_, err = r.raw(ctx, op, head)
	return err
}
