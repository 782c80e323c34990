package retrieval

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// Delete takes away the bodies of the one record that a reference names: request,
// raw and agent result, facts. That the call was made, its place, and the refusal
// to run it again stay; of a quota, a closed run gives back what went. A reference
// that does not fit takes nothing. A call whose
// effect is unresolved is refused.
func (r *Reader) Delete(ctx context.Context, ref evidence.Reference) error {
	const op = "delete"
	head, err := r.referred(ctx, op, ref)
	if err != nil {
		return err
	}
	if err := r.store.Delete(ctx, head.Identity.RunKey, head.Identity.Call); err != nil {
		return of(op, err)
	}
	return r.released(ctx, op, head.Identity.Run)
}

// DeleteRun deletes every record of a run, those of reading tools and unreadable
// ones included, and tells how many it went through. While a call is open or an
// effect unresolved it refuses before anything is taken. A call that is admitted
// meanwhile
// is not deleted and ends the act with [ErrOpen]; close the run first.
func (r *Reader) DeleteRun(ctx context.Context, run canonical.RunID) (int, error) {
	const op = "delete run"
	key := r.key(run)
	out, err := r.store.Outstanding(ctx, key)
	switch {
	case err != nil:
		return 0, of(op, err)
	case len(out.Open) > 0:
		return 0, &Error{Op: op, Err: ErrOpen, Got: int64(len(out.Open))}
	case len(out.Effects) > 0:
		return 0, &Error{Op: op, Err: ErrUnresolved, Got: int64(len(out.Effects))}
	}
	deleted := 0
	for after := int64(0); ; {
		page, err := r.store.Order(ctx, key, after, lookPage)
		if err != nil {
			return deleted, of(op, err)
		}
		for _, n := range page {
			if err := r.store.Delete(ctx, key, n.Call); err != nil {
				return deleted, of(op, err)
			}
			deleted++
			after = n.Seq
		}
		if len(page) < lookPage {
			return deleted, r.released(ctx, op, run)
		}
	}
}

// released gives back what a run that is closed holds in its scope and does not
// use any more. A run that has gone holds nothing.
func (r *Reader) released(ctx context.Context, op string, run canonical.RunID) error {
	if err := of(op, r.store.ReleaseRun(ctx, r.key(run))); !isMissing(err) {
		return err
	}
	return nil
}
