package sqlagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/recording"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
)

func openTools(t *testing.T) *sqlagent.Tools {
	t.Helper()
	db, err := sqlread.OpenImage(data.Chinook(), sqlread.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return sqlagent.New("chinook", db)
}

// call decodes the recorded arguments strictly and runs one tool.
func call[In any](t *testing.T, tool func(context.Context, In, io.Writer) error, arguments string) (string, error) {
	t.Helper()
	var in In
	decoder := json.NewDecoder(strings.NewReader(arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		t.Fatalf("arguments %s: %v", arguments, err)
	}
	var raw bytes.Buffer
	err := tool(t.Context(), in, &raw)
	return raw.String(), err
}

// Every recorded call on the database runs again with its exact arguments, and its result is compared with the recorded one.
func TestRecordedCallsRunAgain(t *testing.T) {
	t.Parallel()
	tools := openTools(t)
	conversations, err := recording.Parse(data.Conversations())
	if err != nil {
		t.Fatal(err)
	}
	same, queries := 0, 0
	for _, c := range conversations[:3] {
		for _, recorded := range c.Calls {
			var got string
			switch recorded.Tool {
			case sqlagent.NameListTables:
				got, err = call(t, tools.ListTables, recorded.Arguments)
			case sqlagent.NameSchema:
				got, err = call(t, tools.Schema, recorded.Arguments)
			case sqlagent.NameQueryChecker:
				got, err = call(t, tools.CheckQuery, recorded.Arguments)
			case sqlagent.NameQuery:
				queries++
				compareQuery(t, tools, recorded)
				continue
			case sqlagent.NameProperNouns:
				compareNouns(t, tools, recorded)
				continue
			default:
				t.Fatalf("line %d: no such tool: %s", c.Line, recorded.Tool)
			}
			if err != nil {
				t.Errorf("%s: got %v", recorded.ID, err)
			}
			if recorded.HasResult {
				same++
				if got != recorded.Recorded {
					t.Errorf("%s %s: got\n%s\nwant\n%s", recorded.ID, recorded.Tool, got, recorded.Recorded)
				}
			}
		}
	}
	if same != 6 || queries != 2 {
		t.Errorf("compared %d texts and %d queries, want 6 and 2", same, queries)
	}
}

func compareNouns(t *testing.T, tools *sqlagent.Tools, recorded recording.Call) {
	t.Helper()
	raw, err := call(t, tools.ProperNouns, recorded.Arguments)
	var search sqlagent.NounSearch
	if err != nil || json.Unmarshal([]byte(raw), &search) != nil || len(search.Names) == 0 {
		t.Fatalf("%s: got %s, %v", recorded.ID, raw, err)
	}
	nearest, _, _ := strings.Cut(recorded.Recorded, "\n")
	if search.Names[0].Name != nearest || nearest != "Alice In Chains" {
		t.Errorf("%s: nearest: got %q, want %q", recorded.ID, search.Names[0].Name, nearest)
	}
}

// compareQuery holds the result against the published one and the recorded one, numbers within a millionth.
func compareQuery(t *testing.T, tools *sqlagent.Tools, recorded recording.Call) {
	t.Helper()
	var in sqlagent.QueryInput
	if err := json.Unmarshal([]byte(recorded.Arguments), &in); err != nil {
		t.Fatal(err)
	}
	raw, err := call(t, tools.Query, recorded.Arguments)
	var result struct {
		Database  string
		Rows      [][]any
		Truncated bool
	}
	if err != nil || json.Unmarshal([]byte(raw), &result) != nil || len(result.Rows) != 1 || result.Truncated || result.Database != "chinook" {
		t.Fatalf("%s: got %s, %v", recorded.ID, raw, err)
	}
	for _, want := range []string{recorded.Recorded, publishedResult(t, recorded.ID, in.Query)} {
		values := tupleValues(t, want)
		if len(values) != len(result.Rows[0]) {
			t.Fatalf("%s: got %v, want %s", recorded.ID, result.Rows, want)
		}
		for i, value := range values {
			if !equalValue(result.Rows[0][i], value) {
				t.Errorf("%s: got %v, want %s", recorded.ID, result.Rows[0][i], value)
			}
		}
	}
}

func publishedResult(t *testing.T, id, query string) string {
	t.Helper()
	var expected []struct {
		SQL []struct {
			ID     string `json:"id"`
			Query  string `json:"query"`
			Result string `json:"result_on_chinook_1_4"`
		} `json:"sql"`
	}
	if err := json.Unmarshal([]byte(data.ConversationsExpected()), &expected); err != nil {
		t.Fatal(err)
	}
	for _, c := range expected {
		for _, q := range c.SQL {
			if q.ID == id && q.Query == query {
				return q.Result
			}
		}
	}
	t.Fatalf("%s: no published result for exactly this query", id)
	return ""
}

// tupleValues reads a list of one tuple as Python prints it.
func tupleValues(t *testing.T, text string) []string {
	t.Helper()
	inner, ok := strings.CutPrefix(text, "[(")
	inner, closed := strings.CutSuffix(inner, ")]")
	if !ok || !closed {
		t.Fatalf("not one tuple: %s", text)
	}
	return regexp.MustCompile(`'[^']*'|[^,' ]+`).FindAllString(inner, -1)
}

func equalValue(got any, want string) bool {
	if text, ok := got.(string); ok {
		return "'"+text+"'" == want
	}
	number, err := strconv.ParseFloat(want, 64)
	if err != nil {
		return false
	}
	value, ok := got.(float64)
	return ok && math.Abs(value-number) <= 1e-6
}

func TestSchemaRefusesAnIncompleteAnswer(t *testing.T) {
	t.Parallel()
	tools := openTools(t)
	for arguments, want := range map[string]error{
		`{"table_names": ""}`:                         sqlagent.ErrNothingAsked,
		`{"table_names": " "}`:                        sqlagent.ErrNothingAsked,
		`{"table_names": "Artist, marker_7"}`:         sqlagent.ErrUnknownTable,
		`{"table_names": "Artist,"}`:                  sqlagent.ErrUnknownTable,
		`{"table_names": "artist"}`:                   sqlagent.ErrUnknownTable,
		`{"table_names": "sqlite_schema"}`:            sqlagent.ErrUnknownTable,
		`{"table_names": "Artist\"; DROP TABLE x--"}`: sqlagent.ErrUnknownTable,
	} {
		raw, err := call(t, tools.Schema, arguments)
		if !errors.Is(err, want) || raw != "" || strings.Contains(err.Error(), "marker_7") {
			t.Errorf("%s: got %q, %v, want %v and nothing written", arguments, raw, err, want)
		}
	}
	spaced, err := call(t, tools.Schema, `{"table_names": "  Genre ,MediaType"}`)
	if err != nil || !strings.HasPrefix(spaced, `CREATE TABLE "Genre"`) || !strings.Contains(spaced, "\n\n\nCREATE TABLE \"MediaType\"") {
		t.Errorf("blanks around names: got %q, %v", spaced, err)
	}
}

func TestSchemaOfEveryTable(t *testing.T) {
	t.Parallel()
	tools := openTools(t)
	names, err := call(t, tools.ListTables, `{}`)
	if err != nil || strings.Count(names, ", ") != 10 {
		t.Fatalf("got %q, %v, want eleven tables", names, err)
	}
	schema, err := call(t, tools.Schema, `{"table_names": "`+names+`"}`)
	if err != nil || strings.Count(schema, "CREATE TABLE") != 11 || strings.Count(schema, "3 rows from") != 11 {
		t.Errorf("got %d definitions and %d samples, %v", strings.Count(schema, "CREATE TABLE"), strings.Count(schema, "3 rows from"), err)
	}
	// The script that made the database declares eleven keys to other tables.
	if got := strings.Count(schema, "FOREIGN KEY("); got != 11 {
		t.Errorf("foreign keys: got %d, want 11", got)
	}
}

func TestCheckQueryRunsNothing(t *testing.T) {
	t.Parallel()
	tools := openTools(t)
	endless := `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n`
	raw, err := call(t, tools.CheckQuery, `{"query": "`+endless+`"}`)
	if err != nil || raw != "```sql\n"+endless+"\n```" {
		t.Errorf("an endless statement: got %q, %v, want it checked and not run", raw, err)
	}
	raw, err = call(t, tools.CheckQuery, `{"query": "DELETE FROM Artist"}`)
	var refused *sqlread.RefusedError
	if !errors.As(err, &refused) || refused.Action != "DELETE" || raw != "" {
		t.Errorf("a delete: got %q, %v, want its refusal", raw, err)
	}
	raw, err = call(t, tools.CheckQuery, `{"query": "SELECT Nope FROM Artist"}`)
	var failed *sqlread.StatementError
	if !errors.As(err, &failed) || raw != "" {
		t.Errorf("an unknown column: got %q, %v, want an error", raw, err)
	}
}

func TestProperNouns(t *testing.T) {
	t.Parallel()
	tools := openTools(t)
	for query, want := range map[string]string{
		"AC/DC":               "AC/DC",
		"ac dc":               "AC/DC",
		"Antonio Carlos Jobi": "Antônio Carlos Jobim",
		"led zepelin":         "Led Zeppelin",
		"Iron Maden":          "Iron Maiden",
		"hip hop rap":         "Hip Hop/Rap",
		"fasceliftt":          "Facelift",
	} {
		raw, err := call(t, tools.ProperNouns, `{"query": "`+query+`"}`)
		var got sqlagent.NounSearch
		if err != nil || json.Unmarshal([]byte(raw), &got) != nil || len(got.Names) == 0 || got.Names[0].Name != want {
			t.Errorf("%s: got %s, %v, want %s first", query, raw, err, want)
			continue
		}
		if got.Compared != 275+347+25 || len(got.Columns) != 3 || got.Query != query || len(got.Names) > 5 || got.ScoreKind == "" {
			t.Errorf("%s: got %+v", query, got)
		}
		for i := 1; i < len(got.Names); i++ {
			if got.Names[i].Score > got.Names[i-1].Score || got.Names[i].Score < 0.25 {
				t.Errorf("%s: not in order of nearness: %+v", query, got.Names)
			}
		}
	}
	// A search that found nothing says so with an empty list and with how much it looked at.
	raw, err := call(t, tools.ProperNouns, `{"query": "zzzzqqqq"}`)
	if err != nil || !strings.Contains(raw, `"compared":647`) || !strings.Contains(raw, `"names":[]`) {
		t.Errorf("nothing near: got %s, %v", raw, err)
	}
	if _, err := call(t, tools.ProperNouns, `{"query": " -- "}`); !errors.Is(err, sqlagent.ErrNothingAsked) {
		t.Errorf("nothing to compare: got %v, want %v", err, sqlagent.ErrNothingAsked)
	}
}

func TestDefinitionIsNeverHalf(t *testing.T) {
	t.Parallel()
	db, err := sqlread.OpenImage(data.Chinook(), sqlread.Limits{MaxRows: 12})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tools := sqlagent.New("chinook", db)
	if raw, err := call(t, tools.Schema, `{"table_names": "Customer"}`); err == nil || raw != "" { // 13 columns
		t.Errorf("got %q, want an error and nothing written", raw)
	}
	if _, err := call(t, tools.Schema, `{"table_names": "Artist"}`); err != nil {
		t.Errorf("got %v", err)
	}
}
