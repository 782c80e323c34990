package rows_test

import (
	"bytes"
	"database/sql/driver"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/projectortest"
	"github.com/toolharness/harness/projector/rows"
)

// The contract of package projector, tried on documents as Encode writes them.
func TestContract(t *testing.T) {
	t.Parallel()
	document := func(e rows.Encoder, result *table) []byte {
		var out bytes.Buffer
		if err := e.Encode(&out, query(t, result)); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	source := rows.Encoder{Database: "chinook", Statement: "SELECT a FROM t WHERE b = ?", Parameters: []any{"x"}}
	cut := source
	cut.MaxRows = 2
	digits := &table{columns: []string{"id", "n"}, rows: [][]driver.Value{{int64(9007199254740993), "18446744073709551616.5"}, {int64(2), nil}}}
	projectortest.Run(t, rows.New(rows.Options{}),
		projectortest.Case{Name: "digits", Request: []byte(request), Raw: document(source, digits), Want: evidence.Found},
		projectortest.Case{Name: "many", Raw: document(source, numbered(300)), Want: evidence.Found},
		projectortest.Case{Name: "truncated", Raw: document(cut, numbered(9)), Want: evidence.Found},
		projectortest.Case{Name: "count of zero", Raw: document(source, &table{columns: []string{"n"}, rows: [][]driver.Value{{int64(0)}}}), Want: evidence.Found},
		projectortest.Case{Name: "no rows", Request: []byte(request), Raw: document(source, &table{columns: []string{"a"}}), Want: evidence.None},
		projectortest.Case{Name: "first row over the cap", Raw: document(rows.Encoder{MaxBytes: 160}, numbered(1)), Want: evidence.Failed},
		projectortest.Case{Name: "outage", Raw: []byte(`{"error":"connection refused"}`), Want: evidence.Failed},
	)
}
