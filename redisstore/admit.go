package redisstore

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Admit implements [canonical.Calls]. One trip, whatever the answer, but for an
// admission that too few replicas have: ending it is another.
func (s *Store) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	d, err := s.admission(ctx, a)
	if err != nil {
		return canonical.Admitted{}, err
	}
	r, err := s.deliver(ctx, d)
	if err != nil {
		return canonical.Admitted{}, trouble(ctx, "admit", err)
	}
	got, err := admissionAnswer(a.Call, r)
	if err == nil && s.weak(got, r) {
		return canonical.Admitted{}, s.withdraw(ctx, []canonical.Admission{a}, []int{r.replicas})[0]
	}
	return got, err
}

// admission is the message that admits a call.
func (s *Store) admission(ctx context.Context, a canonical.Admission) (delivery, error) {
	if err := a.Validate(); err != nil {
		return delivery{}, err
	}
	meta, err := encodeBirth(a)
	if err != nil {
		return delivery{}, trouble(ctx, "admit", err)
	}
	name := a.Call.String()
	keys := s.keys(a.Run).list("run", "call:"+name, "order", "open", "effects")
	args := newArguments(6, 7, 2)
	args.text(version(), name, string(a.Claim), string(a.EvidenceID), a.Tool, string(a.Effect))
	args.bytes(a.Request, meta)
	args.number(a.Reserve, int64(a.ToolBudget), a.NotAfter.UnixMilli(),
		a.Timeout.Milliseconds(), a.Closing.Milliseconds(), a.TTL.Milliseconds(), a.Seen)
	return delivery{script: s.lua.admit, holder: keys[0], acks: s.acks, message: message{keys: keys, args: args.list}}, nil
}

func admissionAnswer(call canonical.CallName, r reply) (canonical.Admitted, error) {
	if r.word != "created" && r.word != "own" {
		return canonical.Admitted{}, notAdmitted(call, r)
	}
	return admitted(call, r)
}

func admitted(call canonical.CallName, r reply) (canonical.Admitted, error) {
	var n numbers
	now, deadline := n.time(r.fields[4]), n.time(r.fields[5])
	answer := canonical.Admitted{
		Own: r.word == "own", State: lifecycle.State(r.fields[0]), Code: lifecycle.Code(r.fields[1]),
		Seq: n.int(r.fields[2]), EvidenceID: canonical.EvidenceID(r.fields[3]),
		Now: now, Left: deadline.Sub(now), Due: n.time(r.fields[6]), Expires: n.time(r.fields[7]),
		Strength: strengthOf(r.replicas),
	}
	if n.bad || !answer.State.Valid() {
		return canonical.Admitted{}, refused("admit", call, canonical.ErrCorrupt)
	}
	return answer, nil
}

func notAdmitted(call canonical.CallName, r reply) error {
	plain := map[string]error{
		"missing": canonical.ErrRunMissing, "closed": canonical.ErrRunClosed, "damaged": canonical.ErrRunDamaged,
		"too_late": canonical.ErrTooLate, "deadline": canonical.ErrDeadline, "unresolved": canonical.ErrUnresolvedEffect,
	}
	limits := map[string]error{
		"capacity": canonical.ErrCapacity, "run_budget": canonical.ErrRunBudget, "tool_budget": canonical.ErrToolBudget,
	}
	if sentinel, ok := plain[r.word]; ok {
		return refused("admit", call, sentinel)
	}
	if sentinel, ok := limits[r.word]; ok {
		var n numbers
		no := refused("admit", call, sentinel)
		no.Wanted, no.Limit = n.int(r.fields[0]), n.int(r.fields[1])
		return no
	}
	if r.word == "duplicate" {
		return standing("admit", call, canonical.ErrDuplicate, r.fields[0])
	}
	return common("admit", call, r)
}
