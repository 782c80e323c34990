package fakes

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/toolharness/harness/canonical"
)

// Every puts a fault on every call of a method that has none of its own.
const Every = 0

// Faulty is a store that passes everything on to another one, except for the
// calls that it was told about. Calls are counted per method, from 1, in the
// order in which they arrive. It is safe for concurrent use.
type Faulty struct {
	inner  canonical.Store
	marker string

	mu      sync.Mutex
	calls   map[Method]int
	plans   map[Method]map[int]*plan
	used    map[Method]map[int]bool
	reached map[Method]map[int]chan struct{}
}

var _ canonical.Store = (*Faulty)(nil)

// NewFaulty wraps inner. The marker stands in the text of every error that the
// wrapper makes; take one that occurs nowhere else.
func NewFaulty(inner canonical.Store, marker string) *Faulty {
	return &Faulty{
		inner: inner, marker: marker, calls: map[Method]int{}, plans: map[Method]map[int]*plan{},
		used: map[Method]map[int]bool{}, reached: map[Method]map[int]chan struct{}{},
	}
}

// Script puts a fault on one call of a method, or with [Every] on all of them. A
// later word on the same call replaces an earlier one. A method or a fault that
// does not exist is an error in the test and panics.
func (f *Faulty) Script(m Method, call int, fault Fault) {
	faults := []Fault{FailBefore, FailAfter, HangBefore, HangAfter, HoldBefore, HoldAfter, Twice}
	if !slices.Contains(faults, fault) {
		panic(fmt.Sprintf("fakes: there is no fault %q", fault))
	}
	f.plan(m, call, &plan{fault: fault, release: make(chan struct{})})
}

// Answer makes one call, or with [Every] all of them, come back with err and
// without being sent: a "no" that is hard to bring about otherwise.
func (f *Faulty) Answer(m Method, call int, err error) {
	if err == nil {
		panic("fakes: Answer needs an error")
	}
	f.plan(m, call, &plan{answer: err})
}

func (f *Faulty) plan(m Method, call int, p *plan) {
	if !slices.Contains(Methods(), m) {
		panic(fmt.Sprintf("fakes: a store has no method %q", m))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.plans[m] == nil {
		f.plans[m] = map[int]*plan{}
	}
	f.plans[m][call] = p
}

// Heal takes all faults of a method away. Calls that hang or are held go on as
// they were.
func (f *Faulty) Heal(m Method) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.plans, m)
}

// Release lets a held call go on. Releasing one that is not held yet lets it
// pass when it comes; releasing twice, or one without a hold, does nothing.
func (f *Faulty) Release(m Method, call int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.plans[m][call]
	if p == nil || p.release == nil {
		return
	}
	select {
	case <-p.release:
	default:
		close(p.release)
	}
}

// Calls is how often a method was called, failing calls included.
func (f *Faulty) Calls(m Method) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[m]
}

// Reached is closed when the given call of a method arrives, before anything
// happens to it. It lets a test act while that call hangs.
func (f *Faulty) Reached(m Method, call int) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.signal(m, call)
}

// Unused lists the faults, as "Method call", that no call has met. A test whose
// fault never happened has shown nothing.
func (f *Faulty) Unused() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for m, plans := range f.plans {
		for call := range plans {
			if !f.used[m][call] {
				out = append(out, fmt.Sprintf("%s %d", m, call))
			}
		}
	}
	slices.Sort(out)
	return out
}

// begin counts a call and finds its plan.
func (f *Faulty) begin(m Method) passage {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[m]++
	number := f.calls[m]
	close(f.signal(m, number))
	for _, call := range []int{number, Every} {
		if p := f.plans[m][call]; p != nil {
			if f.used[m] == nil {
				f.used[m] = map[int]bool{}
			}
			f.used[m][call] = true
			return passage{f, m, number, p}
		}
	}
	return passage{f, m, number, nil}
}

// signal returns the channel of one call. The mutex is held.
func (f *Faulty) signal(m Method, call int) chan struct{} {
	if f.reached[m] == nil {
		f.reached[m] = map[int]chan struct{}{}
	}
	if f.reached[m][call] == nil {
		f.reached[m][call] = make(chan struct{})
	}
	return f.reached[m][call]
}

// nothing lets the methods without a result go through.
func nothing(ctx context.Context, f *Faulty, m Method, send func() error) error {
	_, err := through(ctx, f, m, func() (struct{}, error) { return struct{}{}, send() })
	return err
}
