package remote

import (
	"context"
	"errors"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Execute implements [Handler]. A request that this server knows is answered from
// what it knows; any other is entered at most once. The work belongs to the
// server: the end of ctx ends the waiting for it, not the work.
func (s *Server) Execute(ctx context.Context, who Caller, m ExecuteRequest) (Receipt, error) {
	r := refusal{method: MethodExecute, session: echo(m.Session), request: echo(m.RequestID)}
	denied := s.allowed(ctx, who, Operation{
		Method: MethodExecute, Session: m.Session, RequestID: m.RequestID, Tool: m.Tool, Effect: s.tools[m.Tool].Effect,
		Arguments: canonical.Body(m.Arguments),
	})
	if r.cause = check(m); r.cause != nil {
		return Receipt{}, s.refuse(invalidUnless(denied), r)
	}
	entry, code, admitted := s.admit(who, m, denied)
	if code != "" {
		r.cause, r.admitted = denied, admitted
		return Receipt{}, s.refuse(code, r)
	}
	return s.answer(ctx, entry, MethodExecute, answerTo{m.Session, m.WaitMS, m.MaxInlineBytes}), nil
}

// invalidUnless: who may not ask learns nothing about what was wrong.
func invalidUnless(denied error) ErrorCode {
	if denied != nil {
		return Unauthorized
	}
	return InvalidRequest
}

// echo repeats an id only where it is one.
func echo(id string) string {
	var c checker
	if c.name("id", id); c.err != nil {
		return ""
	}
	return id
}

// admit finds the request or enters it into the memory. A refusal that says that
// the request was not admitted makes sure that it never will be: the id is
// withdrawn, or its session admits nothing new any more.
func (s *Server) admit(who Caller, m ExecuteRequest, denied error) (*request, ErrorCode, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session := s.sessionOf(who, m.Session, m.Epoch)
	switch {
	case session == nil && denied != nil:
		return nil, Unauthorized, AdmittedUnknown
	case session == nil:
		return nil, SessionUnknown, AdmittedUnknown
	}
	key := requestKey{who.Scope, m.RequestID}
	if known := s.requests[key]; known != nil {
		return s.known(known, m, denied)
	}
	tool := s.tools[m.Tool]
	code := s.refusalOf(session, m, denied)
	if code == "" && len(s.requests) >= s.cfg.MaxRequests {
		session.full, code = true, RequestLimitExceeded
	}
	if code != "" {
		return nil, code, s.withdraw(session, key, m.Tool, m.Fingerprint)
	}
	entry := newRequest(key, who, session.id, tool, m)
	s.requests[key] = entry
	ctx, cancel := context.WithCancel(context.Background())
	entry.cancel, entry.started = cancel, s.now()
	s.working.Add(1)
	go func() {
		defer s.working.Done()
		defer cancel()
		s.run(ctx, entry, tool, []byte(m.Arguments))
	}()
	return entry, "", ""
}

// known answers a request that is in the memory. The same id with other arguments
// is another call, and refused without a word about the first.
func (s *Server) known(entry *request, m ExecuteRequest, denied error) (*request, ErrorCode, string) {
	switch {
	case denied != nil:
		return nil, Unauthorized, AdmittedUnknown
	case entry.withdrawn:
		return nil, RequestWithdrawn, AdmittedNo
	case entry.fingerprint != m.Fingerprint || entry.tool != m.Tool:
		return nil, RequestConflict, AdmittedUnknown
	}
	if got, err := Fingerprint(m.Tool, []byte(m.Arguments)); err != nil || got != m.Fingerprint {
		return nil, InvalidRequest, AdmittedUnknown
	}
	return entry, "", ""
}

// refusalOf is why a new request is not admitted; empty if it is.
func (s *Server) refusalOf(session *served, m ExecuteRequest, denied error) ErrorCode {
	switch {
	case denied != nil:
		return Unauthorized
	case s.closed || !s.now().Before(session.expires):
		return SessionClosed
	case session.full:
		return RequestLimitExceeded
	case s.tools[m.Tool].Contract != m.Contract:
		return ToolNotAllowed
	case s.degraded():
		return StorageDegraded
	}
	got, err := Fingerprint(m.Tool, []byte(m.Arguments))
	if err != nil || got != m.Fingerprint || sha256Hex([]byte(m.Arguments)) != m.ArgumentsSHA256 {
		return InvalidRequest
	}
	return ""
}

// withdraw makes sure that a request is never admitted. The caller holds the lock.
func (s *Server) withdraw(session *served, key requestKey, tool, fingerprint string) string {
	if len(s.requests) >= s.cfg.MaxRequests {
		session.full = true
		return AdmittedNo
	}
	entry := &request{key: key, who: session.caller, session: session.id, tool: tool, fingerprint: fingerprint,
		withdrawn: true, done: make(chan struct{}), effect: s.tools[tool].Effect}
	close(entry.done)
	entry.notStarted(CodeNotAdmitted)
	s.requests[key] = entry
	return AdmittedNo
}

// CodeNotAdmitted stands in a receipt of a request that its server never admitted,
// in the life in which it was sent, and never will.
const CodeNotAdmitted = "NOT_ADMITTED"

func newRequest(key requestKey, who Caller, session string, tool offered, m ExecuteRequest) *request {
	return &request{
		key: key, who: who, session: session, tool: m.Tool, effect: tool.Effect, fingerprint: m.Fingerprint,
		done: make(chan struct{}), state: Running, execution: executionUnknown,
	}
}

// notStarted settles a request whose tool was not entered.
func (r *request) notStarted(code string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.execution, r.code, r.applied = Settled, executionNotStarted, code, notUnlessRead(r.effect)
}

// run takes a request through the boundary, as an ordinary call of a run of its
// own. Its run and its name follow from the request id, so that any later server
// on this store finds the record.
func (s *Server) run(ctx context.Context, r *request, tool offered, arguments []byte) {
	defer close(r.done)
	id := s.identity(r.key)
	opening, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.ClosingTimeout)
	defer cancel()
	run, err := s.boundary.OpenRun(opening, boundary.RunSpec{
		ID: id.Run, Scope: r.who.Scope, Principal: r.who.Principal,
		MaxDuration: min(tool.timeout+s.limits.Closing()+10*time.Second, s.limits.MaxDuration()),
		Budget:      canonical.Budget{Calls: 1, PerTool: 1},
	})
	switch {
	case errors.Is(err, canonical.ErrRunTaken): // another life of this server, or another server on this store, has it
		r.end(Unsettled, executionUnknown, "", s.now())
		s.adopt(ctx, r)
		return
	case err != nil:
		r.notStarted(string(lifecycle.StoreUnavailable))
		return
	}
	result := s.toolset.Dispatch(ctx, run, boundary.Call{ID: id.Call.ID, Name: r.tool, Arguments: arguments})[0]
	s.settle(r, id, arguments, result)
	closing, stop := context.WithTimeout(context.Background(), s.limits.ClosingTimeout)
	defer stop()
	_ = run.Close(closing) // nothing more is called in it; its deadline ends it otherwise
}

// answerTo is how a caller wants its receipt.
type answerTo struct {
	session string
	waitMS  int64
	inline  int
}

// answer waits for the end, within what both sides allow, and says what is known.
func (s *Server) answer(ctx context.Context, r *request, method Method, to answerTo) Receipt {
	wait := min(time.Duration(to.waitMS)*time.Millisecond, s.cfg.MaxWait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	m := s.inlined(ctx, r, s.receipt(r, to.session), to.inline)
	s.observe(Event{Method: method, Session: to.session, RequestID: m.RequestID, Tool: m.Tool, State: m.State})
	return m
}
