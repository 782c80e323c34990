package demo

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// together lets the tools of one message meet, which shows two things that nobody could tell from their results: each
// waits inside its body until all of them are in theirs, so they run beside each other; and each leaves only after the one
// that was asked behind it, so they end in the reverse of the order asked and the answers had to be put in order again.
type together struct {
	patience time.Duration // for which a tool waits for the others, in a demo once and no more

	mu     sync.Mutex
	rooms  map[canonical.Turn]*room
	missed bool // somebody waited in vain; from then on nobody waits
	giveUp chan struct{}
}

// room is where the calls of one message meet.
type room struct {
	names []canonical.CallName // in the order asked
	in    int
	all   chan struct{}   // closed when all are in
	left  []chan struct{} // closed when the call at that place has left
	ended []canonical.CallName
}

func newTogether(all []message, patience time.Duration) *together {
	t := &together{patience: patience, rooms: map[canonical.Turn]*room{}, giveUp: make(chan struct{})}
	for _, m := range all {
		r := &room{all: make(chan struct{})}
		for i := range m.searches {
			r.names, r.left = append(r.names, m.name(i)), append(r.left, make(chan struct{}))
		}
		t.rooms[m.turn] = r
	}
	return t
}

// around lets a tool take part. Calls without a turn, or of a turn that has no message, just run.
func (t *together) around(x boundary.Executor) boundary.Executor { return meeting{x, t} }

type meeting struct {
	boundary.Executor
	together *together
}

// CheckArguments passes the question on: a wrapper must not lose the tool's own check.
func (m meeting) CheckArguments(arguments []byte) error {
	if checker, ok := m.Executor.(boundary.ArgumentChecker); ok {
		return checker.CheckArguments(arguments)
	}
	return nil
}

// Execute waits for the others, runs the tool, and waits for those asked behind it.
func (m meeting) Execute(ctx context.Context, in boundary.Input, raw io.Writer) error {
	r := m.together.rooms[in.Identity.Call.Turn]
	if r == nil {
		return m.Executor.Execute(ctx, in, raw)
	}
	place := slices.Index(r.names, in.Identity.Call)
	if place < 0 {
		return m.Executor.Execute(ctx, in, raw)
	}
	m.together.enter(ctx, r)
	defer m.together.leave(ctx, r, place)
	return m.Executor.Execute(ctx, in, raw)
}

func (t *together) enter(ctx context.Context, r *room) {
	t.mu.Lock()
	if r.in++; r.in == len(r.names) {
		close(r.all)
	}
	t.mu.Unlock()
	t.wait(ctx, r.all)
}

func (t *together) leave(ctx context.Context, r *room, place int) {
	if place+1 < len(r.left) {
		t.wait(ctx, r.left[place+1])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r.ended = append(r.ended, r.names[place])
	if !slices.Contains(r.ended[:len(r.ended)-1], r.names[place]) { // a tool that is entered twice leaves twice
		close(r.left[place])
	}
}

func (t *together) wait(ctx context.Context, until <-chan struct{}) {
	timer := time.NewTimer(t.patience)
	defer timer.Stop()
	select {
	case <-until:
	case <-ctx.Done():
	case <-t.giveUp:
	case <-timer.C:
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.missed {
			t.missed = true
			close(t.giveUp)
		}
	}
}

// met reports whether all calls of a message were inside their tools at once, and in which order they left.
func (t *together) met(turn canonical.Turn) (atOnce bool, ended []canonical.CallName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[turn]
	return !t.missed && r.in == len(r.names), slices.Clone(r.ended)
}
