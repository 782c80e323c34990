package lifecycle

import "regexp"

// Code is a stable word for one kind of ending. The built-in codes are closed;
// a host may register more for its tools (see [Registry]). READY has no code.
type Code string

// The built-in codes, in the order in which a call can meet them. What each
// means for model and host stands in the table of code_table.go.
const (
	InvalidToolCallID     Code = "INVALID_TOOL_CALL_ID"
	RunMismatch           Code = "RUN_MISMATCH"
	RequestTooLarge       Code = "REQUEST_TOO_LARGE"
	InvalidInput          Code = "INVALID_INPUT"
	ReferenceRefused      Code = "REFERENCE_REFUSED"
	Unauthorized          Code = "UNAUTHORIZED"
	NotReadOnly           Code = "NOT_READ_ONLY"
	RunInactive           Code = "RUN_INACTIVE"
	RunDeadlineExceeded   Code = "RUN_DEADLINE_EXCEEDED"
	UnknownTool           Code = "UNKNOWN_TOOL"
	DuplicateToolCall     Code = "DUPLICATE_TOOL_CALL"
	RunBudgetExhausted    Code = "RUN_BUDGET_EXHAUSTED"
	ToolBudgetExhausted   Code = "TOOL_BUDGET_EXHAUSTED"
	CapacityExhausted     Code = "CAPACITY_EXHAUSTED"
	UnresolvedEffect      Code = "UNRESOLVED_EFFECT"
	Suspended             Code = "SUSPENDED"
	ToolExecutionFailed   Code = "TOOL_EXECUTION_FAILED"
	ToolTimeout           Code = "TOOL_TIMEOUT"
	Cancelled             Code = "CANCELLED"
	OutcomeUnknown        Code = "OUTCOME_UNKNOWN"
	ResultTooLarge        Code = "RESULT_TOO_LARGE"
	ResultNotStored       Code = "RESULT_NOT_STORED"
	ProjectionFailed      Code = "PROJECTION_FAILED"
	InvalidEvidenceStatus Code = "INVALID_EVIDENCE_STATUS"
	StoreUnavailable      Code = "STORE_UNAVAILABLE"
	StoreConflict         Code = "STORE_CONFLICT"
	RecordExpired         Code = "RECORD_EXPIRED"
	Orphaned              Code = "ORPHANED"
)

var codeForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// WellFormed reports whether c matches ^[A-Z][A-Z0-9_]{0,63}$, the form of
// built-in and registered codes alike.
func (c Code) WellFormed() bool { return codeForm.MatchString(string(c)) }

// Info returns what the built-in table says of c; false for any other code.
func (c Code) Info() (Info, bool) {
	for _, info := range table {
		if info.Code == c {
			return info, true
		}
	}
	return Info{}, false
}

// Codes returns the built-in codes in table order, as a fresh slice.
func Codes() []Code {
	codes := make([]Code, 0, len(table))
	for _, info := range table {
		codes = append(codes, info.Code)
	}
	return codes
}

// Actor is who must act before the same thing can succeed.
type Actor string

// The actors.
const (
	ByModel    Actor = "model"    // propose something else
	ByHost     Actor = "host"     // the program that embeds the library must change something
	ByOperator Actor = "operator" // the store or the tool's system needs a person
	ByNobody   Actor = "nobody"   // nothing to do; the run is over or the caller left
)

// Info is one row of the code table.
type Info struct {
	Code    Code
	Message string // the whole text for the model; constant, nothing is interpolated
	Actor   Actor

	// NewCallHelps: the model may try again with a new tool_call_id and, where
	// the message says so, a changed request. Only said of endings after which
	// nothing was changed, or nothing can have been: refusals, reads, tools that
	// declared it. RESULT_TOO_LARGE also ends tools that write; its message says
	// for which it holds.
	NewCallHelps bool

	// Executions with which the code is reported, without a record (a refusal,
	// or a store that could not be asked) and on a record in state ERROR.
	Refused  []Execution
	Recorded []Execution
}

// HasRecord reports whether a call that ended so can have a record.
func (i Info) HasRecord() bool { return len(i.Recorded) > 0 }

// AllowsRecord reports whether a record may end with this code and x.
func (i Info) AllowsRecord(x Execution) bool { return contains(i.Recorded, x) }

// Allows reports whether the code may be reported with x at all.
func (i Info) Allows(x Execution) bool { return contains(i.Refused, x) || contains(i.Recorded, x) }

func contains(list []Execution, x Execution) bool {
	for _, item := range list {
		if item == x {
			return true
		}
	}
	return false
}
