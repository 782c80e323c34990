package proxy

import (
	"sync"
	"time"
)

// Part of a script's message.
type Part string

// The parts. A bare script has only the first.
const (
	PartScript  Part = ""        // EVALSHA or EVAL
	PartPayload Part = "payload" // HSET in the same transaction
	PartExec    Part = "exec"    // EXEC of it
)

// Place is where on its way a message is struck.
type Place string

// The places. After and InReply of a script in a transaction are those of the
// reply to EXEC.
const (
	Before    Place = "before"     // nothing of it has reached the server
	InRequest Place = "in request" // in the middle of a bulk string
	After     Place = "after"      // the server has done it, nothing of the reply has come back
	InReply   Place = "in reply"   // in the middle of a bulk string of the reply
)

// Kind is what happens at the place.
type Kind string

// The kinds.
const (
	Pass     Kind = ""          // nothing; Do alone
	Cut      Kind = "cut"       // both connections are closed
	Slow     Kind = "slow"      // it goes on after Delay
	HalfOpen Kind = "half open" // the connection stays, and nothing passes it any more
)

// Always is for Fault.Times: every matching message from the Nth on.
const Always = -1

// Fault says which message is spoiled, and how.
type Fault struct {
	Script string // the script's name
	Part   Part   // of its request; the reply has none
	Place  Place
	Kind   Kind
	Delay  time.Duration // of Slow
	Do     func()        // runs at the place first, once for each strike; may be nil
	Nth    int           // the first message that is struck; 0 means 1
	Times  int           // how many from there on; 0 means 1
	Seed   uint64        // chooses where a bulk is cut
}

func (f Fault) reply() bool { return f.Place == After || f.Place == InReply }

// matches reports whether the fault is about this command of the unit.
func (f Fault) matches(u *unit, c *command) bool {
	inside := u.carries(f.Script)
	switch {
	case !inside:
		return false
	case f.reply():
		return c == u.last()
	case f.Part == PartPayload:
		return u.transaction() && c.verb == "HSET"
	case f.Part == PartExec:
		return u.transaction() && c.verb == "EXEC"
	default:
		return c.script == f.Script
	}
}

// Trap is an armed fault.
type Trap struct {
	fault Fault

	mu    sync.Mutex
	seen  int
	fired int
	off   bool
}

// Fired is how often the fault has struck.
func (t *Trap) Fired() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fired
}

// Seen is how many messages matched, struck or not.
func (t *Trap) Seen() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// Disarm lets everything through from now on.
func (t *Trap) Disarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.off = true
}

// take counts a matching message and reports whether it is to be struck.
func (t *Trap) take() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen++
	first, times := max(t.fault.Nth, 1), t.fault.Times
	if times == 0 {
		times = 1
	}
	if t.off || t.seen < first || times > 0 && t.seen >= first+times {
		return false
	}
	t.fired++
	return true
}
