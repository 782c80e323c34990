package redistest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Databases is how many tests of one binary can hold a shared database at the
// same time.
const Databases = 256

// Database is an empty numbered database that belongs to one test.
type Database struct {
	addr   string
	number int
	client *redis.Client
}

// Addr is host and port of the server; a client must also select DB.
func (d *Database) Addr() string { return d.addr }

// DB is the number to select.
func (d *Database) DB() int { return d.number }

// URL names server and database in the form redis.ParseURL takes.
func (d *Database) URL() string { return "redis://" + d.addr + "/" + strconv.Itoa(d.number) }

// Client is a client of this database with retries off, closed with the test.
func (d *Database) Client() *redis.Client { return d.client }

// Shared gives the test an empty database on a redis-server that all tests of
// this binary share. The server is started for the first holder and ended after
// the last one, so a parent test that holds a database keeps it running for its
// subtests. A test that touches the whole server (SCRIPT FLUSH, CONFIG SET,
// INFO counters, stopping it) takes Server instead.
//
// Without a redis-server on the PATH the test is skipped, or fails where
// HARNESS_REQUIRE_REDIS asks for one.
func Shared(t testing.TB) *Database {
	t.Helper()
	binary := requireBinary(t)
	addr, number, err := theShared.take(binary)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	d := &Database{addr: addr, number: number, client: newClient(&redis.Options{Addr: addr, DB: number})}
	t.Cleanup(func() {
		_ = d.client.Close()
		if err := theShared.give(number); err != nil {
			t.Errorf("redistest: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := d.client.FlushDB(ctx).Err(); err != nil {
		t.Fatalf("redistest: emptying database %d: %v", number, err)
	}
	return d
}

// theShared is the one mutable variable of this package: a test binary has no
// other place where tests that know nothing of each other can meet.
var theShared pool

// pool is a server and the databases of it that are out.
type pool struct {
	mu    sync.Mutex
	spec  spec
	child *child
	taken map[int]bool
}

func (p *pool) take(binary string) (addr string, number int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil {
		if err := p.start(binary); err != nil {
			return "", 0, err
		}
	}
	for number := range Databases {
		if !p.taken[number] {
			p.taken[number] = true
			return p.spec.addr(), number, nil
		}
	}
	return "", 0, fmt.Errorf("all %d databases of the shared server are taken", Databases)
}

func (p *pool) start(binary string) error {
	s := spec{binary: binary, args: []string{"--databases", strconv.Itoa(Databases)}}
	if err := s.makeDir(); err != nil {
		return err
	}
	child, err := s.startAnywhere()
	if err != nil {
		_ = os.RemoveAll(s.dir)
		return err
	}
	p.spec, p.child, p.taken = s, child, map[int]bool{}
	return nil
}

// give returns a database; the last one ends the server.
func (p *pool) give(number int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, number)
	if len(p.taken) > 0 {
		return nil
	}
	err := p.child.kill()
	p.child = nil
	if removed := os.RemoveAll(p.spec.dir); err == nil {
		err = removed
	}
	return err
}
