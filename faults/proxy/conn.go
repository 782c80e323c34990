package proxy

import (
	"bufio"
	"io"
	"net"
	"sync"
	"time"
)

// conn is one client's connection and ours to the server.
type conn struct {
	proxy     *Proxy
	client    net.Conn
	server    net.Conn
	downEnded chan struct{}
	gone      chan struct{} // closed by cut

	once sync.Once

	mu      sync.Mutex
	waiting []*Trap // for each command sent: what waits for its reply, or nil
	silent  bool    // nothing passes any more
}

func newConn(p *Proxy, client, server net.Conn) *conn {
	return &conn{proxy: p, client: client, server: server, downEnded: make(chan struct{}), gone: make(chan struct{})}
}

// cut ends both connections at once.
func (c *conn) cut() {
	c.once.Do(func() { close(c.gone) })
	_ = c.client.Close()
	_ = c.server.Close()
}

// mute keeps both connections and passes nothing on.
func (c *conn) mute() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
}

func (c *conn) muted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent
}

// sleep reports whether the connection is still there afterwards.
func (c *conn) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.gone:
		return false
	}
}

// up passes commands on until the client leaves or a fault ends it.
func (c *conn) up() {
	r := bufio.NewReaderSize(c.client, 64<<10)
	for {
		u, err := readUnit(r, c.proxy.scripts)
		if err != nil {
			break
		}
		if c.muted() {
			c.swallow(r)
			return
		}
		c.proxy.set(u)
		if !c.send(u) {
			c.swallow(r)
			return
		}
	}
	// The client has gone. What it sent is there to be done; the server's answers
	// are read to their end by down.
	if half, ok := c.server.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}

// swallow reads what the client still sends until it leaves, and then ends the
// connection.
func (c *conn) swallow(r io.Reader) {
	_, _ = io.Copy(io.Discard, r)
	c.cut()
}

// send passes a unit on, in as few writes as faults allow. It reports false when
// nothing more may pass.
func (c *conn) send(u *unit) bool {
	var out []byte
	for _, cmd := range u.commands {
		if t := cmd.strike; t != nil && !t.fault.reply() {
			if !c.write(out) || !c.strikeRequest(t.fault, cmd) {
				return false
			}
			out = out[:0]
			continue
		}
		c.expect(cmd.strike)
		out = append(out, cmd.raw...)
	}
	return c.write(out)
}

// strikeRequest does to a command what the fault says. It reports false when
// nothing more may pass.
func (c *conn) strikeRequest(f Fault, cmd *command) bool {
	at := 0
	if f.Place == InRequest {
		at, _ = cmd.middle(f.Part == PartPayload, f.Seed)
	}
	if !c.write(cmd.raw[:at]) {
		return false
	}
	if f.Do != nil {
		f.Do()
	}
	switch f.Kind {
	case Cut:
		c.cut()
		return false
	case HalfOpen:
		c.mute()
		return false
	case Slow:
		if !c.sleep(f.Delay) {
			return false
		}
	}
	c.expect(nil)
	return c.write(cmd.raw[at:])
}

func (c *conn) write(bytes []byte) bool {
	if len(bytes) == 0 {
		return true
	}
	if _, err := c.server.Write(bytes); err != nil {
		_ = c.client.Close() // the server has gone: so does the connection
		return false
	}
	return true
}

func (c *conn) expect(t *Trap) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, t)
}

// answered takes the trap of the command that a reply belongs to.
func (c *conn) answered() *Trap {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return nil
	}
	t := c.waiting[0]
	c.waiting = c.waiting[1:]
	return t
}

// down passes replies on until the server leaves. A client that has gone does
// not end it: the server may still be at work for it.
func (c *conn) down() {
	defer close(c.downEnded)
	r := bufio.NewReaderSize(c.server, 64<<10)
	for {
		f, err := readFrame(r)
		if err != nil {
			if !c.muted() {
				_ = c.client.Close()
			}
			return
		}
		var t *Trap
		if f.kind() != '>' { // a push answers nothing
			t = c.answered()
		}
		if t != nil {
			if !c.strikeReply(t.fault, f) {
				return
			}
		} else if !c.muted() {
			_, _ = c.client.Write(f.raw) // an error is a client that has gone
		}
	}
}

// strikeReply does to a reply what the fault says. It reports false when the
// connection was cut.
func (c *conn) strikeReply(f Fault, reply *frame) bool {
	at := 0
	if f.Place == InReply {
		at, _ = reply.middle(false, f.Seed)
	}
	if at > 0 {
		_, _ = c.client.Write(reply.raw[:at])
	}
	if f.Do != nil {
		f.Do()
	}
	switch f.Kind {
	case Cut:
		c.cut()
		return false
	case HalfOpen:
		c.mute()
		return true
	case Slow:
		if !c.sleep(f.Delay) {
			return false
		}
	}
	_, _ = c.client.Write(reply.raw[at:])
	return true
}
