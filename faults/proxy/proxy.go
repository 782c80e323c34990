package proxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// dialLimit bounds the connection to the server; a server that is being
// restarted refuses at once.
const dialLimit = 2 * time.Second

// Proxy listens on loopback and passes everything on to one server. It is safe
// for concurrent use.
type Proxy struct {
	listener net.Listener
	upstream string
	scripts  *Scripts

	mu     sync.Mutex
	traps  []*Trap
	conns  map[*conn]struct{}
	closed bool
	change chan struct{} // closed and made anew whenever a connection ends
	wg     sync.WaitGroup
}

// Start listens on a free port of 127.0.0.1.
func Start(upstream string, scripts *Scripts) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, upstream: upstream, scripts: scripts, conns: map[*conn]struct{}{}, change: make(chan struct{})}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is host and port for clients.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL is the address in the form that redisstore.Dial takes.
func (p *Proxy) URL() string { return "redis://" + p.Addr() + "/0" }

// Arm adds a fault. The traps are asked in the order in which they were armed,
// and the first that strikes a command has it; the others do not count it.
func (p *Proxy) Arm(f Fault) *Trap {
	t := &Trap{fault: f}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traps = append(p.traps, t)
	return t
}

// Heal takes all faults away. Messages that are being delayed go on.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.traps {
		t.Disarm()
	}
	p.traps = nil
}

// set puts traps on the commands of a unit.
func (p *Proxy) set(u *unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range u.commands {
		for _, t := range p.traps {
			if t.fault.matches(u, c) && t.take() {
				c.strike = t
				break
			}
		}
	}
}

// Quiet waits until every connection has ended, which they do once the clients
// are closed and everything delayed has been passed on.
func (p *Proxy) Quiet(ctx context.Context) error {
	for {
		p.mu.Lock()
		left, change := len(p.conns), p.change
		p.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends every connection and returns when all goroutines have ended. A
// second Close does nothing.
func (p *Proxy) Close() (err error) {
	p.mu.Lock()
	if !p.closed {
		err = p.listener.Close()
	}
	p.closed = true
	for c := range p.conns {
		c.cut()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.upstream, dialLimit)
	if err != nil {
		_ = client.Close() // the client learns that nobody is there
		return
	}
	c := newConn(p, client, server)
	if !p.enter(c) {
		c.cut()
		return
	}
	defer p.leave(c)
	p.wg.Go(c.down)
	c.up()
	<-c.downEnded
	c.cut()
}

func (p *Proxy) enter(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) leave(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	close(p.change)
	p.change = make(chan struct{})
}
