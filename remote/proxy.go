package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Codes that a host may register in boundary.Config.Codes, with [OutcomeCodes], so
// that a model reads more than that a tool failed.
const (
	CodeRefused lifecycle.Code = "REMOTE_REFUSED" // the remote side said that it did not run the call
	CodeFailed  lifecycle.Code = "REMOTE_FAILED"  // the remote side said that the call gave no result
	CodeUnknown lifecycle.Code = "REMOTE_UNKNOWN" // of a read: no receipt came
)

// OutcomeCodes are these codes with their texts for the model.
func OutcomeCodes() map[lifecycle.Code]string {
	return map[lifecycle.Code]string{
		CodeRefused: "The remote side refused the call and ran nothing.",
		CodeFailed:  "The remote tool gave no result.",
		CodeUnknown: "No answer came from the remote side; it is not known whether the tool ran there. It only reads.",
	}
}

// proxy stands in for a remote tool: its body hands the call to the transport.
type proxy struct {
	session *Session
	tool    PackageTool
}

// CheckArguments refuses what would not be submitted, before there is a record.
func (p *proxy) CheckArguments(arguments []byte) error {
	p.session.mu.Lock()
	closed := p.session.closed
	p.session.mu.Unlock()
	if closed {
		return ErrSessionClosed
	}
	if limit := p.session.welcome.Limits.ArgumentsBytes; len(arguments) > limit {
		return &FormError{Field: "arguments", Reason: "are too large for the server", Size: int64(len(arguments)), Limit: int64(limit)}
	}
	_, err := Canonical(arguments)
	return err
}

// Execute submits the call once and takes what comes back. What it returns is judged
// by the boundary: an error of a tool that may change something is an unknown
// outcome, unless the other side said that nothing was changed.
func (p *proxy) Execute(ctx context.Context, in boundary.Input, raw io.Writer) error {
	s := p.session
	inv, err := s.admit(ctx, p.tool, in)
	if err != nil {
		return boundary.NotApplied(CodeRefused, errors.Join(ErrNotSubmitted, err))
	}
	defer s.left(inv)
	receipt, err := s.submit(ctx, inv, in.Arguments)
	if err != nil {
		if refused, ok := errors.AsType[*ProtocolError](err); ok && s.boundRefusal(inv, refused) {
			s.note(inv, StateSettled)
			return boundary.NotApplied(CodeRefused, err)
		}
		return s.unknown(ctx, inv, err)
	}
	if receipt.State != Settled {
		return s.unknown(ctx, inv, nil)
	}
	return s.deliver(ctx, inv, receipt, raw)
}

// left notes, of a call that ended in any way but those below, a panic of the
// transport for instance, that nothing is known.
func (s *Session) left(inv *invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if inv.state == StateSubmitted {
		inv.state = StateUnknown
	}
}

// unknown is what is returned when no receipt settles the call. Reads raise no
// barrier, so theirs carries a code.
func (s *Session) unknown(ctx context.Context, inv *invocation, cause error) error {
	s.mu.Lock()
	inv.state, inv.abandoned = StateUnknown, ctx.Err() != nil
	err := &UnknownError{RequestID: inv.requestID, cause: cause}
	if inv.receipt != nil {
		err.State = inv.receipt.State
	}
	s.mu.Unlock()
	s.observe(inv, "")
	if inv.effect.Read() {
		return boundary.Coded(CodeUnknown, err)
	}
	return err
}

// boundRefusal: the other side itself says, of this very request, that it was not
// admitted and never will be. Any other refusal may answer a second delivery, or
// come from something in between.
func (s *Session) boundRefusal(inv *invocation, e *ProtocolError) bool {
	return check(*e) == nil && e.Admitted == AdmittedNo && e.RequestID == inv.requestID && e.Session == inv.session && e.Epoch == inv.epoch
}

// admit proves that the call has its admission record in the session's own store:
// open, of this tool, with this request. That record is what the submission stands
// on; tools that are used on another store end here. Then the journal is told.
func (s *Session) admit(ctx context.Context, tool PackageTool, in boundary.Input) (*invocation, error) {
	if in.Identity.Scope != s.cfg.Scope {
		return nil, ErrNoAdmission
	}
	heads, err := s.cfg.Store.Heads(ctx, in.Identity.RunKey, []canonical.CallName{in.Identity.Call})
	if err != nil {
		return nil, errors.Join(ErrNoAdmission, err)
	}
	if len(heads) != 1 || !admits(heads[0], tool, in) {
		return nil, ErrNoAdmission
	}
	inv, err := newInvocation(heads[0], tool, s.pack.PackageID, in.Arguments)
	if err != nil {
		return nil, err
	}
	inv.session, inv.epoch, inv.bound = s.welcome.Session, s.welcome.Epoch, true
	s.mu.Lock()
	switch {
	case s.closed:
		err = ErrSessionClosed
	case s.calls[inv.identity] != nil:
		err = fmt.Errorf("%w: it was entered before", ErrNoAdmission)
	case !s.remember(inv):
		err = &FormError{Field: "invocations", Reason: "are too many without a receipt", Size: MaxInvocations, Limit: MaxInvocations}
	}
	s.mu.Unlock()
	if err == nil && s.cfg.Journal != nil {
		if err = s.journal(ctx); err != nil {
			s.forget(inv)
		}
	}
	return inv, err
}

func admits(h canonical.Head, tool PackageTool, in boundary.Input) bool {
	return h.Identity == in.Identity && h.State == lifecycle.Projecting && h.Tool == tool.Name && h.Tool == in.Tool && h.Seq == in.Seq &&
		h.OperationKey == in.OperationKey && (h.RequestSHA256 == in.Arguments.SHA256() || h.Redacted != "") && h.Effect == tool.Effect
}

func newInvocation(h canonical.Head, tool PackageTool, packageID string, arguments []byte) (*invocation, error) {
	fingerprint, err := Fingerprint(tool.Name, arguments)
	if err != nil {
		return nil, err
	}
	return &invocation{
		identity: h.Identity, seq: h.Seq, tool: tool.Name, effect: tool.Effect, principal: h.Principal, evidence: h.EvidenceID,
		operation: h.OperationKey, requestSHA: h.RequestSHA256, requestID: requestID(packageID, h.OperationKey),
		fingerprint: fingerprint, contract: tool.Contract, state: StateAdmitted,
	}, nil
}

func (s *Session) journal(ctx context.Context) (err error) {
	checkpoint, err := s.Checkpoint()
	if err != nil {
		return err
	}
	err = errJournalPanicked
	defer func() { _ = recover() }()
	return s.cfg.Journal(ctx, checkpoint)
}

var errJournalPanicked = errors.New("remote: the journal panicked")

func (s *Session) forget(inv *invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, inv.identity)
	for i, id := range s.order {
		if id == inv.identity {
			s.order = append(s.order[:i], s.order[i+1:]...)
			return
		}
	}
}

// submit hands the call to the transport, once, and then only asks.
func (s *Session) submit(ctx context.Context, inv *invocation, arguments []byte) (Receipt, error) {
	m := ExecuteRequest{
		Protocol: Protocol, Session: inv.session, Epoch: inv.epoch, RequestID: inv.requestID, Tool: inv.tool, Contract: inv.contract,
		Fingerprint: inv.fingerprint, Arguments: string(arguments), ArgumentsSHA256: sha256Hex(arguments),
		MaxInlineBytes: s.inline, WaitMS: s.waitMS(ctx),
	}
	s.mu.Lock()
	inv.state, inv.submitted = StateSubmitted, time.Now()
	s.mu.Unlock()
	receipt, err := s.cfg.Transport.Execute(ctx, m)
	if err != nil {
		return Receipt{}, err
	}
	if receipt, err = s.accept(ctx, inv, receipt, inv.epoch); err != nil {
		return Receipt{}, err
	}
	for receipt.State == Running && ctx.Err() == nil {
		if receipt, err = s.ask(ctx, inv, s.waitMS(ctx)); err != nil {
			return Receipt{}, err
		}
	}
	return receipt, nil
}

// waitMS is how long an answer may wait: a little less than there is time.
func (s *Session) waitMS(ctx context.Context) int64 {
	wait := time.Duration(s.welcome.Limits.WaitMS) * time.Millisecond
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		wait = min(wait, left-min(left/10, time.Second))
	}
	return max(0, wait.Milliseconds())
}

// ask gets a receipt. It starts nothing.
func (s *Session) ask(ctx context.Context, inv *invocation, waitMS int64) (Receipt, error) {
	receipt, err := s.cfg.Transport.GetReceipt(ctx, ReceiptRequest{
		Protocol: Protocol, Session: inv.session, Epoch: inv.epoch, RequestID: inv.requestID, Tool: inv.tool,
		Fingerprint: inv.fingerprint, MaxInlineBytes: s.inline, WaitMS: waitMS,
	})
	if err != nil {
		return Receipt{}, err
	}
	return s.accept(ctx, inv, receipt, "")
}

// accept checks that a receipt is well formed, means one thing, and is of this very
// call. It is noted whatever has become of the local call meanwhile: a late one
// keeps its identity.
func (s *Session) accept(ctx context.Context, inv *invocation, r Receipt, epoch string) (Receipt, error) {
	if err := check(r); err != nil {
		return Receipt{}, errors.Join(ErrReceipt, err)
	}
	if r.Session != inv.session || r.RequestID != inv.requestID || r.Tool != inv.tool || r.Effect != inv.effect ||
		r.Fingerprint != inv.fingerprint || epoch != "" && r.Epoch != epoch {
		return Receipt{}, ErrReceipt
	}
	if r.Code == CodeNotAdmitted && (!inv.bound || r.Epoch != inv.epoch) {
		// Another life of the server, or perhaps another server, has not seen it.
		r.State, r.Execution, r.Code, r.Applied = Unsettled, executionUnknown, "", ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if inv.receipt != nil && inv.receipt.State == Settled && (r.State != Settled || r.Digest() != inv.receipt.Digest()) {
		return Receipt{}, ErrReceiptChanged
	}
	kept := r.withoutInline()
	inv.receipt, inv.answered = &kept, time.Now()
	inv.abandoned = inv.abandoned || ctx.Err() != nil
	return r, nil
}

func (s *Session) note(inv *invocation, state InvocationState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inv.state = state
}

func (s *Session) observe(inv *invocation, state ReceiptState) {
	tell(s.cfg.Observer, Event{Method: MethodExecute, Session: inv.session, RequestID: inv.requestID, Tool: inv.tool, State: state})
}

// deliver turns a settled receipt into what a body returns.
func (s *Session) deliver(ctx context.Context, inv *invocation, r Receipt, raw io.Writer) error {
	s.note(inv, StateSettledUnstored)
	defer s.observe(inv, r.State)
	failed := &RemoteError{RequestID: inv.requestID, Code: r.Code}
	switch {
	case r.Execution == executionNotStarted:
		return boundary.NotApplied(CodeRefused, failed)
	case !r.HasResult && r.Applied == appliedNo:
		return boundary.NotApplied(CodeFailed, failed)
	case !r.HasResult && r.Effect.Read():
		return boundary.Coded(CodeFailed, failed)
	}
	payload, err := s.payload(ctx, inv, r)
	if err != nil && r.Effect.Read() && !errors.Is(err, errPayloadTooLarge) {
		failed.cause = err
		return boundary.Coded(CodeFailed, failed)
	}
	return s.write(raw, inv, r, payload)
}

// RemoteError is a receipt that says that there is no result.
type RemoteError struct {
	RequestID string
	Code      string // the source's; empty where the result could not be fetched
	cause     error
}

// Error has the request and the source's code, never the text of a tool.
func (e *RemoteError) Error() string {
	return fmt.Sprintf("remote: request %s gave no result: %q", e.RequestID, e.Code)
}

// Unwrap returns the cause of a failed fetch.
func (e *RemoteError) Unwrap() error { return e.cause }
