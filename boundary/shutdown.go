package boundary

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/toolharness/harness/canonical"
)

// Shutdown refuses new calls, waits for those in flight, settles what could not
// be stored before, and hands the observer its backlog. When ctx ends first, or
// something cannot be settled, it returns a [*ShutdownError] that lists what is
// left; nothing is dropped, and Shutdown may be called again.
func (b *ToolBoundary) Shutdown(ctx context.Context) error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.stopping)
	}
	b.mu.Unlock()
	var problems []error
	if err := b.drain(ctx); err != nil {
		problems = append(problems, err)
	}
	for _, r := range b.held() {
		if r.Reason == Late {
			continue
		}
		if err := b.Settle(ctx, r); err != nil {
			problems = append(problems, err)
		}
	}
	backlog := b.events.flush(ctx)
	if backlog != nil {
		problems = append(problems, backlog)
	}
	left := &ShutdownError{Open: b.openCalls(), Retained: b.held(), backlog: backlog != nil, causes: problems}
	if len(left.Open) == 0 && len(left.Retained) == 0 && len(problems) == 0 {
		return nil
	}
	return left
}

// ShutdownError is what a shutdown left behind.
type ShutdownError struct {
	Open     []canonical.Identity // calls still in flight
	Retained []Retained           // results that are in no store
	backlog  bool                 // the observer did not come to an end
	causes   []error
}

// Error counts what is left; the fields have the details.
func (e *ShutdownError) Error() string {
	text := fmt.Sprintf("boundary: shutdown left %d open calls and %d retained results", len(e.Open), len(e.Retained))
	if e.backlog {
		text += "; the observer has not taken its backlog"
	}
	return text
}

// Unwrap gives the reasons to errors.Is and errors.As.
func (e *ShutdownError) Unwrap() []error { return e.causes }

// Format prints Error() for every verb.
func (e *ShutdownError) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.Error()) }

// drain waits until nothing runs, or ctx ends.
func (b *ToolBoundary) drain(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.idle.Broadcast()
	})
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.running)+b.cleaning > 0 && ctx.Err() == nil {
		b.idle.Wait()
	}
	if len(b.running)+b.cleaning > 0 {
		return errors.Join(errors.New("boundary: calls still in flight"), ctx.Err())
	}
	return nil
}

func (b *ToolBoundary) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// enterRunning counts a call as in flight, unless the boundary was shut down.
func (b *ToolBoundary) enterRunning(c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.running[c] = struct{}{}
	return true
}

func (b *ToolBoundary) leaveRunning(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, c)
	b.idle.Broadcast()
}

// background runs f on a goroutine that Shutdown waits for.
func (b *ToolBoundary) background(f func()) {
	b.mu.Lock()
	b.cleaning++
	b.mu.Unlock()
	go func() {
		defer func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.cleaning--
			b.idle.Broadcast()
		}()
		f()
	}()
}

func (b *ToolBoundary) openCalls() []canonical.Identity {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]canonical.Identity, 0, len(b.running))
	for c := range b.running {
		list = append(list, c.identity)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Call.String() < list[j].Call.String() })
	return list
}

// held is every retained result, oldest admission first.
func (b *ToolBoundary) held() []Retained {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Retained, 0, len(b.retained))
	for entry := range b.retained {
		list = append(list, entry.copied())
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Seq < list[j].Seq })
	return list
}
