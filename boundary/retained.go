package boundary

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// RetainedReason says why a result is in the host's hands.
type RetainedReason string

// The reasons.
const (
	NotStored  RetainedReason = "not_stored" // the store could not be reached; Settle may still store it
	Late       RetainedReason = "late"       // the body returned after its call had ended; the record stays as it is
	Conflicted RetainedReason = "conflict"   // the record was ended by someone else; Settle appends to a swept one
	Expired    RetainedReason = "expired"    // the record is gone
)

// Retained is what the store does not hold: a result with its original identity.
// It is for the host alone; every format and JSON print sizes for bodies.
type Retained struct {
	Identity canonical.Identity
	Seq      int64
	Tool     string
	Reason   RetainedReason
	Raw      canonical.Raw // Bytes nil where there is no result, or none within the limit

	// Failed says that a late body ended with an error or a panic rather than a
	// result.
	Failed bool

	ending canonical.Ending
}

// Verdict is the ending that could not be stored.
func (r Retained) Verdict() lifecycle.Completion { return r.ending.Verdict }

// Format prints names, reason and sizes.
func (r Retained) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{run %q call %q tool %q %s raw %d bytes}", string(r.Identity.Run), r.Identity.Call.String(), r.Tool, r.Reason, r.Raw.Size)
}

// copied is r for somebody else, who may change the bytes.
func (r Retained) copied() Retained {
	r.Raw.Bytes = r.Raw.Bytes.Clone()
	return r
}

// retainedEntry makes one retained result addressable.
type retainedEntry struct{ Retained }

// retain keeps a result until it is settled and hands it to the host.
func (b *ToolBoundary) retain(ctx context.Context, r Retained) {
	b.mu.Lock()
	entry := &retainedEntry{r}
	b.retained[entry] = struct{}{}
	b.mu.Unlock()
	if b.hand(ctx, r) && r.Reason != NotStored {
		b.forget(func(other *retainedEntry) bool { return other == entry })
	}
	e := Event{
		Kind: EventRetained, Time: b.now(), Identity: r.Identity, Seq: r.Seq, Tool: r.Tool, Reason: r.Reason,
		Code: r.ending.Verdict.Code, Execution: r.ending.Verdict.Execution, RawBytes: r.Raw.Size,
	}
	b.events.put(ctx, e)
	b.logEvent(e, nil)
}

// hand calls the host. It reports whether the host took the result.
func (b *ToolBoundary) hand(ctx context.Context, r Retained) (taken bool) {
	if b.onRetained == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			taken = false
		}
	}()
	b.onRetained(context.WithoutCancel(ctx), r.copied())
	return true
}

func (b *ToolBoundary) forget(match func(*retainedEntry) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for entry := range b.retained {
		if match(entry) {
			delete(b.retained, entry)
		}
	}
}

// late takes what a body returned after its call had ended. No record changes:
// the outcome that was sent for this claim is the only one ever sent.
func (c *call) late(x execution) {
	if c.redactRaw(context.Background(), &x.raw) != nil {
		x.raw.Bytes = nil
	}
	c.b.retain(context.Background(), Retained{
		Identity: c.identity, Seq: c.admitted.Seq, Tool: c.env.Tool, Reason: Late, Raw: x.raw,
		Failed: !x.returned(), ending: canonical.Ending{Claim: c.claim},
	})
}

// Settle stores a result that this process holds. It runs nothing. While the
// record is PROJECTING it is ended as it would have been; after a sweep the
// result is appended beside it, and [Run.Resolve] may cite it. Settling twice is
// fine. A late result cannot be settled, since its call has an outcome: resolve
// the call instead.
//
// The error is a [*Error]: RECORD_EXPIRED when the record is gone (the bytes stay
// with the host), STORE_CONFLICT when another outcome stands.
func (b *ToolBoundary) Settle(ctx context.Context, r Retained) error {
	if r.Reason == Late || r.ending.Claim == "" {
		return &Error{Code: lifecycle.StoreConflict, Op: "settle", Identity: r.Identity, Execution: Unknown, cause: errLate}
	}
	err := b.retry(ctx, func(ctx context.Context) error {
		_, err := b.store.Settle(ctx, r.ending)
		return err
	})
	if err != nil {
		code, _ := notStoredCode(r.ending.Verdict.Execution, err)
		if errors.Is(err, canonical.ErrMissing) {
			code = lifecycle.RecordExpired
		}
		return &Error{Code: code, Op: "settle", Identity: r.Identity, Execution: r.ending.Verdict.Execution, cause: err}
	}
	b.forget(r.same)
	return nil
}

// same reports whether entry is this result.
func (r Retained) same(entry *retainedEntry) bool {
	return entry.Identity == r.Identity && entry.ending.Claim == r.ending.Claim
}

// Discard stops keeping a result: the host has it, or wants it no more. Without
// that, what no store will ever take again, because its record is gone, is listed
// by every Shutdown.
func (b *ToolBoundary) Discard(r Retained) { b.forget(r.same) }

var errLate = errors.New("a late result is not the call's outcome")
