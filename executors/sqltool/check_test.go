package sqltool_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/executors/sqltool"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

var errNotASelect = errors.New("secret policy")

// onlyUpper is a checker with a rule that no engine has, so that nothing but the
// checker can have refused.
func onlyUpper(asked *atomic.Int64) sqltool.Checker {
	return sqltool.CheckerFunc(func(statement string) error {
		asked.Add(1)
		if statement != strings.ToUpper(statement) {
			return errNotASelect
		}
		return nil
	})
}

func TestCheckerIsAskedTwice(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := two()
	tool := newTool(t, s, sqltool.Config{Checker: onlyUpper(&asked)})
	executor := tool.Executor()
	checker := executor.(boundary.ArgumentChecker)
	if err := checker.CheckArguments([]byte(`{"query":" SELECT 1 ;"}`)); err != nil || asked.Load() != 1 {
		t.Fatalf("preflight: got %v after %d questions, want none after 1", err, asked.Load())
	}
	err := checker.CheckArguments([]byte(`{"query":"select 1"}`))
	refused, ok := errors.AsType[*sqltool.QueryError](err)
	if !ok || refused.Field != "query" || !errors.Is(err, errNotASelect) || asked.Load() != 2 {
		t.Errorf("preflight: got %v, want the checker's refusal", err)
	}
	if text := fmt.Sprintf("%v %+v %#v", refused, refused, refused); strings.Contains(text, "secret") || strings.Contains(text, "select 1") {
		t.Errorf("the error tells the policy or the statement: %s", text)
	}
	if len(s.statements()) != 0 || len(s.options) != 0 {
		t.Errorf("preflight asked the database: %v", s.statements())
	}
	// Where nobody asked in preflight, the statement is refused all the same.
	if _, err := run(t, tool, sqltool.Query{Statement: "select 1"}); codeOf(err) != sqltool.CodeRefused || len(s.statements()) != 0 {
		t.Errorf("got %v, want %s before the database was asked", err, sqltool.CodeRefused)
	}
	if _, err := run(t, tool, sqltool.Query{Statement: "SELECT 1"}); err != nil || asked.Load() != 4 {
		t.Errorf("got %v after %d questions, want a result after 4", err, asked.Load())
	}
}

func TestConfigIsCheckedWhole(t *testing.T) {
	t.Parallel()
	db := sql.OpenDB(two())
	t.Cleanup(func() { db.Close() })
	good := sqltool.Config{DB: db, Name: "shop", Checker: sqltool.Unchecked{}}
	with := func(change func(*sqltool.Config)) sqltool.Config {
		c := good
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		config sqltool.Config
		want   []string
	}{
		"nothing": {sqltool.Config{}, []string{"DB", "Name", "Checker"}},
		"limits": {with(func(c *sqltool.Config) {
			c.Limits = sqltool.Limits{Timeout: -1, MaxRows: -1, MaxBytes: 1023, MaxStatementBytes: -1, MaxParameters: -1}
		}), []string{"Timeout", "MaxRows", "MaxBytes", "MaxStatementBytes", "MaxParameters"}},
		"name_long":    {with(func(c *sqltool.Config) { c.Name = strings.Repeat("x", 65) }), []string{"Name"}},
		"name_control": {with(func(c *sqltool.Config) { c.Name = "a\x1b[31m" }), []string{"Name"}},
		"dialect_long": {with(func(c *sqltool.Config) { c.Dialect = strings.Repeat("x", 201) }), []string{"Dialect"}},
	} {
		_, err := sqltool.New(c.config)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want it to name %s", name, err, want)
			}
		}
		if err == nil || strings.Count(err.Error(), "\n") != len(c.want)-1 {
			t.Errorf("%s: got %v, want %d problems", name, err, len(c.want))
		}
	}
	if _, err := sqltool.New(good); err != nil {
		t.Errorf("a good one: got %v", err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	refuses := func(statement string) error {
		if strings.HasPrefix(statement, "DELETE") {
			return failure{"25006"}
		}
		return nil
	}
	for name, c := range map[string]struct {
		server   *server
		mustFail []string
		want     error // nil: well
	}{
		"well":           {two(), nil, nil},
		"refuses":        {&server{onExec: refuses}, []string{"DELETE FROM genre WHERE 1 = 0", "DELETE FROM album WHERE 1 = 0"}, nil},
		"writable":       {two(), []string{"DELETE FROM genre WHERE 1 = 0"}, sqltool.ErrWritable},
		"second_runs":    {&server{onExec: refuses}, []string{"DELETE FROM genre WHERE 1 = 0", "UPDATE genre SET n = n WHERE 1 = 0"}, sqltool.ErrWritable},
		"no_transaction": {&server{begin: errOwn}, nil, errOwn},
		"no_rollback":    {&server{onEnd: func(bool) error { return errOwn }}, nil, errOwn},
	} {
		if err := newTool(t, c.server, sqltool.Config{}).Probe(t.Context(), c.mustFail...); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

// call makes one call through a boundary that has the database as its only tool.
func call(t *testing.T, tool *sqltool.Tool, arguments string) (boundary.Result, *boundary.Run) {
	t.Helper()
	clock := fakes.NewClock()
	b, err := boundary.New(boundary.Config{Store: fakes.NewStore(clock), Authorizer: boundary.AllowAll{}, Codes: sqltool.Codes(), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := boundary.NewToolset(b, tool.Tool("query_shop"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	return tools.Dispatch(t.Context(), run, boundary.Call{ID: "call_1", Name: "query_shop", Arguments: []byte(arguments)})[0], run
}

func TestToolThroughTheBoundary(t *testing.T) {
	t.Parallel()
	result, run := call(t, newTool(t, two(), sqltool.Config{}), `{"query":"SELECT name, n FROM genre WHERE n > ?","parameters":[9007199254740993]}`)
	if result.Err != nil || !strings.Contains(result.Outcome.Text(), "9007199254740993") || !strings.Contains(result.Outcome.Text(), `"row_count":2`) {
		t.Errorf("got %v, %s, want both rows with all digits", result.Err, result.Outcome.Text())
	}
	if report, err := run.Facts(t.Context()); err != nil || len(report.Facts) == 0 {
		t.Errorf("facts: got %v, %v, want some", report.Facts, err)
	}
}

func TestToolAbsenceAndFailures(t *testing.T) {
	t.Parallel()
	empty := &server{columns: []string{"a"}}
	if result, _ := call(t, newTool(t, empty, sqltool.Config{}), `{"query":"SELECT a FROM b"}`); result.Err != nil || !strings.Contains(result.Outcome.Text(), "nothing_found") {
		t.Errorf("no rows: got %v, %s, want an absence", result.Err, result.Outcome.Text())
	}
	for code, s := range map[boundary.Code]*server{
		sqltool.CodeRefused:     {columns: []string{"a"}, broken: failure{"25006"}},
		sqltool.CodeInvalid:     {columns: []string{"a"}, broken: failure{"42P01"}},
		sqltool.CodeTimeout:     {columns: []string{"a"}, broken: failure{"57014"}},
		sqltool.CodeTooLarge:    {columns: []string{strings.Repeat("x", 256<<10)}},
		sqltool.CodeUnreadable:  {columns: []string{"a"}, rows: [][]driver.Value{{struct{}{}}}},
		sqltool.CodeUnavailable: {begin: errOwn},
	} {
		result, _ := call(t, newTool(t, s, sqltool.Config{}), `{"query":"SELECT a FROM b"}`)
		if result.Outcome.Code() != code || !strings.Contains(result.Outcome.Text(), sqltool.Codes()[code]) || result.Outcome.Execution() != boundary.Completed {
			t.Errorf("got %s, want %s with its text, and that the tool ran", result.Outcome.Text(), code)
		}
		if strings.Contains(result.Outcome.Text(), "secret") {
			t.Errorf("the model gets the driver's text: %s", result.Outcome.Text())
		}
	}
	if len(sqltool.Codes()) != 6 {
		t.Errorf("got %d codes, want the 6 that are produced here", len(sqltool.Codes()))
	}
}

func TestToolRefusesInPreflight(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{
		"no_query":         `{}`,
		"dsn":              `{"query":"SELECT 1","dsn":"postgres://user:secret@host/db"}`,
		"member_in_caps":   `{"QUERY":"SELECT 1"}`,
		"no_text":          `{"query":7}`,
		"two":              `{"query":"SELECT 1; DELETE FROM genre"}`,
		"not_permitted":    `{"query":"select 1"}`,
		"list_parameter":   `{"query":"SELECT ?","parameters":[[1]]}`,
		"number_too_large": `{"query":"SELECT ?","parameters":[9223372036854775808]}`,
		"nul":              `{"query":"SELECT 1\u0000"}`,
	} {
		s := two()
		result, _ := call(t, newTool(t, s, sqltool.Config{Checker: onlyUpper(new(atomic.Int64))}), arguments)
		if result.Outcome.Code() != lifecycle.InvalidInput || result.Outcome.Execution() != boundary.NotStarted || len(s.statements()) != 0 {
			t.Errorf("%s: got %s, %v, asked %v, want %s, not started", name, result.Outcome.Code(), result.Outcome.Execution(), s.statements(), lifecycle.InvalidInput)
		}
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	tool := newTool(t, two(), sqltool.Config{Dialect: "SQLite, placeholders ?", Limits: sqltool.Limits{Timeout: 2 * time.Second, MaxRows: 12}}).Tool("q")
	if !strings.Contains(tool.Description, "database shop") || !strings.Contains(tool.Description, "at most 12. SQLite, placeholders ?.") || tool.Timeout <= 2*time.Second {
		t.Errorf("got %q, %v, want name, cap, dialect, and more time than a statement has", tool.Description, tool.Timeout)
	}
	var schema struct {
		Required   []string
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(tool.Schema, &schema); err != nil || len(schema.Properties) != 2 || !strings.Contains(schema.Properties["query"].Description, "semicolon") {
		t.Errorf("got %s, %v, want two properties and the rule about semicolons", tool.Schema, err)
	}
	lifted := newTool(t, two(), sqltool.Config{AllowSemicolons: true}).Schema()
	if strings.Contains(string(lifted), "semicolon") {
		t.Errorf("got %s, want no rule where there is none", lifted)
	}
}
