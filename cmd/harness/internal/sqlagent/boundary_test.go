package sqlagent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
	"github.com/toolharness/harness/redisstore/embedded"
)

// throughBoundary sends calls through a boundary on an embedded store, as a loop would.
func throughBoundary(t *testing.T, limits sqlread.Limits, calls ...boundary.Call) []boundary.Result {
	t.Helper()
	db, err := sqlread.OpenImage(data.Chinook(), limits)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	server, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b, err := boundary.New(boundary.Config{Store: server.Store(), Authorizer: boundary.AllowAll{}, Codes: sqlagent.Codes(), Now: server.Now})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := boundary.NewToolset(b, sqlagent.New("chinook", db).ForBoundary()...)
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	return tools.Dispatch(t.Context(), run, calls...)
}

func query(id, tool, text string) boundary.Call {
	arguments, _ := json.Marshal(sqlagent.QueryInput{Query: text}) // a text always marshals
	return boundary.Call{ID: boundary.ToolCallID(id), Name: tool, Arguments: arguments}
}

// Each error of a tool reaches the model as the code that was registered for it, and never with its text.
func TestErrorsHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		limits sqlread.Limits
		call   boundary.Call
		want   boundary.Code
		ran    string
	}{
		{"delete", sqlread.Limits{}, query("a", sqlagent.NameQuery, "DELETE FROM Artist -- marker_7"), sqlagent.CodeRefused, "yes"},
		{"delete, checked", sqlread.Limits{}, query("a", sqlagent.NameQueryChecker, "DELETE FROM Artist"), sqlagent.CodeRefused, "yes"},
		{"unknown column", sqlread.Limits{}, query("a", sqlagent.NameQuery, "SELECT marker_7 FROM Artist"), sqlagent.CodeStatementFailed, "yes"},
		{"two statements", sqlread.Limits{}, query("a", sqlagent.NameQuery, "SELECT 1; SELECT 2"), sqlagent.CodeStatementFailed, "yes"},
		{"no statement", sqlread.Limits{}, query("a", sqlagent.NameQuery, "-- marker_7"), sqlagent.CodeStatementFailed, "yes"},
		{"too long", sqlread.Limits{MaxStatementBytes: 1000}, query("a", sqlagent.NameQuery, "SELECT '"+strings.Repeat("marker_7 ", 200)+"'"), sqlagent.CodeLimitReached, "yes"},
		{"endless", sqlread.Limits{Timeout: 1e8}, query("a", sqlagent.NameQuery,
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"), sqlagent.CodeLimitReached, "yes"},
		{"wide table", sqlread.Limits{MaxRows: 12}, boundary.Call{ID: "a", Name: sqlagent.NameSchema, Arguments: []byte(`{"table_names":"Customer"}`)},
			sqlagent.CodeLimitReached, "yes"},
		{"unknown table", sqlread.Limits{}, boundary.Call{ID: "a", Name: sqlagent.NameSchema, Arguments: []byte(`{"table_names":"marker_7"}`)},
			sqlagent.CodeNoSuchTable, "yes"},
		{"nothing asked", sqlread.Limits{}, query("a", sqlagent.NameProperNouns, " "), sqlagent.CodeNothingAsked, "yes"},
		{"unknown argument", sqlread.Limits{}, boundary.Call{ID: "a", Name: sqlagent.NameListTables, Arguments: []byte(`{"marker_7":1}`)}, "INVALID_INPUT", "no"},
		{"missing argument", sqlread.Limits{}, boundary.Call{ID: "a", Name: sqlagent.NameQuery, Arguments: []byte(`{}`)}, "INVALID_INPUT", "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := throughBoundary(t, c.limits, c.call)[0].Outcome
			if o.Code() != c.want || o.Execution().Ran() != c.ran {
				t.Errorf("got %s, ran %s, want %s, ran %s", o.Code(), o.Execution().Ran(), c.want, c.ran)
			}
			if message, registered := sqlagent.Codes()[c.want]; registered && !strings.Contains(o.Text(), message) {
				t.Errorf("got %s, want the text %q in it", o.Text(), message)
			}
			if strings.Contains(o.Text(), "marker_7") || strings.Contains(o.Text(), "sqlread") {
				t.Errorf("the model got %s, want nothing of statement or cause in it", o.Text())
			}
		})
	}
}

func TestEveryToolAnswers(t *testing.T) {
	t.Parallel()
	results := throughBoundary(t, sqlread.Limits{},
		boundary.Call{ID: "list", Name: sqlagent.NameListTables, Arguments: []byte(`{}`)},
		boundary.Call{ID: "schema", Name: sqlagent.NameSchema, Arguments: []byte(`{"table_names":"Artist, Genre"}`)},
		query("check", sqlagent.NameQueryChecker, "SELECT 1"),
		query("query", sqlagent.NameQuery, "SELECT Name FROM Artist WHERE ArtistId = 1"),
		query("none", sqlagent.NameQuery, "SELECT Name FROM Artist WHERE ArtistId = -1"),
		query("nouns", sqlagent.NameProperNouns, "AC DC"),
		query("nowhere", sqlagent.NameProperNouns, "zzzzqqqq"),
	)
	for i, want := range []struct{ evidence, contains string }{
		{"EVIDENCE_FOUND", "Album, Artist, Customer"},
		{"EVIDENCE_FOUND", "CREATE TABLE \"Genre\" (\n\t\"GenreId\" INTEGER NOT NULL"},
		{"EVIDENCE_FOUND", "```sql\nSELECT 1\n```"},
		{"EVIDENCE_FOUND", `"rows":[["AC/DC"]]`},
		{"NO_EVIDENCE", "searched database chinook for"},
		{"EVIDENCE_FOUND", `{"name":"AC/DC","column":"Artist.Name","score":1}`},
		{"NO_EVIDENCE", "searched column Artist.Name, column Album.Title, column Genre.Name for zzzzqqqq"},
	} {
		o := results[i].Outcome
		if string(o.Evidence()) != want.evidence || !strings.Contains(o.Text(), want.contains) {
			t.Errorf("call %d: got %s %s, want %s with %s", i, o.Evidence(), o.Text(), want.evidence, want.contains)
		}
	}
}

func TestDefinitionsAreForAModel(t *testing.T) {
	t.Parallel()
	tools := openTools(t).ForBoundary()
	if len(tools) != 5 {
		t.Fatalf("got %d tools, want 5", len(tools))
	}
	for _, tool := range tools {
		if !tool.Effect.Read() || tool.Description == "" || !json.Valid(tool.Schema) {
			t.Errorf("%s: got effect %q, description %q, schema %s", tool.Name, tool.Effect, tool.Description, tool.Schema)
		}
	}
}
