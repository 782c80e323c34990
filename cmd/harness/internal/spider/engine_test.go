package spider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/executors/sqltool"
)

// document is a raw result as a reader that is not ours sees it.
type document struct {
	Columns   []struct{ Name, Type string }
	Rows      [][]json.RawMessage
	Count     int `json:"row_count"`
	Truncated bool
}

func run(t *testing.T, tool *sqltool.Tool, q sqltool.Query) (document, []byte, error) {
	t.Helper()
	var raw bytes.Buffer
	if err := tool.Run(t.Context(), q, &raw); err != nil {
		return document{}, nil, err
	}
	var d document
	if err := json.Unmarshal(raw.Bytes(), &d); err != nil {
		t.Fatalf("the result is no JSON: %v", err)
	}
	return d, raw.Bytes(), nil
}

func codeOf(err error) boundary.Code {
	if coded, ok := errors.AsType[*boundary.ToolError](err); ok {
		return coded.Code
	}
	return ""
}

func TestValuesOfARealEngine(t *testing.T) {
	t.Parallel()
	tool := newTool(t, openFile(t), sqltool.Config{Checker: authorizer(t), AllowSemicolons: true})
	for name, c := range map[string]struct {
		query sqltool.Query
		want  string
	}{
		"digits":     {sqltool.Query{Statement: "SELECT 9007199254740993, -9223372036854775808, 0.1, NULL, 'a;b', x'ff00'"}, `[9007199254740993 -9223372036854775808 0.1 null "a;b" {"base64":"/wA="}]`},
		"bound":      {sqltool.Query{Statement: "SELECT ?, ?, ?, ?, typeof(?2)", Parameters: []any{"it's; fine", json.Number("9007199254740993"), json.Number("0.5"), nil}}, `["it's; fine" 9007199254740993 0.5 null "integer"]`},
		"zero":       {sqltool.Query{Statement: "SELECT COUNT(*) FROM Artist WHERE Name = 'nobody'"}, `[0]`},
		"sum_none":   {sqltool.Query{Statement: "SELECT SUM(Total) FROM Invoice WHERE 1 = 0;"}, `[null]`},
		"duplicates": {sqltool.Query{Statement: "SELECT 1 AS a, 2 AS a"}, `[1 2]`},
		"chinese":    {sqltool.Query{Statement: "SELECT '连接' || ?", Parameters: []any{"超时"}}, `["连接超时"]`},
		"date":       {sqltool.Query{Statement: "SELECT InvoiceDate FROM Invoice WHERE InvoiceId = 1"}, `["2021-01-01 00:00:00"]`},
		"with":       {sqltool.Query{Statement: "WITH x AS (SELECT 1 AS n) SELECT n FROM x"}, `[1]`},
	} {
		d, _, err := run(t, tool, c.query)
		if err != nil || len(d.Rows) != 1 || fmt.Sprintf("%s", d.Rows[0]) != c.want {
			t.Errorf("%s: got %s, %v, want %s", name, d.Rows, err, c.want)
		}
	}
}

// forbidden are statements that write, or reach for what is no table.
func forbidden() map[string]string {
	return map[string]string{
		"insert":        "INSERT INTO Artist (Name) VALUES ('x')",
		"update":        "UPDATE Track SET UnitPrice = 0",
		"delete":        "DELETE FROM InvoiceLine",
		"delete_none":   "DELETE FROM InvoiceLine WHERE 1 = 0",
		"with_delete":   "WITH x AS (SELECT 1) DELETE FROM InvoiceLine",
		"returning":     "DELETE FROM InvoiceLine RETURNING *",
		"create":        "CREATE TABLE x (y)",
		"drop":          "DROP TABLE PlaylistTrack",
		"alter":         "ALTER TABLE Artist RENAME TO x",
		"commented":     "/* SELECT */ DELETE FROM InvoiceLine",
		"user_version":  "PRAGMA user_version = 7",
		"analyze":       "ANALYZE",
		"create_index":  "CREATE INDEX x ON Artist (Name)",
		"replace":       "REPLACE INTO Genre VALUES (99, 'x')",
		"create_select": "CREATE TABLE x AS SELECT * FROM Artist",
	}
}

// The transaction stands alone here, without any check, on a file that could be written.
func TestReadOnlyTransactionAlone(t *testing.T) {
	t.Parallel()
	f := openFile(t)
	tool := newTool(t, f, sqltool.Config{Checker: sqltool.Unchecked{}})
	for name, statement := range forbidden() {
		if _, _, err := run(t, tool, sqltool.Query{Statement: statement}); codeOf(err) != sqltool.CodeRefused {
			t.Errorf("%s: got %v with code %q, want %s", name, err, codeOf(err), sqltool.CodeRefused)
		}
		f.checkUntouched(t)
	}
	if d, _, err := run(t, tool, sqltool.Query{Statement: "SELECT COUNT(*) FROM InvoiceLine"}); err != nil || string(d.Rows[0][0]) != "2240" {
		t.Errorf("afterwards: got %s, %v, want 2240", d.Rows, err)
	}
}

// The authorizer stands before it, and nothing that it refuses reaches the file.
func TestAuthorizerAsChecker(t *testing.T) {
	t.Parallel()
	tool := newTool(t, openFile(t), sqltool.Config{Checker: authorizer(t)})
	checker := tool.Executor().(boundary.ArgumentChecker)
	more := forbidden()
	more["attach"], more["vacuum"], more["file_name"] = "ATTACH ':memory:' AS x", "VACUUM", "SELECT file FROM pragma_database_list"
	more["commit"], more["query_only"] = "COMMIT", "PRAGMA query_only = 0"
	for name, statement := range more {
		arguments, err := json.Marshal(map[string]string{"query": statement})
		if err != nil {
			t.Fatal(err)
		}
		if err := checker.CheckArguments(arguments); err == nil {
			t.Errorf("%s: passed the preflight", name)
		}
		if _, _, err := run(t, tool, sqltool.Query{Statement: statement}); codeOf(err) != sqltool.CodeRefused {
			t.Errorf("%s: got %v with code %q, want %s", name, err, codeOf(err), sqltool.CodeRefused)
		}
	}
}

func TestSecondStatement(t *testing.T) {
	t.Parallel()
	f := openFile(t)
	for name, tool := range map[string]*sqltool.Tool{
		"by_the_byte":       newTool(t, f, sqltool.Config{Checker: sqltool.Unchecked{}}),
		"by_the_authorizer": newTool(t, f, sqltool.Config{Checker: authorizer(t), AllowSemicolons: true}),
		"by_the_driver":     newTool(t, f, sqltool.Config{Checker: sqltool.Unchecked{}, AllowSemicolons: true}),
	} {
		for _, statement := range []string{"SELECT 1; DELETE FROM InvoiceLine", "COMMIT; DELETE FROM InvoiceLine", "ROLLBACK; PRAGMA query_only = 0; DELETE FROM InvoiceLine"} {
			if _, _, err := run(t, tool, sqltool.Query{Statement: statement}); err == nil {
				t.Errorf("%s: %q ran", name, statement)
			}
			f.checkUntouched(t)
		}
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	tool := newTool(t, openFile(t), sqltool.Config{Checker: sqltool.Unchecked{}})
	if err := tool.Probe(t.Context(), "DELETE FROM InvoiceLine WHERE 1 = 0", "CREATE TABLE x (y)"); err != nil {
		t.Errorf("got %v, want a database that can be read and not written", err)
	}
	if err := tool.Probe(t.Context(), "SELECT 1"); !errors.Is(err, sqltool.ErrWritable) {
		t.Errorf("got %v, want %v for a statement that does not fail", err, sqltool.ErrWritable)
	}
}

// A statement that never ends is stopped by the engine at its limit, and the connection serves on.
func TestEndlessStatement(t *testing.T) {
	t.Parallel()
	tool := newTool(t, openFile(t), sqltool.Config{Checker: authorizer(t), Limits: sqltool.Limits{Timeout: 300 * time.Millisecond}})
	endless := "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
	if _, _, err := run(t, tool, sqltool.Query{Statement: endless}); codeOf(err) != sqltool.CodeTimeout {
		t.Errorf("got %v, want %s", err, sqltool.CodeTimeout)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tool.Run(ctx, sqltool.Query{Statement: endless}, &bytes.Buffer{}); !errors.Is(err, context.DeadlineExceeded) || codeOf(err) != "" {
		t.Errorf("got %v, want the caller's deadline", err)
	}
	longer := newTool(t, openFile(t), sqltool.Config{Checker: authorizer(t)})
	if d, _, err := run(t, longer, sqltool.Query{Statement: "SELECT COUNT(*) FROM Track"}); err != nil || string(d.Rows[0][0]) != "3503" {
		t.Errorf("got %s, %v, want 3503", d.Rows, err)
	}
}

func TestFailuresOfARealEngine(t *testing.T) {
	t.Parallel()
	tool := newTool(t, openFile(t), sqltool.Config{Checker: authorizer(t), Limits: sqltool.Limits{MaxBytes: 4096}})
	for name, c := range map[string]struct {
		statement string
		want      boundary.Code
	}{
		"no_table":  {"SELECT * FROM albums", sqltool.CodeInvalid},
		"no_column": {"SELECT Nme FROM Artist", sqltool.CodeInvalid},
		"syntax":    {"SELEC 1", sqltool.CodeInvalid},
		"large_row": {"SELECT hex(zeroblob(4000))", sqltool.CodeTooLarge},
		"in_a_row":  {"SELECT abs(-9223372036854775808)", sqltool.CodeInvalid},
	} {
		_, _, err := run(t, tool, sqltool.Query{Statement: c.statement})
		if codeOf(err) != c.want {
			t.Errorf("%s: got %v with code %q, want %s", name, err, codeOf(err), c.want)
		}
		if err != nil && strings.Contains(err.Error(), "albums") {
			t.Errorf("%s: the error has the engine's text: %v", name, err)
		}
	}
}
