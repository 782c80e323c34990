package remotetest

import (
	"context"
	"errors"
	"sync"

	"github.com/toolharness/harness/remote"
)

// Direction says who sent a message.
type Direction string

// The directions.
const (
	Request Direction = "request"
	Answer  Direction = "answer"
	Refusal Direction = "refusal"
)

// Loopback is a transport inside one process, for tests. Every message passes
// through the encoding of the wire, both ways, so that what a test sees is what a
// real channel would carry.
type Loopback struct {
	handler remote.Handler
	tap     func(remote.Method, Direction, []byte)

	mu      sync.Mutex
	caller  remote.Caller
	revoked bool
	gone    bool
	drop    map[remote.Method]int
	before  map[remote.Method]int
}

// NewLoopback connects to a handler as caller. tap, which may be nil, is shown every
// encoded message.
func NewLoopback(h remote.Handler, caller remote.Caller, tap func(remote.Method, Direction, []byte)) *Loopback {
	return &Loopback{handler: h, caller: caller, tap: tap, drop: map[remote.Method]int{}, before: map[remote.Method]int{}}
}

// As changes who calls.
func (l *Loopback) As(caller remote.Caller) { l.locked(func() { l.caller = caller }) }

// Revoke makes the caller nobody from now on.
func (l *Loopback) Revoke() { l.locked(func() { l.revoked = true }) }

// Gone ends the peer.
func (l *Loopback) Gone() { l.locked(func() { l.gone = true }) }

// DropReplies loses the next n answers of a method, after the other end made them.
func (l *Loopback) DropReplies(m remote.Method, n int) { l.locked(func() { l.drop[m] += n }) }

// DropNext loses the next answer, whatever its method, after the other end made it.
func (l *Loopback) DropNext() { l.locked(func() { l.drop[anyMethod]++ }) }

const anyMethod remote.Method = ""

// DropRequests loses the next n requests of a method, before the other end has them.
func (l *Loopback) DropRequests(m remote.Method, n int) { l.locked(func() { l.before[m] += n }) }

func (l *Loopback) locked(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

// ErrLost is a message that did not arrive.
var ErrLost = errors.New("remotetest: lost")

func (l *Loopback) take(from map[remote.Method]int, m remote.Method) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if from[m] == 0 {
		return false
	}
	from[m]--
	return true
}

func (l *Loopback) show(m remote.Method, d Direction, text []byte) {
	if l.tap != nil {
		l.tap(m, d, text)
	}
}

// who is the caller of this very call.
func (l *Loopback) who() (remote.Caller, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.gone:
		return remote.Caller{}, ErrLost
	case l.revoked:
		return remote.Caller{}, &remote.ProtocolError{Code: remote.Unauthorized, Message: remote.Unauthorized.Text(),
			Admitted: remote.AdmittedUnknown, RequestID: remote.InvalidRequestID}
	}
	return l.caller, nil
}

type (
	requests interface {
		remote.NegotiateRequest | remote.ExecuteRequest | remote.ReceiptRequest | remote.CancelRequest | remote.EvidenceRequest
	}
	answers interface {
		remote.NegotiateResponse | remote.Receipt | remote.CancelResponse | remote.EvidenceResponse
	}
)

// pass takes one message to the handler and its answer back. The handler's work does
// not end with the caller's waiting.
func pass[Q requests, A answers](ctx context.Context, l *Loopback, m remote.Method, q Q,
	method func(context.Context, remote.Caller, Q) (A, error)) (A, error) {
	var none A
	text, err := remote.Encode(q)
	if err != nil {
		return none, err
	}
	l.show(m, Request, text)
	if l.take(l.before, m) {
		return none, ErrLost
	}
	who, err := l.who()
	if err != nil {
		return none, err
	}
	type result struct {
		a   A
		err error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		if q, r.err = remote.Decode[Q](text); r.err == nil {
			r.a, r.err = method(context.WithoutCancel(ctx), who, q)
		}
		done <- r
	}()
	select {
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case r := <-done:
		if l.take(l.drop, m) || l.take(l.drop, anyMethod) {
			return none, ErrLost
		}
		return back(l, m, r.a, r.err)
	}
}

func back[A answers](l *Loopback, m remote.Method, a A, err error) (A, error) {
	var none A
	if err != nil {
		refused, ok := errors.AsType[*remote.ProtocolError](err)
		if !ok {
			return none, ErrLost
		}
		text, err := remote.Encode(*refused)
		if err != nil {
			return none, ErrLost
		}
		l.show(m, Refusal, text)
		e, err := remote.Decode[remote.ProtocolError](text)
		if err != nil {
			return none, ErrLost
		}
		return none, &e
	}
	text, err := remote.Encode(a)
	if err != nil {
		return none, ErrLost
	}
	l.show(m, Answer, text)
	return remote.Decode[A](text)
}

// Negotiate implements remote.Transport.
func (l *Loopback) Negotiate(ctx context.Context, q remote.NegotiateRequest) (remote.NegotiateResponse, error) {
	return pass(ctx, l, remote.MethodNegotiate, q, l.handler.Negotiate)
}

// Execute implements remote.Transport.
func (l *Loopback) Execute(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
	return pass(ctx, l, remote.MethodExecute, q, l.handler.Execute)
}

// GetReceipt implements remote.Transport.
func (l *Loopback) GetReceipt(ctx context.Context, q remote.ReceiptRequest) (remote.Receipt, error) {
	return pass(ctx, l, remote.MethodGetReceipt, q, l.handler.GetReceipt)
}

// Cancel implements remote.Transport.
func (l *Loopback) Cancel(ctx context.Context, q remote.CancelRequest) (remote.CancelResponse, error) {
	return pass(ctx, l, remote.MethodCancel, q, l.handler.Cancel)
}

// ReadEvidence implements remote.Transport.
func (l *Loopback) ReadEvidence(ctx context.Context, q remote.EvidenceRequest) (remote.EvidenceResponse, error) {
	return pass(ctx, l, remote.MethodReadEvidence, q, l.handler.ReadEvidence)
}
