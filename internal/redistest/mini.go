package redistest

import (
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// miniEpoch is the time every Mini starts at. It lies in the past on purpose: a
// store that compared a server's time with the clock of its own machine would
// be off by more than any tolerance.
const miniEpoch = "2024-02-29T12:00:00Z"

// MiniServer is a miniredis whose time stands still until Advance is called.
// All methods of miniredis are there too; its SetTime and FastForward are not
// to be mixed with Advance, because each of them moves only half of the time.
type MiniServer struct {
	*miniredis.Miniredis
	t      testing.TB
	client *redis.Client

	mu  sync.Mutex
	now time.Time
}

// Mini starts a miniredis for one test and closes it, and the clients taken
// from it, when the test ends.
func Mini(t testing.TB) *MiniServer {
	t.Helper()
	start, err := time.Parse(time.RFC3339, miniEpoch)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	m := &MiniServer{Miniredis: miniredis.RunT(t), t: t, now: start}
	m.SetTime(m.now)
	// With ClockTTL a relative TTL runs by the same clock as TIME and absolute
	// expiries do, so that SetTime alone moves all three in one step. SetTime
	// followed by FastForward would let a command in between see half a move.
	m.ClockTTL(true)
	m.client = newClient(&redis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = m.client.Close() })
	return m
}

// Advance moves TIME, absolute expiries and remaining lives forward by d, in
// one step for every client. A negative d fails the test: Redis has no answer
// for a key that expired and is asked again earlier.
func (m *MiniServer) Advance(d time.Duration) {
	m.t.Helper()
	if d < 0 {
		m.t.Fatalf("redistest: Advance(%v): time does not run backwards", d)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	m.SetTime(m.now)
}

// Now is the server's time, the one TIME answers.
func (m *MiniServer) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// URL is the address in the form redis.ParseURL takes.
func (m *MiniServer) URL() string { return "redis://" + m.Addr() + "/0" }

// Client is a client of this server with retries off, closed with the test.
func (m *MiniServer) Client() *redis.Client { return m.client }

// newClient switches retries off: a test that counts commands, or cuts a
// connection, must not be helped by a second attempt that nobody asked for.
// Deadlines of contexts reach the socket, which they do not by default.
func newClient(o *redis.Options) *redis.Client {
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	return redis.NewClient(o)
}
