package boundary_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// deck is a fresh store with the handles that tests need beside the contract.
type deck struct {
	canonical.Store
	now     func() time.Time                               // the clock of the processes that use the store
	advance func(*testing.T, time.Duration)                // lets the store's time pass; a real server is waited for
	direct  bool                                           // without a faulty store in front, which takes no batches
	soon    time.Duration                                  // what a deadline may be that a few calls must meet, however busy the machine is
	keys    func(*testing.T, ...canonical.RunKey) []string // what is kept of the runs, by name
}

// behind is the same store behind something that a test puts before it.
func (d *deck) behind(s canonical.Store) *deck {
	front := *d
	front.Store = s
	return &front
}

// backend is one kind of store.
type backend struct {
	name  string
	start func(*testing.T) *deck
}

func fakeBackend() backend {
	return backend{"fake", func(*testing.T) *deck {
		clock := fakes.NewClock()
		store := fakes.NewStore(clock)
		return &deck{
			Store:   store,
			now:     clock.Now,
			advance: func(_ *testing.T, d time.Duration) { clock.Advance(d) },
			soon:    time.Second,
			keys: func(_ *testing.T, runs ...canonical.RunKey) []string {
				var names []string
				for _, run := range runs {
					for _, entry := range store.Entries(run) {
						names = append(names, string(run.Run)+" "+entry.Name)
					}
				}
				return names
			},
		}
	}}
}

// scenario is one row of docs/scenarios.md, or several, on a fresh store.
type scenario struct {
	name string
	run  func(*testing.T, *deck)
}

// onStores runs every scenario on every one of the stores.
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

// onFake runs scenarios in which the kind of the store plays no part.
func onFake(t *testing.T, scenarios []scenario) {
	t.Helper()
	onStores(t, []backend{fakeBackend()}, scenarios)
}

// marker stands in every error of the faulty stores; no model may ever see it.
const marker = "marker-5d0c1b"

// setup is what a bench differs in from the usual one: one open run of tenant
// acme with default limits and budgets, on a boundary that admits any effect.
type setup struct {
	config boundary.Config
	spec   boundary.RunSpec
}

// bench is one process: a boundary on a store that can be made to fail, with one
// run, and all that its host was told.
type bench struct {
	*boundary.ToolBoundary
	t      *testing.T
	deck   *deck
	faulty *fakes.Faulty
	run    *boundary.Run

	mu       sync.Mutex
	retained []boundary.Retained
	handed   chan boundary.Retained
}

func anyEffect() boundary.EffectPolicy { return boundary.EffectPolicy{Write: true, Unknown: true} }

func testScope() canonical.Scope {
	return canonical.Scope{Tenant: "acme", Owner: "ops", Namespace: "tests"}
}

// process starts a process on the deck's store, without a run and with the
// configuration's own effect policy.
func process(t *testing.T, d *deck, config boundary.Config) *bench {
	t.Helper()
	b := &bench{t: t, deck: d, faulty: fakes.NewFaulty(d.Store, marker), handed: make(chan boundary.Retained, 64)}
	if config.Store == nil {
		config.Store = b.faulty
		if d.direct {
			config.Store = d.Store
		}
	}
	if config.Authorizer == nil {
		config.Authorizer = boundary.AllowAll{}
	}
	if config.Now == nil {
		config.Now = d.now
	}
	if config.OnRetained == nil {
		config.OnRetained = b.take
	}
	var err error
	if b.ToolBoundary, err = boundary.New(config); err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(leave(b.ToolBoundary))
	return b
}

// leave ends a process with its test. What it says is left is what many tests
// are about; only what it still does must end.
func leave(b *boundary.ToolBoundary) func() {
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = b.Shutdown(ctx)
	}
}

func (b *bench) take(_ context.Context, r boundary.Retained) {
	b.mu.Lock()
	b.retained = append(b.retained, r)
	b.mu.Unlock()
	b.handed <- r
}

// taken is what the host was handed so far.
func (b *bench) taken() []boundary.Retained {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.retained)
}

func newBench(t *testing.T, d *deck, s setup) *bench {
	t.Helper()
	s.config.Effects = anyEffect()
	b := process(t, d, s.config)
	b.run = b.open(s.spec)
	return b
}

func (b *bench) open(spec boundary.RunSpec) *boundary.Run {
	b.t.Helper()
	if spec.Scope == (canonical.Scope{}) {
		spec.Scope = testScope()
	}
	run, err := b.OpenRun(b.t.Context(), spec)
	if err != nil {
		b.t.Fatalf("OpenRun: %v", err)
	}
	return run
}

// joined is another process in the same run.
func (b *bench) joined(config boundary.Config) *bench {
	b.t.Helper()
	config.Effects = anyEffect()
	other := process(b.t, b.deck, config)
	var err error
	if other.run, err = other.JoinRun(b.t.Context(), b.run.Ticket()); err != nil {
		b.t.Fatalf("JoinRun: %v", err)
	}
	return other
}

const (
	someArgs = `{"q":"x"}`
	someTool = "search"
)

// envelope is a call that nothing is wrong with.
func (b *bench) envelope(id string) boundary.Envelope {
	return boundary.Envelope{
		RunID: b.run.ID(), ToolCallID: canonical.ToolCallID(id), Tool: someTool,
		Input: []byte(someArgs), Authorized: true, ReadOnly: true,
	}
}

// read invokes an executor as a tool that reads.
func (b *bench) read(id string, e boundary.Executor) boundary.Result {
	b.t.Helper()
	return b.Invoke(b.t.Context(), b.run, b.envelope(id), reading(e))
}

// write invokes an executor as a tool that writes.
func (b *bench) write(id string, e boundary.Executor) boundary.Result {
	b.t.Helper()
	return b.Invoke(b.t.Context(), b.run, b.writeEnvelope(id), writing(e))
}

func (b *bench) writeEnvelope(id string) boundary.Envelope {
	env := b.envelope(id)
	env.ReadOnly = false
	return env
}

// reading and writing are actions whose agent result is "seen: " and the raw.
func reading(e boundary.Executor) boundary.Action {
	return boundary.Action{Executor: e, Projector: seen(), Effect: canonical.EffectRead}
}

func writing(e boundary.Executor) boundary.Action {
	return boundary.Action{Executor: e, Projector: seen(), Effect: canonical.EffectWrite}
}

func seen() projector.Projector {
	return projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		return projector.Projection{
			Result: append([]byte("seen: "), in.Raw...), Status: evidence.Found,
			Facts: []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "result"}, "is", string(in.Raw))},
		}, nil
	})
}

// body is an executor that counts how often it was entered.
type body struct {
	entered atomic.Int64
	do      boundary.ExecutorFunc
}

// Execute implements [boundary.Executor].
func (b *body) Execute(ctx context.Context, in boundary.Input, raw io.Writer) error {
	b.entered.Add(1)
	return b.do(ctx, in, raw)
}

func (b *body) entries() int64 { return b.entered.Load() }

// says is a body that returns text.
func says(text string) *body {
	return &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		_, err := io.WriteString(raw, text)
		return err
	}}
}

// fails is a body that returns err.
func fails(err error) *body {
	return &body{do: func(context.Context, boundary.Input, io.Writer) error { return err }}
}

// held is a body that waits for release, whatever its context says, and then
// returns text.
type held struct {
	body
	in      chan struct{} // closed when it was entered
	release func()
	out     chan struct{} // closed when it returns
}

func holds(t *testing.T, text string) *held {
	open, once := make(chan struct{}), sync.Once{}
	h := &held{in: make(chan struct{}), out: make(chan struct{}), release: func() { once.Do(func() { close(open) }) }}
	h.do = func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		defer close(h.out)
		close(h.in)
		<-open
		_, err := io.WriteString(raw, text)
		return err
	}
	t.Cleanup(h.release)
	return h
}

// async invokes in a goroutine of its own.
func (b *bench) async(ctx context.Context, env boundary.Envelope, a boundary.Action) <-chan boundary.Result {
	result := make(chan boundary.Result, 1)
	go func() { result <- b.Invoke(ctx, b.run, env, a) }()
	return result
}

// named is the name of a call without a turn.
func named(id string) canonical.CallName { return inTurn("", id) }

func inTurn(turn canonical.Turn, id string) canonical.CallName {
	return canonical.CallName{Turn: turn, ID: canonical.ToolCallID(id)}
}

// record is the stored record of a call, past all faults.
func (b *bench) record(id string) canonical.Record {
	b.t.Helper()
	return b.recordOf(named(id))
}

func (b *bench) recordOf(call canonical.CallName) canonical.Record {
	b.t.Helper()
	rec, err := b.deck.Record(b.t.Context(), b.run.Key(), call)
	if err != nil {
		b.t.Fatalf("Record %s: %v", call, err)
	}
	return rec
}

// noRecord checks that a call has left no record, and the run no admission more
// than before.
func (b *bench) noRecord(id string, admitted int64) {
	b.t.Helper()
	if _, err := b.deck.Record(b.t.Context(), b.run.Key(), named(id)); !errors.Is(err, canonical.ErrMissing) {
		b.t.Errorf("record of %s: %v, want ErrMissing", id, err)
	}
	if got := b.state().LastSeq; got != admitted {
		b.t.Errorf("%d admissions, want %d", got, admitted)
	}
}

func (b *bench) state() canonical.RunState {
	b.t.Helper()
	state, err := b.deck.Inspect(b.t.Context(), b.run.Key())
	if err != nil {
		b.t.Fatalf("Inspect: %v", err)
	}
	return state
}

// settlement is what became known of a call after its end.
func (b *bench) settlement(id string) canonical.Settlement {
	b.t.Helper()
	s, err := b.deck.SettlementOf(b.t.Context(), b.run.Key(), named(id))
	if err != nil {
		b.t.Fatalf("SettlementOf %s: %v", id, err)
	}
	return s
}

// wantReady checks a result that is READY with text.
func wantReady(t *testing.T, got boundary.Result, text string) {
	t.Helper()
	if got.Err != nil || got.Outcome.IsError() {
		t.Fatalf("outcome %v, error %v, want READY", got.Outcome, got.Err)
	}
	if got.Outcome.Text() != text {
		t.Errorf("text %q, want %q", got.Outcome.Text(), text)
	}
	if got.Outcome.Execution() != lifecycle.Completed || got.Outcome.Code() != "" {
		t.Errorf("execution %s, code %q, want completed and none", got.Outcome.Execution(), got.Outcome.Code())
	}
}

// wantFailed checks a result that is not READY: both faces have the code and say
// the same about the tool, and the model's has the constant text.
func wantFailed(t *testing.T, got boundary.Result, code lifecycle.Code, x lifecycle.Execution) *boundary.Error {
	t.Helper()
	if got.Outcome.Code() != code || got.Outcome.Execution() != x || !got.Outcome.IsError() || got.Outcome.Evidence() != evidence.Failed {
		t.Fatalf("outcome %v, error %v, want ERROR %s, ran: %s", got.Outcome, got.Err, code, x.Ran())
	}
	host, ok := errors.AsType[*boundary.Error](got.Err)
	if !ok || host.Code != code || host.Execution != x {
		t.Fatalf("error %v, want a *boundary.Error with %s, ran: %s", got.Err, code, x.Ran())
	}
	if info, builtin := code.Info(); builtin {
		want := `{"error":{"code":"` + string(code) + `","message":"` + info.Message + `","ran":"` + x.Ran() + `"}}`
		if got.Outcome.Text() != want {
			t.Errorf("text %s, want %s", got.Outcome.Text(), want)
		}
	}
	return host
}

// wantEntered checks the tool's own count.
func wantEntered(t *testing.T, b *body, want int64) {
	t.Helper()
	if got := b.entries(); got != want {
		t.Errorf("body entered %d times, want %d", got, want)
	}
}

// wantMet checks that every fault of the bench has happened.
func (b *bench) wantMet() {
	b.t.Helper()
	if unused := b.faulty.Unused(); len(unused) > 0 {
		b.t.Errorf("faults that no call met: %v", unused)
	}
}
