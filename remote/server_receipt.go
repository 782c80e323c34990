package remote

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// GetReceipt implements [Handler]. A request that this life of the server has never
// seen, in a session of its own that it still knows, is withdrawn: the receipt says
// that it did not start, and it never will. For anything older the store is asked;
// what that does not say is unknown.
func (s *Server) GetReceipt(ctx context.Context, who Caller, m ReceiptRequest) (Receipt, error) {
	r := refusal{method: MethodGetReceipt, session: echo(m.Session), request: echo(m.RequestID)}
	if r.cause = s.allowed(ctx, who, Operation{Method: MethodGetReceipt, Session: m.Session, RequestID: m.RequestID, Tool: m.Tool, Effect: s.tools[m.Tool].Effect}); r.cause != nil {
		return Receipt{}, s.refuse(Unauthorized, r)
	}
	if r.cause = check(m); r.cause != nil {
		return Receipt{}, s.refuse(InvalidRequest, r)
	}
	if !s.tools[m.Tool].Effect.Valid() {
		return Receipt{}, s.refuse(ToolNotAllowed, r)
	}
	entry := s.request(who.Scope, m.RequestID)
	if entry == nil {
		entry = s.unseen(ctx, who, m)
	}
	if entry.tool != m.Tool || entry.fingerprint != m.Fingerprint || entry.who != who {
		return Receipt{}, s.refuse(RequestConflict, r)
	}
	if entry.ended() && entry.waits() {
		s.adopt(ctx, entry)
	}
	return s.answer(ctx, entry, MethodGetReceipt, answerTo{m.Session, m.WaitMS, m.MaxInlineBytes}), nil
}

// unseen answers for a request that is not in the memory: by the store, or, where
// the store has nothing and the session is of this life, by withdrawing it.
func (s *Server) unseen(ctx context.Context, who Caller, m ReceiptRequest) *request {
	key := requestKey{who.Scope, m.RequestID}
	entry := &request{key: key, who: who, session: m.Session, tool: m.Tool, effect: s.tools[m.Tool].Effect,
		fingerprint: m.Fingerprint, done: make(chan struct{})}
	close(entry.done)
	entry.end(Unsettled, executionUnknown, "", entry.finished)
	id := s.identity(key)
	heads, err := s.store.Heads(ctx, id.RunKey, []canonical.CallName{id.Call})
	if err != nil || len(heads) != 1 || heads[0].Exists() || heads[0].Fault != nil {
		return entry // answer will look closer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.requests[key]; known != nil { // it came in between
		return known
	}
	session := s.sessionOf(who, m.Session, m.Epoch)
	if session == nil {
		return entry
	}
	s.withdraw(session, key, m.Tool, m.Fingerprint)
	if known := s.requests[key]; known != nil {
		return known
	}
	entry.withdrawn = true // no room to note it, but its session admits nothing new any more
	entry.notStarted(CodeNotAdmitted)
	return entry
}

// adopt looks for what the store has of a request that is not settled here: the
// record of another life of this server, a late result, a host's verdict. It only
// ever finds that something ended; that there is no record proves nothing.
func (s *Server) adopt(ctx context.Context, r *request) {
	r.mu.Lock()
	undecided := r.retained == nil && r.state != Settled
	r.mu.Unlock()
	if !undecided {
		return
	}
	id := s.identity(r.key)
	rec, err := s.store.Record(ctx, id.RunKey, id.Call)
	if err != nil || !s.sameCall(rec, r, id) {
		return
	}
	switch {
	case rec.State == lifecycle.Projecting:
	case rec.Execution == lifecycle.Completed && rec.Head.Raw.Stored:
		r.store(id, rec.Head, rec.Ended)
	case rec.Execution == lifecycle.Completed:
		s.withoutResult(r, rec.Code)
	case rec.Execution == lifecycle.NotStarted:
		r.notStarted(string(rec.Code))
	default:
		s.adoptSettlement(ctx, r, id)
	}
}

func (s *Server) sameCall(rec canonical.Record, r *request, id canonical.Identity) bool {
	fingerprint, err := Fingerprint(rec.Tool, rec.Request)
	return err == nil && fingerprint == r.fingerprint && rec.Tool == r.tool && rec.Identity == id && rec.OperationKey == id.OperationKey(rec.Request) &&
		rec.Principal == r.who.Principal && rec.Effect == r.effect
}

// adoptSettlement takes over what became known after a record had ended as unknown.
func (s *Server) adoptSettlement(ctx context.Context, r *request, id canonical.Identity) {
	settlement, err := s.store.SettlementOf(ctx, id.RunKey, id.Call)
	if err != nil {
		return
	}
	late := s.lateIdentity(r.key)
	if rec, err := s.store.Record(ctx, late.RunKey, late.Call); err == nil && rec.Head.Raw.Stored && rec.Tool == r.tool && (r.effect.Read() || settlement.Resolved != nil) {
		r.store(late, rec.Head, rec.Ended)
		r.mu.Lock()
		r.late = true
		r.mu.Unlock()
		return
	}
	if settlement.Resolved == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.execution, r.code, r.resolved, r.acked = Settled, executionCompleted, string(lifecycle.OutcomeUnknown), true, true
	r.applied = notUnlessRead(r.effect)
	if settlement.Resolved.Verdict == canonical.Applied && !r.effect.Read() {
		r.applied = appliedYes
	}
}

// Cancel implements [Handler]. It cancels the context of one call. Others, and the
// caller's own waiting, are not touched.
func (s *Server) Cancel(ctx context.Context, who Caller, m CancelRequest) (CancelResponse, error) {
	r := refusal{method: MethodCancel, session: echo(m.Session), request: echo(m.RequestID)}
	if r.cause = s.allowed(ctx, who, Operation{Method: MethodCancel, Session: m.Session, RequestID: m.RequestID}); r.cause != nil {
		return CancelResponse{}, s.refuse(Unauthorized, r)
	}
	if r.cause = check(m); r.cause != nil {
		return CancelResponse{}, s.refuse(InvalidRequest, r)
	}
	answer := CancelResponse{Protocol: Protocol, Session: m.Session, Epoch: s.epoch, RequestID: m.RequestID, State: Unsettled}
	s.mu.Lock()
	entry := s.requests[requestKey{who.Scope, m.RequestID}]
	s.mu.Unlock()
	if entry == nil || entry.who != who {
		return answer, nil
	}
	entry.mu.Lock()
	answer.State = entry.state
	if entry.state == Running && entry.cancel != nil {
		entry.cancelled, answer.Accepted = true, true
		entry.cancel()
	}
	entry.mu.Unlock()
	s.observe(Event{Method: MethodCancel, Session: m.Session, RequestID: m.RequestID, Tool: entry.tool, State: answer.State})
	return answer, nil
}
