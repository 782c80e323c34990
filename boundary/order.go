package boundary

import "sync"

// places keep the calls of one model message in the order of the message while
// they are admitted. So which number a call gets, which of them takes the last
// unit of a budget, which of two equal ids is the duplicate, and the order of the
// run's report do not depend on which goroutine was faster. Bodies run side by
// side all the same.
type places struct {
	last   chan struct{} // closed when the call that was asked last has passed
	broken chan struct{} // closed when the store did not answer; then nobody waits
	breaks sync.Once
}

func newPlaces() *places {
	p := &places{last: make(chan struct{}), broken: make(chan struct{})}
	close(p.last)
	return p
}

// next is the place behind the last one. It must be asked for in the order of
// the message, by one goroutine.
func (p *places) next() *place {
	own := &place{all: p, ahead: p.last, passed: make(chan struct{})}
	p.last = own.passed
	return own
}

// place is where one call stands. A nil place waits for nobody.
type place struct {
	all    *places
	ahead  <-chan struct{}
	passed chan struct{}
	once   sync.Once
}

// wait comes back when every call asked before has been admitted or refused, or
// when the store is in trouble: then order is worth less than an early answer.
func (p *place) wait() {
	if p == nil {
		return
	}
	select {
	case <-p.ahead:
	case <-p.all.broken:
	}
}

// pass lets the next call go on. trouble says that the store did not answer.
// Only the first pass of a place counts.
func (p *place) pass(trouble bool) {
	if p == nil {
		return
	}
	p.once.Do(func() {
		p.wait() // one that was refused early does not open the way for those behind it
		if trouble {
			p.all.breaks.Do(func() { close(p.all.broken) })
		}
		close(p.passed)
	})
}
