package sqlread

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
)

func TestRowCap(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{MaxRows: 25})
	for statement, want := range map[string]struct {
		rows int
		cut  Cut
	}{
		`SELECT * FROM Genre`:          {25, Whole}, // exactly at the limit
		`SELECT * FROM Genre LIMIT 24`: {24, Whole},
		`SELECT * FROM Artist`:         {25, CutRows},
		`SELECT * FROM Genre WHERE 0`:  {0, Whole},
	} {
		table, err := db.Table(t.Context(), statement)
		if err != nil || len(table.Rows) != want.rows || table.Cut != want.cut {
			t.Errorf("%s: got %d rows, cut %q, %v; want %d, %q", statement, len(table.Rows), table.Cut, err, want.rows, want.cut)
		}
	}
}

func TestByteCap(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{MaxBytes: 100})
	const rows = `WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20) `
	for statement, want := range map[string]struct {
		rows  int
		bytes int64
		cut   Cut
	}{
		rows + `SELECT 'abcdefghij' FROM n LIMIT 10`: {10, 100, Whole}, // exactly at the limit
		rows + `SELECT 'abcdefghij' FROM n`:          {10, 100, CutBytes},
		rows + `SELECT 'äöüß', i FROM n`:             {6, 96, CutBytes}, // bytes, not characters
		rows + `SELECT NULL, 1.5, x'00' FROM n`:      {10, 100, CutBytes},
	} {
		table, err := db.Table(t.Context(), statement)
		if err != nil || len(table.Rows) != want.rows || table.Bytes != want.bytes || table.Cut != want.cut {
			t.Errorf("%s: got %d rows, %d bytes, cut %q, %v; want %+v", statement, len(table.Rows), table.Bytes, table.Cut, err, want)
		}
	}
	table, err := db.Table(t.Context(), `SELECT hex(zeroblob(60))`)
	if !errors.Is(err, ErrFirstRowTooLarge) || table.Rows != nil {
		t.Errorf("a first row over the limit: got %v, %v, want an error and no table", table, err)
	}
}

func TestColumnNamesMayRepeat(t *testing.T) {
	t.Parallel()
	table, err := openChinook(t, Limits{}).Table(t.Context(), `SELECT 1 AS a, 2 AS a`)
	if err != nil || len(table.Columns) != 2 || table.Columns[0] != "a" || table.Columns[1] != "a" || table.Rows[0][1] != int64(2) {
		t.Errorf("got %v, %v", table, err)
	}
}

// The image is the published file and the engine reads the published numbers out of it.
func TestChinookIsWhole(t *testing.T) {
	t.Parallel()
	var expected struct {
		Bytes int            `json:"sqlite_file_bytes"`
		Rows  map[string]int `json:"rows"`
		Sum   float64        `json:"sum_invoice_total"`
	}
	if err := json.Unmarshal([]byte(data.ChinookExpected()), &expected); err != nil || len(expected.Rows) != 11 {
		t.Fatalf("expected.json: %v, %d tables", err, len(expected.Rows))
	}
	if len(data.Chinook()) != expected.Bytes {
		t.Errorf("got %d bytes, want %d", len(data.Chinook()), expected.Bytes)
	}
	db := openChinook(t, Limits{})
	for name, want := range expected.Rows {
		table, err := db.Table(t.Context(), `SELECT COUNT(*) FROM `+name)
		if err != nil || table.Rows[0][0] != int64(want) {
			t.Errorf("%s: got %v, %v, want %d", name, table.Rows, err, want)
		}
	}
	table, err := db.Table(t.Context(), `SELECT SUM(Total) FROM Invoice`)
	if err != nil || math.Abs(table.Rows[0][0].(float64)-expected.Sum) > 1e-6 {
		t.Errorf("sum: got %v, %v, want %v", table.Rows, err, expected.Sum)
	}
}
