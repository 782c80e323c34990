package sqltool_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/executors/sqltool"
	"github.com/toolharness/harness/projector/rows"
)

// document is a result as a reader that is not ours sees it.
type document struct {
	Format, Database, Statement string
	ReadAt                      time.Time `json:"read_at"`
	Parameters                  []any
	Rows                        [][]json.RawMessage
	Count                       int `json:"row_count"`
	Truncated                   bool
	By                          string `json:"truncated_by"`
}

func run(t testing.TB, tool *sqltool.Tool, q sqltool.Query) (document, error) {
	t.Helper()
	var raw bytes.Buffer
	if err := tool.Run(t.Context(), q, &raw); err != nil {
		return document{}, err
	}
	var d document
	if err := json.Unmarshal(raw.Bytes(), &d); err != nil {
		t.Fatalf("the result is no JSON: %v\n%s", err, raw.Bytes())
	}
	return d, nil
}

// codeOf is the code of an error; empty where it has none.
func codeOf(err error) boundary.Code {
	if coded, ok := errors.AsType[*boundary.ToolError](err); ok {
		return coded.Code
	}
	return ""
}

func select1() sqltool.Query { return sqltool.Query{Statement: "SELECT name, n FROM genre"} }

func TestRun(t *testing.T) {
	t.Parallel()
	s := two()
	read := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	tool := newTool(t, s, sqltool.Config{Now: func() time.Time { return read }})
	d, err := run(t, tool, sqltool.Query{Statement: "SELECT name, n FROM genre WHERE n > 7 AND name = ?", Parameters: []any{"Rock"}})
	if err != nil {
		t.Fatal(err)
	}
	if d.Format != rows.Format || d.Database != "shop" || !d.ReadAt.Equal(read) || strings.Contains(d.Statement, "7") || fmt.Sprint(d.Parameters) != "[Rock]" {
		t.Errorf("got %+v, want format, database, time, parameters, and the statement without its literals", d)
	}
	if got := fmt.Sprintf("%s", d.Rows); got != `[["Rock" 9007199254740993] [null 0.5]]` || d.Count != 2 || d.Truncated {
		t.Errorf("got %s, %d, %t, want both rows with all digits", got, d.Count, d.Truncated)
	}
	if len(s.options) != 1 || !s.options[0].ReadOnly || !slices.Equal(s.ended, []string{"rollback"}) {
		t.Errorf("got options %v, ended by %v, want one read-only transaction that was rolled back", s.options, s.ended)
	}
}

func TestStatementIsSentAsItIs(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"SELECT 1":                            "SELECT 1",
		" \n\tSELECT 1 ;\r\n ":                "SELECT 1",
		"SELECT 'it''s'  -- why\n FROM \"x\"": "SELECT 'it''s'  -- why\n FROM \"x\"",
		"选择 1":                                "选择 1",
		"SELECT 1 -- ;":                       "SELECT 1 --", // what is behind a comment is in no statement
		"SELECT /* a */ 1;":                   "SELECT /* a */ 1",
	} {
		s := two()
		if _, err := run(t, newTool(t, s, sqltool.Config{}), sqltool.Query{Statement: sent}); err != nil || !slices.Equal(s.statements(), []string{want}) {
			t.Errorf("%q: got %v, %v, want %q", sent, s.statements(), err, want)
		}
	}
}

// No text in which a second statement could hide reaches a driver.
func TestOneStatementOnly(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"two":             "SELECT 1; DELETE FROM genre",
		"end_of_the_wish": "COMMIT; DELETE FROM genre",
		"in_a_comment":    "SELECT 1 /* ; */",
		"in_a_text":       "SELECT ';'",
		"dollar_quotes":   "SELECT $$;$$",
		"mysql_comment":   "SELECT 1 /*!; DELETE FROM genre */",
		"two_at_the_end":  "SELECT 1;;",
		"comment_behind":  "SELECT 1; -- done",
		"only_one":        ";",
		"empty":           "",
		"blank":           " \n\t ",
		"nul":             "SELECT 1\x00; DELETE FROM genre",
		"nul_alone":       "SELECT 1\x00DELETE",
		"no_utf8":         "SELECT '\xff'",
		"too_long":        "SELECT '" + strings.Repeat("x", 32<<10) + "'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := two()
			tool := newTool(t, s, sqltool.Config{})
			_, err := run(t, tool, sqltool.Query{Statement: statement})
			refused, ok := errors.AsType[*sqltool.QueryError](err)
			if !ok || refused.Field != "query" || codeOf(err) != sqltool.CodeInvalid || len(s.statements()) != 0 {
				t.Errorf("got %v, asked %v, want a refusal before the database was asked", err, s.statements())
			}
		})
	}
	s := two()
	lifted := newTool(t, s, sqltool.Config{AllowSemicolons: true})
	if _, err := run(t, lifted, sqltool.Query{Statement: "SELECT ';' ;"}); err != nil || !slices.Equal(s.statements(), []string{"SELECT ';'"}) {
		t.Errorf("with the rule lifted: got %v, %v, want the statement as it is", s.statements(), err)
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value any
		want  any // nil with refused: refused
		no    bool
	}{
		"null":            {nil, nil, false},
		"text":            {"it's; fine", "it's; fine", false},
		"true":            {true, true, false},
		"integer":         {json.Number("9007199254740993"), int64(9007199254740993), false},
		"least":           {json.Number("-9223372036854775808"), int64(math.MinInt64), false},
		"decimal":         {json.Number("0.1"), 0.1, false},
		"exponent":        {json.Number("1e5"), 1e5, false},
		"negative_zero":   {json.Number("-0.0"), math.Copysign(0, -1), false},
		"trailing_zeros":  {json.Number("1.50"), 1.5, false},
		"go_int":          {7, int64(7), false},
		"go_int64":        {int64(7), int64(7), false},
		"beyond_64_bits":  {json.Number("9223372036854775808"), nil, true},
		"too_many_digits": {json.Number("0.12345678901234567890"), nil, true},
		"overflow":        {json.Number("1e999"), nil, true},
		"underflow":       {json.Number("1e-999999999"), nil, true},
		"very_long":       {json.Number("0." + strings.Repeat("0", 100)), nil, true},
		"no_number":       {json.Number("x"), nil, true},
		"list":            {[]any{"a"}, nil, true},
		"object":          {map[string]any{}, nil, true},
		"go_float32":      {float32(1), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := two()
			_, err := run(t, newTool(t, s, sqltool.Config{}), sqltool.Query{Statement: "SELECT ?, ?", Parameters: []any{"first", c.value}})
			if c.no {
				refused, ok := errors.AsType[*sqltool.QueryError](err)
				if !ok || refused.Field != "parameters[1]" || len(s.statements()) != 0 {
					t.Errorf("got %v, want parameters[1] refused", err)
				}
				return
			}
			if err != nil || len(s.bound) != 1 || len(s.bound[0]) != 2 || s.bound[0][1].Value != c.want {
				t.Errorf("got %v, %v, want %v bound second", s.bound, err, c.want)
			}
		})
	}
	many := sqltool.Query{Statement: "SELECT 1", Parameters: make([]any, 101)}
	if _, err := run(t, newTool(t, two(), sqltool.Config{}), many); codeOf(err) != sqltool.CodeInvalid {
		t.Errorf("101 parameters: got %v, want %s", err, sqltool.CodeInvalid)
	}
}

func TestCaps(t *testing.T) {
	t.Parallel()
	wide := &server{columns: []string{"a"}}
	for range 50 {
		wide.rows = append(wide.rows, []driver.Value{strings.Repeat("x", 100)})
	}
	for name, c := range map[string]struct {
		limits  sqltool.Limits
		most    int
		by      string
		lastRow int
	}{
		"rows":     {sqltool.Limits{MaxRows: 7}, 7, rows.ByMaxRows, 8},
		"bytes":    {sqltool.Limits{MaxBytes: 1024}, 9, rows.ByMaxBytes, 9},
		"none_met": {sqltool.Limits{MaxRows: 50}, 50, "", 50},
	} {
		s := &server{columns: wide.columns, rows: wide.rows}
		d, err := run(t, newTool(t, s, sqltool.Config{Limits: c.limits}), select1())
		if err != nil || d.By != c.by || d.Truncated != (c.by != "") || len(d.Rows) > c.most || len(d.Rows) == 0 || d.Count < len(d.Rows) {
			t.Errorf("%s: got %d of %d rows, cut by %q, %v, want at most %d, cut by %q", name, len(d.Rows), d.Count, d.By, err, c.most, c.by)
		}
	}
}

// A first row that does not fit must never look like an empty table.
func TestFirstRowTooLarge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		columns []string
		rows    [][]driver.Value
		want    boundary.Code
	}{
		"first_row":   {[]string{"a"}, [][]driver.Value{{strings.Repeat("x", 2000)}}, sqltool.CodeTooLarge},
		"names":       {[]string{strings.Repeat("n", 2000)}, nil, sqltool.CodeTooLarge},
		"second_row":  {[]string{"a"}, [][]driver.Value{{"x"}, {strings.Repeat("x", 2000)}}, ""},
		"looks_like":  {[]string{"a"}, [][]driver.Value{{`"rows":[],"row_count":1,"truncated":true,"truncated_by":"max_bytes"}`}}, ""},
		"none_at_all": {[]string{"a"}, nil, ""},
	} {
		tool := newTool(t, &server{columns: c.columns, rows: c.rows}, sqltool.Config{Limits: sqltool.Limits{MaxBytes: 1024}})
		if _, err := run(t, tool, select1()); codeOf(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: got %v, want code %q", name, err, c.want)
		}
	}
}

// failure is an error of a driver that knows SQLSTATE.
type failure struct{ state string }

func (f failure) Error() string    { return "user secret at 10.0.0.7: " + f.state }
func (f failure) SQLState() string { return f.state }

type lostNetwork struct{}

func (lostNetwork) Error() string   { return "dial tcp 10.0.0.7: secret" }
func (lostNetwork) Timeout() bool   { return true }
func (lostNetwork) Temporary() bool { return true }

// errOwn is an error that only the host can read.
var errOwn = errors.New("vendor error 1142 secret")

func TestFailuresHaveCodes(t *testing.T) {
	t.Parallel()
	plain := errors.New(`near "SELEC": syntax error, secret`)
	fails := func(err error) *server {
		s := two()
		s.query = func(context.Context, string) error { return err }
		return s
	}
	breaks := func(err error) *server {
		s := two()
		s.failAt, s.broken = 1, err
		return s
	}
	for name, c := range map[string]struct {
		server *server
		want   boundary.Code
	}{
		"no_code":             {fails(plain), sqltool.CodeInvalid},
		"in_the_midst":        {breaks(plain), sqltool.CodeInvalid},
		"unknown_table":       {fails(failure{"42P01"}), sqltool.CodeInvalid},
		"division_by_zero":    {breaks(failure{"22012"}), sqltool.CodeInvalid},
		"no_state":            {fails(failure{""}), sqltool.CodeInvalid},
		"no_privilege":        {fails(failure{"42501"}), sqltool.CodeRefused},
		"read_only":           {fails(failure{"25006"}), sqltool.CodeRefused},
		"read_only_in_midst":  {breaks(failure{"25006"}), sqltool.CodeRefused},
		"stopped_by_server":   {fails(failure{"57014"}), sqltool.CodeTimeout},
		"shut_down":           {fails(failure{"57P01"}), sqltool.CodeUnavailable},
		"out_of_memory":       {fails(failure{"53200"}), sqltool.CodeUnavailable},
		"connection":          {breaks(failure{"08006"}), sqltool.CodeUnavailable},
		"network":             {fails(fmt.Errorf("wrapped: %w", lostNetwork{})), sqltool.CodeUnavailable},
		"connection_ended":    {breaks(io.ErrUnexpectedEOF), sqltool.CodeUnavailable},
		"bad_connection":      {fails(driver.ErrBadConn), sqltool.CodeUnavailable},
		"does_not_begin":      {&server{begin: plain}, sqltool.CodeUnavailable},
		"begin_unauthorized":  {&server{begin: failure{"28P01"}}, sqltool.CodeUnavailable},
		"host_reads":          {fails(errOwn), sqltool.CodeRefused},
		"value_without_text":  {&server{columns: []string{"a"}, rows: [][]driver.Value{{[]int{1}}}}, sqltool.CodeUnreadable},
		"host_leaves_to_tool": {fails(fmt.Errorf("%w", failure{"42601"})), sqltool.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := newTool(t, c.server, sqltool.Config{Classify: func(err error) sqltool.Fault {
				if errors.Is(err, errOwn) {
					return sqltool.FaultRefused
				}
				return ""
			}})
			_, err := run(t, tool, select1())
			if codeOf(err) != c.want {
				t.Errorf("got %v with code %q, want %s", err, codeOf(err), c.want)
			}
			if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, "secret") {
				t.Errorf("the text of the error has the driver's: %s", text)
			}
		})
	}
}

func TestCauseIsKeptForTheHost(t *testing.T) {
	t.Parallel()
	s := two()
	s.query = func(context.Context, string) error { return failure{"42P01"} }
	_, err := run(t, newTool(t, s, sqltool.Config{}), select1())
	if cause, ok := errors.AsType[failure](err); !ok || cause.state != "42P01" {
		t.Errorf("got %v, want the driver's error to be found", err)
	}
}

func TestFaultsAreCodes(t *testing.T) {
	t.Parallel()
	for fault, want := range map[sqltool.Fault]boundary.Code{
		sqltool.FaultRefused: sqltool.CodeRefused, sqltool.FaultInvalid: sqltool.CodeInvalid, sqltool.FaultTimeout: sqltool.CodeTimeout,
		sqltool.FaultUnavailable: sqltool.CodeUnavailable, "made up": sqltool.CodeInvalid, "": sqltool.CodeUnavailable,
	} {
		s := two()
		s.query = func(context.Context, string) error { return lostNetwork{} }
		tool := newTool(t, s, sqltool.Config{Classify: func(error) sqltool.Fault { return fault }})
		if _, err := run(t, tool, select1()); codeOf(err) != want {
			t.Errorf("%q: got %q, want %q", fault, codeOf(err), want)
		}
	}
}

func TestTimeOfOneStatement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := two()
		s.hangs = true
		tool := newTool(t, s, sqltool.Config{Limits: sqltool.Limits{Timeout: 3 * time.Second}})
		begin := time.Now()
		_, err := run(t, tool, select1())
		if codeOf(err) != sqltool.CodeTimeout || time.Since(begin) != 3*time.Second {
			t.Errorf("got %v after %v, want %s after 3s", err, time.Since(begin), sqltool.CodeTimeout)
		}
		synctest.Wait()
	})
}

// The end of the caller's context is the caller's and gets no code of this tool.
func TestEndOfTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{time.Second, time.Hour} {
			s := two()
			s.hangs = true
			tool := newTool(t, s, sqltool.Config{Limits: sqltool.Limits{Timeout: time.Hour}})
			ctx, cancel := context.WithTimeout(t.Context(), limit/2)
			err := tool.Run(ctx, select1(), io.Discard)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || codeOf(err) != "" {
				t.Errorf("got %v, want the caller's deadline and no code", err)
			}
		}
		synctest.Wait()
	})
}

// limited takes some bytes and then fails.
type limited struct{ room int }

func (l *limited) Write(p []byte) (int, error) {
	if l.room -= len(p); l.room < 0 {
		return 0, boundary.ErrRawLimit
	}
	return len(p), nil
}

func TestWriterErrorComesBack(t *testing.T) {
	t.Parallel()
	tool := newTool(t, two(), sqltool.Config{})
	for room := range 60 {
		if err := tool.Run(t.Context(), select1(), &limited{room}); !errors.Is(err, boundary.ErrRawLimit) || codeOf(err) != "" {
			t.Fatalf("room for %d bytes: got %v, want %v without a code", room, err, boundary.ErrRawLimit)
		}
	}
}

// A rollback that fails takes nothing away from rows that were read.
func TestRollbackFails(t *testing.T) {
	t.Parallel()
	s := two()
	s.onEnd = func(bool) error { return driver.ErrBadConn }
	if d, err := run(t, newTool(t, s, sqltool.Config{}), select1()); err != nil || d.Count != 2 {
		t.Errorf("got %d rows, %v, want both", d.Count, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := two()
	tool := newTool(t, s, sqltool.Config{})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				if d, err := run(t, tool, select1()); err != nil || d.Count != 2 {
					t.Errorf("got %d rows, %v, want 2", d.Count, err)
				}
			}
		})
	}
	wait.Wait()
	if n := len(s.statements()); n != 160 {
		t.Errorf("asked %d times, want 160", n)
	}
}
