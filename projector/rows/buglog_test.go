package rows_test

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/rows"
)

// Reports from the field on results that are cut: whatever the bound, what comes
// is a whole document with whole characters, or an error, and it says that
// something is missing.
func TestBugLog(t *testing.T) {
	t.Parallel()
	for i, sample := range []string{"äöüß", "訂單失敗한국어", "😀🚀𝄞", "e\u0301o\u0308", "👨\u200d👩\u200d👧 ", "aé漢😀\"\\\n"} {
		raw := []byte(cells(t, sample))
		within := func(bound int) (projector.Projection, error) {
			return projector.Drive(t.Context(), rows.New(rows.Options{}), projector.Input{
				Tool: "tool", Request: []byte("{}"), Raw: raw, Limits: projector.Limits{AgentBytes: bound}}, projector.Options{})
		}
		full, err := within(projector.DefaultAgentBytes)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("B80_B82_sample_%d", i), func(t *testing.T) {
			t.Parallel()
			cuts := 0
			for bound := 1; bound <= len(full.Result); bound++ {
				p, err := within(bound)
				if err != nil {
					continue // too small for anything
				}
				if len(p.Result) > bound || !json.Valid(p.Result) || !utf8.Valid(p.Result) || bytes.ContainsRune(p.Result, utf8.RuneError) {
					t.Fatalf("in %d bytes: %q", bound, p.Result)
				}
				if bytes.Equal(p.Result, full.Result) {
					continue
				}
				cuts++
				if !bytes.Contains(p.Result, []byte("omitted")) || p.Status != full.Status {
					t.Fatalf("in %d bytes it is cut and does not say so: %q", bound, p.Result)
				}
				for _, fact := range p.Facts {
					if !utf8.ValidString(fact.Value) || strings.ContainsRune(fact.Value, utf8.RuneError) {
						t.Fatalf("fact %q", fact.Value)
					}
				}
			}
			if cuts < len(full.Result)/4 {
				t.Errorf("cut under %d of %d bounds only", cuts, len(full.Result))
			}
		})
		t.Run("B82_half_a_document", func(t *testing.T) {
			t.Parallel()
			for cut := 1; cut < len(raw); cut++ {
				p, err := projector.Drive(t.Context(), rows.New(rows.Options{}), projector.Input{Tool: "tool", Request: []byte("{}"), Raw: raw[:cut]}, projector.Options{})
				if err == nil && strings.TrimSpace(string(raw[cut:])) != "" {
					t.Fatalf("a document that ends after %d of %d bytes is taken: %q", cut, len(raw), p.Result)
				}
			}
		})
	}
}

// cells is a document of rows whose cells hold the sample.
func cells(t *testing.T, sample string) []byte {
	t.Helper()
	result := &table{columns: []string{"id", sample}}
	for i := range 12 {
		result.rows = append(result.rows, []driver.Value{int64(i), strings.Repeat(sample, 5*i)})
	}
	var out bytes.Buffer
	if err := rows.Encode(&out, query(t, result)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
