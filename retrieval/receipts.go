package retrieval

import (
	"context"
	"slices"
	"sync"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// How many receipts are kept.
const (
	DefaultReceipts = 20
	MaxReceipts     = 100
)

// Receipt is what a host remembers of a call: what was said at the time, not what
// the store has now. A receipt without a reference says that nothing was stored.
type Receipt struct {
	Run        canonical.RunID      `json:"run"`
	Turn       canonical.Turn       `json:"turn,omitempty"`
	ToolCallID canonical.ToolCallID `json:"tool_call_id"`
	Tool       string               `json:"tool"`

	Code      lifecycle.Code      `json:"code,omitempty"` // empty: READY
	Execution lifecycle.Execution `json:"execution"`
	Reference *evidence.Reference `json:"reference,omitempty"`

	// Acknowledged: a stored result was seen, so the host's own copy may go.
	Acknowledged bool `json:"acknowledged,omitempty"`
}

// Pair is the call of the receipt.
func (r Receipt) Pair() Pair {
	return Pair{Run: r.Run, Call: canonical.CallName{Turn: r.Turn, ID: r.ToolCallID}, Tool: r.Tool}
}

// clone shares nothing with r.
func (r Receipt) clone() Receipt {
	if r.Reference != nil {
		ref := *r.Reference
		r.Reference = &ref
	}
	return r
}

func (r Receipt) equal(s Receipt) bool {
	if (r.Reference == nil) != (s.Reference == nil) || r.Reference != nil && *r.Reference != *s.Reference {
		return false
	}
	r.Reference, s.Reference = nil, nil
	return r == s
}

// check refuses what no call could have left.
func (r Receipt) check(op string) error {
	if err := r.Pair().check(op); err != nil {
		return err
	}
	switch {
	case !r.Execution.Valid():
		return fail(op, "execution", ErrArgument)
	case r.Code != "" && !r.Code.WellFormed():
		return fail(op, "code", ErrArgument)
	case Reserved(r.Tool):
		return fail(op, "tool", ErrArgument)
	case r.Reference == nil && r.Acknowledged:
		return fail(op, "acknowledged", ErrArgument)
	case r.Reference == nil:
		return nil
	}
	ref := *r.Reference
	if ref.RunID != string(r.Run) || ref.Turn != string(r.Turn) || ref.ToolCallID != string(r.ToolCallID) {
		return fail(op, "reference", ErrArgument)
	}
	return checkReference(op, ref)
}

// Receipts is a bounded list of the latest receipts of one scope: metadata alone,
// in the host's memory, to be saved with a session. The newest drive out the
// oldest; those are found by List all the same. It is safe for concurrent use.
type Receipts struct {
	scope canonical.Scope
	limit int

	mu   sync.Mutex
	list []Receipt // oldest first
}

// NewReceipts keeps limit receipts, 0 to MaxReceipts.
func NewReceipts(scope canonical.Scope, limit int) (*Receipts, error) {
	const op = "receipts"
	if err := scope.Validate(); err != nil {
		return nil, of(op, err)
	}
	if limit < 0 || limit > MaxReceipts {
		return nil, outside(op, "limit", int64(limit), MaxReceipts)
	}
	return &Receipts{scope: scope, limit: limit}, nil
}

// Note adds a receipt. One of a call that has one already changes nothing: a
// receipt shows what was said at first, also after a recovery.
func (r *Receipts) Note(receipt Receipt) error {
	if err := receipt.check("note"); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.find(receipt.Pair()) == nil {
		r.list = r.bounded(append(r.list, receipt.clone()))
	}
	return nil
}

// Recent is the receipts, the newest first. They are copies.
func (r *Receipts) Recent() []Receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := clones(r.list)
	slices.Reverse(out)
	return out
}

// Protected reports whether a host must keep its own copy of a call's result:
// true until it is acknowledged here. [Reader.Protected] asks the store instead.
func (r *Receipts) Protected(p Pair) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.find(p)
	return have == nil || !have.Acknowledged || have.Tool != p.Tool
}

// Acknowledged reports whether the call of an entry was acknowledged here. It
// serves as Pruning.Only.
func (r *Receipts) Acknowledged(e Entry) bool {
	return !r.Protected(Pair{Run: e.Run, Call: e.Call, Tool: e.Tool})
}

// Acknowledge lets go of a host's copy: it asks the reader, which reads the record
// anew and verifies it ([Reader.Acknowledge]), and marks the receipt. It refuses,
// and changes nothing, where the receipt is another call's or tool's, or is not
// any more what it was when the store was asked. Doing it again is success.
func (r *Receipts) Acknowledge(ctx context.Context, from *Reader, p Pair, ref evidence.Reference) error {
	const op = "acknowledge"
	if from.Scope() != r.scope {
		return fail(op, "scope", ErrScope)
	}
	before, ok := r.get(p)
	switch {
	case !ok || before.Tool != p.Tool:
		return fail(op, "pair", ErrAcknowledge)
	case before.Reference != nil && before.Reference.EvidenceID != ref.EvidenceID:
		return fail(op, "reference.evidence_id", ErrAcknowledge)
	}
	if err := from.Acknowledge(ctx, p, ref); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.find(p)
	if now == nil || !now.equal(before) {
		return fail(op, "receipt", ErrAcknowledge)
	}
	now.Acknowledged = true
	if now.Reference == nil {
		now.Reference = &ref
	}
	return nil
}

func (r *Receipts) get(p Pair) (Receipt, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.find(p); have != nil {
		return have.clone(), true
	}
	return Receipt{}, false
}

// find is the receipt of a call, or nil. The mutex is held.
func (r *Receipts) find(p Pair) *Receipt {
	for i := range r.list {
		if have := r.list[i].Pair(); have.Run == p.Run && have.Call == p.Call {
			return &r.list[i]
		}
	}
	return nil
}

// bounded keeps the newest.
func (r *Receipts) bounded(list []Receipt) []Receipt {
	return slices.Clone(list[max(len(list)-r.limit, 0):])
}

func clones(list []Receipt) []Receipt {
	out := make([]Receipt, len(list))
	for i := range list {
		out[i] = list[i].clone()
	}
	return out
}
