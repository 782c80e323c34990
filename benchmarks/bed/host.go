package bed

import (
	"fmt"
	"sync"
	"testing"
)

// host lets a program start servers that are made for tests. What would fail a
// test panics here and becomes an error in try.
type host struct {
	testing.TB // nil: only the methods below may be called

	mu       sync.Mutex
	cleanups []func()
	failed   bool
}

type failure struct{ text string }

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
	panic(failure{fmt.Sprintf(format, args...)})
}

// Skip implements [testing.TB]: a program has nothing to skip.
func (h *host) Skip(args ...any) { h.Fatalf("%s", fmt.Sprint(args...)) }

// Logf implements [testing.TB].
func (h *host) Logf(string, ...any) {}

// try runs f and answers what failed in it.
func (h *host) try(f func()) (err error) {
	defer func() {
		switch what := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("bed: %s", what.text)
		default:
			panic(what)
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
