package records

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/retrieval"
)

// MissingError says that a run or a call is not in the scope. Why it is not there cannot be told.
type MissingError struct {
	What  string // "run", "call", "evidence id"
	Scope canonical.Scope
}

// Error names scope and reasons. A scope is the host's word and no secret.
func (e *MissingError) Error() string {
	return fmt.Sprintf("no such %s in the scope %s: it was never there, was deleted, or has expired", e.What, ScopeText(e.Scope))
}

// Unwrap is the one reason of package retrieval.
func (e *MissingError) Unwrap() error { return retrieval.ErrMissing }

// ScopeText is a scope in one line: the fields that are set, quoted.
func ScopeText(s canonical.Scope) string {
	var parts []string
	for _, f := range []struct{ name, value string }{{"tenant", s.Tenant}, {"owner", s.Owner}, {"namespace", s.Namespace}} {
		if f.value != "" {
			parts = append(parts, f.name+" \""+console.Plain(f.value)+"\"")
		}
	}
	return strings.Join(parts, ", ")
}

// told gives an error the words that a person needs: the scope where something is missing, and of trouble what the store
// says in words that are known to be safe.
func (r *Reader) told(err error, what string) error {
	var trouble canonical.SafeTexter
	var own *retrieval.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, retrieval.ErrMissing), errors.Is(err, canonical.ErrMissing), errors.Is(err, canonical.ErrRunMissing):
		return &MissingError{What: what, Scope: r.scope}
	case errors.Is(err, retrieval.ErrUnavailable) && errors.As(err, &trouble):
		return &toldError{retrieval.ErrUnavailable.Error() + ": " + trouble.SafeText(), err}
	case errors.As(err, &own):
		return &toldError{strings.TrimPrefix(own.Error(), "retrieval: "+own.Op+": "), err}
	}
	return err
}

// toldError is an error in other words.
type toldError struct {
	text  string
	cause error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.cause }

func isNoResult(err error) bool { return errors.Is(err, retrieval.ErrNoResult) }

// refusedOr gives an error of the store itself the reason that package retrieval would give it.
func refusedOr(err error) error {
	if errors.Is(err, canonical.ErrCorrupt) || errors.Is(err, canonical.ErrForeign) {
		return &retrieval.Error{Op: "record", Err: retrieval.ErrCorrupt}
	}
	if errors.Is(err, canonical.ErrNewerVersion) {
		return &retrieval.Error{Op: "record", Err: retrieval.ErrVersion}
	}
	return unavailable(err)
}
