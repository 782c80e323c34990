package canonical

import (
	"time"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// SchemaVersion is the version of records and ledgers that this code writes. It
// reads this one and the one before, and refuses a newer one with
// [ErrNewerVersion].
const SchemaVersion = 1

// Head is the small part of a record: what progress and lists need. It has no
// request, raw or agent result. The zero Head (empty State) stands for a record
// that is missing, expired or another run's; the three cannot be told apart.
type Head struct {
	Version  int
	Identity Identity
	Seq      int64 // place in the run's order of admission, from 1

	Tool         string
	Effect       Effect
	Principal    Principal
	EvidenceID   EvidenceID
	OperationKey string
	Redacted     string // fingerprint of the policy that all stored bodies went through first; empty: they are verbatim

	State     lifecycle.State
	Code      lifecycle.Code      // empty unless ERROR
	Evidence  evidence.Status     // empty while PROJECTING
	Execution lifecycle.Execution // empty while PROJECTING
	Stage     Stage               // where a failure happened; for the host

	RequestSize   int64
	RequestSHA256 string
	Raw           RawInfo // zero until raw is saved or the call ends
	AgentSize     int64
	AgentSHA256   string

	Facts    Body // as projector encoded them; nil when there are none
	Coverage Body // as projector encoded it; nil when there is none

	Created  time.Time // store's time of admission
	Due      time.Time // when an open call counts as abandoned
	Ended    time.Time // zero while PROJECTING
	Expires  time.Time // chosen at admission, never moved
	Strength evidence.Strength

	// Fault says why the record is there and cannot be read: exactly
	// ErrNewerVersion, ErrForeign or ErrCorrupt. Then State is empty and only
	// Identity stands beside it. One unreadable record must not hide the others
	// of a list, so it is told here and not as the error of the whole read.
	Fault error
}

// Stage says which step failed; it is stored for the host and never shown.
type Stage string

// The stages.
const (
	StageExecute Stage = "execute"
	StageRaw     Stage = "raw"
	StageProject Stage = "project"
	StageAgent   Stage = "agent_result"
	StageFacts   Stage = "facts"
	StageStore   Stage = "store"
	StageSweep   Stage = "sweep"
)

// RawInfo is what is known of a raw result without its bytes.
type RawInfo struct {
	Stored  bool   // the bytes are kept
	Size    int64  // bytes; a lower bound when AtLeast
	SHA256  string // lower-case hex
	AtLeast bool
	Pieces  string // digest over the list of piece digests and sizes, where kept in several
}

// View is what may be shown of a call again: the head and the agent result. It
// has no raw field.
type View struct {
	Head
	Agent Body // nil unless READY
}

// Record is the whole record, for the host alone.
type Record struct {
	View
	Request Body
	Raw     Raw // Bytes nil when absent
}

// Exists reports whether there is a record.
func (h Head) Exists() bool { return h.State != "" }

// Reference is the reference of the stored raw result; false when none is kept.
func (h Head) Reference() (evidence.Reference, bool) {
	if !h.Raw.Stored {
		return evidence.Reference{}, false
	}
	return evidence.Reference{
		Version: evidence.ReferenceVersion, EvidenceID: string(h.EvidenceID), RunID: string(h.Identity.Run),
		Turn: string(h.Identity.Call.Turn), ToolCallID: string(h.Identity.Call.ID),
		SHA256: h.Raw.SHA256, Bytes: h.Raw.Size, Pieces: h.Raw.Pieces, Strength: h.Strength,
	}, true
}
