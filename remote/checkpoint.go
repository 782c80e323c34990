package remote

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// maxCheckpoint bounds a checkpoint before anything of it is read.
const maxCheckpoint = 4 << 20

// checkpoint is references and metadata: no argument, result, token or credential.
type checkpoint struct {
	Schema    string             `json:"schema"`
	Protocol  string             `json:"protocol"`
	PackageID string             `json:"package_id"`
	Scope     string             `json:"scope"` // digest
	Calls     []checkpointedCall `json:"calls"`
}

type checkpointedCall struct {
	Admission   AdmissionPointer `json:"admission"`
	State       InvocationState  `json:"state"`
	Receipt     string           `json:"receipt_digest,omitempty"` // of a settled one
	Observation *Observed        `json:"observation,omitzero"`
}

// Checkpoint is what a host keeps of the session between processes. It does no I/O
// and commits nothing; the records are in the store, which a checkpoint neither
// replaces nor proves.
func (s *Session) Checkpoint() ([]byte, error) {
	s.mu.Lock()
	ids := append([]canonical.Identity(nil), s.order...)
	s.mu.Unlock()
	c := checkpoint{Schema: CheckpointSchema, Protocol: Protocol, PackageID: s.pack.PackageID, Scope: s.cfg.Scope.Digest(), Calls: []checkpointedCall{}}
	for _, id := range ids {
		s.mu.Lock()
		inv := s.calls[id]
		s.mu.Unlock()
		if inv == nil || !inv.bound {
			continue
		}
		one := checkpointedCall{Admission: s.observation(inv, Receipt{}, nil).Admission}
		s.mu.Lock()
		one.State = inv.state
		if inv.receipt != nil && inv.receipt.State == Settled {
			one.Receipt = inv.receipt.Digest()
		}
		if inv.observation != nil {
			o := *inv.observation
			one.Observation = &o
		}
		s.mu.Unlock()
		c.Calls = append(c.Calls, one)
	}
	return marshal(c)
}

// resume takes over a checkpoint. Every admission record and every observation that
// it names is read again in the session's own store and scope and has to fit; one
// that does not, and nothing of the checkpoint is used.
func (s *Session) resume(ctx context.Context, text []byte) error {
	var c checkpoint
	if len(text) > maxCheckpoint || json.Unmarshal(text, &c, json.RejectUnknownMembers(true)) != nil || c.Schema != CheckpointSchema || c.Protocol != Protocol {
		return ErrCheckpoint
	}
	if c.PackageID != s.pack.PackageID || c.Scope != s.cfg.Scope.Digest() || len(c.Calls) > MaxInvocations {
		return ErrCheckpoint
	}
	var all []*invocation
	for _, one := range c.Calls {
		inv, err := s.proven(ctx, one)
		if err != nil {
			return errors.Join(ErrCheckpoint, err)
		}
		all = append(all, inv)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, inv := range all {
		if s.calls[inv.identity] != nil || !s.remember(inv) {
			s.calls, s.order = map[canonical.Identity]*invocation{}, nil
			return ErrCheckpoint
		}
	}
	return nil
}

// proven is the invocation that a checkpoint names, as far as the store proves it.
// Whatever it says of the state, a call that is not seen to have ended here may have
// been submitted.
func (s *Session) proven(ctx context.Context, one checkpointedCall) (*invocation, error) {
	a := one.Admission
	var c checker
	c.name("session", a.Session)
	c.name("epoch", a.Epoch)
	if c.err != nil {
		return nil, c.err
	}
	id := canonical.Identity{RunKey: canonical.RunKey{Scope: s.cfg.Scope, Run: a.Run}, Call: canonical.CallName{Turn: a.Turn, ID: a.Call}}
	rec, err := s.cfg.Store.Record(ctx, id.RunKey, id.Call)
	if err != nil {
		return nil, err
	}
	tool, ok := s.tools[rec.Tool]
	if !ok {
		return nil, ErrNoInvocation
	}
	inv, err := newInvocation(rec.Head, tool, s.pack.PackageID, rec.Request)
	if err != nil {
		return nil, err
	}
	inv.session, inv.epoch, inv.bound, inv.state = a.Session, a.Epoch, true, StateUnknown
	if rec.Redacted != "" { // what was sent is not what may be stored, so its digest cannot be made again
		inv.fingerprint = a.Fingerprint
	}
	if inv.contract != a.Contract || s.observation(inv, Receipt{}, nil).Admission != a || rec.Redacted == "" && rec.OperationKey != id.OperationKey(rec.Request) {
		return nil, ErrNoAdmission
	}
	if one.Observation != nil {
		return inv, s.provenObservation(ctx, inv, one)
	}
	if rec.State == lifecycle.Ready || rec.State == lifecycle.Error && rec.Execution != lifecycle.Unknown && one.Receipt != "" {
		inv.state = StateSettled
	}
	return inv, nil
}

func (s *Session) provenObservation(ctx context.Context, inv *invocation, one checkpointedCall) error {
	rec, err := s.cfg.Store.Record(ctx, canonical.RunKey{Scope: s.cfg.Scope, Run: one.Observation.Run}, inv.identity.Call)
	if err != nil {
		return err
	}
	o, _, err := DecodeObservation(rec.Raw.Bytes)
	if err != nil {
		return err
	}
	if rec.Raw.SHA256 != one.Observation.SHA256 || o.Admission.EvidenceID != inv.evidence || o.Admission.RequestID != inv.requestID || o.Receipt.Digest() != one.Receipt {
		return ErrObservation
	}
	at := *one.Observation
	inv.observation = &at
	if one.State == StateSettled {
		inv.state = StateSettled
	}
	return nil
}
