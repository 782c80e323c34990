package inject

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/toolharness/harness/internal/redistest"
)

// host lets a program start servers that are made for tests. What would fail a
// test panics here and becomes an error in try.
type host struct {
	testing.TB // nil: only the methods below may be called

	mu       sync.Mutex
	cleanups []func()
	failed   bool
}

type hostFailure struct{ text string }

// Helper implements [testing.TB].
func (h *host) Helper() {}

// Cleanup implements [testing.TB].
func (h *host) Cleanup(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleanups = append(h.cleanups, f)
}

// Failed implements [testing.TB].
func (h *host) Failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// Errorf implements [testing.TB]; a failure of a cleanup ends the host as well.
func (h *host) Errorf(format string, args ...any) { h.Fatalf(format, args...) }

// Fatalf implements [testing.TB].
func (h *host) Fatalf(format string, args ...any) {
	h.mu.Lock()
	h.failed = true
	h.mu.Unlock()
	panic(hostFailure{fmt.Sprintf(format, args...)})
}

// Skip implements [testing.TB]: a program has nothing to skip.
func (h *host) Skip(args ...any) { h.Fatalf("%s", fmt.Sprint(args...)) }

// Logf implements [testing.TB].
func (h *host) Logf(string, ...any) {}

// try runs f and answers what failed in it.
func (h *host) try(f func()) (err error) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case hostFailure:
			err = fmt.Errorf("%s", failure.text)
		default:
			panic(failure)
		}
	}()
	f()
	return nil
}

// close runs the cleanups, the last first.
func (h *host) close() error {
	var first error
	for i := len(h.cleanups) - 1; i >= 0; i-- {
		if err := h.try(h.cleanups[i]); err != nil && first == nil {
			first = err
		}
	}
	h.cleanups = nil
	return first
}

// server is a redis-server whose failures are errors.
type server struct {
	*redistest.Process
	host *host
}

// startServer starts a redis-server; close ends it.
func startServer(args ...string) (*server, error) {
	s := &server{host: &host{}}
	if err := s.host.try(func() { s.Process = redistest.Server(s.host, args...) }); err != nil {
		return nil, fmt.Errorf("%w (%v)", err, s.host.close())
	}
	return s, nil
}

func (s *server) close() error { return s.host.close() }

// kill ends the process as a power cut would.
func (s *server) kill() error { return s.host.try(s.Process.Kill) }

// start brings it back in the same place.
func (s *server) start() error { return s.host.try(s.Process.Start) }

// WithServer runs do with a redis-server of its own, for sections that make their
// injections elsewhere. restart ends the server as an operator would and starts it
// again with what its arguments made it keep.
func WithServer(args []string, do func(addr string, restart func() error) error) error {
	s, err := startServer(args...)
	if err != nil {
		return err
	}
	return errors.Join(do(s.Addr(), func() error { return s.host.try(s.Process.Restart) }), s.close())
}
