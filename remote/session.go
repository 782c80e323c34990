package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/projector"
)

// SessionConfig is what a session is made of.
type SessionConfig struct {
	Transport Transport              // required; borrowed
	Boundary  *boundary.ToolBoundary // required: the one boundary that the tools belong to
	Store     canonical.Store        // required: the store that this boundary keeps its records in
	Scope     canonical.Scope        // required: all calls of the session are in it
	Package   []byte                 // required: the server's package, from a place that the host trusts

	// Projectors make the model's results, by tool; Projector is for the others. They
	// are given the result as the remote tool returned it.
	Projectors map[string]projector.Projector
	Projector  projector.Projector

	Timeout      time.Duration // of each call; zero: the boundary's own
	InlineBytes  int           // zero: 64 KiB, or what the server allows; ReferencesOnly: none; at most MaxInlineBytes
	ChunkBytes   int           // zero: 64,000, or what the server allows; above the server's limit it is refused
	PayloadBytes int64         // results above it stay at the source, by reference; zero: 4 MiB less 64 KiB

	// Journal keeps a checkpoint each time a call is about to be submitted. When it
	// fails nothing is submitted. With it a process that is killed can be followed by
	// one that knows which session a call was sent in.
	Journal func(ctx context.Context, checkpoint []byte) error

	Resume     []byte        // a checkpoint of an earlier session
	SweepGrace time.Duration // Reconcile ends an abandoned call this far past its due time; zero: a minute
	Observer   func(Event)   // nil: none. A panic in it is caught
}

// Session is the calling end: it gives tools to one boundary, hands their calls to
// a transport and keeps what came back. It is safe for concurrent use.
type Session struct {
	cfg     SessionConfig
	pack    Package
	tools   map[string]PackageTool
	welcome NegotiateResponse
	inline  int

	mu      sync.Mutex
	closed  bool
	calls   map[canonical.Identity]*invocation
	order   []canonical.Identity
	rawRoom map[canonical.RunKey]int64 // raw bytes that a run's records may have
}

const defaultPayload = 4<<20 - 64<<10

// NewSession checks the configuration, negotiates, and proves the checkpoint that
// it resumes, if any. Whatever is wrong ends here, before any tool could be
// called: there is no other protocol to fall back to.
func NewSession(ctx context.Context, cfg SessionConfig) (*Session, error) {
	s := &Session{cfg: cfg, tools: map[string]PackageTool{}, calls: map[canonical.Identity]*invocation{}, rawRoom: map[canonical.RunKey]int64{}}
	if problems := s.fill(); len(problems) > 0 {
		return nil, &ConfigError{Problems: problems}
	}
	if err := s.negotiate(ctx); err != nil {
		return nil, err
	}
	if len(cfg.Resume) > 0 {
		if err := s.resume(ctx, cfg.Resume); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Session) fill() (problems []error) {
	say := func(field, reason string) {
		problems = append(problems, &FormError{Field: field, Reason: reason})
	}
	if s.cfg.Transport == nil {
		say("Transport", "is missing")
	}
	if s.cfg.Boundary == nil {
		say("Boundary", "is missing")
	}
	if s.cfg.Store == nil {
		say("Store", "is missing; without records nothing is submitted")
	}
	if err := s.cfg.Scope.Validate(); err != nil {
		problems = append(problems, err)
	}
	var err error
	if s.pack, err = ParsePackage(s.cfg.Package); err != nil {
		problems = append(problems, err)
	}
	for _, t := range s.pack.Tools {
		s.tools[t.Name] = t
		switch {
		case reserved(t.Name):
			say("Package", fmt.Sprintf("offers %q, a reserved name", t.Name))
		case s.cfg.Projectors[t.Name] == nil && s.cfg.Projector == nil:
			say("Projectors", fmt.Sprintf("has none for tool %q", t.Name))
		}
	}
	if s.inline, err = inlineBytes(s.cfg.InlineBytes); err != nil {
		problems = append(problems, err)
	}
	if s.cfg.ChunkBytes < 0 || s.cfg.ChunkBytes > MaxChunkBytes {
		problems = append(problems, &FormError{Field: "ChunkBytes", Reason: "is out of range", Size: int64(s.cfg.ChunkBytes), Limit: MaxChunkBytes})
	}
	if s.cfg.PayloadBytes < 0 {
		say("PayloadBytes", "is negative")
	}
	if s.cfg.PayloadBytes == 0 {
		s.cfg.PayloadBytes = defaultPayload
	}
	if s.cfg.SweepGrace < 0 {
		say("SweepGrace", "is negative")
	}
	if s.cfg.SweepGrace == 0 {
		s.cfg.SweepGrace = boundary.DefaultGrace
	}
	return problems
}

var (
	errOtherPeer = errors.New("remote: the answer is not that of the package's server")
	errChunks    = errors.New("remote: chunks above what the server reads at once")
)

// NegotiationError says that there is no session. The cause may be a
// [*ProtocolError], or a transport's error, whose text may hold anything.
type NegotiationError struct{ cause error }

// Error never has the transport's text.
func (e *NegotiationError) Error() string {
	if p, ok := errors.AsType[*ProtocolError](e.cause); ok {
		return "remote: negotiate: " + p.Error()
	}
	if f, ok := errors.AsType[*FormError](e.cause); ok {
		return "remote: negotiate: " + f.Error()
	}
	if errors.Is(e.cause, errOtherPeer) || errors.Is(e.cause, errChunks) {
		return "remote: negotiate: " + e.cause.Error()
	}
	return "remote: negotiate: no usable answer"
}

// Unwrap returns the cause.
func (e *NegotiationError) Unwrap() error { return e.cause }

// Format prints Error() for every verb.
func (e *NegotiationError) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.Error()) }

func (s *Session) negotiate(ctx context.Context) error {
	m := NegotiateRequest{Protocols: []string{Protocol}, PackageID: s.pack.PackageID, Contracts: map[string]string{}, MaxInlineBytes: s.inline}
	for name, t := range s.tools {
		m.Contracts[name] = t.Contract
	}
	answer, err := s.cfg.Transport.Negotiate(ctx, m)
	if err == nil {
		err = check(answer)
	}
	if err == nil && !s.matches(answer) {
		err = errOtherPeer
	}
	if err != nil {
		return &NegotiationError{cause: err}
	}
	if s.cfg.ChunkBytes > answer.Limits.ChunkBytes {
		return &ConfigError{Problems: []error{errChunks, &FormError{Field: "ChunkBytes", Reason: "is above the server's limit", Size: int64(s.cfg.ChunkBytes), Limit: int64(answer.Limits.ChunkBytes)}}}
	}
	if s.cfg.ChunkBytes == 0 {
		s.cfg.ChunkBytes = min(DefaultChunkBytes, answer.Limits.ChunkBytes)
	}
	s.inline = min(s.inline, answer.Limits.InlineBytes)
	s.welcome = answer
	return nil
}

// matches: every tool of the package is offered, with this effect and contract.
func (s *Session) matches(answer NegotiateResponse) bool {
	if answer.PackageID != s.pack.PackageID {
		return false
	}
	offered := map[string]OfferedTool{}
	for _, t := range answer.Tools {
		offered[t.Name] = t
	}
	for name, t := range s.tools {
		if o, ok := offered[name]; !ok || o.Contract != t.Contract || o.Effect != t.Effect {
			return false
		}
	}
	return true
}

// Tools are the remote tools for a toolset on the session's boundary, beside local
// ones if wanted. The error is [ErrBound] for any other boundary.
func (s *Session) Tools(b *boundary.ToolBoundary) ([]boundary.Tool, error) {
	if b == nil || b != s.cfg.Boundary {
		return nil, ErrBound
	}
	list := make([]boundary.Tool, 0, len(s.pack.Tools))
	for _, t := range s.pack.Tools {
		list = append(list, boundary.Tool{
			Name: t.Name, Description: t.Description, Effect: t.Effect, Schema: []byte(t.InputSchema),
			Executor: &proxy{session: s, tool: t}, Projector: shown{s.projectorOf(t.Name)}, Timeout: s.cfg.Timeout,
		})
	}
	return list, nil
}

func (s *Session) projectorOf(tool string) projector.Projector {
	if p := s.cfg.Projectors[tool]; p != nil {
		return p
	}
	return s.cfg.Projector
}

// Dispatch is set.Dispatch, after which the session knows which results are in the
// store. Calls dispatched without it are known as stored once they are reconciled.
func (s *Session) Dispatch(ctx context.Context, set *boundary.Toolset, run *boundary.Run, calls ...boundary.Call) []boundary.Result {
	results := set.Dispatch(ctx, run, calls...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, call := range calls {
		if run == nil {
			break
		}
		inv := s.calls[canonical.Identity{RunKey: run.Key(), Call: canonical.CallName{Turn: call.Turn, ID: call.ID}}]
		if inv == nil || inv.state != StateSettledUnstored {
			continue
		}
		failed, isError := errors.AsType[*boundary.Error](results[i].Err)
		if results[i].Err == nil || isError && failed.Stored {
			inv.state = StateSettled
		}
	}
	return results
}

// Close ends admission: tools of the session refuse new calls without any trace.
// Calls under way end as they would have. It asks nothing of the other side and
// proves nothing about it; receipts can still be asked for.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Cancel asks the other side to cancel one call. It says whether the wish was
// passed on there; what became of the call, its receipt says.
func (s *Session) Cancel(ctx context.Context, run canonical.RunID, call canonical.CallName) (bool, error) {
	inv := s.invocation(run, call)
	if inv == nil {
		return false, ErrNoInvocation
	}
	m := CancelRequest{Protocol: Protocol, Session: inv.session, Epoch: inv.epoch, RequestID: inv.requestID}
	answer, err := s.cfg.Transport.Cancel(ctx, m)
	if err == nil {
		err = check(answer)
	}
	if err == nil && (answer.RequestID != m.RequestID || answer.Session != m.Session) {
		err = ErrReceipt
	}
	if err != nil {
		return false, &UnknownError{RequestID: inv.requestID, cause: err}
	}
	return answer.Accepted, nil
}

func (s *Session) invocation(run canonical.RunID, call canonical.CallName) *invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[canonical.Identity{RunKey: canonical.RunKey{Scope: s.cfg.Scope, Run: run}, Call: call}]
}

// Format prints a name for every verb.
func (s *Session) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{remote session on %q}", s.pack.PackageID)
}
