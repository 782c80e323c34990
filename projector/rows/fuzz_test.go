package rows_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/rows"
)

// FuzzRows gives the projector any raw bytes and any limits: it returns an error
// or a projection inside them, an absence only for a document that an
// independent reader finds complete and empty, and never panics.
func FuzzRows(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte, agentBytes, factsBytes uint16) {
		in := input(string(raw))
		in.Limits = projector.Limits{AgentBytes: int(agentBytes), FactsBytes: int(factsBytes)}
		p, err := projector.Drive(t.Context(), rows.New(rows.Options{}), in, projector.Options{Timeout: time.Minute})
		if err != nil {
			checkRefusal(t, err)
			return
		}
		limit := in.Limits.AgentBytes
		if limit == 0 {
			limit = projector.DefaultAgentBytes
		}
		if len(p.Result) > limit || !utf8.Valid(p.Result) || !json.Valid(p.Result) {
			t.Errorf("agent result of %d bytes, limit %d: %q", len(p.Result), limit, p.Result)
		}
		if i := bytes.IndexFunc(p.Result, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }); i >= 0 {
			t.Errorf("a control character stands at %d of %q", i, p.Result)
		}
		if len(p.Facts) > 16 {
			t.Errorf("%d facts, want at most 16", len(p.Facts))
		}
		checkStatus(t, raw, p)
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
		if _, ok := errors.AsType[*rows.DocumentError](err); !ok {
			t.Errorf("failed with %v, want a DocumentError", errors.Unwrap(err))
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
	var doc map[string]json.RawMessage // a struct would match names without their case
	var count int64
	var cells [][]json.RawMessage
	err := errors.Join(json.Unmarshal(raw, &doc), json.Unmarshal(doc["rows"], &cells), json.Unmarshal(doc["row_count"], &count))
	cut := string(doc["truncated"])
	if err != nil || cut != "true" && cut != "false" {
		t.Fatalf("projected as %s what another reader finds incomplete: %v", p.Status, err)
	}
	empty := len(cells) == 0 && count == 0 && cut == "false"
	if (p.Status == evidence.None) != empty {
		t.Errorf("status %s for %d rows, row_count %d, truncated %s", p.Status, len(cells), count, cut)
	}
	if p.Status == evidence.None && !p.Coverage.Complete {
		t.Errorf("absence with coverage %+v", p.Coverage)
	}
}

// A fuzz target without seeds would start from nothing and find nothing.
func TestSeedsAreThere(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"FuzzRows", "FuzzFingerprint"} {
		seeds, err := os.ReadDir("testdata/fuzz/" + target)
		if err != nil || len(seeds) < 5 {
			t.Errorf("%s has %d seeds (%v), want at least 5", target, len(seeds), err)
		}
	}
}
