package projector

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"
)

// Options of one [Drive].
type Options struct {
	Timeout time.Duration // for the whole projection; zero: DefaultTimeout
}

// Drive runs p once on private copies of in and returns a checked projection
// that shares no memory with in or p, or an [*Error] and the zero Projection.
//
// It returns at the time limit or when ctx ends, even if p does not; what p
// returns later is dropped. The time limit is measured on the real clock; in.Now
// is passed through untouched.
func Drive(ctx context.Context, p Projector, in Input, o Options) (Projection, error) {
	in, o, err := prepare(ctx, p, in, o)
	if err != nil {
		return Projection{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if ctx.Err() != nil {
		return Projection{}, ended(ctx)
	}
	done := make(chan answer, 1) // room for one, so that a late projector can leave
	go run(ctx, p, in, done)
	select {
	case a := <-done:
		return settle(a, in.Limits)
	case <-ctx.Done():
	}
	select {
	case a := <-done: // both were ready: an answer that is there counts
		return settle(a, in.Limits)
	default:
		return Projection{}, ended(ctx)
	}
}

// prepare refuses what the driver was given wrongly and fills in defaults.
func prepare(ctx context.Context, p Projector, in Input, o Options) (Input, Options, error) {
	for _, check := range []struct {
		bad   bool
		field string
	}{
		{ctx == nil, "context"}, {p == nil, "projector"}, {o.Timeout < 0, "options.timeout"},
		{in.Limits.AgentBytes < 0, "limits.agent_bytes"}, {in.Limits.FactsBytes < 0, "limits.facts_bytes"},
	} {
		if check.bad {
			return in, o, &Error{Kind: Invalid, Field: check.field}
		}
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	in.Limits = in.Limits.withDefaults()
	in.Raw = bytes.Clone(in.Raw)
	in.Request = bytes.Clone(in.Request)
	return in, o, nil
}

func (l Limits) withDefaults() Limits {
	if l.AgentBytes == 0 {
		l.AgentBytes = DefaultAgentBytes
	}
	if l.FactsBytes == 0 {
		l.FactsBytes = DefaultFactsBytes
	}
	return l
}

// answer is what came out of the projector's goroutine.
type answer struct {
	projection Projection
	err        error
}

// run calls p and always sends one answer: also when p panics, and when it ends
// its goroutine with runtime.Goexit, which no recover sees. Looking into p's
// error runs code of p (Is, As, Unwrap; a nil pointer in an error is a common
// slip), so that happens here too.
func run(ctx context.Context, p Projector, in Input, done chan<- answer) {
	a := answer{err: &Error{Kind: Panicked}}
	defer func() {
		_ = recover() // neither value nor stack is kept: both can hold raw data
		done <- a
	}()
	projection, err := p.Project(ctx, in)
	if err != nil {
		err = failure(ctx, err)
	}
	a = answer{projection: projection, err: err}
}

// failure classifies an error that came from the projector. Nothing of it is
// taken over but a well-formed code and the sizes of an overfull [List]: even a
// field name could be made of raw data.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ended(ctx)
	}
	if own, ok := errors.AsType[*Error](err); ok && own.Kind == TooLarge {
		return &Error{Kind: TooLarge, Field: FieldResult, Size: own.Size, Limit: own.Limit, cause: err}
	}
	return &Error{Kind: Failed, Code: codeOf(err), cause: err}
}

// settle checks what came back, on copies.
func settle(a answer, limits Limits) (Projection, error) {
	if a.err != nil {
		return Projection{}, a.err
	}
	if size := len(a.projection.Result); size > limits.AgentBytes {
		return Projection{}, tooLarge(FieldResult, size, limits.AgentBytes) // before it is copied
	}
	projection := a.projection.detach()
	if err := projection.Validate(limits); err != nil {
		return Projection{}, err
	}
	return projection, nil
}

func (p Projection) detach() Projection {
	p.Result = bytes.Clone(p.Result)
	p.Coverage = p.Coverage.Clone()
	p.Facts = slices.Clone(p.Facts)
	return p
}

// ended is the error for a context that is over.
func ended(ctx context.Context) error {
	kind := Cancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = TimedOut
	}
	return &Error{Kind: kind, cause: ctx.Err()}
}

func tooLarge(field string, size, limit int) error {
	return &Error{Kind: TooLarge, Field: field, Size: int64(size), Limit: int64(limit)}
}
