package evidence

import "fmt"

// Status is the evidence verdict on one ended call. The zero value means "not
// judged" and is valid nowhere: while a call is PROJECTING it has no status.
type Status string

// The closed list of statuses, spelled as they are stored and shown.
const (
	// Found: the tool returned at least one counted item.
	Found Status = "EVIDENCE_FOUND"
	// None: a search that provably ran to its end counted zero. It backs a
	// negative statement inside its Coverage and nothing else.
	None Status = "NO_EVIDENCE"
	// Failed: the call ended as ERROR. Never evidence, in neither direction.
	Failed Status = "ERROR"
)

// Observed reports whether s may stand on a READY record: Found or None.
func (s Status) Observed() bool { return s == Found || s == None }

// Valid reports whether s is one of the three statuses, spelled exactly.
func (s Status) Valid() bool { return s.Observed() || s == Failed }

// ParseStatus reads a status as it is stored. Spelling is exact: "no_evidence"
// and "FOUND" are refused, since a status that was guessed is worse than none.
func ParseStatus(text string) (Status, error) {
	if s := Status(text); s.Valid() {
		return s, nil
	}
	return "", &Error{Field: "evidence_status", Reason: "not one of EVIDENCE_FOUND, NO_EVIDENCE, ERROR"}
}

// Error says which part of a coverage, fact or status is not acceptable and
// why. It never repeats the offending text.
type Error struct {
	Field  string // which field, in the spelling of the JSON form
	Reason string // the rule that it breaks
	Limit  int64  // the limit, where the rule is one; else 0
	Size   int64  // what was given, where the rule is a limit; else 0
}

// Error names field and rule, with size and limit (bytes, or entries of a list)
// where the rule is one; never the text.
func (e *Error) Error() string {
	if e.Limit > 0 {
		return fmt.Sprintf("evidence: %s: %s (%d, limit %d)", e.Field, e.Reason, e.Size, e.Limit)
	}
	return fmt.Sprintf("evidence: %s: %s", e.Field, e.Reason)
}
