package evidence_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
)

// wantError checks that err is about field and does not repeat hidden.
func wantError(t *testing.T, err error, field, hidden string) *evidence.Error {
	t.Helper()
	e, ok := errors.AsType[*evidence.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error about %s", err, field)
	}
	if e.Field != field {
		t.Errorf("error is about %q (%v), want %q", e.Field, e, field)
	}
	if hidden != "" && strings.Contains(e.Error(), hidden) {
		t.Errorf("error repeats what was given: %v", e)
	}
	return e
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	for text, observed := range map[string]bool{"EVIDENCE_FOUND": true, "NO_EVIDENCE": true, "ERROR": false} {
		s, err := evidence.ParseStatus(text)
		if err != nil || string(s) != text || !s.Valid() || s.Observed() != observed {
			t.Errorf("ParseStatus(%q) = %q, %v (observed %v), want itself, observed %v", text, s, err, s.Observed(), observed)
		}
	}
}

func TestT31_status_is_spelled_exactly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "FOUND", "no_evidence", "No_Evidence", "error", " ERROR", "ERROR\n", "NO_EVIDENCE ", "READY"} {
		s, err := evidence.ParseStatus(text)
		wantError(t, err, "evidence_status", "FOUND\x00")
		if s != "" || evidence.Status(text).Valid() || evidence.Status(text).Observed() {
			t.Errorf("%q counts as a status", text)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	e := &evidence.Error{Field: "fact.value", Reason: "too long in bytes", Size: 241, Limit: 240}
	if got, want := e.Error(), "evidence: fact.value: too long in bytes (241, limit 240)"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	e = &evidence.Error{Field: "fact.value", Reason: "not valid UTF-8"}
	if got, want := e.Error(), "evidence: fact.value: not valid UTF-8"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}
