package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// ReadEvidence implements [Handler]. Each chunk is authorized anew and read anew
// from the store, which verifies it.
func (s *Server) ReadEvidence(ctx context.Context, who Caller, m EvidenceRequest) (EvidenceResponse, error) {
	r := refusal{method: MethodReadEvidence, session: echo(m.Session), request: echo(m.RequestID)}
	if r.cause = s.allowed(ctx, who, Operation{Method: MethodReadEvidence, Session: m.Session, RequestID: m.RequestID, Offset: m.Offset}); r.cause != nil {
		return EvidenceResponse{}, s.refuse(Unauthorized, r)
	}
	if r.cause = check(m); r.cause != nil {
		return EvidenceResponse{}, s.refuse(InvalidRequest, r)
	}
	if m.MaxBytes > s.cfg.ChunkBytes {
		r.cause = &FormError{Field: "max_bytes", Reason: "is above the server's limit", Size: int64(m.MaxBytes), Limit: int64(s.cfg.ChunkBytes)}
		return EvidenceResponse{}, s.refuse(InvalidRequest, r)
	}
	id, err := s.contentOf(ctx, who, m)
	if err != nil {
		r.cause = err
		return EvidenceResponse{}, s.refuse(EvidenceUnavailable, r)
	}
	part, err := s.store.RawPart(ctx, id.RunKey, id.Call, m.Offset, m.MaxBytes)
	if err != nil || part.Raw.SHA256 != m.SHA256 {
		r.cause = errors.Join(err, canonical.ErrMissing)
		return EvidenceResponse{}, s.refuse(EvidenceUnavailable, r)
	}
	s.observe(Event{Method: MethodReadEvidence, Session: m.Session, RequestID: m.RequestID})
	return EvidenceResponse{
		Protocol: Protocol, Session: m.Session, Epoch: s.epoch, RequestID: m.RequestID, SHA256: m.SHA256, Bytes: part.Raw.Size,
		Offset: m.Offset, Next: m.Offset + int64(len(part.Bytes)), Data: canonicalBytes(part.Bytes), ChunkSHA256: sha256Hex(part.Bytes),
	}, nil
}

// contentOf is the record that holds a result. What the memory has not is looked
// for in the caller's own scope, where its name follows from the request id.
func (s *Server) contentOf(ctx context.Context, who Caller, m EvidenceRequest) (canonical.Identity, error) {
	key := requestKey{who.Scope, m.RequestID}
	s.mu.Lock()
	entry := s.requests[key]
	s.mu.Unlock()
	if entry != nil {
		entry.mu.Lock()
		defer entry.mu.Unlock()
		if entry.content == nil || entry.who != who || entry.content.raw.SHA256 != m.SHA256 {
			return canonical.Identity{}, canonical.ErrMissing
		}
		return canonical.Identity{RunKey: entry.content.run, Call: entry.content.call}, nil
	}
	for _, id := range []canonical.Identity{s.identity(key), s.lateIdentity(key)} {
		head, err := s.headOf(ctx, id)
		if err == nil && head.Raw.Stored && head.Raw.SHA256 == m.SHA256 && head.Principal == who.Principal {
			return id, nil
		}
	}
	return canonical.Identity{}, canonical.ErrMissing
}

// degraded reports whether a result waits for repair. The caller holds the lock.
func (s *Server) degraded() bool {
	for _, r := range s.requests {
		r.mu.Lock()
		waiting := r.retained != nil || r.state == SettledUnstored
		r.mu.Unlock()
		if waiting {
			return true
		}
	}
	return false
}

// RetainedSource is a result that waits for repair, for the host alone.
type RetainedSource struct {
	RequestID string
	Scope     canonical.Scope
	Identity  canonical.Identity // the record that it belongs to
	Tool      string
	Raw       canonical.Raw // Bytes nil where the store has them, or nobody does
	Reason    boundary.RetainedReason
}

// Format prints names and sizes.
func (r RetainedSource) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{source of request %q, tool %q, %s, %d bytes}", r.RequestID, r.Tool, r.Reason, r.Raw.Size)
}

// RetainedSources lists what waits for repair. While the list is not empty the
// server admits nothing new. It is no method of the wire.
func (s *Server) RetainedSources() []RetainedSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []RetainedSource
	for _, r := range s.requests {
		if one, ok := s.retainedSource(r); ok {
			list = append(list, one)
		}
	}
	return list
}

// unacknowledged is the reason of a source that is stored and does not prove itself.
const unacknowledged boundary.RetainedReason = "unacknowledged"

func (s *Server) retainedSource(r *request) (RetainedSource, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := RetainedSource{RequestID: r.key.id, Scope: r.key.scope, Identity: s.identity(r.key), Tool: r.tool, Reason: unacknowledged}
	if r.retained != nil {
		one.Reason, one.Raw = r.retained.Reason, r.retained.Raw
		one.Raw.Bytes = one.Raw.Bytes.Clone()
		return one, true
	}
	return one, r.state == SettledUnstored
}

// ReadRetainedSource gives the exact result that waits for repair.
func (s *Server) ReadRetainedSource(scope canonical.Scope, requestID string) (RetainedSource, error) {
	if r := s.request(scope, requestID); r != nil {
		if one, ok := s.retainedSource(r); ok {
			return one, nil
		}
	}
	return RetainedSource{}, ErrNoInvocation
}

func (s *Server) request(scope canonical.Scope, id string) *request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[requestKey{scope, id}]
}

// SettleSource stores a result that waits, as it would have been stored, and
// acknowledges it. No tool is entered.
func (s *Server) SettleSource(ctx context.Context, scope canonical.Scope, requestID string) error {
	r := s.request(scope, requestID)
	if r == nil {
		return ErrNoInvocation
	}
	r.mu.Lock()
	held := r.retained
	r.mu.Unlock()
	if held != nil && held.Reason == boundary.Late {
		r.mu.Lock()
		r.retained = nil
		r.mu.Unlock()
		s.keepLate(r, *held)
		if s.isRetained(r) {
			return ErrDegraded
		}
		return nil
	}
	if held != nil {
		if err := s.boundary.Settle(ctx, *held); err != nil {
			return err
		}
	}
	head, err := s.headOf(ctx, s.identity(r.key))
	if err != nil {
		return err
	}
	ref, _ := head.Reference()
	return s.AcknowledgeSource(ctx, scope, requestID, ref)
}

// AcknowledgeSource accepts a stored record in place of a result that waits. The
// record is read whole; it must be the request's own and hold the retained result.
// A record that ended without a result is acknowledged by an empty reference.
func (s *Server) AcknowledgeSource(ctx context.Context, scope canonical.Scope, requestID string, ref evidence.Reference) error {
	r := s.request(scope, requestID)
	if r == nil {
		return ErrNoInvocation
	}
	id := s.identity(r.key)
	rec, err := s.store.Record(ctx, id.RunKey, id.Call)
	if err != nil {
		return err
	}
	stored, kept := rec.Reference()
	if !s.sameCall(rec, r, id) || kept != (ref != evidence.Reference{}) || stored != ref {
		return errCorrelation
	}
	r.mu.Lock()
	held := r.retained
	if held != nil && held.Raw.Present() && (!kept || held.Raw.SHA256 != stored.SHA256) {
		r.mu.Unlock()
		return errCorrelation
	}
	r.retained = nil
	if r.state == SettledUnstored {
		r.state, r.execution = Unsettled, executionUnknown
	}
	r.mu.Unlock()
	s.adopt(ctx, r)
	return nil
}

// Resolve records the serving host's verdict on a request whose outcome nobody knew.
// From then on its receipt is settled. It is no method of the wire.
func (s *Server) Resolve(ctx context.Context, scope canonical.Scope, requestID string, verdict canonical.EffectVerdict, grounds string) error {
	id := s.identity(requestKey{scope, requestID})
	return s.store.Resolve(ctx, canonical.Resolution{Run: id.RunKey, Call: id.Call, Verdict: verdict, Evidence: grounds})
}

// Sweep ends a call whose server died while it ran, once it is overdue: the record
// says then that the outcome is unknown, and [Server.Resolve] may give a verdict.
// It is no method of the wire.
func (s *Server) Sweep(ctx context.Context, scope canonical.Scope, requestID string) error {
	id := s.identity(requestKey{scope, requestID})
	_, err := s.store.Sweep(ctx, canonical.Sweeping{Run: id.RunKey, Grace: boundary.DefaultGrace, Max: 1})
	return err
}
