package remote

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// Reconciled is what a receipt settled.
type Reconciled struct {
	Identity canonical.Identity
	Receipt  Receipt // without bytes
	Text     string  // the projected result, or the statement that there is none here
	Evidence evidence.Status

	Observation evidence.Reference // the record that has the whole observation
	Reused      bool               // it was stored before
	Lifted      bool               // the effect left the barrier, now or earlier
}

// Format prints names, never the text.
func (r Reconciled) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{reconciled call %q: %v, reused %t, lifted %t}", r.Identity.Call.String(), r.Receipt, r.Reused, r.Lifted)
}

// Reconcile asks the other side what became of a call and takes its word, if it has
// one. It never submits anything. It always asks, with the host's present
// authority; lookups of one call go one by one.
//
// A settled receipt is stored with the whole result in a record of its own, the
// observation, whose place follows from the request id; the record of the call
// itself never changes. Then the verdict is recorded beside that, which lifts the
// barrier in every process. Where the same receipt was stored before, nothing is
// fetched and nothing new stored. Where storing fails the barrier stays.
//
// The error wraps [ErrUnknown] where no receipt settles the call; that is no news
// about it. It wraps canonical.ErrStillOpen while the call is open and not yet
// overdue: its own process may still end it.
func (s *Session) Reconcile(ctx context.Context, run canonical.RunID, call canonical.CallName) (Reconciled, error) {
	id := canonical.Identity{RunKey: canonical.RunKey{Scope: s.cfg.Scope, Run: run}, Call: call}
	inv, err := s.known(ctx, id)
	if err != nil {
		return Reconciled{}, err
	}
	inv.lane.Lock()
	defer inv.lane.Unlock()
	receipt, err := s.ask(ctx, inv, 0)
	if errors.Is(err, ErrReceiptChanged) {
		return Reconciled{}, err
	}
	if err != nil || receipt.State != Settled {
		return Reconciled{}, s.stillUnknown(inv, receipt.State, err)
	}
	done, err := s.observed(ctx, inv, receipt)
	if err != nil {
		return Reconciled{}, err
	}
	done.Identity, done.Receipt = id, receipt.withoutInline()
	if done.Lifted, err = s.lift(ctx, inv, receipt); err != nil {
		return Reconciled{}, err
	}
	s.note(inv, StateSettled)
	return done, nil
}

func (s *Session) stillUnknown(inv *invocation, state ReceiptState, cause error) error {
	s.mu.Lock()
	if inv.state != StateSettled && inv.state != StateSettledUnstored && inv.state != StateSubmitted {
		inv.state = StateUnknown
	}
	s.mu.Unlock()
	return &UnknownError{RequestID: inv.requestID, State: state, cause: cause}
}

// known is the invocation in memory, or one made of the record of a call that this
// process did not submit. Of the latter only a receipt counts that says what
// happened: that this server has not seen it proves nothing.
func (s *Session) known(ctx context.Context, id canonical.Identity) (*invocation, error) {
	s.mu.Lock()
	inv := s.calls[id]
	s.mu.Unlock()
	if inv != nil {
		return inv, nil
	}
	rec, err := s.cfg.Store.Record(ctx, id.RunKey, id.Call)
	if err != nil {
		return nil, errors.Join(ErrNoInvocation, err)
	}
	tool, ok := s.tools[rec.Tool]
	if !ok {
		return nil, ErrNoInvocation
	}
	if inv, err = newInvocation(rec.Head, tool, s.pack.PackageID, rec.Request); err != nil {
		return nil, err
	}
	inv.session, inv.epoch, inv.state = s.welcome.Session, s.welcome.Epoch, StateUnknown
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.calls[id]; other != nil {
		return other, nil
	}
	if !s.remember(inv) {
		return nil, &FormError{Field: "invocations", Reason: "are too many without a receipt", Size: MaxInvocations, Limit: MaxInvocations}
	}
	return inv, nil
}

// maxObservations is how many observations of one call are looked for: one, unless
// somebody deleted it or two processes stored it together.
const maxObservations = 16

func observationIdentity(inv *invocation, n int) canonical.Identity {
	return canonical.Identity{
		RunKey: canonical.RunKey{Scope: inv.identity.Scope, Run: canonical.RunID(fmt.Sprintf("ro.%s.%d", inv.requestID, n))},
		Call:   inv.identity.Call,
	}
}

// observed finds the stored observation of this receipt, or stores it.
func (s *Session) observed(ctx context.Context, inv *invocation, r Receipt) (Reconciled, error) {
	if done, ok := s.stored(ctx, inv.identity, inv, r); ok {
		return done, nil
	}
	for n := 1; n <= maxObservations; n++ {
		at := observationIdentity(inv, n)
		if done, ok := s.stored(ctx, at, inv, r); ok {
			s.seenAt(inv, Observed{Run: at.Run, SHA256: done.Observation.SHA256})
			return done, nil
		}
		_, err := s.cfg.Store.Inspect(ctx, at.RunKey)
		if err == nil {
			continue // taken, and what it held is gone or says something else
		}
		if !errors.Is(err, canonical.ErrRunMissing) {
			return Reconciled{}, err
		}
		done, err := s.keep(ctx, at, inv, r)
		if errors.Is(err, canonical.ErrRunTaken) { // another process, at this moment
			continue
		}
		return done, err
	}
	return Reconciled{}, &FormError{Field: "observations", Reason: "of the call are too many", Size: maxObservations, Limit: maxObservations}
}

func (s *Session) seenAt(inv *invocation, at Observed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inv.observation = &at
}

// stored reads an observation back, whole and verified, and compares it with the
// call and the receipt.
func (s *Session) stored(ctx context.Context, at canonical.Identity, inv *invocation, r Receipt) (Reconciled, bool) {
	rec, err := s.cfg.Store.Record(ctx, at.RunKey, at.Call)
	if err != nil || rec.State != lifecycle.Ready && rec.State != lifecycle.Error || !rec.Raw.Present() {
		return Reconciled{}, false
	}
	o, _, err := DecodeObservation(rec.Raw.Bytes)
	if err != nil || o.Receipt.Digest() != r.Digest() || o.Admission.EvidenceID != inv.evidence || o.Admission.RequestID != inv.requestID ||
		o.Admission.OperationKey != inv.operation || !o.Payload.Present && r.HasResult && r.Content.Bytes <= s.payloadRoom(ctx, inv) {
		return Reconciled{}, false
	}
	ref, _ := rec.Reference()
	return Reconciled{Text: string(rec.Agent), Evidence: rec.Evidence, Observation: ref, Reused: true}, true
}

// keep fetches the whole result and stores the observation, through the boundary,
// as the result of a read that looks at what the receipt says.
func (s *Session) keep(ctx context.Context, at canonical.Identity, inv *invocation, r Receipt) (Reconciled, error) {
	payload, err := s.payload(ctx, inv, r)
	if err != nil && !errors.Is(err, errPayloadTooLarge) {
		return Reconciled{}, err
	}
	note, err := marshal(s.observation(inv, r, nil).Admission)
	if err != nil {
		return Reconciled{}, err
	}
	result, err := record{s.cfg.Boundary, s.cfg.Store}.invoke(ctx, at, inv.principal, boundary.Envelope{Tool: inv.tool, Input: note}, boundary.Action{
		Executor: boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, w io.Writer) error {
			return s.write(w, inv, r, payload)
		}),
		Projector: shown{s.projectorOf(inv.tool)},
	})
	if err != nil {
		return Reconciled{}, err
	}
	ref, ok := result.Outcome.Reference()
	if !ok {
		return Reconciled{}, errors.Join(ErrObservation, result.Err)
	}
	s.seenAt(inv, Observed{Run: at.Run, SHA256: ref.SHA256})
	return Reconciled{Text: result.Outcome.Text(), Evidence: result.Outcome.Evidence(), Observation: ref}, nil
}

// lift ends the barrier of the call, if it raises one.
func (s *Session) lift(ctx context.Context, inv *invocation, r Receipt) (bool, error) {
	head, err := s.endedHead(ctx, inv)
	if err != nil {
		return false, err
	}
	if head.Effect.Read() || head.Execution != lifecycle.Unknown {
		return false, nil
	}
	verdict := canonical.NotApplied
	if r.Applied == appliedYes {
		verdict = canonical.Applied
	}
	err = s.cfg.Store.Resolve(ctx, canonical.Resolution{
		Run: inv.identity.RunKey, Call: inv.identity.Call, Verdict: verdict,
		Evidence: Protocol + " receipt " + r.Digest() + " of request " + inv.requestID,
	})
	return err == nil, err
}

// endedHead is the record of the call, ended: by its own process, or by a sweep once
// it is overdue.
func (s *Session) endedHead(ctx context.Context, inv *invocation) (canonical.Head, error) {
	for swept := false; ; swept = true {
		heads, err := s.cfg.Store.Heads(ctx, inv.identity.RunKey, []canonical.CallName{inv.identity.Call})
		switch {
		case err != nil:
			return canonical.Head{}, err
		case len(heads) != 1 || !heads[0].Exists() || heads[0].EvidenceID != inv.evidence:
			return canonical.Head{}, canonical.ErrMissing
		case heads[0].State != lifecycle.Projecting:
			return heads[0], nil
		case swept:
			return canonical.Head{}, fmt.Errorf("remote: %w until %s and the grace after it", canonical.ErrStillOpen, stamp(heads[0].Due))
		}
		if _, err := s.cfg.Store.Sweep(ctx, canonical.Sweeping{Run: inv.identity.RunKey, Grace: s.cfg.SweepGrace, Max: canonical.MaxSweep}); err != nil {
			return canonical.Head{}, err
		}
	}
}
