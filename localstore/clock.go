package localstore

import (
	"sync"
	"time"
)

// clock is the store's time: what it is told, in whole milliseconds, and never
// earlier than it was before, also in an earlier process.
type clock struct {
	read func() time.Time

	mu   sync.Mutex
	high int64 // the latest time given out, in milliseconds since 1970
}

// now is the time that one message is judged by.
func (c *clock) now() time.Time {
	ms := c.read().UnixMilli()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.high = max(c.high, ms)
	return moment(c.high)
}

// reach makes the time at least what an earlier process had reached.
func (c *clock) reach(ms int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.high = max(c.high, ms)
}

// moment is the time of a stored number of milliseconds.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
