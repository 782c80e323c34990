package boundary

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/findings"
)

// SnapshotVersion is the version of run snapshots that this code writes and reads.
const SnapshotVersion = 1

// MaxHeld bounds the proposals that a run holds for paused calls.
const MaxHeld = 64

// Hold keeps the proposal of a call that is paused, for a person to decide for
// instance. When the call is made after all, its citations are judged by the
// witness that it was proposed with. The error is [ErrHeldFull].
func (r *Run) Hold(call canonical.CallName, p findings.Proposal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.proposals[call]; !again && len(r.proposals) >= MaxHeld {
		return ErrHeldFull
	}
	if r.proposals == nil {
		r.proposals = map[canonical.CallName]*findings.Proposal{}
	}
	r.proposals[call] = &p
	return nil
}

// ErrHeldFull says that a run holds [MaxHeld] proposals.
var ErrHeldFull = fmt.Errorf("boundary: the run holds %d paused calls, the limit", MaxHeld)

func (r *Run) held(call canonical.CallName) *findings.Proposal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.proposals[call]
}

type runSnapshot struct {
	Version int                       `json:"v"`
	Run     canonical.RunID           `json:"run"`
	Scope   string                    `json:"scope"` // digest
	Ledger  jsontext.Value            `json:"ledger"`
	Held    map[string]jsontext.Value `json:"held,omitzero"`
}

// Snapshot is what a host keeps of a run between processes: the ledger of
// findings and the proposals of paused calls, every text through redact. It has no
// token, no argument and no result; records stay in the store, which a snapshot
// neither replaces nor proves.
func (r *Run) Snapshot(redact findings.Redactor) ([]byte, error) {
	r.mu.Lock()
	held := make(map[canonical.CallName]*findings.Proposal, len(r.proposals))
	for call, p := range r.proposals {
		held[call] = p
	}
	ledger := r.cited
	r.mu.Unlock()
	s := runSnapshot{Version: SnapshotVersion, Run: r.key.Run, Scope: r.key.Scope.Digest(), Held: map[string]jsontext.Value{}}
	var err error
	if s.Ledger, err = findings.EncodeLedger(ledger, redact); err != nil {
		return nil, err
	}
	for call, p := range held {
		if s.Held[call.String()], err = findings.EncodeProposal(*p, redact); err != nil {
			return nil, err
		}
	}
	return json.Marshal(s, json.Deterministic(true))
}

// Restore takes over what Snapshot wrote, in the place of what the run has. All of
// it is checked first; the error is a [*SnapshotError], and then nothing has
// changed.
func (r *Run) Restore(snapshot []byte) error {
	var s runSnapshot
	if err := json.Unmarshal(snapshot, &s, json.RejectUnknownMembers(true)); err != nil {
		return &SnapshotError{Reason: "not one JSON object of a snapshot"}
	}
	switch {
	case s.Version != SnapshotVersion:
		return &SnapshotError{Reason: fmt.Sprintf("version %d, this code reads %d", s.Version, SnapshotVersion)}
	case s.Run != r.key.Run || s.Scope != r.key.Scope.Digest():
		return &SnapshotError{Reason: "of another run or scope"}
	case len(s.Held) > MaxHeld:
		return &SnapshotError{Reason: "more paused calls than a run holds"}
	}
	ledger, err := findings.DecodeLedger(s.Ledger)
	if err != nil {
		return &SnapshotError{Reason: "its ledger cannot be used", cause: err}
	}
	proposals := make(map[canonical.CallName]*findings.Proposal, len(s.Held))
	for name, encoded := range s.Held {
		call, err := canonical.ParseCallName(name)
		if err != nil {
			return &SnapshotError{Reason: "a paused call has no valid name"}
		}
		if proposals[call], err = findings.DecodeProposal(encoded); err != nil {
			return &SnapshotError{Reason: "a paused call's proposal cannot be used", cause: err}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cited, r.proposals = ledger, proposals
	return nil
}

// SnapshotError says why a snapshot is not used. It repeats nothing of it.
type SnapshotError struct {
	Reason string
	cause  error
}

// Error has the rule.
func (e *SnapshotError) Error() string { return "boundary: snapshot: " + e.Reason }

// Unwrap gives a [*findings.CodeError] where a part of it is to blame, else nil.
func (e *SnapshotError) Unwrap() error { return e.cause }
