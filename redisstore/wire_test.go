package redisstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/redisstore"
)

// wire looks at the connections of a client: how often it waited for replies,
// and it can lose a reply after the server has acted.
type wire struct {
	trips atomic.Int64 // a trip is a write followed by a read
	lose  atomic.Int64 // replies still to be lost
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

func (w *wire) dialer() dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &wireConn{Conn: c, wire: w}, nil
	}
}

type wireConn struct {
	net.Conn
	wire  *wire
	wrote atomic.Bool
}

func (c *wireConn) Write(b []byte) (int, error) {
	c.wrote.Store(true)
	return c.Conn.Write(b)
}

func (c *wireConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.wrote.CompareAndSwap(true, false) {
		return n, err
	}
	c.wire.trips.Add(1)
	if err == nil && c.wire.lose.Add(-1) >= 0 {
		c.drain()
		_ = c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// drain takes what the server still says, until it is silent: only then has it
// acted on all that was sent.
func (c *wireConn) drain() {
	for buffer := make([]byte, 1<<10); ; {
		_ = c.Conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := c.Conn.Read(buffer); err != nil {
			return
		}
	}
}

// wired is a store whose connections are watched, on the servers of e. The first
// trip of each, its greeting, is over when it is returned.
func wired(t testing.TB, e env, retries int) (*redisstore.Store, *wire) {
	t.Helper()
	w := &wire{}
	client := e.connect(t, retries, nil, w.dialer())
	s, err := redisstore.New(client, e.options())
	if err != nil {
		t.Fatal(err)
	}
	err = greet(client)
	if cluster, ok := client.(*redis.ClusterClient); ok { // which has asked for the table of commands now
		err = errors.Join(err, cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error { return greet(c) }))
	}
	if err != nil {
		t.Fatal(err)
	}
	w.trips.Store(0)
	return s, w
}

// greet opens the connections: single commands and pipelines have one each.
func greet(c redis.UniversalClient) error {
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error { p.Ping(ctx); return nil })
	return errors.Join(err, c.Ping(ctx).Err(), c.Eval(ctx, "return 1", nil).Err())
}

// took runs one message and checks how many trips it took.
func (w *wire) took(t *testing.T, what string, want int64, send func() error) {
	t.Helper()
	before := w.trips.Load()
	if err := send(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if got := w.trips.Load() - before; got != want {
		t.Errorf("%s took %d trips, want %d", what, got, want)
	}
}

// cutter is a hook that stops a client in the middle of a pipeline, as a process
// does that is killed, or lets something happen there.
type cutter struct {
	after int          // transactions that still get through; -1: all
	then  func() error // what happens behind them; an error ends the client
	dead  atomic.Bool
}

var errKilled = errors.New("the client is no more")

// DialHook implements [redis.Hook].
func (c *cutter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (c *cutter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if c.dead.Load() {
			cmd.SetErr(errKilled)
			return errKilled
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (c *cutter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		switch {
		case c.dead.Load():
			for _, cmd := range cmds {
				cmd.SetErr(errKilled)
			}
			return errKilled
		case c.after < 0 || !carries(cmds):
			return next(ctx, cmds)
		}
		cut := 0
		for cut < len(cmds) && c.after > 0 {
			if name := cmds[cut].Name(); name == "exec" {
				c.after--
			}
			cut++
		}
		first := errors.Join(next(ctx, cmds[:cut]), c.happen())
		if first != nil {
			for _, cmd := range cmds[cut:] {
				cmd.SetErr(errKilled)
			}
			return first
		}
		return next(ctx, cmds[cut:])
	}
}

// carries reports whether a pipeline has payload fields in it; the greeting of a
// connection passes through hooks as well.
func carries(cmds []redis.Cmder) bool {
	return slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Name() == "hset" })
}

func (c *cutter) happen() error {
	c.after = -1
	err := c.then()
	c.dead.Store(err != nil)
	return err
}

// hooked is a store on a client with a hook, without retries.
func hooked(t testing.TB, e env, hook redis.Hook) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(e.connect(t, -1, hook, nil), e.options())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
