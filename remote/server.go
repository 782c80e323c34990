package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// ServerConfig is what a server is made of.
type ServerConfig struct {
	PackageID string // names this set of tools for clients; 1 to 256 bytes of letters, digits and . _ : -

	// Boundary is what the server's own boundary is made of: store, authorizer,
	// effects, limits and the rest. The store is borrowed, the boundary is the
	// server's. OnRetained is called for what the store did not take, as ever.
	Boundary boundary.Config

	// Tools are offered as they are registered here: their effects are those that
	// count, whatever a client believes. A tool without a Projector keeps a short
	// note in its place; the result itself goes to the client.
	Tools []boundary.Tool

	Authorize Authorize // required; asked first in every method and for every chunk

	InlineBytes     int           // zero: 64 KiB; ReferencesOnly: none; at most MaxInlineBytes
	ChunkBytes      int           // zero: 64,000; what one chunk of evidence may have
	MaxRequests     int           // zero: 1,000, which is also the most
	SessionDuration time.Duration // zero: 1 hour
	MaxWait         time.Duration // how long an answer may wait for the end of a call; zero: 30 s, at most a minute

	// OnClose is called once all work has ended; its error is that of every Close.
	OnClose func(context.Context) error

	Observer func(Event) // nil: none. A panic in it is caught
}

// Event tells an observer what a server or a session did. It has names, words and
// times only.
type Event struct {
	Method    Method
	Session   string
	RequestID string
	Tool      string
	State     ReceiptState // of the receipt; empty for a refusal
	Refused   ErrorCode    // of a refusal
	Retained  bool         // a result waits for repair
}

// Server is the serving end. It is safe for concurrent use and is a [Handler].
type Server struct {
	cfg      ServerConfig
	boundary *boundary.ToolBoundary
	store    canonical.Store
	toolset  *boundary.Toolset
	tools    map[string]offered
	pack     Package
	limits   canonical.Limits
	epoch    string
	now      func() time.Time

	mu       sync.Mutex
	sessions map[string]*served
	requests map[requestKey]*request
	closed   bool
	closing  sync.Once
	drained  chan struct{}
	closeErr error
	working  sync.WaitGroup // requests under way, bodies that were left behind, late results
}

type offered struct {
	PackageTool
	timeout time.Duration
}

// served is a session as the server keeps it.
type served struct {
	id      string
	caller  Caller
	expires time.Time
	full    bool // it was refused for room once; it admits nothing new any more
}

// NewServer checks everything at once and reports it as a [*ConfigError].
func NewServer(cfg ServerConfig) (*Server, error) {
	s := &Server{
		cfg: cfg, tools: map[string]offered{}, epoch: uuid.NewString(), sessions: map[string]*served{},
		requests: map[requestKey]*request{}, drained: make(chan struct{}), now: cfg.Boundary.Now,
	}
	if s.now == nil {
		s.now = time.Now
	}
	problems := s.fill()
	host := cfg.Boundary.OnRetained
	cfg.Boundary.OnRetained = func(ctx context.Context, r boundary.Retained) {
		s.retain(r)
		if host != nil {
			host(ctx, r)
		}
	}
	b, err := boundary.New(cfg.Boundary)
	if err != nil {
		return nil, &ConfigError{Problems: append(problems, err)}
	}
	s.boundary, s.store = b, cfg.Boundary.Store
	s.limits, _ = cfg.Boundary.Limits.WithDefaults() // New has checked them
	if err := s.offer(cfg.Tools); err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return nil, &ConfigError{Problems: problems}
	}
	return s, nil
}

// fill sets defaults and lists what is out of bounds.
func (s *Server) fill() []error {
	var c checker
	var problems []error
	note := func() {
		if c.err != nil {
			problems, c.err = append(problems, c.err), nil
		}
	}
	c.name("PackageID", s.cfg.PackageID)
	note()
	c.that(s.cfg.Authorize != nil, "Authorize", "is missing")
	note()
	inline, err := inlineBytes(s.cfg.InlineBytes)
	if err != nil {
		problems = append(problems, err)
	}
	s.cfg.InlineBytes = inline
	fillInt(&s.cfg.ChunkBytes, DefaultChunkBytes)
	c.within("ChunkBytes", int64(s.cfg.ChunkBytes), 1, MaxChunkBytes)
	note()
	fillInt(&s.cfg.MaxRequests, MaxRequests)
	c.within("MaxRequests", int64(s.cfg.MaxRequests), 1, MaxRequests)
	note()
	if s.cfg.SessionDuration == 0 {
		s.cfg.SessionDuration = time.Hour
	}
	c.within("SessionDuration", s.cfg.SessionDuration.Milliseconds(), 1, canonical.MaxLimitTime.Milliseconds())
	note()
	if s.cfg.MaxWait == 0 {
		s.cfg.MaxWait = 30 * time.Second
	}
	c.within("MaxWait", s.cfg.MaxWait.Milliseconds(), 1, MaxWait.Milliseconds())
	note()
	return problems
}

func fillInt(n *int, value int) {
	if *n == 0 {
		*n = value
	}
}

// inlineBytes turns a configured number into that of the wire.
func inlineBytes(n int) (int, error) {
	switch {
	case n == 0:
		return DefaultInlineBytes, nil
	case n == ReferencesOnly:
		return 0, nil
	case n < 0 || n > MaxInlineBytes:
		return 0, &FormError{Field: "InlineBytes", Reason: "is out of range", Size: int64(n), Limit: MaxInlineBytes}
	}
	return n, nil
}

// offer builds the toolset and the package.
func (s *Server) offer(tools []boundary.Tool) error {
	var err error
	if s.pack, err = packageOf(s.cfg.PackageID, tools); err != nil {
		return err
	}
	wrapped := make([]boundary.Tool, len(tools))
	for i, t := range tools {
		timeout := t.Timeout
		if timeout == 0 {
			timeout = s.limits.ToolTimeout
		}
		s.tools[t.Name] = offered{PackageTool: s.pack.Tools[i], timeout: timeout}
		if t.Projector == nil {
			t.Projector = sourceNote{}
		}
		wrapped[i] = t
	}
	s.toolset, err = boundary.NewToolset(s.boundary, wrapped...)
	return err
}

// Package is the envelope of this server's tools, encoded.
func (s *Server) Package() []byte {
	text, err := Encode(s.pack)
	if err != nil { // it was checked at construction
		return nil
	}
	return text
}

// Epoch names this life of the server. What an earlier one admitted is known to
// this one as far as the store has it.
func (s *Server) Epoch() string { return s.epoch }

// Format prints a name for every verb.
func (s *Server) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "{remote server %q}", s.cfg.PackageID) }

// Close ends admission, waits until every tool body that was entered has returned
// and its result is stored or retained, shuts the boundary down and calls OnClose.
// It borrows store and tools and leaves them as they are. Every Close waits for the
// same end and answers the same error; one whose ctx ends first answers that,
// while the end goes on. A closed server still answers receipts and evidence.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.closing.Do(func() { go s.drain(context.WithoutCancel(ctx)) })
	select {
	case <-s.drained:
		return s.closeErr
	case <-ctx.Done():
		return fmt.Errorf("remote: the server still drains: %w", context.Cause(ctx))
	}
}

func (s *Server) drain(ctx context.Context) {
	defer close(s.drained)
	s.working.Wait()
	s.closeErr = s.boundary.Shutdown(ctx)
	if s.cfg.OnClose != nil {
		s.closeErr = errors.Join(s.closeErr, s.completionHook(ctx))
	}
}

var errHookPanicked = errors.New("remote: OnClose panicked")

func (s *Server) completionHook(ctx context.Context) (err error) {
	err = errHookPanicked
	defer func() { _ = recover() }()
	return s.cfg.OnClose(ctx)
}

// observe hands an event to the observer, whose panics end there.
func (s *Server) observe(e Event) { tell(s.cfg.Observer, e) }

func tell(observer func(Event), e Event) {
	if observer == nil {
		return
	}
	defer func() { _ = recover() }()
	observer(e)
}
