package rows_test

import (
	"bytes"
	"database/sql/driver"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/projector/rows"
)

// shape is the document as an independent reader sees it.
type shape struct {
	Format      string
	Database    string             `json:"database"`
	Statement   string             `json:"statement"`
	Parameters  []jsontext.Value   `json:"parameters"`
	ReadAt      string             `json:"read_at"`
	Columns     []map[string]any   `json:"columns"`
	Rows        [][]jsontext.Value `json:"rows"`
	RowCount    int                `json:"row_count"`
	Truncated   bool               `json:"truncated"`
	TruncatedBy string             `json:"truncated_by"`
}

func encode(t *testing.T, e rows.Encoder, result *table) (string, shape) {
	t.Helper()
	var out bytes.Buffer
	if err := e.Encode(&out, query(t, result)); err != nil {
		t.Fatalf("Encode: %v", err)
	}
	var s shape
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("Encode wrote no JSON document: %v\n%s", err, out.Bytes())
	}
	return out.String(), s
}

type ownText struct{ text string }

func (o ownText) String() string { return o.text }

type ownKind int16

type noText struct{ A, B int }

func TestEncodeValues(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	at := time.Date(2021, 1, 2, 3, 4, 5, 678900000, time.FixedZone("east", 3*3600))
	for name, c := range map[string]struct {
		value driver.Value
		want  string
	}{
		"null":                       {nil, `null`},
		"null_bytes":                 {[]byte(nil), `null`},
		"null_pointer":               {(*big.Int)(nil), `null`},
		"int64_least":                {int64(math.MinInt64), `-9223372036854775808`},
		"int64_beyond_float":         {int64(9007199254740993), `9007199254740993`},
		"uint64_greatest":            {uint64(math.MaxUint64), `"18446744073709551615"`},
		"uint8":                      {uint8(255), `255`},
		"int32":                      {int32(-7), `-7`},
		"own_integer_kind":           {ownKind(12), `12`},
		"decimal_as_text":            {"12345678901234567890.10", `"12345678901234567890.10"`},
		"decimal_as_bytes":           {[]byte("0.10"), `"0.10"`},
		"big_integer":                {huge, `"123456789012345678901234567890"`},
		"own_text":                   {ownText{"1.50"}, `"1.50"`},
		"float_shortest":             {0.1, `0.1`},
		"float_whole":                {523.0, `523`},
		"float_tiny":                 {5e-324, `5e-324`},
		"float_negative_zero":        {math.Copysign(0, -1), `-0`},
		"float32_shortest":           {float32(0.1), `0.1`},
		"float_nan":                  {math.NaN(), `"NaN"`},
		"float_infinite":             {math.Inf(-1), `"-Inf"`},
		"true":                       {true, `true`},
		"text":                       {"é 漢 \"quoted\"", `"é 漢 \"quoted\""`},
		"text_with_controls":         {"a\x00b\nc", `"a\u0000b\nc"`},
		"empty_text":                 {"", `""`},
		"empty_bytes":                {[]byte{}, `""`},
		"bytes_no_text":              {[]byte{0xff, 0x00}, `{"base64":"/wA="}`},
		"string_no_text":             {"\xff", `{"base64":"/w=="}`},
		"time_in_utc_to_nanoseconds": {at, `"2021-01-02T00:04:05.6789Z"`},
		"raw_json":                   {jsontext.Value(`{"a":1}`), `"{\"a\":1}"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := encode(t, rows.Encoder{}, &table{columns: []string{"v"}, rows: [][]driver.Value{{c.value}}})
			if got := string(s.Rows[0][0]); got != c.want {
				t.Errorf("cell of %T = %s, want %s", c.value, got, c.want)
			}
		})
	}
}

func TestEncodeFloatsReadBack(t *testing.T) {
	t.Parallel()
	values := []float64{math.MaxFloat64, math.SmallestNonzeroFloat64, 1.0 / 3, 1e21, 1e-7, 123456789.123456789, -2.5e-300}
	for _, want := range values {
		_, s := encode(t, rows.Encoder{}, &table{columns: []string{"v"}, rows: [][]driver.Value{{want}}})
		var got float64
		if err := json.Unmarshal(s.Rows[0][0], &got); err != nil || got != want {
			t.Errorf("%s reads back as %v, %v; want %v", s.Rows[0][0], got, err, want)
		}
	}
}

func TestEncodeUnknownType(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := rows.Encode(&out, query(t, &table{columns: []string{"a", "b"}, rows: [][]driver.Value{{int64(1), noText{7, 8}}}}))
	value, ok := errors.AsType[*rows.ValueError](err)
	if !ok || value.Column != 2 || value.GoType != "rows_test.noText" {
		t.Fatalf("Encode = %v, want a ValueError for column 2", err)
	}
	if strings.Contains(err.Error(), "7") {
		t.Errorf("error shows the value: %v", err)
	}
}

func TestEncodeDocument(t *testing.T) {
	t.Parallel()
	result := &table{
		columns: []string{"n", "n", "Total"}, types: []string{"INTEGER", "INTEGER", "NUMERIC"},
		rows: [][]driver.Value{{int64(1), int64(2), "3.30"}, {int64(4), nil, "5.50"}},
	}
	e := rows.Encoder{
		MaxRows: 2, Database: "chinook", Statement: "SELECT a.n, b.n, 'x'  FROM t WHERE n > 5", Parameters: []any{int64(9), "p"},
		ReadAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	text, s := encode(t, e, result)
	want := `{"format":"rows/1","database":"chinook","statement":"SELECT a.n, b.n, ? FROM t WHERE n > ?","read_at":"2026-01-02T03:04:05Z",` +
		`"parameters":[9,"p"],"columns":[{"name":"n","type":"INTEGER"},{"name":"n","type":"INTEGER"},{"name":"Total","type":"NUMERIC"}],` +
		`"rows":[[1,2,"3.30"],[4,null,"5.50"]],"row_count":2,"truncated":false}`
	if text != want {
		t.Errorf("document\n got %s\nwant %s", text, want)
	}
	if len(s.Columns) != 3 {
		t.Errorf("%d columns, want 3: duplicates are kept by position", len(s.Columns))
	}
}

func TestEncodeEmpty(t *testing.T) {
	t.Parallel()
	text, _ := encode(t, rows.Encoder{}, &table{columns: []string{"id"}})
	want := `{"format":"rows/1","columns":[{"name":"id"}],"rows":[],"row_count":0,"truncated":false}`
	if text != want {
		t.Errorf("document = %s, want %s", text, want)
	}
}

func numbered(n int) *table {
	result := &table{columns: []string{"id", "text"}}
	for i := range n {
		result.rows = append(result.rows, []driver.Value{int64(i), strings.Repeat("x", 40)})
	}
	return result
}

func TestEncodeMaxRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rows, count int
		truncated   bool
	}{{4, 4, false}, {5, 5, false}, {6, 6, true}, {50, 6, true}} {
		_, s := encode(t, rows.Encoder{MaxRows: 5}, numbered(c.rows))
		if s.Truncated != c.truncated || s.RowCount != c.count || len(s.Rows) != min(c.rows, 5) {
			t.Errorf("%d rows: truncated %v count %d rows %d, want %v %d %d", c.rows, s.Truncated, s.RowCount, len(s.Rows), c.truncated, c.count, min(c.rows, 5))
		}
		if c.truncated && s.TruncatedBy != rows.ByMaxRows {
			t.Errorf("%d rows: truncated_by %q, want %q", c.rows, s.TruncatedBy, rows.ByMaxRows)
		}
	}
}

func TestEncodeMaxBytes(t *testing.T) {
	t.Parallel()
	whole, _ := encode(t, rows.Encoder{}, numbered(20))
	for limit := int64(200); limit < int64(len(whole))+100; limit += 7 {
		text, s := encode(t, rows.Encoder{MaxBytes: limit}, numbered(20))
		if int64(len(text)) > limit {
			t.Fatalf("document has %d bytes, limit %d", len(text), limit)
		}
		if s.Truncated == (len(s.Rows) == 20) {
			t.Errorf("limit %d: truncated %v with %d of 20 rows", limit, s.Truncated, len(s.Rows))
		}
		if s.Truncated && (s.RowCount != len(s.Rows)+1 || s.TruncatedBy != rows.ByMaxBytes) {
			t.Errorf("limit %d: row_count %d by %q, want %d by max_bytes", limit, s.RowCount, s.TruncatedBy, len(s.Rows)+1)
		}
	}
}

// A first row that is over the cap alone must not look like no rows.
func TestEncodeFirstRowOverTheCap(t *testing.T) {
	t.Parallel()
	result := &table{columns: []string{"blob"}, rows: [][]driver.Value{{strings.Repeat("y", 1000)}}}
	text, s := encode(t, rows.Encoder{MaxBytes: 300}, result)
	if len(s.Rows) != 0 || s.RowCount != 1 || !s.Truncated {
		t.Fatalf("document = %s, want no rows, row_count 1, truncated", text)
	}
	if p, err := project(t, text, rows.Options{}); err == nil {
		t.Errorf("projected as %s, want an error", p.Status)
	}
}

func TestEncodeHeadOverTheCap(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := rows.Encoder{MaxBytes: 50}.Encode(&out, query(t, numbered(1)))
	e, ok := errors.AsType[*rows.EncodeError](err)
	if !ok || e.Step != rows.StepHead || e.Limit != 50 || out.Len() != 0 {
		t.Errorf("Encode = %v after %d bytes, want StepHead with limit 50 and nothing written", err, out.Len())
	}
}

func TestEncodeMoreResultSets(t *testing.T) {
	t.Parallel()
	two := numbered(1)
	two.next = &table{} // the empty one that ends a procedure
	if _, s := encode(t, rows.Encoder{}, two); s.Truncated {
		t.Errorf("an empty last result set counts as a cut")
	}
	two = numbered(1)
	two.next = numbered(3)
	if _, s := encode(t, rows.Encoder{}, two); !s.Truncated || s.TruncatedBy != rows.ByResultSets {
		t.Errorf("truncated %v by %q, want true by more_result_sets", s.Truncated, s.TruncatedBy)
	}
	broken := numbered(1)
	broken.nextErr = errors.New("the driver says host db7")
	err := rows.Encode(io.Discard, query(t, broken))
	if e, ok := errors.AsType[*rows.EncodeError](err); !ok || e.Step != rows.StepRead {
		t.Errorf("failing next result set: %v, want StepRead", err)
	}
}

// A driver that fails in the middle leaves a document that nobody can take for
// a whole one, and an error that does not quote the driver.
func TestEncodeDriverFails(t *testing.T) {
	t.Parallel()
	cause := errors.New("lost connection to root@db7")
	for at := range 4 {
		result := numbered(3)
		result.failAt, result.err = at, cause
		var out bytes.Buffer
		err := rows.Encode(&out, query(t, result))
		e, ok := errors.AsType[*rows.EncodeError](err)
		if !ok || e.Step != rows.StepRead || !errors.Is(err, cause) {
			t.Fatalf("failure before row %d: %v, want StepRead with the cause", at, err)
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "db7") {
			t.Errorf("error text quotes the driver: %s", text)
		}
		if p, err := project(t, out.String(), rows.Options{}); err == nil {
			t.Errorf("failure before row %d: half a document projected as %s", at, p.Status)
		}
	}
}

type shortWriter struct{ left int }

func (w *shortWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return w.left, errors.New("limit of the writer")
	}
	w.left -= len(p)
	return len(p), nil
}

func TestEncodeWriterStops(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 10, 100, 300} {
		err := rows.Encode(&shortWriter{left: room}, query(t, numbered(20)))
		if e, ok := errors.AsType[*rows.EncodeError](err); !ok || e.Step != rows.StepWrite {
			t.Errorf("writer with room for %d: %v, want StepWrite", room, err)
		}
	}
}

func TestEncodeBadOptions(t *testing.T) {
	t.Parallel()
	rs := query(t, numbered(1))
	for name, err := range map[string]error{
		"nil writer":         rows.Encode(nil, rs),
		"nil rows":           rows.Encode(io.Discard, nil),
		"negative max rows":  rows.Encoder{MaxRows: -1}.Encode(io.Discard, rs),
		"negative max bytes": rows.Encoder{MaxBytes: -1}.Encode(io.Discard, rs),
	} {
		if e, ok := errors.AsType[*rows.EncodeError](err); !ok || e.Step != rows.StepOptions {
			t.Errorf("%s: %v, want StepOptions", name, err)
		}
	}
	err := rows.Encoder{Parameters: []any{noText{}}}.Encode(io.Discard, rs)
	if e, ok := errors.AsType[*rows.EncodeError](err); !ok || e.Step != rows.StepParameters {
		t.Errorf("parameter without text: %v, want StepParameters", err)
	}
	closed := query(t, numbered(1))
	closed.Close()
	if e, ok := errors.AsType[*rows.EncodeError](rows.Encode(io.Discard, closed)); !ok || e.Step != rows.StepColumns {
		t.Errorf("closed rows: %v, want StepColumns", e)
	}
}

// Every value goes in through database/sql and comes back from the document
// without a difference, over random tables of all cell types.
func TestEncodeRoundTrip(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	for range 50 {
		columns := 1 + random.IntN(6)
		result := &table{columns: make([]string, columns)}
		for range random.IntN(40) {
			row := make([]driver.Value, columns)
			for i := range row {
				row[i] = randomValue(random)
			}
			result.rows = append(result.rows, row)
		}
		text, s := encode(t, rows.Encoder{}, result)
		if s.RowCount != len(result.rows) || len(s.Rows) != len(result.rows) {
			t.Fatalf("%d rows came back as %d (row_count %d)", len(result.rows), len(s.Rows), s.RowCount)
		}
		for i, row := range result.rows {
			for j, value := range row {
				if got, err := decodeCell(s.Rows[i][j], value); err != nil || !got {
					t.Fatalf("cell %d,%d: %T %v came back as %s (%v)\n%s", i, j, value, value, s.Rows[i][j], err, text)
				}
			}
		}
	}
}

// decodeCell reports whether cell reads back as want.
func decodeCell(cell jsontext.Value, want driver.Value) (bool, error) {
	switch want := want.(type) {
	case nil:
		return string(cell) == "null", nil
	case int64:
		var got int64
		err := json.Unmarshal(cell, &got)
		return got == want, err
	case float64:
		var got float64
		err := json.Unmarshal(cell, &got)
		return got == want, err
	case bool:
		var got bool
		err := json.Unmarshal(cell, &got)
		return got == want, err
	case time.Time:
		var got time.Time
		err := json.Unmarshal(cell, &got)
		return got.Equal(want), err
	case string:
		return decodeBytes(cell, []byte(want))
	case []byte:
		return decodeBytes(cell, want)
	}
	return false, fmt.Errorf("no reading for %T", want)
}

func decodeBytes(cell jsontext.Value, want []byte) (bool, error) {
	if cell.Kind() == '"' {
		var got string
		err := json.Unmarshal(cell, &got)
		return got == string(want), err
	}
	var marked struct {
		Base64 string `json:"base64"`
	}
	if err := json.Unmarshal(cell, &marked); err != nil {
		return false, err
	}
	got, err := base64.StdEncoding.DecodeString(marked.Base64)
	return bytes.Equal(got, want), err
}
