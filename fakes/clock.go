package fakes

import (
	"sync"
	"time"
)

// Epoch is where a new clock stands. It lies in the past on purpose: code that
// asks the machine's clock behind the test's back is off by years, not by
// milliseconds.
func Epoch() time.Time { return time.Date(2024, time.February, 29, 12, 0, 0, 0, time.UTC) }

// Clock is a time that moves only when told. It is safe for concurrent use. The
// method value clock.Now fits everywhere a func() time.Time is asked for.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at [Epoch].
func NewClock() *Clock { return &Clock{now: Epoch()} }

// Now is the time that the clock shows, in UTC.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d. A negative d moves it back, as it happens to
// machines whose clock is corrected.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
