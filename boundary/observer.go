package boundary

import (
	"context"
	"sync"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/lifecycle"
)

// Observer is told of every call, one event each, in the order in which they
// ended. It runs beside the calls: a slow one delays only later events, a panic
// in it is caught, and events beyond a backlog of [MaxBacklog] are dropped and
// counted. [ToolBoundary.Shutdown] waits for the backlog.
type Observer interface {
	Observe(context.Context, Event)
}

// ObserverFunc lets a function be an [Observer].
type ObserverFunc func(context.Context, Event)

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// MaxBacklog is how many events may wait for a slow observer.
const MaxBacklog = 4096

// EventKind tells events apart.
type EventKind string

// The kinds.
const (
	EventReady    EventKind = "ready"    // the call is READY
	EventFailed   EventKind = "failed"   // admitted, and ended without a result
	EventRefused  EventKind = "refused"  // not let through; there is no record
	EventRetained EventKind = "retained" // a result is in the host's hands, not in the store
	EventAnswer   EventKind = "answer"   // the citations of a final answer were judged
)

// Event has identities, words, counts and times. It never has a body, an error
// text or a key.
type Event struct {
	Kind       EventKind
	Time       time.Time
	Identity   canonical.Identity // without the call where its id was malformed
	Seq        int64              // 0 for a refusal
	Tool       string             // empty where the name was malformed
	Code       lifecycle.Code     // empty when READY
	Execution  lifecycle.Execution
	Effect     canonical.Effect
	Evidence   evidence.Status
	Reason     RetainedReason // of EventRetained
	InputBytes int
	RawBytes   int64 // what the tool returned, kept or not; a lower bound where it was stopped at its limit
	TextBytes  int   // what the model got
	Took       Durations
	Findings   *findings.Event // what was said of its citations; nil where there were none
	Dropped    int             // events dropped before this one, because the observer was too slow
}

// Durations are the times of one call's steps, by Config.Now.
type Durations struct {
	Admit, Execute, Project, Complete time.Duration
}

// eventQueue hands events to the observer on one goroutine that lives only while
// there is something to hand over.
type eventQueue struct {
	observer Observer

	mu      sync.Mutex
	waiting []queued
	dropped int
	running bool
	empty   *sync.Cond
}

type queued struct {
	ctx   context.Context
	event Event
}

func newEventQueue(o Observer) *eventQueue {
	q := &eventQueue{observer: o}
	q.empty = sync.NewCond(&q.mu)
	return q
}

func (q *eventQueue) put(ctx context.Context, e Event) {
	if q.observer == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= MaxBacklog {
		q.dropped++
		return
	}
	e.Dropped, q.dropped = q.dropped, 0
	q.waiting = append(q.waiting, queued{context.WithoutCancel(ctx), e})
	if !q.running {
		q.running = true
		go q.drain()
	}
}

func (q *eventQueue) drain() {
	finished := false
	defer func() {
		if !finished { // the observer ended the goroutine with runtime.Goexit
			go q.drain()
		}
	}()
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.running, finished = false, true
			q.empty.Broadcast()
			q.mu.Unlock()
			return
		}
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.deliver(next)
	}
}

func (q *eventQueue) deliver(next queued) {
	defer func() { _ = recover() }()
	q.observer.Observe(next.ctx, next.event)
}

// flush waits until everything was handed over, or ctx ends.
func (q *eventQueue) flush(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.empty.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.running && ctx.Err() == nil {
		q.empty.Wait()
	}
	if q.running {
		return ctx.Err()
	}
	return nil
}
