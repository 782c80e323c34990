package remote

import (
	"context"
	"sync"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// requestKey: request ids are compared inside one scope, so that nobody's id can
// meet somebody else's.
type requestKey struct {
	scope canonical.Scope
	id    string
}

// request is one distinct request in the memory of the server. It is never removed
// while its session lives.
type request struct {
	key         requestKey
	who         Caller
	session     string
	tool        string
	effect      canonical.Effect
	fingerprint string
	withdrawn   bool // it was never admitted and never will be
	done        chan struct{}

	mu        sync.Mutex
	state     ReceiptState
	execution string
	code      string
	applied   string
	late      bool
	resolved  bool
	content   *source
	acked     bool
	cancelled bool
	cancel    context.CancelFunc
	started   time.Time
	finished  time.Time
	retained  *boundary.Retained // what the store did not take
	lateDue   bool               // the body still runs, though its call has ended
}

// source says where a result is kept: a record of the server's store.
type source struct {
	run  canonical.RunKey
	call canonical.CallName
	raw  canonical.RawInfo
	head canonical.Head
}

// ended reports whether the request is under way no more.
func (r *request) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// waits reports whether something is still to be done for the request.
func (r *request) waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state != Settled || r.lateDue
}

func (r *request) is(state ReceiptState) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == state
}

// identity is the call that the request is in the server's own store.
func (s *Server) identity(key requestKey) canonical.Identity {
	return canonical.Identity{
		RunKey: canonical.RunKey{Scope: key.scope, Run: canonical.RunID("rq." + digest("harness.remote-run/1", s.cfg.PackageID, key.id))},
		Call:   canonical.CallName{ID: canonical.ToolCallID(key.id)},
	}
}

// receipt is what is known of the request now.
func (s *Server) receipt(r *request, session string) Receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := Receipt{
		Protocol: Protocol, Session: session, Epoch: s.epoch, RequestID: r.key.id, Tool: r.tool, Effect: r.effect,
		Fingerprint: r.fingerprint, State: r.state, Execution: r.execution, Code: r.code, Applied: r.applied,
		Late: r.late, Resolved: r.resolved, CancelRequested: r.cancelled, SourceAcked: r.acked,
		StartedAt: stamp(r.started), EndedAt: stamp(r.finished), Accounting: Accounting,
	}
	if r.state == Settled && r.content != nil {
		m.HasResult = true
		m.Content = &Content{Bytes: r.content.raw.Size, SHA256: r.content.raw.SHA256}
		if ref, ok := r.content.head.Reference(); ok {
			m.Content.Reference = &ref
		}
	}
	return m
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// inlined puts the bytes of a small result in place of its reference. A store that
// cannot be read leaves the reference, which is as good.
func (s *Server) inlined(ctx context.Context, r *request, m Receipt, limit int) Receipt {
	limit = min(limit, s.cfg.InlineBytes)
	if m.Content == nil || m.Content.Bytes > int64(limit) || limit == 0 {
		return m
	}
	r.mu.Lock()
	at := *r.content
	r.mu.Unlock()
	bytes := canonicalBytes{}
	if m.Content.Bytes > 0 {
		part, err := s.store.RawPart(ctx, at.run, at.call, 0, int(m.Content.Bytes))
		if err != nil || part.Raw.SHA256 != at.raw.SHA256 || int64(len(part.Bytes)) != m.Content.Bytes {
			return m
		}
		bytes = canonicalBytes(part.Bytes)
	}
	if sha256Hex(bytes) != m.Content.SHA256 {
		return m
	}
	m.Content.Inline, m.Content.Reference = &bytes, nil
	return m
}
