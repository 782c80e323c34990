package fakes

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// record is one stored call. Its bodies are the store's own copies.
type record struct {
	head    canonical.Head
	claim   canonical.Claim
	request canonical.Body
	raw     canonical.Raw
	agent   canonical.Body
	outcome string // digest of the ending; empty while PROJECTING and after a sweep
	swept   bool
	reserve int64
}

// held is the capacity that an ended record takes: the bytes of its bodies.
func (rec *record) held() int64 {
	return int64(len(rec.request) + len(rec.raw.Bytes) + len(rec.agent) + len(rec.head.Facts) + len(rec.head.Coverage))
}

// Admit implements [canonical.Calls].
func (s *Store) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	if err := a.Validate(); err != nil {
		return canonical.Admitted{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.Admitted{}, err
	}
	defer leave()
	now := s.now()
	r := s.find(a.Run, now)
	if r == nil {
		return canonical.Admitted{}, refuse("admit", a.Call, canonical.ErrRunMissing)
	}
	if err := r.usable("admit", a.Call); err != nil {
		return canonical.Admitted{}, err
	}
	if rec := r.record(a.Call); rec != nil && rec.claim == a.Claim {
		return r.admitted(rec, now, true), nil
	}
	if err := r.mayAdmit(a, now); err != nil {
		return canonical.Admitted{}, err
	}
	return r.admitted(r.admit(a, now), now, false), nil
}

// usable refuses what this version must not touch (K25).
func (r *run) usable(op string, call canonical.CallName) error {
	if err := r.ledger.readable(op); err != nil {
		return err
	}
	return r.legible(op, call)
}

// legible refuses a record that this version cannot read.
func (r *run) legible(op string, call canonical.CallName) error {
	if fault := r.fault(call); fault != nil {
		return refuse(op, call, fault)
	}
	return nil
}

// fault is what is wrong with a record, as one of the package's sentinels.
func (r *run) fault(call canonical.CallName) error {
	if r.foreign[call] {
		return canonical.ErrForeign
	}
	if rec := r.record(call); rec != nil && rec.head.Version > canonical.SchemaVersion {
		return canonical.ErrNewerVersion
	}
	return nil
}

// mayAdmit finds the first reason against an admission, in the order of the
// contract (K16).
func (r *run) mayAdmit(a canonical.Admission, now time.Time) error {
	l := &r.ledger
	if _, seen := l.seen[a.Call]; seen {
		no := refuse("admit", a.Call, canonical.ErrDuplicate)
		if rec := r.record(a.Call); rec != nil {
			no.First = rec.head.State
		}
		return no
	}
	if l.closed {
		return refuse("admit", a.Call, canonical.ErrRunClosed)
	}
	if l.notice(a.Seen); l.damaged {
		return refuse("admit", a.Call, canonical.ErrRunDamaged)
	}
	if now.After(a.NotAfter) {
		return refuse("admit", a.Call, canonical.ErrTooLate)
	}
	if !now.Before(l.deadline) {
		return refuse("admit", a.Call, canonical.ErrDeadline)
	}
	for _, due := range r.effects {
		if !now.Before(due) {
			return refuse("admit", a.Call, canonical.ErrUnresolvedEffect)
		}
	}
	return l.mayCharge(a)
}

func (l *ledger) mayCharge(a canonical.Admission) error {
	limited := func(sentinel error, limit, wanted int64) error {
		if limit == canonical.Unlimited || wanted <= limit {
			return nil
		}
		no := refuse("admit", a.Call, sentinel)
		no.Limit, no.Wanted = limit, wanted
		return no
	}
	b := l.opening.Budget
	perTool := b.PerTool
	if perTool == canonical.Unlimited || a.ToolBudget != canonical.Unlimited && a.ToolBudget < perTool {
		perTool = a.ToolBudget
	}
	if err := limited(canonical.ErrCapacity, b.Bytes, l.reserved+a.Reserve); err != nil {
		return err
	}
	if err := limited(canonical.ErrRunBudget, int64(b.Calls), l.lastSeq+1); err != nil {
		return err
	}
	return limited(canonical.ErrToolBudget, int64(perTool), int64(l.tools[a.Tool])+1)
}

// admit does every write of an admission; nothing in it can fail. A record that
// asks for more time than its run has ends with the run.
func (r *run) admit(a canonical.Admission, now time.Time) *record {
	l := &r.ledger
	l.lastSeq++
	l.tools[a.Tool]++
	l.seen[a.Call] = l.lastSeq
	l.evidence[a.EvidenceID] = a.Call
	l.reserved += a.Reserve
	request := a.Request.Clone()
	due := now.Add(min(a.Timeout, l.deadline.Sub(now)).Truncate(time.Millisecond) + a.Closing.Truncate(time.Millisecond))
	expires := now.Add(a.TTL.Truncate(time.Millisecond))
	if expires.After(l.expires) {
		expires = l.expires
	}
	rec := &record{claim: a.Claim, request: request, reserve: a.Reserve, head: canonical.Head{
		Version: canonical.SchemaVersion, Identity: canonical.Identity{RunKey: a.Run, Call: a.Call}, Seq: l.lastSeq,
		Tool: a.Tool, Effect: a.Effect, Principal: a.Principal, EvidenceID: a.EvidenceID, OperationKey: a.OperationKey, Redacted: a.Redacted,
		State: lifecycle.Projecting, RequestSize: int64(len(request)), RequestSHA256: request.SHA256(),
		Created: now, Due: due, Expires: expires, Strength: Strength,
	}}
	r.records[a.Call] = rec
	r.number(canonical.Numbered{Seq: l.lastSeq, Call: a.Call})
	r.open[a.Call] = due
	if !a.Effect.Read() {
		r.effects[a.Call] = due
	}
	return rec
}

// number keeps the order sorted also where a ledger was put back to an older
// sequence and counts on from there.
func (r *run) number(n canonical.Numbered) {
	at := sort.Search(len(r.order), func(i int) bool { return r.order[i].Seq > n.Seq })
	r.order = slices.Insert(r.order, at, n)
}

func (r *run) admitted(rec *record, now time.Time, own bool) canonical.Admitted {
	return canonical.Admitted{
		Own: own, State: rec.head.State, Code: rec.head.Code, Seq: rec.head.Seq, EvidenceID: rec.head.EvidenceID,
		Now: now, Left: r.ledger.deadline.Sub(now), Due: rec.head.Due, Expires: rec.head.Expires, Strength: Strength,
	}
}
