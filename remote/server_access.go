package remote

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// refusal is a refusal of this server, told to its observer.
type refusal struct {
	method   Method
	session  string
	request  string
	admitted string
	cause    error
}

func (s *Server) refuse(code ErrorCode, r refusal) error {
	e := &ProtocolError{Code: code, Message: code.Text(), Admitted: r.admitted, Session: r.session, RequestID: r.request, cause: r.cause}
	if e.Admitted == "" {
		e.Admitted = AdmittedUnknown
	}
	if r.session != "" {
		e.Epoch = s.epoch
	}
	if e.RequestID == "" {
		e.RequestID = InvalidRequestID
	}
	s.observe(Event{Method: r.method, Session: r.session, RequestID: e.RequestID, Refused: code})
	return e
}

var (
	errNobody   = errors.New("remote: no host context")
	errPanicked = errors.New("remote: the host's Authorize panicked")
)

// allowed asks the host, whatever this server already knows or has answered.
func (s *Server) allowed(ctx context.Context, who Caller, op Operation) (err error) {
	if !who.valid() {
		return errNobody
	}
	err = errPanicked
	defer func() { _ = recover() }()
	return s.cfg.Authorize(ctx, who, op)
}

// Negotiate implements [Handler].
func (s *Server) Negotiate(ctx context.Context, who Caller, m NegotiateRequest) (NegotiateResponse, error) {
	r := refusal{method: MethodNegotiate}
	if err := s.allowed(ctx, who, Operation{Method: MethodNegotiate}); err != nil {
		r.cause = err
		return NegotiateResponse{}, s.refuse(Unauthorized, r)
	}
	if r.cause = check(m); r.cause != nil {
		return NegotiateResponse{}, s.refuse(InvalidRequest, r)
	}
	if !speaks(m.Protocols) || m.PackageID != s.cfg.PackageID || !s.sameContracts(m.Contracts) {
		return NegotiateResponse{}, s.refuse(NegotiationFailed, r)
	}
	id, err := uuid.NewRandom()
	if err != nil {
		r.cause = err
		return NegotiateResponse{}, s.refuse(Internal, r)
	}
	session := &served{id: id.String(), caller: who, expires: s.now().Add(s.cfg.SessionDuration)}
	s.mu.Lock()
	code := s.enter(session)
	s.mu.Unlock()
	if code != "" {
		return NegotiateResponse{}, s.refuse(code, r)
	}
	s.observe(Event{Method: MethodNegotiate, Session: session.id})
	return s.welcome(session), nil
}

// maxSessions bounds the sessions of a server that have not ended.
const maxSessions = 1000

// enter notes a new session, if there may be one. The caller holds the lock.
func (s *Server) enter(session *served) ErrorCode {
	if s.closed {
		return SessionClosed
	}
	s.forgetExpired()
	if len(s.sessions) >= maxSessions {
		return RequestLimitExceeded
	}
	s.sessions[session.id] = session
	return ""
}

func speaks(protocols []string) bool {
	for _, p := range protocols {
		if p == Protocol {
			return true
		}
	}
	return false
}

// sameContracts: a client may know fewer tools than are offered, never others.
func (s *Server) sameContracts(contracts map[string]string) bool {
	for name, contract := range contracts {
		if s.tools[name].Contract != contract {
			return false
		}
	}
	return true
}

func (s *Server) welcome(session *served) NegotiateResponse {
	m := NegotiateResponse{
		Protocol: Protocol, PackageID: s.cfg.PackageID, Epoch: s.epoch, Session: session.id,
		ExpiresInMS: s.cfg.SessionDuration.Milliseconds(),
		Limits: ServerLimits{
			ArgumentsBytes: int(min(s.limits.RequestBytes, MaxArguments)), InlineBytes: s.cfg.InlineBytes,
			ChunkBytes: s.cfg.ChunkBytes, Requests: s.cfg.MaxRequests, WaitMS: s.cfg.MaxWait.Milliseconds(),
		},
	}
	for _, t := range s.pack.Tools {
		m.Tools = append(m.Tools, OfferedTool{Name: t.Name, Effect: t.Effect, Contract: t.Contract})
	}
	return m
}

// forgetExpired drops sessions whose time is over and those of their requests that
// need no memory: settled, with a record that answers for them, and not executable
// again since their session is gone. The caller holds the lock.
func (s *Server) forgetExpired() {
	now := s.now()
	for id, session := range s.sessions {
		if now.Before(session.expires) {
			continue
		}
		busy := false
		for key, r := range s.requests {
			if r.session != id {
				continue
			}
			if r.ended() && !r.waits() {
				delete(s.requests, key)
			} else {
				busy = true
			}
		}
		if !busy {
			delete(s.sessions, id)
		}
	}
}

// sessionOf is the caller's own session; another's looks like none.
func (s *Server) sessionOf(who Caller, id, epoch string) *served {
	session := s.sessions[id]
	if session == nil || session.caller != who || epoch != s.epoch {
		return nil
	}
	return session
}
