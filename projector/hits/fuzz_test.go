package hits_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/hits"
)

// FuzzHits gives the projector any raw bytes and any limits: it returns an error
// or a projection inside them, an absence only for a document that an
// independent reader finds complete and empty, and never panics.
func FuzzHits(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte, agentBytes, factsBytes uint16) {
		in := input(string(raw))
		in.Limits = projector.Limits{AgentBytes: int(agentBytes), FactsBytes: int(factsBytes)}
		p, err := projector.Drive(t.Context(), hits.New(hits.Options{}), in, projector.Options{Timeout: time.Minute})
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
		if _, ok := errors.AsType[*hits.DocumentError](err); !ok {
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
	var found []map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &doc), json.Unmarshal(doc["hits"], &found)); err != nil {
		t.Fatalf("projected as %s what another reader finds incomplete: %v", p.Status, err)
	}
	retrieved := 0
	for _, h := range found {
		var legs []string
		if json.Unmarshal(h["matched_by"], &legs) == nil && len(legs) > 0 {
			retrieved++
		}
	}
	if p.Status == evidence.Found && retrieved == 0 {
		t.Errorf("status %s and no hit names a leg", p.Status)
	}
	if p.Status == evidence.None && (!p.Coverage.Complete || doc["threshold"] == nil && !bytes.Contains(raw, []byte("fallback")) && retrieved > 0) {
		t.Errorf("absence with %d retrieved hits, coverage %+v", retrieved, p.Coverage)
	}
	if bytes.Contains(doc["legs"], []byte(`"failed":"`)) && p.Status == evidence.None && !bytes.Contains(doc["legs"], []byte(`"failed":""`)) {
		t.Errorf("absence with legs %s", doc["legs"])
	}
}
