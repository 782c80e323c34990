package storetest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Failure is a subtest that did not hold.
type Failure struct {
	Subtest string
	Clauses []string // the numbers it stands for
	Message string
}

// Check is [Run] without a test: it returns what failed, in the order of the
// suite. With clauses named, it runs their subtests alone. Skipped subtests are
// no failures. It is how the suite is tested on stores that are broken on
// purpose.
func Check(open func() Harness, only ...string) []Failure {
	var failures []Failure
	for _, s := range subtests() {
		if len(only) > 0 && !slices.ContainsFunc(s.clauses(), func(id string) bool { return slices.Contains(only, id) }) {
			continue
		}
		c := &collector{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer c.catch()
			s.run(c, open())
		}()
		<-done
		if len(c.messages) > 0 {
			failures = append(failures, Failure{s.name, s.clauses(), strings.Join(c.messages, "\n")})
		}
	}
	return failures
}

// collector is a T that keeps what was said. A fatal failure ends its goroutine,
// as in a test.
type collector struct {
	mu       sync.Mutex
	messages []string
}

func (c *collector) Helper() {}

func (c *collector) Errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = append(c.messages, fmt.Sprintf(format, args...))
}

func (c *collector) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	runtime.Goexit()
}

func (c *collector) Skipf(string, ...any) { runtime.Goexit() }

// catch turns a panic of a store into a failure.
func (c *collector) catch() {
	if v := recover(); v != nil {
		c.Errorf("panic: %v", v)
	}
}
