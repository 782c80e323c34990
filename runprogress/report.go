package runprogress

import (
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// Caps of a report. A value is bounded where it is made, by
// evidence.MaxFactValue. What a cap leaves out is counted in [Omitted].
const (
	MaxFactsPerCall = 16       // facts of one call
	MaxObservations = 128      // facts and absences of a run together
	MaxBytes        = 32 << 10 // of Report.Text, in UTF-8; observations share it with the lines on gaps
	MaxExclusions   = 128      // exclusions listed one by one
)

// Report is what a run's records say. It is a plain value, has no raw, agent
// result or request, and its JSON form is stable: equal reports have equal
// bytes.
type Report struct {
	Run   canonical.RunID `json:"run_id"`
	Phase canonical.Phase `json:"phase"`
	// After is the sequence behind which the report begins; 0 is the whole run.
	After int64 `json:"after,omitempty"`
	// Complete: the run is closed, every admission behind After was looked at,
	// and none was open or unreadable. A later report cannot say more.
	Complete bool `json:"complete"`

	Facts    []Fact      `json:"facts"`    // what READY calls found, in order of admission
	Absences []Absence   `json:"absences"` // where READY calls looked and found nothing, in that order
	Excluded []Exclusion `json:"excluded"` // calls that give nothing, in that order, at most MaxExclusions
	Omitted  Omitted     `json:"omitted"`  // what the caps left out
	Totals   Totals      `json:"totals"`   // over all calls that were looked at
}

// Call says which call a line is about.
type Call struct {
	Seq        int64                `json:"seq"` // place in the order of admission, from 1
	Turn       canonical.Turn       `json:"turn,omitempty"`
	ToolCallID canonical.ToolCallID `json:"tool_call_id"`
	Tool       string               `json:"tool_name,omitempty"` // empty when the record could not be read
}

// Fact is one line that a READY call with EVIDENCE_FOUND returned.
type Fact struct {
	Call
	evidence.Fact
	ObservedAt time.Time `json:"observed_at"` // the store's time at the end of the call, UTC
}

// Absence is a READY call with NO_EVIDENCE: it backs a negative statement inside
// its coverage and nothing else.
type Absence struct {
	Call
	Coverage   evidence.Coverage `json:"coverage"`
	ObservedAt time.Time         `json:"observed_at"` // the store's time at the end of the call, UTC
}

// Reason says why a call gives neither fact nor absence.
type Reason string

// The reasons. A record of another run is not told apart from a missing one, so
// that nobody learns what exists elsewhere.
const (
	Missing      Reason = "missing_or_expired"
	Projecting   Reason = "projecting"    // still open
	Failed       Reason = "error"         // ended as ERROR; the exclusion has its code
	Corrupt      Reason = "corrupt"       // cannot be read, or contradicts itself or the order
	NewerVersion Reason = "newer_version" // written by a newer version of this code
)

// Exclusion is one call that gives nothing.
type Exclusion struct {
	Call
	Reason    Reason              `json:"reason"`
	Code      lifecycle.Code      `json:"code,omitempty"`      // of a Failed call
	Execution lifecycle.Execution `json:"execution,omitempty"` // of a Failed call: did the tool run
}

// Omitted counts what the caps left out; each thing once, at the first cap that
// it met. Once the cap of the run or of bytes is met everything behind it is
// omitted, so that what is reported is unbroken from the start.
type Omitted struct {
	FactsOverCall int `json:"facts_over_call"` // more than MaxFactsPerCall
	FactsOverRun  int `json:"facts_over_run"`  // more than MaxObservations
	FactsOverSize int `json:"facts_over_size"` // more than MaxBytes
	Absences      int `json:"absences"`        // over either of the last two
	Exclusions    int `json:"exclusions"`      // more than MaxExclusions
}

// Totals are sums over the calls that were looked at. Sizes are in bytes.
type Totals struct {
	Admitted       int64    `json:"admitted"`            // by the run, whoever made them
	Calls          int      `json:"calls"`               // looked at for this report
	Ready          int      `json:"ready"`               // of them READY
	WithoutFacts   int      `json:"ready_without_facts"` // EVIDENCE_FOUND, but the projector gave no facts
	RawBytes       int64    `json:"raw_bytes"`           // what tools returned, kept or not
	ProjectedBytes int64    `json:"projected_bytes"`     // what the model got of it
	Largest        *Largest `json:"largest_call,omitempty"`
}

// Largest is the call that returned most; of equals the first.
type Largest struct {
	Call
	RawBytes int64 `json:"raw_bytes"`
}
