package fakes

import (
	"context"
	"fmt"
)

// Fault is one way in which a store does not answer as it should.
type Fault string

// The faults. "Sent" means that the wrapped store did what it was asked.
const (
	FailBefore Fault = "fail_before" // not sent; an error comes back
	FailAfter  Fault = "fail_after"  // sent; the answer is lost, an error comes back
	HangBefore Fault = "hang_before" // not sent; nothing comes back until the context ends
	HangAfter  Fault = "hang_after"  // sent; nothing comes back until the context ends
	HoldBefore Fault = "hold_before" // sent once Release is called; the context's end comes first
	HoldAfter  Fault = "hold_after"  // sent; the answer comes once Release is called, or is lost
	Twice      Fault = "twice"       // sent two times; the second answer comes back
)

// FaultError is what a failing call returns: trouble with the store, not a "no".
// Its text has the marker of its [Faulty], which must appear nowhere that a
// model or a log can see.
type FaultError struct {
	Method Method
	Call   int  // the how-manieth call of the method, from 1
	Sent   bool // whether the wrapped store did what it was asked
	Marker string
	Cause  error // the context's, where its end was the end of waiting
}

// Error names the call and has the marker.
func (e *FaultError) Error() string {
	what := "not sent"
	if e.Sent {
		what = "answer lost"
	}
	return fmt.Sprintf("fakes: %s: call %d of %s: %s", e.Marker, e.Call, e.Method, what)
}

// Unwrap returns the cause, so that errors.Is finds the context's error.
func (e *FaultError) Unwrap() error { return e.Cause }

// plan is what happens to one call.
type plan struct {
	fault   Fault
	answer  error         // for Answer: comes back instead of sending
	release chan struct{} // for the two holds
}

// passage is one call on its way through a [Faulty].
type passage struct {
	faulty *Faulty
	method Method
	number int
	plan   *plan
}

// lost is the error of this call.
func (p passage) lost(sent bool, cause error) error {
	return &FaultError{Method: p.method, Call: p.number, Sent: sent, Marker: p.faulty.marker, Cause: cause}
}

// wait blocks until the call is released; the context's end is an error.
func (p passage) wait(ctx context.Context) error {
	select {
	case <-p.plan.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// through sends one call, or does not, as its plan says.
func through[T any](ctx context.Context, f *Faulty, m Method, send func() (T, error)) (T, error) {
	var none T
	p := f.begin(m)
	if p.plan == nil {
		return send()
	}
	if p.plan.answer != nil {
		return none, p.plan.answer
	}
	switch p.plan.fault {
	case FailBefore:
		return none, p.lost(false, nil)
	case HangBefore:
		<-ctx.Done()
		return none, p.lost(false, ctx.Err())
	case HoldBefore:
		if err := p.wait(ctx); err != nil {
			return none, p.lost(false, err)
		}
		return send()
	}
	got, answer := send() // a "no" can be lost like any other answer
	switch p.plan.fault {
	case FailAfter:
		return none, p.lost(true, nil)
	case HangAfter:
		<-ctx.Done()
		return none, p.lost(true, ctx.Err())
	case HoldAfter:
		if err := p.wait(ctx); err != nil {
			return none, p.lost(true, err)
		}
		return got, answer
	default: // Twice
		return send()
	}
}
