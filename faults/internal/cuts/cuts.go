// Package cuts breaks connections from inside the client: a net.Conn that loses
// a request, loses a reply, or stops in the middle of a request, at random.
//
// The server sees what it would see of a broken network: nothing, a whole
// request whose reply nobody reads, or half a request and then the end.
//
//	client := redis.NewClient(&redis.Options{
//		Addr: addr, MaxRetries: -1, Dialer: cuts.New(seed, cuts.Odds{LoseReply: 0.02}).Dial,
//	})
package cuts

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
)

// Odds are chances from 0 to 1 for each write to a connection. Together they are
// at most 1.
type Odds struct {
	LoseRequest float64 // nothing arrives
	CutRequest  float64 // half of it arrives
	LoseReply   float64 // all of it arrives, and no answer comes back
}

// Total is how often each fault was injected.
type Total struct{ LostRequests, CutRequests, LostReplies int64 }

// Cutter makes connections that break. It is safe for concurrent use.
type Cutter struct {
	odds Odds

	mu   sync.Mutex
	rand *rand.Rand

	lost, cut, mute atomic.Int64
	off             atomic.Bool
}

// New makes a cutter. The same seed draws the same faults in the same order of
// writes.
func New(seed uint64, odds Odds) *Cutter {
	return &Cutter{odds: odds, rand: rand.New(rand.NewPCG(seed, 0x63757473))}
}

// Off stops all faults, on connections that exist too.
func (c *Cutter) Off() { c.off.Store(true) }

// On lets them happen again.
func (c *Cutter) On() { c.off.Store(false) }

// Total counts what was injected so far.
func (c *Cutter) Total() Total {
	return Total{LostRequests: c.lost.Load(), CutRequests: c.cut.Load(), LostReplies: c.mute.Load()}
}

// Dial is a dialer as go-redis wants one.
func (c *Cutter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	inner, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: inner, cutter: c}, nil
}

func (c *Cutter) draw() float64 {
	if c.off.Load() {
		return 1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.Float64()
}

var errCut = errors.New("cuts: the connection was cut")

// conn is one connection. It hides the inner one's system calls from go-redis,
// whose look at an idle socket then does not notice an end before it writes.
type conn struct {
	net.Conn
	cutter *Cutter
	muted  atomic.Bool
}

// Write sends p, or a part of it, or nothing.
func (c *conn) Write(p []byte) (int, error) {
	o := c.cutter.odds
	x := c.cutter.draw()
	switch {
	case x < o.LoseRequest:
		c.cutter.lost.Add(1)
		_ = c.Conn.Close()
		return 0, errCut
	case x < o.LoseRequest+o.CutRequest:
		c.cutter.cut.Add(1)
		n, _ := c.Conn.Write(p[:len(p)/2])
		_ = c.Conn.Close()
		return n, errCut
	case x < o.LoseRequest+o.CutRequest+o.LoseReply:
		c.cutter.mute.Add(1)
		c.muted.Store(true)
	}
	return c.Conn.Write(p)
}

// Read waits for the reply that is to be lost, so that its request is known to
// have arrived, and then loses it.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.muted.Load() {
		_ = c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}
