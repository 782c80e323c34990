package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
	"github.com/toolharness/harness/retrieval"
)

// deck is a fresh store with the handles that tests need beside the contract.
type deck struct {
	canonical.Store
	now     func() time.Time
	advance func(*testing.T, time.Duration)
	client  *redis.Client // nil: the store has no keys to alter
	handed  chan boundary.Retained
}

type scenario struct {
	name string
	run  func(*testing.T, *deck)
}

type backend struct {
	name  string
	start func(*testing.T) *deck
}

func backends() []backend {
	return append([]backend{{"fake", fakeDeck}}, keyed()...)
}

// keyed are the stores whose bytes can be altered from outside.
func keyed() []backend { return []backend{{"embedded", embeddedDeck}, {"redis", redisDeck}} }

func fakeDeck(*testing.T) *deck {
	clock := fakes.NewClock()
	return &deck{Store: fakes.NewStore(clock), now: clock.Now, advance: func(_ *testing.T, d time.Duration) { clock.Advance(d) }}
}

func embeddedDeck(t *testing.T) *deck {
	t.Helper()
	server, err := embedded.StartWith(embedded.Options{Frozen: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	return &deck{Store: server.Store(), now: server.Now, client: client, advance: func(_ *testing.T, d time.Duration) { server.Advance(d) }}
}

// redisDeck is a store on a redis-server, whose time cannot be moved: advance
// waits, so tests let no more than a second pass.
func redisDeck(t *testing.T) *deck {
	t.Helper()
	db := redistest.Shared(t)
	store, err := redisstore.Dial(t.Context(), db.URL(), nil)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &deck{Store: store, now: time.Now, client: db.Client(), advance: pass}
}

// pass waits for real time to pass, as a server's does.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d + 2*time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test ended while time passed")
	}
}

// onStores runs every scenario on every store: Test/redis/S34_...
func onStores(t *testing.T, stores []backend, scenarios []scenario) {
	t.Helper()
	t.Parallel()
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			if store.name == "redis" {
				redistest.Shared(t) // keeps the server running between subtests
			}
			for _, s := range scenarios {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.run(t, store.start(t))
				})
			}
		})
	}
}

// bench is a host: a boundary with one run, and a reader of its scope.
type bench struct {
	*retrieval.Reader
	t        *testing.T
	deck     *deck
	boundary *boundary.ToolBoundary
	run      *boundary.Run
}

func testScope() canonical.Scope {
	return canonical.Scope{Tenant: "acme", Owner: "ops", Namespace: "tests"}
}

func newBench(t *testing.T, d *deck) *bench {
	t.Helper()
	d.handed = make(chan boundary.Retained, 64)
	out := &bench{t: t, deck: d, boundary: newBoundary(t, d, canonical.Limits{}), Reader: reader(t, retrieval.Config{Store: d.Store})}
	out.run = out.open("run-1", testScope())
	return out
}

func newBoundary(t *testing.T, d *deck, limits canonical.Limits) *boundary.ToolBoundary {
	t.Helper()
	b, err := boundary.New(boundary.Config{
		Store: d.Store, Authorizer: boundary.AllowAll{}, Now: d.now, Limits: limits,
		Effects:    boundary.EffectPolicy{Write: true, Unknown: true},
		OnRetained: func(_ context.Context, r boundary.Retained) { d.handed <- r },
	})
	if err != nil {
		t.Fatalf("boundary: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = b.Shutdown(ctx)
	})
	return b
}

func reader(t *testing.T, c retrieval.Config) *retrieval.Reader {
	t.Helper()
	if c.Scope == (canonical.Scope{}) {
		c.Scope = testScope()
	}
	r, err := retrieval.New(c)
	if err != nil {
		t.Fatalf("retrieval.New: %v", err)
	}
	return r
}

func (b *bench) open(id canonical.RunID, scope canonical.Scope) *boundary.Run {
	b.t.Helper()
	run, err := b.boundary.OpenRun(b.t.Context(), boundary.RunSpec{
		ID: id, Scope: scope, Budget: boundary.Budget{Calls: 1000, PerTool: 1000},
		Principal: boundary.Principal{User: "eve", Account: "acc-7", Connector: "con-1"},
	})
	if err != nil {
		b.t.Fatalf("OpenRun: %v", err)
	}
	return run
}

// someArgs is what tools are called with; no list may show it.
const someArgs = `{"query":"argument-5c1e"}`

// tried is one call as a tool made it.
type tried struct {
	id, tool string
	raw      []byte
	effect   canonical.Effect
	fails    error // of the executor
	unclear  bool  // the projector fails, so the record is ERROR with its raw
}

// calls makes a call in a run.
func (b *bench) calls(run *boundary.Run, c tried) boundary.Result {
	b.t.Helper()
	if c.tool == "" {
		c.tool = "search"
	}
	if c.effect == "" {
		c.effect = canonical.EffectRead
	}
	return b.boundary.Invoke(b.t.Context(), run, boundary.Envelope{
		RunID: run.Key().Run, ToolCallID: canonical.ToolCallID(c.id), Tool: c.tool, Input: []byte(someArgs),
		Authorized: true, ReadOnly: c.effect.Read(),
	}, boundary.Action{
		Effect: c.effect,
		Executor: boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			if c.fails != nil {
				return c.fails
			}
			_, err := raw.Write(c.raw)
			return err
		}),
		Projector: projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			if c.unclear {
				return projector.Projection{}, errors.New("unreadable")
			}
			fact := evidence.NewFact(evidence.Subject{Kind: "result", ID: in.Tool}, "bytes", fmt.Sprint(len(in.Raw)))
			return projector.Projection{
				Result: fmt.Appendf(nil, "%d bytes", len(in.Raw)), Status: evidence.Found, Facts: []evidence.Fact{fact},
				Coverage: evidence.Searched(string(in.Request), "index"),
			}, nil
		}),
	})
}

// kept makes a call that returns raw, and is its reference.
func (b *bench) kept(run *boundary.Run, id, raw string) evidence.Reference {
	b.t.Helper()
	got := b.calls(run, tried{id: id, raw: []byte(raw)})
	ref, ok := got.Outcome.Reference()
	if got.Err != nil || !ok {
		b.t.Fatalf("call %s: %v, reference %t", id, got.Err, ok)
	}
	return ref
}

// settle stores the one result that the host was handed.
func (b *bench) settle() {
	b.t.Helper()
	if err := b.boundary.Settle(b.t.Context(), <-b.deck.handed); err != nil {
		b.t.Fatalf("Settle: %v", err)
	}
}

// named is the name of a call without a turn.
func named(id string) canonical.CallName {
	return canonical.CallName{ID: canonical.ToolCallID(id)}
}

// want fails unless err is one of this package's errors with that sentinel.
func want(t *testing.T, what string, err, sentinel error) *retrieval.Error {
	t.Helper()
	own := (*retrieval.Error)(nil)
	if !errors.Is(err, sentinel) || !errors.As(err, &own) {
		t.Errorf("%s: %v, want *retrieval.Error with %q", what, err, sentinel)
		return &retrieval.Error{}
	}
	return own
}

// readAll reads a whole view in chunks of at most max bytes.
func readAll(t *testing.T, r *retrieval.Reader, ref evidence.Reference, max int) string {
	t.Helper()
	var text strings.Builder
	view := ""
	for at := int64(0); at != retrieval.LastChunk; {
		c, err := r.Read(t.Context(), ref, retrieval.Part{Offset: at, Max: max, View: view})
		if err != nil {
			t.Fatalf("Read at %d: %v", at, err)
		}
		if max > 0 && len(c.Text) > max && len([]rune(c.Text)) != 1 {
			t.Fatalf("a chunk of %d bytes, at most %d were asked for", len(c.Text), max)
		}
		text.WriteString(c.Text)
		at, view = c.Next, c.ViewSHA256
		if at == retrieval.LastChunk && (int64(text.Len()) != c.ViewBytes || canonical.Body(text.String()).SHA256() != c.ViewSHA256) {
			t.Fatalf("chunks of %d give %d bytes with another digest, the view has %d", max, text.Len(), c.ViewBytes)
		}
	}
	return text.String()
}

func runSpec(id canonical.RunID, scope canonical.Scope) boundary.RunSpec {
	return boundary.RunSpec{ID: id, Scope: scope, Budget: boundary.Budget{Calls: 1000, PerTool: 1000}}
}

// shortLife is the life of the records of shortLived; a call alone may take nearly
// as long, so it cannot be less.
const shortLife = canonical.DueMargin + 1500*time.Millisecond

// shortLived is a host whose records live no longer than shortLife.
func shortLived(t *testing.T, b *bench, id canonical.RunID) *bench {
	t.Helper()
	short := *b
	short.boundary = newBoundary(t, b.deck, canonical.Limits{
		RecordTTL: shortLife, ToolTimeout: time.Second, ProjectorTimeout: 200 * time.Millisecond, ClosingTimeout: 200 * time.Millisecond,
	})
	spec := runSpec(id, testScope())
	spec.MaxDuration = 5 * time.Second
	var err error
	if short.run, err = short.boundary.OpenRun(t.Context(), spec); err != nil {
		t.Fatalf("OpenRun: %v", err)
	}
	return &short
}
