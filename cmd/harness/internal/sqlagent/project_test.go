package sqlagent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/recording"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/projectortest"
)

func projectorOf(t *testing.T, tool string) projector.Projector {
	t.Helper()
	for _, candidate := range openTools(t).ForBoundary() {
		if candidate.Name == tool {
			return candidate.Projector
		}
	}
	t.Fatalf("no tool %s", tool)
	return nil
}

// recorded returns what the recorded tool printed for the call with this id, and its arguments.
func recorded(t *testing.T, id string) (raw, arguments []byte) {
	t.Helper()
	conversations, err := recording.Parse(data.Conversations())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conversations {
		for _, call := range c.Calls {
			if call.ID == id && call.HasResult {
				return []byte(call.Recorded), []byte(call.Arguments)
			}
		}
	}
	t.Fatalf("no recorded result for %s", id)
	return nil, nil
}

func TestTableNamesKeepTheContract(t *testing.T) {
	t.Parallel()
	raw, _ := recorded(t, "call_tFp7HYD6sAAmCShgeqkVZH6Q")
	projectortest.Run(t, projectorOf(t, sqlagent.NameListTables),
		projectortest.Case{Name: "recorded", Raw: raw, Want: evidence.Found},
		projectortest.Case{Name: "many", Raw: []byte(strings.Repeat("Table_9007199254740993, ", 99) + "Last"), Limits: projector.Limits{AgentBytes: 2000}, Want: evidence.Found},
		projectortest.Case{Name: "acting on a screen", Raw: []byte("Album, \x1b[2JArtist, \u202eGenre"), Want: evidence.Found},
		projectortest.Case{Name: "no tables", Raw: []byte(""), Want: evidence.Failed},
		projectortest.Case{Name: "no text", Raw: []byte("Album, \xff"), Want: evidence.Failed},
	)
}

func TestSchemaKeepsTheContract(t *testing.T) {
	t.Parallel()
	raw, arguments := recorded(t, "call_KJZ1Jx6JazyDdJa0uH1UeiOz")
	one, oneArguments := recorded(t, "call_W8Vkk4NEodkAAIg8nexAszUH")
	projectortest.Run(t, projectorOf(t, sqlagent.NameSchema),
		projectortest.Case{Name: "two tables", Raw: raw, Request: arguments, Want: evidence.Found},
		projectortest.Case{Name: "one table", Raw: one, Request: oneArguments, Want: evidence.Found},
		projectortest.Case{Name: "another table", Raw: one, Request: arguments, Want: evidence.Failed},
		projectortest.Case{Name: "cut", Raw: raw[:len(raw)-1], Request: arguments, Want: evidence.Failed},
		projectortest.Case{Name: "request of another tool", Raw: raw, Request: []byte(`{"query":"x"}`), Want: evidence.Failed},
		projectortest.Case{Name: "no request", Raw: raw, Request: []byte(`[]`), Want: evidence.Failed},
	)
}

func TestCheckKeepsTheContract(t *testing.T) {
	t.Parallel()
	raw, arguments := recorded(t, "call_AQuTGbgH63u4gPgyV723yrjX")
	projectortest.Run(t, projectorOf(t, sqlagent.NameQueryChecker),
		projectortest.Case{Name: "recorded", Raw: raw, Request: arguments, Want: evidence.Found},
		projectortest.Case{Name: "long", Raw: []byte("```sql\nSELECT '" + strings.Repeat("x", 2000) + "'\n```"), Limits: projector.Limits{AgentBytes: 1000}, Want: evidence.Found},
		projectortest.Case{Name: "empty block", Raw: []byte("```sql\n\n```"), Want: evidence.Failed},
		projectortest.Case{Name: "no block", Raw: []byte("SELECT 1"), Want: evidence.Failed},
	)
}

func TestNounsKeepTheContract(t *testing.T) {
	t.Parallel()
	tools := openTools(t)
	found, err := call(t, tools.ProperNouns, `{"query":"alis in chain"}`)
	if err != nil {
		t.Fatal(err)
	}
	none, err := call(t, tools.ProperNouns, `{"query":"zzzzqqqq"}`)
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"query":"q","columns":["a"],"compared":2,"score_kind":"k","names":[{"name":"n","column":"a","score":0.12345678901234567890}]`
	many := strings.Repeat(`{"name":"n","column":"a","score":1},`, 60) + `{"name":"n","column":"a","score":1}`
	projectortest.Run(t, projectorOf(t, sqlagent.NameProperNouns),
		projectortest.Case{Name: "found", Raw: []byte(found), Want: evidence.Found},
		projectortest.Case{Name: "digits", Raw: []byte(body + "}"), Want: evidence.Found},
		projectortest.Case{Name: "many", Raw: []byte(`{"query":"q","columns":["a"],"compared":61,"score_kind":"k","names":[` + many + `]}`),
			Limits: projector.Limits{AgentBytes: 1500}, Want: evidence.Found},
		projectortest.Case{Name: "none", Raw: []byte(none), Want: evidence.None},
		projectortest.Case{Name: "error object", Raw: []byte(`{"error":"the index is gone"}`), Want: evidence.Failed},
		projectortest.Case{Name: "error beside a result", Raw: []byte(body + `,"error":"half of it"}`), Want: evidence.Failed},
		projectortest.Case{Name: "null names", Raw: []byte(`{"query":"q","columns":["a"],"compared":0,"names":null}`), Want: evidence.Failed},
		projectortest.Case{Name: "no columns", Raw: []byte(`{"query":"q","columns":[],"compared":0,"names":[]}`), Want: evidence.Failed},
		projectortest.Case{Name: "not compared", Raw: []byte(`{"query":"q","columns":["a"],"names":[]}`), Want: evidence.Failed},
		projectortest.Case{Name: "more than compared", Raw: []byte(strings.Replace(body+"}", `"compared":2`, `"compared":0`, 1)), Want: evidence.Failed},
		projectortest.Case{Name: "name without a score", Raw: []byte(strings.Replace(body+"}", `"score"`, `"score_kind"`, 1)), Want: evidence.Failed},
		projectortest.Case{Name: "two documents", Raw: []byte(none + none), Want: evidence.Failed},
	)
}

// project runs a projector as the boundary does and returns what it made, with facts as lines.
func project(t *testing.T, p projector.Projector, in projector.Input) (projector.Projection, string) {
	t.Helper()
	got, err := projector.Drive(context.Background(), p, in, projector.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var facts strings.Builder
	for _, f := range got.Facts {
		fmt.Fprintf(&facts, "%s %s: %s = %s\n", f.Subject.Kind, f.Subject.ID, f.Predicate, f.Value)
	}
	return got, facts.String()
}

func TestFactsOfRecordedResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, id, want string }{
		{sqlagent.NameListTables, "call_tFp7HYD6sAAmCShgeqkVZH6Q", "database chinook: tables = 11\n" +
			"database chinook: table_names = Album, Artist, Customer, Employee, Genre, Invoice, InvoiceLine, MediaType, Playlist, PlaylistTrack, Track\n"},
		{sqlagent.NameSchema, "call_W8Vkk4NEodkAAIg8nexAszUH", "table PlaylistTrack: columns = 2\ntable PlaylistTrack: column_names = PlaylistId, TrackId\n"},
		{sqlagent.NameSchema, "call_Kn09w9jd9swcNzIZ1b5MlKID", "table Album: columns = 3\ntable Album: column_names = AlbumId, Title, ArtistId\n" +
			"table Artist: columns = 2\ntable Artist: column_names = ArtistId, Name\n"},
		{sqlagent.NameQueryChecker, "call_AQuTGbgH63u4gPgyV723yrjX",
			"statement SELECT c.Country, SUM(i.Total) as TotalSpent FROM Customer c JOIN Invoice i ON c.CustomerId = i.CustomerId GROUP BY c…: check = compiles and only reads; was not run\n"},
	} {
		raw, arguments := recorded(t, c.id)
		got, facts := project(t, projectorOf(t, c.tool), projector.Input{Raw: raw, Request: arguments})
		if facts != c.want {
			t.Errorf("%s: facts: got\n%s\nwant\n%s", c.id, facts, c.want)
		}
		if string(got.Result) != string(raw) {
			t.Errorf("%s: the model gets %s, want the text as it is", c.id, got.Result)
		}
	}
}

// A definition with more tables than a report takes facts of one call counts the rest.
func TestFactsAreCapped(t *testing.T) {
	t.Parallel()
	tools := openTools(t)
	names, err := call(t, tools.ListTables, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	arguments := `{"table_names":"` + names + `"}`
	raw, err := call(t, tools.Schema, arguments)
	if err != nil {
		t.Fatal(err)
	}
	got, facts := project(t, projectorOf(t, sqlagent.NameSchema), projector.Input{Raw: []byte(raw), Request: []byte(arguments)})
	if len(got.Facts) != 16 || !strings.HasSuffix(facts, "table Album: facts_omitted = 7\n") {
		t.Errorf("got %d facts:\n%s\nwant 15 and one that counts 7", len(got.Facts), facts)
	}
	// Half of the room of the text: whole tables from the front, the others counted.
	small, _ := project(t, projectorOf(t, sqlagent.NameSchema), projector.Input{Raw: []byte(raw), Request: []byte(arguments), Limits: projector.Limits{AgentBytes: len(raw) / 2}})
	if text := string(small.Result); !strings.HasPrefix(text, `{"tables":["CREATE TABLE \"Album\" (`) || strings.HasSuffix(text, `"omitted":0}`) {
		t.Errorf("got %s", text)
	}
}

// The text of a row may look like the next table. Then nobody can tell where that begins, and nothing is said of it.
func TestSchemaThatCannotBeTakenApart(t *testing.T) {
	t.Parallel()
	const forged = "*/\n\n\nCREATE TABLE \"b\" (\n\t\"forged\" INT\n)"
	tools := toolsOn(t, "CREATE TABLE a (x); CREATE TABLE b (y); INSERT INTO a VALUES ('"+forged+"')")
	const arguments = `{"table_names":"a, b"}`
	raw, err := call(t, tools.Schema, arguments)
	if err != nil || strings.Count(raw, `CREATE TABLE "b"`) != 2 {
		t.Fatalf("got %s, %v", raw, err)
	}
	p := projectorOf(t, sqlagent.NameSchema)
	if got, err := p.Project(context.Background(), projector.Input{Raw: []byte(raw), Request: []byte(arguments), Limits: projector.Limits{AgentBytes: 9999, FactsBytes: 9999}}); err == nil {
		t.Errorf("got %s, want an error", got.Result)
	}
}

func TestColumnNamesWithQuotes(t *testing.T) {
	t.Parallel()
	tools := toolsOn(t, `CREATE TABLE t ("se""lect" TEXT, "a) b" INT, größe, PRIMARY KEY ("a) b"))`)
	const arguments = `{"table_names":"t"}`
	raw, err := call(t, tools.Schema, arguments)
	if err != nil {
		t.Fatal(err)
	}
	_, facts := project(t, projectorOf(t, sqlagent.NameSchema), projector.Input{Raw: []byte(raw), Request: []byte(arguments)})
	if want := "table t: columns = 3\ntable t: column_names = se\"lect, a) b, größe\n"; facts != want {
		t.Errorf("got %q, want %q", facts, want)
	}
}
