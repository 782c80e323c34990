package boundary

import (
	"context"
	"sync"
	"time"

	"github.com/toolharness/harness/canonical"
)

// gatherFor is how long the first ending waits for others of its message. It is a
// little more than a trip takes, and little beside what a tool takes.
const gatherFor = 2 * time.Millisecond

// gathering lets the endings of one message share a trip: those that are ready
// together. It sends when no call of the message runs any more, or gatherFor after
// the first one came. A slow call holds nobody up.
type gathering struct {
	b      *ToolBoundary
	finish func(calls int) // told of calls that were ended, before they are

	mu      sync.Mutex
	busy    int // calls that may still bring an ending
	waiting []*endingInLine
	timer   *time.Timer // runs while somebody waits
}

type endingInLine struct {
	ctx     context.Context
	message canonical.Ending
	answer  chan canonical.EndAnswer // has room for the one that comes
}

// expect announces calls.
func (g *gathering) expect(calls int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy += calls
}

// leave says that the call will bring no ending, or none again.
func (g *gathering) leave(c *call) {
	if c.gathered {
		return
	}
	c.gathered = true
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	if ready := g.takeIf(g.busy == 0); ready != nil {
		go g.send(ready)
	}
}

// complete delivers the call's ending with those that are ready at the same time.
func (g *gathering) complete(ctx context.Context, c *call, message canonical.Ending) (canonical.Ended, error) {
	own := &endingInLine{ctx: ctx, message: message, answer: make(chan canonical.EndAnswer, 1)}
	c.gathered = true
	g.mu.Lock()
	g.waiting = append(g.waiting, own)
	g.busy--
	ready := g.takeIf(g.busy == 0)
	if ready == nil && len(g.waiting) == 1 {
		g.timer = time.AfterFunc(gatherFor, g.flush)
	}
	g.mu.Unlock()
	g.send(ready)
	got := <-own.answer
	c.finished = got.Err == nil
	return got.Ended, got.Err
}

func (g *gathering) flush() {
	g.mu.Lock()
	ready := g.takeIf(true)
	g.mu.Unlock()
	g.send(ready)
}

// takeIf takes everybody who waits. The caller holds the lock.
func (g *gathering) takeIf(now bool) []*endingInLine {
	if !now || len(g.waiting) == 0 {
		return nil
	}
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	ready := g.waiting
	g.waiting = nil
	return ready
}

// send delivers the endings and answers everybody.
func (g *gathering) send(ready []*endingInLine) {
	if len(ready) == 0 {
		return
	}
	answers := g.deliver(ready)
	ended := 0
	for _, answer := range answers {
		if answer.Err == nil {
			ended++
		}
	}
	g.finish(ended)
	for i, e := range ready {
		e.answer <- answers[i]
	}
}

func (g *gathering) deliver(ready []*endingInLine) []canonical.EndAnswer {
	if len(ready) == 1 {
		ended, err := g.b.store.Complete(ready[0].ctx, ready[0].message)
		return []canonical.EndAnswer{{Ended: ended, Err: err}}
	}
	messages := make([]canonical.Ending, len(ready))
	for i, e := range ready {
		messages[i] = e.message
	}
	return eachOne(messages, g.b.batches.CompleteBatch(ready[0].ctx, messages), canonical.EndAnswer{Err: errShortAnswer})
}
