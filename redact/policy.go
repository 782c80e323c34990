package redact

import (
	"context"
	"fmt"
	"sync/atomic"
	"unicode/utf8"
)

// Policy is what a host redacts beyond names and rules.
//
// Redact gets a copy that is its own, in which names and rules are done, and
// returns what may be shown. JSON must stay JSON, and UTF-8 stay UTF-8. It
// should be pure, or views differ from one reading to the next, and must keep to
// the context's deadline. An error, a panic, a missed deadline or an answer
// that is not of this form withholds the value.
type Policy interface {
	// Version is part of the fingerprint: change it whenever the policy gives
	// another view of the same value.
	Version() string
	Redact(ctx context.Context, kind Kind, value []byte) ([]byte, error)
}

// maxAbandoned is how many calls of a policy that ignores its deadline may go on
// at once. Go cannot end them; beyond this number the policy is not called any
// more until one returns, and every value is withheld.
const maxAbandoned = 8

type answer struct {
	text   []byte
	err    error
	failed string // why there is no answer
}

// apply calls the policy under its deadline and judges the answer.
func (r *Redactor) apply(ctx context.Context, kind Kind, text []byte) ([]byte, error) {
	if r.abandoned.Load() >= maxAbandoned {
		return nil, &Error{Err: ErrPolicy, Detail: "too many calls of it go on after their deadline", Limit: maxAbandoned}
	}
	isJSON, err := r.pass.isJSON(text)
	if err != nil {
		return nil, err
	}
	isUTF8 := utf8.Valid(text)
	a := r.call(ctx, kind, text)
	switch {
	case a.failed != "":
		return nil, &Error{Err: ErrPolicy, Detail: a.failed, cause: a.err}
	case isUTF8 && !utf8.Valid(a.text):
		return nil, &Error{Err: ErrPolicy, Detail: "not UTF-8 any more"}
	}
	if !isJSON {
		return a.text, nil
	}
	if still, err := r.pass.isJSON(a.text); err != nil || !still {
		return nil, &Error{Err: ErrPolicy, Detail: "not JSON any more"}
	}
	return a.text, nil
}

// call runs the policy beside the caller, who leaves at the deadline.
func (r *Redactor) call(ctx context.Context, kind Kind, text []byte) answer {
	ctx, cancel := context.WithTimeout(ctx, r.pass.limits.Policy)
	defer cancel()
	if ctx.Err() != nil {
		return answer{failed: "context ended", err: ctx.Err()}
	}
	const running, done, left = 0, 1, 2
	var state atomic.Int32
	answers := make(chan answer, 1)
	go func() {
		a := answer{failed: "ended without an answer"}
		defer func() {
			if v := recover(); v != nil {
				a = answer{failed: fmt.Sprintf("panic of type %T", v)}
			}
			answers <- a
			if !state.CompareAndSwap(running, done) {
				r.abandoned.Add(-1)
			}
		}()
		out, err := r.policy.Redact(ctx, kind, text)
		a = r.own(out, err)
	}()
	select {
	case a := <-answers:
		return a
	case <-ctx.Done():
		if state.CompareAndSwap(running, left) {
			r.abandoned.Add(1)
		}
		return answer{failed: "context ended", err: ctx.Err()}
	}
}

// own copies what the policy returned, so that a policy that keeps its slice
// cannot change a view later. What is too large is not worth a copy.
func (r *Redactor) own(out []byte, err error) answer {
	switch limit := r.pass.limits.Bytes; {
	case err != nil:
		return answer{failed: "error", err: err}
	case len(out) > limit:
		return answer{failed: "too large an answer"}
	}
	return answer{text: append([]byte{}, out...)}
}
