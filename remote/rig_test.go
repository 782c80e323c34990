package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/remotetest"
)

// place is a store and its time.
type place struct {
	store   canonical.Store
	now     func() time.Time
	advance func(time.Duration)
	url     string
}

func embeddedPlace(t *testing.T) place {
	t.Helper()
	s, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return place{s.Store(), s.Now, s.Advance, "redis://" + s.Addr()}
}

func redisPlace(t *testing.T) place {
	t.Helper()
	db := redistest.Shared(t)
	store, err := redisstore.Dial(t.Context(), db.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return place{store, time.Now, time.Sleep, db.URL()} // a real server's time can only be waited for
}

// onStores runs a test on both kinds of store.
func onStores(t *testing.T, test func(*testing.T, func(*testing.T) place)) {
	t.Helper()
	t.Parallel()
	t.Run("embedded", func(t *testing.T) { t.Parallel(); test(t, embeddedPlace) })
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, redisPlace) })
}

// bench is a set of remote tools whose entries are counted.
type bench struct {
	entered sync.Map // tool -> *atomic.Int64
	gate    chan struct{}
	started chan string
	quiet   atomic.Bool // slow ignores its context
}

func newBench() *bench { return &bench{gate: make(chan struct{}), started: make(chan string, 64)} }

func (b *bench) count(tool string) int64 {
	n, _ := b.entered.LoadOrStore(tool, &atomic.Int64{})
	return n.(*atomic.Int64).Load()
}

// total is how many bodies were entered in all.
func (b *bench) total() (n int64) {
	b.entered.Range(func(_, v any) bool { n += v.(*atomic.Int64).Load(); return true })
	return n
}

func (b *bench) tool(name string, effect canonical.Effect, body func(context.Context, boundary.Input, io.Writer) error) boundary.Tool {
	return boundary.Tool{
		Name: name, Description: "the tool " + name, Effect: effect,
		Executor: boundary.ExecutorFunc(func(ctx context.Context, in boundary.Input, w io.Writer) error {
			n, _ := b.entered.LoadOrStore(name, &atomic.Int64{})
			n.(*atomic.Int64).Add(1)
			return body(ctx, in, w)
		}),
	}
}

func says(text string) func(context.Context, boundary.Input, io.Writer) error {
	return func(_ context.Context, _ boundary.Input, w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

const toolSecret = "marker-9e31-password"

func (b *bench) tools() []boundary.Tool {
	sized := func(_ context.Context, in boundary.Input, w io.Writer) error {
		var a struct{ N int }
		if err := json.Unmarshal(in.Arguments, &a); err != nil {
			return err
		}
		_, err := io.WriteString(w, strings.Repeat("x", a.N))
		return err
	}
	slow := func(ctx context.Context, _ boundary.Input, w io.Writer) error {
		b.started <- "slow"
		done := ctx.Done()
		if b.quiet.Load() {
			done = nil
		}
		select {
		case <-b.gate:
			_, err := io.WriteString(w, `{"done":true}`)
			return err
		case <-done:
			return ctx.Err()
		}
	}
	return []boundary.Tool{
		b.tool("lookup", canonical.EffectRead, says(`{"success":true,"n":9007199254740993}`)),
		b.tool("pay", canonical.EffectWrite, says(`{"paid":true}`)),
		b.tool("decline", canonical.EffectWrite, says(`{"success":false,"reason":"limit"}`)),
		b.tool("mystery", canonical.EffectUnknown, says(`{"moved":1}`)),
		b.tool("null", canonical.EffectRead, says(`null`)),
		b.tool("empty", canonical.EffectRead, says(``)),
		b.tool("bytes", canonical.EffectRead, says("\x00\xff{not json")),
		b.tool("big", canonical.EffectRead, sized),
		b.tool("bigpay", canonical.EffectWrite, func(ctx context.Context, in boundary.Input, w io.Writer) error {
			_ = sized(ctx, in, w) // the effect has happened, whatever becomes of the result
			return nil
		}),
		b.tool("broken", canonical.EffectRead, func(context.Context, boundary.Input, io.Writer) error { return errors.New(toolSecret) }),
		b.tool("bounce", canonical.EffectWrite, func(context.Context, boundary.Input, io.Writer) error {
			return boundary.NotApplied("", errors.New(toolSecret))
		}),
		b.tool("lost", canonical.EffectWrite, func(context.Context, boundary.Input, io.Writer) error { return errors.New(toolSecret) }),
		b.tool("slow", canonical.EffectWrite, slow),
		b.tool("slowread", canonical.EffectRead, slow),
	}
}

// echoed shows a result as it is while it is short.
type echoed struct{}

func (echoed) Project(_ context.Context, in projector.Input) (projector.Projection, error) {
	text := fmt.Sprintf("%q", in.Raw)
	if len(in.Raw) > 1000 {
		text = fmt.Sprintf(`{"bytes":%d}`, len(in.Raw))
	}
	return projector.Projection{Result: []byte(text), Status: evidence.Found}, nil
}

var (
	scope      = canonical.Scope{Tenant: "acme", Owner: "agent", Namespace: "n"}
	serveScope = canonical.Scope{Tenant: "acme", Namespace: "serving"}
	someCaller = remote.Caller{Scope: serveScope, Principal: canonical.Principal{Connector: "agent-1"}}
)

func allowed(context.Context, remote.Caller, remote.Operation) error { return nil }

// rig is a server and a session with everything between.
type rig struct {
	t        *testing.T
	bench    *bench
	here     place
	there    place
	server   *remote.Server
	loop     *remotetest.Loopback
	session  *remote.Session
	boundary *boundary.ToolBoundary
	set      *boundary.Toolset
	run      *boundary.Run

	mu      sync.Mutex
	frames  []frame
	retains []boundary.Retained
}

type frame struct {
	method remote.Method
	dir    remotetest.Direction
	text   []byte
}

type rigOptions struct {
	server  func(*remote.ServerConfig)
	session func(*remote.SessionConfig)
	local   func(*boundary.Config)
	store   func(canonical.Store) canonical.Store // wraps the server's
	local2  func(canonical.Store) canonical.Store // wraps the session's
}

func newRig(t *testing.T, at func(*testing.T) place, o rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, bench: newBench(), here: at(t), there: at(t)}
	if o.store != nil {
		r.there.store = o.store(r.there.store)
	}
	if o.local2 != nil {
		r.here.store = o.local2(r.here.store)
	}
	r.server = r.serve(o.server)
	r.loop = remotetest.NewLoopback(r.server, someCaller, r.tap)
	cfg := boundary.Config{
		Store: r.here.store, Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true, Unknown: true}, Now: r.here.now,
		Codes: remote.OutcomeCodes(), OnRetained: func(_ context.Context, k boundary.Retained) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.retains = append(r.retains, k)
		},
	}
	if o.local != nil {
		o.local(&cfg)
	}
	var err error
	if r.boundary, err = boundary.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.boundary.Shutdown(context.Background()) })
	r.session = r.connect(o.session)
	r.set = r.toolset(r.session)
	r.run = r.open("")
	return r
}

func (r *rig) tap(m remote.Method, d remotetest.Direction, text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, frame{m, d, append([]byte(nil), text...)})
}

// sent counts the messages of a kind.
func (r *rig) sent(m remote.Method, d remotetest.Direction) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.frames {
		if f.method == m && f.dir == d {
			n++
		}
	}
	return n
}

func (r *rig) serverConfig() remote.ServerConfig {
	return remote.ServerConfig{
		PackageID: "bench", Tools: r.bench.tools(), Authorize: allowed,
		Boundary: boundary.Config{Store: r.there.store, Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true, Unknown: true}, Now: r.there.now},
	}
}

func (r *rig) serve(change func(*remote.ServerConfig)) *remote.Server {
	r.t.Helper()
	cfg := r.serverConfig()
	if change != nil {
		change(&cfg)
	}
	s, err := remote.NewServer(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func (r *rig) sessionConfig() remote.SessionConfig {
	return remote.SessionConfig{
		Transport: r.loop, Boundary: r.boundary, Store: r.here.store, Scope: scope, Package: r.server.Package(), Projector: echoed{},
	}
}

func (r *rig) connect(change func(*remote.SessionConfig)) *remote.Session {
	r.t.Helper()
	cfg := r.sessionConfig()
	if change != nil {
		change(&cfg)
	}
	s, err := remote.NewSession(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) toolset(s *remote.Session) *boundary.Toolset {
	r.t.Helper()
	tools, err := s.Tools(r.boundary)
	if err != nil {
		r.t.Fatal(err)
	}
	local := boundary.Tool{Name: "local", Effect: canonical.EffectRead, Projector: echoed{}, Executor: boundary.ExecutorFunc(says(`{}`))}
	set, err := boundary.NewToolset(r.boundary, append(tools, local)...)
	if err != nil {
		r.t.Fatal(err)
	}
	return set
}

func (r *rig) open(id canonical.RunID) *boundary.Run {
	r.t.Helper()
	run, err := r.boundary.OpenRun(r.t.Context(), boundary.RunSpec{ID: id, Scope: scope, Budget: boundary.Budget{Calls: 2000, PerTool: 2000}})
	if err != nil {
		r.t.Fatal(err)
	}
	return run
}

func (r *rig) call(id, tool, arguments string) boundary.Result {
	r.t.Helper()
	return r.callContext(r.t.Context(), id, tool, arguments)
}

func (r *rig) callContext(ctx context.Context, id, tool, arguments string) boundary.Result {
	return r.session.Dispatch(ctx, r.set, r.run, boundary.Call{ID: canonical.ToolCallID(id), Name: tool, Arguments: []byte(arguments)})[0]
}

func name(id string) canonical.CallName { return canonical.CallName{ID: canonical.ToolCallID(id)} }

func (r *rig) reconcile(id string) (remote.Reconciled, error) {
	return r.session.Reconcile(r.t.Context(), r.run.ID(), name(id))
}

// view is the session's one invocation of this id.
func (r *rig) view(id string) remote.Invocation {
	r.t.Helper()
	list := r.session.Inspect(name(id))
	if len(list) != 1 {
		r.t.Fatalf("the session has %d invocations of %s, want 1", len(list), id)
	}
	return list[0]
}

func (r *rig) record(id string) canonical.Record {
	r.t.Helper()
	rec, err := r.here.store.Record(r.t.Context(), r.run.Key(), name(id))
	if err != nil {
		r.t.Fatalf("the record of %s: %v", id, err)
	}
	return rec
}

func ready(t *testing.T, got boundary.Result, text string) {
	t.Helper()
	if got.Err != nil || got.Outcome.Text() != text {
		t.Fatalf("got %v, text %.200s, want READY with %s", got, got.Outcome.Text(), text)
	}
}

func failed(t *testing.T, got boundary.Result, code boundary.Code, x boundary.Execution) {
	t.Helper()
	if got.Outcome.Code() != code || got.Outcome.Execution() != x {
		t.Fatalf("got %v (%v), want %s, %s", got.Outcome, got.Err, code, x)
	}
}

// blocked checks the barrier: no call of the run is admitted, in this process or in
// another one, and nothing is sent.
func (r *rig) blocked() {
	r.t.Helper()
	before := r.sent(remote.MethodExecute, remotetest.Request)
	for i, tool := range []string{"lookup", "pay", "local"} {
		failed(r.t, r.call(fmt.Sprintf("blocked-%d-%d", before, i), tool, `{}`), "UNRESOLVED_EFFECT", boundary.NotStarted)
	}
	other, err := boundary.New(boundary.Config{Store: r.here.store, Authorizer: boundary.AllowAll{}, Now: r.here.now})
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = other.Shutdown(context.Background()) }()
	run, err := other.JoinRun(r.t.Context(), r.run.Ticket())
	if err != nil {
		r.t.Fatal(err)
	}
	env := boundary.Envelope{RunID: run.ID(), ToolCallID: "elsewhere", Tool: "local", Input: []byte(`{}`), Authorized: true, ReadOnly: true}
	got := other.Invoke(r.t.Context(), run, env, boundary.Action{Executor: boundary.ExecutorFunc(says("")), Projector: echoed{}})
	failed(r.t, got, "UNRESOLVED_EFFECT", boundary.NotStarted)
	open, err := r.run.Unresolved(r.t.Context())
	if err != nil || len(open) == 0 {
		r.t.Fatalf("unresolved: %v, %v, want the call", open, err)
	}
	if n := r.sent(remote.MethodExecute, remotetest.Request); n != before {
		r.t.Fatalf("%d messages were sent by calls that the barrier refuses", n-before)
	}
}

// free checks that the run admits calls.
func (r *rig) free(id string) {
	r.t.Helper()
	ready(r.t, r.call(id, "local", `{}`), `"{}"`)
}

func containsFold(text []byte, word string) bool {
	return strings.Contains(strings.ToLower(string(text)), strings.ToLower(word))
}
