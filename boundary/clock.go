package boundary

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// runClock turns what the store said of its own time into a timer on ours. It
// counts from before the request was sent, so that it runs out a little early
// and never late; how far the two clocks are apart does not matter.
type runClock struct {
	anchor   time.Time // our clock before the request
	storeNow time.Time // the store's clock when it answered
	atAnchor time.Duration
}

func newRunClock(before, storeNow time.Time, left time.Duration) runClock {
	return runClock{anchor: before, storeNow: storeNow, atAnchor: left}
}

func (c runClock) left(now time.Time) time.Duration { return c.atAnchor - now.Sub(c.anchor) }

func (c runClock) storeTime(now time.Time) time.Time { return c.storeNow.Add(now.Sub(c.anchor)) }

// newSecret makes 128 random bits, for tokens and claims.
func newSecret() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}
