package boundary

import (
	"context"
	"sync"
)

// turn is one model message on its way: its calls run beside each other as far as
// they may, and share trips to the store where they are ready together.
//
//	Dispatch ── room for n reads ──► wave ── one trip admits them, in their order
//	                                  │
//	                                  └─ bodies, each on its own ──► gathering ── one trip
//	                                                                 ends who is ready
type turn struct {
	sent    <-chan struct{} // closed when the last wave is on its way to the store
	endings *gathering

	mu        sync.Mutex
	changed   *sync.Cond
	free      int // how many calls more may run
	all       int // how many may run at once
	finishing int // of those that run: ended in the store, and about to make room
}

func newTurn(b *ToolBoundary) *turn {
	none := make(chan struct{})
	close(none)
	t := &turn{sent: none, free: b.parallel, all: b.parallel}
	t.changed = sync.NewCond(&t.mu)
	t.endings = &gathering{b: b, finish: t.finish}
	return t
}

// room waits until one more call may run, and answers how many may, up to most.
// Their places are taken. Calls that ended together make room together: it waits
// for all of them, so that those who follow start as one wave.
func (t *turn) room(most int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.free == 0 || t.finishing > 0 {
		t.changed.Wait()
	}
	n := min(most, t.free)
	t.free -= n
	return n
}

// finish says that so many calls have ended in the store.
func (t *turn) finish(calls int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finishing += calls
}

// leave makes room. finished says whether the call was counted by finish.
func (t *turn) leave(finished bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	if finished {
		t.finishing--
	}
	t.changed.Broadcast()
}

// wait comes back when no call runs.
func (t *turn) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.free < t.all {
		t.changed.Wait()
	}
}

// start lets calls that have room run as one wave, each on a goroutine of its own.
func (t *turn) start(ctx context.Context, calls []*call, results []Result) {
	w := newWave(t.sent, len(calls))
	t.sent = w.sent
	t.endings.expect(len(calls))
	for i, c := range calls {
		results[i] = unanswered(c)
		c.wave, c.endings, c.position = w, t.endings, i
		go func() {
			defer func() { t.leave(c.finished) }()
			defer c.endings.leave(c)
			results[i] = c.b.invoke(ctx, c)
		}()
	}
}
