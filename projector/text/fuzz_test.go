package text_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/text"
)

// FuzzText gives the projector any raw bytes and any limits: it returns an error
// or a projection inside them that is JSON where the raw bytes are, an absence
// only for what an independent reader finds to be an empty array, and it never
// panics.
func FuzzText(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte, agentBytes, factsBytes uint16) {
		in := input(string(raw))
		in.Limits = projector.Limits{AgentBytes: int(agentBytes), FactsBytes: int(factsBytes)}
		p, err := projector.Drive(t.Context(), text.New(text.Options{Coverage: searched}), in, projector.Options{Timeout: time.Minute})
		if err != nil {
			checkRefusal(t, err)
			return
		}
		limit := in.Limits.AgentBytes
		if limit == 0 {
			limit = projector.DefaultAgentBytes
		}
		if len(p.Result) > limit || !utf8.Valid(p.Result) || len(p.Facts) > 16 {
			t.Errorf("%d facts, agent result of %d bytes, limit %d: %q", len(p.Facts), len(p.Result), limit, p.Result)
		}
		acts := func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
		}
		if i := bytes.IndexFunc(p.Result, acts); i >= 0 {
			t.Errorf("a control character stands at %d of %q", i, p.Result)
		}
		trimmed := bytes.Trim(raw, " \t\r\n")
		if jsontext.Value(trimmed).IsValid() && !jsontext.Value(p.Result).IsValid() {
			t.Errorf("JSON %q became %q, which is none", raw, p.Result)
		}
		checkStatus(t, trimmed, p)
	})
}

// checkRefusal: the contract's breaches are the projector's own fault and must
// not happen, whatever the input.
func checkRefusal(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*projector.Error](err)
	if !ok {
		t.Fatalf("Drive returned %T", err)
	}
	switch e.Kind {
	case projector.Failed:
		if _, ok := errors.AsType[*text.ResultError](err); !ok {
			t.Errorf("failed with %v, want a ResultError", errors.Unwrap(err))
		}
	case projector.TooLarge:
		if _, ok := errors.AsType[*projector.Error](errors.Unwrap(err)); !ok {
			t.Errorf("the driver had to refuse the size: %v", err)
		}
	default:
		t.Errorf("%v (%v)", err, errors.Unwrap(err))
	}
}

func checkStatus(t *testing.T, raw []byte, p projector.Projection) {
	t.Helper()
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	var array []json.RawMessage
	isArray := json.Unmarshal(raw, &array) == nil && array != nil
	if p.Status == evidence.None && (!isArray || len(array) > 0) || isArray && len(array) == 0 && p.Status != evidence.None {
		t.Errorf("status %s for %q", p.Status, raw)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil && utf8.Valid(raw) {
		if text, ok := object["error"]; ok && len(text) > 2 && text[0] == '"' && bytes.ContainsAny(text, "abcdefg") {
			t.Errorf("an error object is %s: %s", p.Status, raw)
		}
	}
}
