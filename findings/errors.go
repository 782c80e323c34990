package findings

import "fmt"

// CaptureError says which part of a capture, a ticket or a list of tools the
// host got wrong. It never repeats an id or a text.
type CaptureError struct {
	Field  string // "marks", "records", "run", ...
	Index  int    // which element, from 0; 0 where Field is no list
	Reason string
}

// Error has field, index and rule.
func (e *CaptureError) Error() string {
	return fmt.Sprintf("findings: %s[%d]: %s", e.Field, e.Index, e.Reason)
}

// CodeError says why a stored witness, ledger or proposal is not used. Nothing
// of it is: a capture that is half read would be half a proof.
type CodeError struct {
	What   string // "witness", "ledger", "proposal"
	Reason string
	cause  error
}

// Error has what and rule; no id and no stored text.
func (e *CodeError) Error() string { return "findings: stored " + e.What + ": " + e.Reason }

// Unwrap is canonical.ErrNewerVersion where that is the reason, else nil.
func (e *CodeError) Unwrap() error { return e.cause }
