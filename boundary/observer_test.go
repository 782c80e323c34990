package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

// refusals are the rows of the leak test that end before the tool, and without a
// record.
func refusals() []leakRow {
	var rows []leakRow
	for _, row := range leakRows() {
		if row.ran == lifecycle.NotStarted && !row.recorded && !row.looked {
			rows = append(rows, row)
		}
	}
	return rows
}

// troubled observers do not come back as they should.
var troubled = map[string]boundary.ObserverFunc{
	"panics":                 func(context.Context, boundary.Event) { panic(marker) },
	"ends its own goroutine": func(context.Context, boundary.Event) { runtime.Goexit() },
}

func TestObserver_refusals(t *testing.T) {
	t.Parallel()
	for _, row := range refusals() {
		t.Run(fmt.Sprintf("P38_one_event_for_%s_%s", row.code, row.name), func(t *testing.T) {
			t.Parallel()
			oneEvent(t, row)
		})
	}
	for how, observe := range troubled {
		t.Run("P38_an_observer_that_"+how, func(t *testing.T) {
			t.Parallel()
			notHurt(t, observe)
		})
	}
}

func TestObserver(t *testing.T) {
	onFake(t, []scenario{
		{"P38_an_observer_that_blocks", blockedObserver},
		{"events_in_the_order_of_the_calls", eventsInOrder},
		{"P38_backlog_is_bounded_and_what_is_dropped_counted", droppedEvents},
		{"Shutdown_hands_over_the_backlog", flushedEvents},
		{"context_has_the_callers_values_and_no_end", eventContext},
		{"no_observer", noObserver},
		{"every_field", eventFields},
		{"an_observer_that_calls_back", observerCallsBack},
	})
}

// oneEvent: a refused call is told once, with nothing of a record.
func oneEvent(t *testing.T, row leakRow) {
	p := newProbe(t, row.spec, row.config)
	got, _ := row.produce(p)
	_ = p.Shutdown(t.Context())
	var events []boundary.Event
	for _, e := range p.told() {
		if e.Code == row.code && e.Kind != boundary.EventRetained {
			events = append(events, e)
		}
	}
	if len(events) != 1 {
		t.Fatalf("%d events, want one: %+v", len(events), events)
	}
	e := events[0]
	kind := boundary.EventRefused
	if e.Seq > 0 { // admitted, then left by its caller or not closed
		kind = boundary.EventFailed
	}
	if e.Kind != kind || e.Execution != lifecycle.NotStarted || e.Evidence != evidence.Failed || e.RawBytes != 0 ||
		e.TextBytes != len(got.Outcome.Text()) || e.Took.Execute != 0 || e.Took.Project != 0 {
		t.Errorf("event %+v, want a %s without a result", e, kind)
	}
	if host, ok := errors.AsType[*boundary.Error](got.Err); !ok || e.Identity != host.Identity {
		t.Errorf("identity %+v, the error has %v", e.Identity, got.Err)
	}
	if e.Identity.Call != (canonical.CallName{}) && e.Identity.Call != named("c1") {
		t.Errorf("call %q, want c1 or none", e.Identity.Call)
	}
	if e.Tool != "" && e.Tool != someTool {
		t.Errorf("tool %q, want %q or none", e.Tool, someTool)
	}
}

func notHurt(t *testing.T, observe boundary.ObserverFunc) {
	told := make(chan boundary.Event, 9)
	b := newBench(t, fakeBackend().start(t), setup{config: boundary.Config{
		Observer: boundary.ObserverFunc(func(ctx context.Context, e boundary.Event) {
			told <- e
			observe(ctx, e)
		}),
	}})
	for i := range 3 {
		wantReady(t, b.read(fmt.Sprintf("c%d", i), says("1")), "seen: 1")
	}
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	for i := range 3 {
		if e := <-told; e.Identity.Call != named(fmt.Sprintf("c%d", i)) {
			t.Errorf("event %d is of %q", i, e.Identity.Call)
		}
	}
}

// gate is an observer that lets one event through at a time.
type gate struct {
	in   chan boundary.Event // an event that is being looked at
	pass chan struct{}
}

func newGate() gate { return gate{make(chan boundary.Event), make(chan struct{})} }

func (g gate) Observe(_ context.Context, e boundary.Event) {
	g.in <- e
	<-g.pass
}

func blockedObserver(t *testing.T, d *deck) {
	g := newGate()
	b := newBench(t, d, setup{config: boundary.Config{Observer: g}})
	wantReady(t, b.read("c1", says("1")), "seen: 1")
	<-g.in // blocked from here on
	wantReady(t, b.read("c2", says("2")), "seen: 2")
	if rec := b.record("c2"); rec.State != lifecycle.Ready {
		t.Errorf("state %s, want READY", rec.State)
	}
	g.pass <- struct{}{}
	if e := <-g.in; e.Identity.Call != named("c2") || e.Dropped != 0 {
		t.Errorf("then %+v, want the event of c2", e)
	}
	g.pass <- struct{}{}
}

func eventsInOrder(t *testing.T, d *deck) {
	var got []canonical.CallName
	b := newBench(t, d, setup{
		spec: boundary.RunSpec{Budget: canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited}},
		config: boundary.Config{Observer: boundary.ObserverFunc(func(_ context.Context, e boundary.Event) {
			got = append(got, e.Identity.Call) // one goroutine at a time, or the race detector says so
		})},
	})
	const calls = 50
	for i := range calls {
		b.read(fmt.Sprintf("c%d", i), says("1"))
	}
	if err := b.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
	if len(got) != calls {
		t.Fatalf("%d events, want %d", len(got), calls)
	}
	for i, call := range got {
		if call != named(fmt.Sprintf("c%d", i)) {
			t.Errorf("event %d is of %q", i, call)
		}
	}
}

func droppedEvents(t *testing.T, d *deck) {
	g := newGate()
	b := newBench(t, d, setup{config: boundary.Config{Observer: g}})
	refuse := func() { b.read("not an id", says("1")) }
	refuse()
	<-g.in // one at the observer; a whole backlog fits behind it
	const over = 7
	for range boundary.MaxBacklog + over {
		refuse()
	}
	g.pass <- struct{}{}
	for i := range boundary.MaxBacklog {
		if e := <-g.in; e.Dropped != 0 {
			t.Fatalf("event %d says that %d before it were dropped", i, e.Dropped)
		}
		g.pass <- struct{}{}
	}
	refuse()
	if e := <-g.in; e.Dropped != over {
		t.Errorf("the next event says that %d were dropped, want %d", e.Dropped, over)
	}
	g.pass <- struct{}{}
	refuse()
	if e := <-g.in; e.Dropped != 0 {
		t.Errorf("the event after it says that %d were dropped, want none", e.Dropped)
	}
	g.pass <- struct{}{}
}

func flushedEvents(t *testing.T, d *deck) {
	g := newGate()
	b := newBench(t, d, setup{config: boundary.Config{Observer: g}})
	for i := range 3 {
		b.read(fmt.Sprintf("c%d", i), says("1"))
	}
	<-g.in
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err := b.Shutdown(gone)
	var left *boundary.ShutdownError
	if !errors.As(err, &left) || !errors.Is(err, context.Canceled) {
		t.Fatalf("Shutdown with a blocked observer: %v, want a *ShutdownError that is context.Canceled", err)
	}
	if len(left.Open) != 0 || len(left.Retained) != 0 {
		t.Errorf("left %v and %v, want nothing but the backlog", left.Open, left.Retained)
	}
	done := make(chan error, 1)
	go func() { done <- b.Shutdown(t.Context()) }()
	for range 2 {
		g.pass <- struct{}{}
		<-g.in
	}
	select {
	case err := <-done:
		t.Fatalf("Shutdown came back (%v) while an event was being looked at", err)
	default:
	}
	g.pass <- struct{}{}
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func eventContext(t *testing.T, d *deck) {
	type key struct{}
	contexts := make(chan context.Context, 1)
	b := newBench(t, d, setup{config: boundary.Config{
		Observer: boundary.ObserverFunc(func(ctx context.Context, _ boundary.Event) { contexts <- ctx }),
	}})
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
	b.Invoke(ctx, b.run, b.envelope("c1"), reading(says("1")))
	cancel()
	got := <-contexts
	if got.Value(key{}) != "trace" || got.Err() != nil {
		t.Errorf("value %v, error %v, want the caller's value and no end", got.Value(key{}), got.Err())
	}
}

func noObserver(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantReady(t, b.read("c1", says("1")), "seen: 1")
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// eventFields compares whole events.
func eventFields(t *testing.T, _ *deck) {
	p := newProbe(t, boundary.RunSpec{}, nil)
	id := func(call string) canonical.Identity {
		return canonical.Identity{RunKey: p.run.Key(), Call: named(call)}
	}
	ready := p.read("c1", says("12345"))
	failed := p.write("c2", fails(errors.New("x")))
	p.faulty.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
	if err := p.run.Resolve(t.Context(), named("c2"), canonical.Applied, "seen by hand"); err != nil {
		t.Fatal(err)
	}
	kept := p.read("c3", says("123"))
	p.faulty.Heal(fakes.MethodComplete)
	small := reading(says("12345"))
	small.MaxRawBytes = 4
	large := p.Invoke(t.Context(), p.run, p.envelope("c4"), small)
	_ = p.Shutdown(t.Context())
	want := []boundary.Event{
		{Kind: boundary.EventReady, Identity: id("c1"), Seq: 1, Tool: someTool, Execution: lifecycle.Completed,
			Effect: canonical.EffectRead, Evidence: evidence.Found, InputBytes: len(someArgs), RawBytes: 5, TextBytes: len(ready.Outcome.Text())},
		{Kind: boundary.EventFailed, Identity: id("c2"), Seq: 2, Tool: someTool, Code: lifecycle.OutcomeUnknown, Execution: lifecycle.Unknown,
			Effect: canonical.EffectWrite, Evidence: evidence.Failed, InputBytes: len(someArgs), TextBytes: len(failed.Outcome.Text())},
		{Kind: boundary.EventRetained, Identity: id("c3"), Seq: 3, Tool: someTool, Reason: boundary.NotStored, Execution: lifecycle.Completed,
			RawBytes: 3},
		{Kind: boundary.EventFailed, Identity: id("c3"), Seq: 3, Tool: someTool, Code: lifecycle.ResultNotStored, Execution: lifecycle.Completed,
			Effect: canonical.EffectRead, Evidence: evidence.Failed, InputBytes: len(someArgs), RawBytes: 3, TextBytes: len(kept.Outcome.Text())},
		{Kind: boundary.EventFailed, Identity: id("c4"), Seq: 4, Tool: someTool, Code: lifecycle.ResultTooLarge, Execution: lifecycle.Completed,
			Effect: canonical.EffectRead, Evidence: evidence.Failed, InputBytes: len(someArgs), RawBytes: 5, TextBytes: len(large.Outcome.Text())},
	}
	got := p.told()
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		want[i].Time = p.deck.now() // a clock that stands still; so all durations are zero
		if got[i] != want[i] {
			t.Errorf("event %d\n%+v, want\n%+v", i, got[i], want[i])
		}
	}
}

// observerCallsBack: what is observed may lead to another call; the queue holds
// no lock meanwhile.
func observerCallsBack(t *testing.T, d *deck) {
	var b *bench
	again := make(chan boundary.Result, 1)
	once := true
	b = newBench(t, d, setup{config: boundary.Config{Observer: boundary.ObserverFunc(func(context.Context, boundary.Event) {
		if once {
			once = false
			again <- b.read("c2", says("2"))
		}
	})}})
	wantReady(t, b.read("c1", says("1")), "seen: 1")
	select {
	case got := <-again:
		wantReady(t, got, "seen: 2")
	case <-time.After(10 * time.Second):
		t.Fatal("a call from inside the observer hangs")
	}
}
