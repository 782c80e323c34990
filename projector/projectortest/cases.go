package projectortest

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/toolharness/harness/evidence"
)

// verdict: each case gets the status that its author wants.
func (s *suite) verdict(r reporter) {
	r.Helper()
	for _, c := range s.cases {
		switch a := s.call(context.Background(), c.in()); {
		case a.fault != "":
			r.Errorf("%s: the projector %s", c.Name, a.fault)
			return
		case c.Want == evidence.Failed && a.err == nil:
			r.Errorf("%s: got %s, want an error", c.Name, a.projection.Status)
			return
		case c.Want != evidence.Failed && a.err != nil:
			r.Errorf("%s: got the error %v, want %s", c.Name, a.err, c.Want)
			return
		case a.err == nil && a.projection.Status != c.Want:
			r.Errorf("%s: got %s, want %s", c.Name, a.projection.Status, c.Want)
			return
		}
	}
}

// repeats of one case; enough for the order of a small map to show.
const repeats = 16

// pure: the same input gives the same answer, one after another and at once.
func (s *suite) pure(r reporter) {
	r.Helper()
	for _, c := range s.cases {
		first := s.call(context.Background(), c.in())
		for range repeats {
			if again := s.call(context.Background(), c.in()); !same(first, again) {
				r.Errorf("%s: two projections of one input differ:\n%s\n%s", c.Name, show(first), show(again))
				return
			}
		}
		if again := s.atOnce(c); again != nil && !same(first, *again) {
			r.Errorf("%s: projections at the same time differ:\n%s\n%s", c.Name, show(first), show(*again))
			return
		}
	}
}

// atOnce projects one case in several goroutines and returns an answer that
// differs from another, or any.
func (s *suite) atOnce(c Case) *answer {
	if s.stuck {
		return nil
	}
	answers := make([]answer, 4)
	var group sync.WaitGroup
	for i := range answers {
		one := &suite{p: s.p, patience: s.patience} // a suite is for one goroutine
		group.Go(func() { answers[i] = one.call(context.Background(), c.in()) })
	}
	group.Wait()
	for i := range answers {
		if !same(answers[0], answers[i]) {
			return &answers[i]
		}
	}
	return &answers[0]
}

// input: raw and request are the caller's.
func (s *suite) input(r reporter) {
	r.Helper()
	for _, c := range s.cases {
		in := c.in()
		s.call(context.Background(), in)
		if s.stuck {
			r.Errorf("%s: an earlier call never returned", c.Name)
			return
		}
		if !bytes.Equal(in.Raw, c.Raw) {
			r.Errorf("%s: the projector changed the raw bytes", c.Name)
			return
		}
		if !bytes.Equal(in.Request, c.Request) {
			r.Errorf("%s: the projector changed the request", c.Name)
			return
		}
	}
}

// cancellation: a projector whose context is over returns. An answer that it
// still gives must be the whole one; half an answer would look like a whole.
func (s *suite) cancellation(r reporter) {
	r.Helper()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range s.cases {
		a := s.call(over, c.in())
		if a.fault != "" {
			r.Errorf("%s: with a context that is over the projector %s", c.Name, a.fault)
			return
		}
		if full := s.call(context.Background(), c.in()); a.err == nil && !same(a, full) {
			r.Errorf("%s: with a context that is over the answer is another:\n%s\n%s", c.Name, show(a), show(full))
			return
		}
	}
}

func show(a answer) string {
	switch {
	case a.fault != "":
		return a.fault
	case a.err != nil:
		return "error " + a.err.Error()
	default:
		return fmt.Sprintf("%s %.300s %.300s", a.projection.Status, a.projection.Result, stored(a.projection))
	}
}
