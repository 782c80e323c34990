package findings

import (
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Reserved is the name of the argument, and of the member of a JSON answer, in
// which a model cites. It belongs to this library, except in tools whose author
// brought the name (F19).
const Reserved = "_findings"

// Code is the code under which the boundary refuses a call whose citations are
// not admitted. Its text for the model is constant (F20): it names no id and no
// reason, so that a refusal tells nothing about what exists elsewhere.
const Code = lifecycle.ReferenceRefused

// Bounds of a witness (F17). Both are inclusive: at the bound everything works,
// one above it every citation is refused.
const (
	MaxResults      = 4096  // distinct ids in the list of marks, and in the list of served results
	MaxIDCharacters = 65536 // code points of all ids of both lists, repetitions counted
)

// Bounds of what a model declares, in code points unless said otherwise. What is
// over is cut with a mark, or counted; nothing is dropped without a word (F47).
const (
	MaxFrame      = 8192                    // of reserved metadata that could not be read (F23)
	MaxLine       = 240                     // a line, a proposition, a prediction
	MaxListedID   = canonical.MaxToolCallID // bytes of a cited id as the ledger keeps it
	MaxAssertions = 8                       // kept of one citation
	MaxCitations  = MaxResults              // of one declaration; more make it malformed
	MaxOffered    = 32                      // ids of one offer (F41)
)

// Standing is what a model says of a result that it cites (F37). Empty where it
// said nothing, or a word that is not one of these (F38).
type Standing string

// The standings, spelled as models write them.
const (
	StandingFact     Standing = "fact"
	StandingOpen     Standing = "open"
	StandingNoise    Standing = "noise"
	StandingRuledOut Standing = "ruled-out"
)

// Valid reports whether s is one of the four words.
func (s Standing) Valid() bool { return s.retires() || s == StandingFact || s == StandingOpen }

// retires reports whether a result of this standing leaves the offer (F41).
func (s Standing) retires() bool { return s == StandingNoise || s == StandingRuledOut }

// needsRecord reports whether the standing claims that something was observed.
// Then identity is not enough: the record must say so, too. To call a result
// open or noise claims nothing.
func (s Standing) needsRecord() bool { return s == StandingFact || s == StandingRuledOut }

// Basis is why a model makes a call.
type Basis string

// The bases.
const (
	BasisDirect      Basis = "direct"
	BasisExploratory Basis = "exploratory"
)

// Valid reports whether b is one of the two words.
func (b Basis) Valid() bool { return b == BasisDirect || b == BasisExploratory }

// Expect is how much a model expects of a call.
type Expect string

// The expectations.
const (
	ExpectLow    Expect = "low"
	ExpectMedium Expect = "medium"
	ExpectHigh   Expect = "high"
)

// Valid reports whether e is one of the three words.
func (e Expect) Valid() bool { return e == ExpectLow || e == ExpectMedium || e == ExpectHigh }

// Dispatch is what the host says of the call behind a served result. The zero
// value is "not said", and refuses.
type Dispatch string

// The dispatches.
const (
	Executed      Dispatch = "executed"       // the tool's body was entered
	NotDispatched Dispatch = "not_dispatched" // a notice stands in place of a result (F14)
)

// Body is whether the recorded text of a result stood in the request (F09). It
// never decides on admission: a citation is of an identity, not of a text.
type Body string

// The visibilities.
const (
	BodyServed   Body = "served"   // exactly the recorded text
	BodyWithheld Body = "withheld" // a ticket in its place (F12)
	BodyUnknown  Body = "unknown"  // something else (F13)
)

// Backing is what an admitted citation can back. Refused ones back nothing.
type Backing string

// The backings.
const (
	// BacksFact: READY with EVIDENCE_FOUND. The tool returned something; that
	// the model reads it rightly is not checked.
	BacksFact Backing = "fact"
	// BacksAbsence: READY with NO_EVIDENCE. A negative statement inside the
	// coverage that stands beside it, and nothing else.
	BacksAbsence Backing = "absence"
	// BacksIdentity: the result is the one that was served, and nothing was
	// claimed of it that a record would have to say.
	BacksIdentity Backing = "identity"
)

// Reason is why a citation is not admitted; empty when it is. Reasons are for
// the host and its diagnostics. The model gets one constant text for all.
type Reason string

// The closed list of reasons, in the order in which they are looked for.
const (
	NoProposal       Reason = "NO_PROPOSAL"        // a paused call without what it was proposed with (F30)
	OtherProposal    Reason = "OTHER_PROPOSAL"     // its bytes, tool or name are not those that were proposed
	Malformed        Reason = "MALFORMED"          // reserved metadata that cannot be read (F18)
	NoWitness        Reason = "NO_WITNESS"         // nothing was captured (F16)
	Incomplete       Reason = "WITNESS_INCOMPLETE" // part of the request is kept by the provider
	Overflow         Reason = "WITNESS_OVERFLOW"   // a bound was crossed (F17)
	NotServed        Reason = "NOT_SERVED"         // no result of this id in the request
	Ambiguous        Reason = "AMBIGUOUS"          // more than one, in the request or among the marks (F15)
	Unmarked         Reason = "UNMARKED"           // the host did not say what the served message is
	WasNotDispatched Reason = "NOT_DISPATCHED"     // a notice, not a result (F14)
	OtherRun         Reason = "OTHER_RUN"          // neither of this run nor of one that it continues
	RecordNotRead    Reason = "RECORD_NOT_READ"    // the host did not read the record
	RecordGone       Reason = "RECORD_GONE"        // missing, expired or somebody else's
	RecordUnreadable Reason = "RECORD_UNREADABLE"  // there, and cannot be read or trusted
	RecordOpen       Reason = "RECORD_OPEN"        // PROJECTING
	RecordFailed     Reason = "RECORD_FAILED"      // ERROR: identity, never evidence
)
