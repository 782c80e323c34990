package localstore

import (
	"context"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Admit implements [canonical.Calls]. One transaction.
func (s *Store) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	got := s.AdmitBatch(ctx, []canonical.Admission{a})[0]
	return got.Admitted, got.Err
}

// admission is an admission with its request divided.
type admission struct {
	canonical.Admission
	request body
}

// admit decides in the order of the contract (K16), and writes all or nothing.
func (t *tx) admit(a admission) (canonical.Admitted, error) {
	const op = "admit"
	r, err := t.ledgered(op, a.Run, a.Call, canonical.ErrRunMissing)
	if err != nil {
		return canonical.Admitted{}, err
	}
	rec, fault := r.record(a.Call)
	if fault != nil {
		return canonical.Admitted{}, refuse(op, a.Call, fault)
	}
	if rec != nil && string(rec.Claim) == string(a.Claim) {
		return r.admitted(rec, true), nil
	}
	if err := r.mayAdmit(a.Admission, rec); err != nil {
		return canonical.Admitted{}, err
	}
	effects, fault := r.effects()
	if fault != nil {
		return canonical.Admitted{}, refuse(op, a.Call, fault)
	}
	return r.admitted(r.admit(a, effects), false), nil
}

// mayAdmit finds the first reason against an admission. rec is the record that has
// the name already, if there is one.
func (r *run) mayAdmit(a canonical.Admission, rec *record) error {
	const op = "admit"
	l, now := &r.ledger, r.t.now
	g, fault := r.guard(a.Call)
	switch {
	case fault != nil:
		return refuse(op, a.Call, canonical.ErrCorrupt)
	case rec != nil:
		return standing(op, rec, canonical.ErrDuplicate)
	case g != nil:
		return refuse(op, a.Call, canonical.ErrDuplicate)
	case l.Closed:
		return refuse(op, a.Call, canonical.ErrRunClosed)
	}
	if l.notice(a.Seen) {
		r.keep()
	}
	switch {
	case l.Damaged:
		return refuse(op, a.Call, canonical.ErrRunDamaged)
	case now.After(a.NotAfter):
		return refuse(op, a.Call, canonical.ErrTooLate)
	case !now.Before(moment(l.Deadline)):
		return refuse(op, a.Call, canonical.ErrDeadline)
	}
	if err := r.barrier(a.Call); err != nil {
		return err
	}
	return l.mayCharge(a)
}

// barrier refuses while an effect is overdue, or known to be unknown.
func (r *run) barrier(call canonical.CallName) error {
	effects, fault := r.effects()
	if fault != nil {
		return refuse("admit", call, fault)
	}
	for _, e := range effects {
		if !r.t.now.Before(moment(e.Due)) {
			return refuse("admit", call, canonical.ErrUnresolvedEffect)
		}
	}
	return nil
}

func (l *ledger) mayCharge(a canonical.Admission) error {
	b := l.Parameters.Budget
	perTool := b.PerTool
	if perTool == canonical.Unlimited || a.ToolBudget != canonical.Unlimited && a.ToolBudget < perTool {
		perTool = a.ToolBudget
	}
	for _, c := range []struct {
		sentinel      error
		limit, wanted int64
	}{
		{canonical.ErrCapacity, b.Bytes, l.Reserved + a.Reserve},
		{canonical.ErrRunBudget, int64(b.Calls), l.LastSeq + 1},
		{canonical.ErrToolBudget, int64(perTool), int64(l.Tools[a.Tool]) + 1},
	} {
		if c.limit != canonical.Unlimited && c.wanted > c.limit {
			return &canonical.RefusedError{Op: "admit", Call: a.Call, Err: c.sentinel, Limit: c.limit, Wanted: c.wanted}
		}
	}
	return nil
}

// admit does every write of an admission. A record that asks for more time than its
// run has ends with the run.
func (r *run) admit(a admission, effects []effect) *record {
	l, now := &r.ledger, r.t.now
	l.LastSeq++
	l.Open++
	l.Tools[a.Tool]++
	l.Reserved += a.Reserve
	r.keep()
	due := now.Add(min(a.Timeout, moment(l.Deadline).Sub(now)).Truncate(time.Millisecond) + a.Closing.Truncate(time.Millisecond))
	rec := &record{
		call: a.Call, Claim: []byte(a.Claim), Seq: l.LastSeq, Tool: a.Tool, Effect: []byte(a.Effect), Principal: a.Principal,
		EvidenceID: a.EvidenceID, OperationKey: []byte(a.OperationKey), Redacted: a.Redacted, State: lifecycle.Projecting,
		Request: *r.keepBody(&a.request), Reserve: a.Reserve,
		Created: now.UnixMilli(), Due: due.UnixMilli(), Expires: min(now.Add(a.TTL.Truncate(time.Millisecond)).UnixMilli(), l.Expires),
	}
	name := a.Call.String()
	r.keepRecord(rec)
	r.store(prefixGuard+name, guard{Seq: rec.Seq, Expires: rec.Expires})
	r.put(prefixFound+string(a.EvidenceID), []byte(name))
	r.put(prefixOrder+number(rec.Seq)+name, nil)
	r.put(prefixOpen+number(rec.Due)+name, nil)
	r.t.lists(endOfRecord(r.name, rec))
	if !a.Effect.Read() {
		r.keepEffects(append(effects, effect{Call: name, Due: rec.Due}))
	}
	return rec
}

func (r *run) admitted(rec *record, own bool) canonical.Admitted {
	return canonical.Admitted{
		Own: own, State: rec.State, Code: rec.Code, Seq: rec.Seq, EvidenceID: rec.EvidenceID,
		Now: r.t.now, Left: moment(r.ledger.Deadline).Sub(r.t.now), Due: moment(rec.Due), Expires: moment(rec.Expires), Strength: Strength,
	}
}
