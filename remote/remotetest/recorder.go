package remotetest

import (
	"context"
	"sync"

	"github.com/toolharness/harness/remote"
)

// Recorder is a scripted other end. Each method records what arrived and answers
// what it was told to.
type Recorder struct {
	mu       sync.Mutex
	arrived  map[remote.Method][]any
	callers  []remote.Caller
	finished int
	hold     chan struct{} // non-nil: methods wait for it

	Negotiated remote.NegotiateResponse
	Receipt    func(requestID string) remote.Receipt
	Cancelled  remote.CancelResponse
	Evidence   remote.EvidenceResponse
	Err        error // returned by every method when set
}

func newRecorder() *Recorder {
	return &Recorder{
		arrived: map[remote.Method][]any{}, Negotiated: oddNegotiated(), Receipt: oddReceipt,
		Cancelled: remote.CancelResponse{Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: "r", Accepted: true, State: remote.Running},
		Evidence:  oddEvidence([]byte("\x00\xff\"<>&\n")),
	}
}

func (r *Recorder) take(m remote.Method, who remote.Caller, q any) error {
	r.mu.Lock()
	r.arrived[m] = append(r.arrived[m], q)
	r.callers = append(r.callers, who)
	hold, err := r.hold, r.Err
	r.mu.Unlock()
	if hold != nil {
		<-hold
	}
	r.mu.Lock()
	r.finished++
	r.mu.Unlock()
	return err
}

// count is how often a method was entered.
func (r *Recorder) count(m remote.Method) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.arrived[m])
}

func (r *Recorder) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.callers)
}

func (r *Recorder) done() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finished
}

func (r *Recorder) last(m remote.Method) (any, remote.Caller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.arrived[m]
	if len(all) == 0 {
		return nil, remote.Caller{}
	}
	return all[len(all)-1], r.callers[len(r.callers)-1]
}

// holdAll makes every method wait, until the function is called.
func (r *Recorder) holdAll() (release func()) {
	hold := make(chan struct{})
	r.mu.Lock()
	r.hold = hold
	r.mu.Unlock()
	return sync.OnceFunc(func() {
		r.mu.Lock()
		r.hold = nil
		r.mu.Unlock()
		close(hold)
	})
}

// Negotiate implements remote.Handler.
func (r *Recorder) Negotiate(_ context.Context, who remote.Caller, q remote.NegotiateRequest) (remote.NegotiateResponse, error) {
	return r.Negotiated, r.take(remote.MethodNegotiate, who, q)
}

// Execute implements remote.Handler.
func (r *Recorder) Execute(_ context.Context, who remote.Caller, q remote.ExecuteRequest) (remote.Receipt, error) {
	err := r.take(remote.MethodExecute, who, q)
	return r.Receipt(q.RequestID), err
}

// GetReceipt implements remote.Handler.
func (r *Recorder) GetReceipt(_ context.Context, who remote.Caller, q remote.ReceiptRequest) (remote.Receipt, error) {
	err := r.take(remote.MethodGetReceipt, who, q)
	return r.Receipt(q.RequestID), err
}

// Cancel implements remote.Handler.
func (r *Recorder) Cancel(_ context.Context, who remote.Caller, q remote.CancelRequest) (remote.CancelResponse, error) {
	return r.Cancelled, r.take(remote.MethodCancel, who, q)
}

// ReadEvidence implements remote.Handler.
func (r *Recorder) ReadEvidence(_ context.Context, who remote.Caller, q remote.EvidenceRequest) (remote.EvidenceResponse, error) {
	return r.Evidence, r.take(remote.MethodReadEvidence, who, q)
}
