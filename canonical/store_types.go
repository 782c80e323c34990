package canonical

import (
	"crypto/sha256"
	"time"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// Opening asks for a run. Limits and Budget are the run's for good; whoever
// joins later works under them.
type Opening struct {
	Run       RunKey
	Token     Token
	Principal Principal
	Duration  time.Duration // from the store's now; makes the deadline
	Budget    Budget        // without zero fields
	Limits    Limits        // without zero fields
	Continues []RunID       // earlier runs of the same scope, at most MaxContinues
	Quota     Quota         // of the scope, by the host's word now; no parameter of the run
}

// MaxContinues bounds Opening.Continues.
const MaxContinues = 64

// Phase is the state of a run.
type Phase string

// The phases. A damaged run has lost acknowledged writes and admits nothing.
const (
	RunOpen    Phase = "open"
	RunClosed  Phase = "closed"
	RunDamaged Phase = "damaged"
)

// RunState is a run as its store has it.
type RunState struct {
	Run       RunKey
	Phase     Phase
	Principal Principal
	Budget    Budget
	Limits    Limits
	Continues []RunID

	Now      time.Time     // the store's clock when it answered
	Left     time.Duration // from Now to the deadline; negative when it has passed
	Deadline time.Time
	Expires  time.Time // of ledger and order; after the last record's
	LastSeq  int64     // of the last admission = number of admissions
	Reserved int64     // bytes of capacity in use
}

// Admission asks for one call to be admitted.
type Admission struct {
	Run          RunKey
	Call         CallName
	Claim        Claim
	EvidenceID   EvidenceID // proposed; a re-delivery is answered with the first one
	OperationKey string
	Redacted     string // as Head.Redacted; at most MaxRedacted printable bytes
	Principal    Principal

	Tool       string
	Effect     Effect // EffectRead or not; anything else is kept and treated as not
	Request    Body
	ToolBudget int   // the toolset's own, Unlimited if it has none; the ledger's applies too
	Reserve    int64 // bytes of capacity to set aside

	NotAfter time.Time     // in the store's time; later deliveries are refused
	Timeout  time.Duration // of the tool; with the deadline it makes the due time
	Closing  time.Duration // added to it: projecting, closing writes, margin
	TTL      time.Duration // of the record; the run's Limits.RecordTTL
	Seen     int64         // highest sequence this process has seen in the run
}

// Admitted answers an admission. The body may be entered only if State is
// PROJECTING, and only once for a claim.
type Admitted struct {
	Own        bool // the claim was already there: this delivery changed nothing
	State      lifecycle.State
	Code       lifecycle.Code // when State is ERROR
	Seq        int64
	EvidenceID EvidenceID
	Now        time.Time
	Left       time.Duration // to the run's deadline
	Due        time.Time
	Expires    time.Time // of the record
	Strength   evidence.Strength
}

// AdmitAnswer is what a store says of one admission of a batch.
type AdmitAnswer struct {
	Admitted Admitted
	Err      error // as of Admit
}

// EndAnswer is what a store says of one ending of a batch.
type EndAnswer struct {
	Ended Ended
	Err   error // as of Complete
}

// Saving stores the raw result of a call that goes on.
type Saving struct {
	Run     RunKey
	Call    CallName
	Claim   Claim
	Raw     Raw
	Expires time.Time // of the record, from Admitted
	Seen    int64
}

// Ending ends a record: a verdict and everything that was not stored before.
type Ending struct {
	Run      RunKey
	Call     CallName
	Claim    Claim
	Verdict  lifecycle.Completion
	Stage    Stage
	Raw      Raw  // zero: none. Bytes nil with a size: too large to keep
	RawSaved bool // Raw was accepted by Save: its bytes are not sent again
	Agent    Body
	Facts    Body
	Coverage Body
	Expires  time.Time // of the record, from Admitted
	Seen     int64
}

// Digest is the outcome digest: over verdict, and the digests of raw, agent
// result, facts and coverage. Two endings with equal digests are the same
// outcome; times are not part of it.
func (e Ending) Digest() string {
	return digestOf(string(e.Verdict.State), string(e.Verdict.Code), string(e.Verdict.Evidence),
		string(e.Verdict.Execution), e.Raw.SHA256, present(e.Agent), present(e.Facts), present(e.Coverage))
}

// Ended answers an ending.
type Ended struct {
	Repeat   bool   // the same outcome was stored before
	Pieces   string // as RawInfo.Pieces, of the raw that came with this message
	Strength evidence.Strength
}

// Closing asks for the end of a run.
type Closing struct {
	Run   RunKey
	Token Token
	Seen  int64
}

// ClosedRun is what was left when a run was closed, each in order of due time.
type ClosedRun struct {
	LastSeq    int64
	Open       []CallName // still PROJECTING
	Unresolved []CallName // effects that raise the barrier, or will once due
}

// Sweeping asks for the calls that nobody will end to be ended.
type Sweeping struct {
	Run   RunKey
	Grace time.Duration // past the due time; downtime of the store is added by the caller
	Max   int           // calls to look at, 1 to 1000
}

// Swept is one call that a sweep ended.
type Swept struct {
	Call      CallName
	Code      lifecycle.Code
	Execution lifecycle.Execution
}

// OpenCall is a call in state PROJECTING, or an effect that is not known.
type OpenCall struct {
	Call CallName
	Due  time.Time // zero for an effect that is known to be unknown
}

// Outstanding is what a run waits for, each in order of due time.
type Outstanding struct {
	Now     time.Time
	Open    []OpenCall // PROJECTING
	Effects []OpenCall // not read: open ones, and ended ones whose outcome is unknown
}

// Numbered is one entry of a run's order.
type Numbered struct {
	Seq  int64
	Call CallName
}

// EffectVerdict is a host's word on an effect whose outcome was unknown.
type EffectVerdict string

// The verdicts.
const (
	Applied    EffectVerdict = "applied"
	NotApplied EffectVerdict = "not_applied"
)

// Valid reports whether v is one of the two.
func (v EffectVerdict) Valid() bool { return v == Applied || v == NotApplied }

// MaxResolutionEvidence bounds Resolution.Evidence, in bytes.
const MaxResolutionEvidence = 512

// Resolution is a verdict with its grounds.
type Resolution struct {
	Run      RunKey
	Call     CallName
	Verdict  EffectVerdict
	Evidence string // what the verdict rests on: a receipt, a ticket, a reference; 1 to MaxResolutionEvidence bytes of UTF-8
}

// Settlement is what became known of a call after its record had ended. It
// points at the record by name and never changes it. Both parts are written at
// most once.
type Settlement struct {
	Identity Identity
	Late     *LateResult // stored by Settle
	Resolved *Resolution // stored by Resolve
	Expires  time.Time   // the run's
}

// LateResult is the outcome that the claim's holder brought after a sweep.
type LateResult struct {
	Verdict lifecycle.Completion
	Raw     Raw
	Agent   Body
	At      time.Time
}

func digestOf(parts ...string) string {
	var room [1 << 10]byte // more than the words and digests of an ending
	text := room[:0]
	for _, part := range parts {
		text = appendField(text, part)
	}
	return sumText(sha256.Sum256(text))
}

// present tells an absent body from an empty one.
func present(b Body) string {
	if b == nil {
		return ""
	}
	return b.SHA256()
}
