package spider

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/executors/sqltool"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/rows"
)

// question is one line of questions.jsonl or wrong-schema.jsonl.
type question struct {
	N        int
	Query    string
	Columns  []string
	RowCount int `json:"row_count"`
	Ordered  bool
	Rows     [][]any
	Complete bool `json:"rows_complete"`
	Error    string
}

func questions(t *testing.T, name string, want int) []question {
	t.Helper()
	f, err := os.Open(filepath.Join(vectors.Outside(t, "spider-chinook-questions"), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []question
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		decoder := json.NewDecoder(strings.NewReader(lines.Text()))
		decoder.UseNumber()
		var q question
		if err := decoder.Decode(&q); err != nil {
			t.Fatal(err)
		}
		list = append(list, q)
	}
	if lines.Err() != nil || len(list) != want {
		t.Fatalf("%s has %d lines, %v, want %d", name, len(list), lines.Err(), want)
	}
	return list
}

// plain is a value in a form in which equal ones are equal; floats are rounded, since their last digits differ between
// versions of the engine.
func plain(t *testing.T, value any) string {
	t.Helper()
	number, ok := value.(json.Number)
	if !ok || !strings.ContainsAny(number.String(), ".eE") {
		return fmt.Sprintf("%T %v", value, value)
	}
	f, err := number.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("float %.9g", f)
}

func plainRows(t *testing.T, rows [][]any, ordered bool) []string {
	t.Helper()
	var out []string
	for _, row := range rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, plain(t, cell))
		}
		out = append(out, strings.Join(cells, "|"))
	}
	if !ordered {
		slices.Sort(out)
	}
	return out
}

func TestCheckDataQuestions(t *testing.T) {
	t.Parallel()
	tool := newTool(t, openFile(t), sqltool.Config{Checker: authorizer(t), Limits: sqltool.Limits{MaxRows: 1000, MaxBytes: 1 << 20}})
	values, total := 0, 0
	for _, q := range questions(t, "questions.jsonl", 62) {
		d, raw, err := run(t, tool, sqltool.Query{Statement: q.Query})
		if err != nil {
			t.Errorf("%d: %v", q.N, err)
			continue
		}
		got := make([][]any, len(d.Rows))
		for i, row := range d.Rows {
			for _, cell := range row {
				decoder := json.NewDecoder(strings.NewReader(string(cell)))
				decoder.UseNumber()
				var value any
				if err := decoder.Decode(&value); err != nil {
					t.Fatal(err)
				}
				got[i] = append(got[i], value)
			}
		}
		if len(got) != q.RowCount || d.Count != q.RowCount || d.Truncated {
			t.Errorf("%d: got %d rows, counted %d, cut %t, want %d and no cut", q.N, len(got), d.Count, d.Truncated, q.RowCount)
		}
		for i, c := range d.Columns {
			if c.Name != q.Columns[i] {
				t.Errorf("%d: column %d is %q, want %q", q.N, i, c.Name, q.Columns[i])
			}
		}
		if !q.Complete { // the first five are known
			got = got[:len(q.Rows)]
		}
		if is, want := plainRows(t, got, q.Ordered), plainRows(t, q.Rows, q.Ordered); !slices.Equal(is, want) {
			t.Errorf("%d: got %q, want %q", q.N, is, want)
		}
		total += q.RowCount
		values += len(q.Rows) * len(q.Columns)
		checkProjection(t, q, raw)
	}
	t.Logf("62 questions, %d rows, %d values compared", total, values)
	if total != 1830 {
		t.Errorf("got %d rows in all, want 1830", total)
	}
}

// checkProjection: what the model and the run's facts get has the same count.
func checkProjection(t *testing.T, q question, raw []byte) {
	t.Helper()
	p, err := projector.Drive(t.Context(), rows.New(rows.Options{}), projector.Input{Tool: "sql", Raw: raw}, projector.Options{})
	if err != nil || p.Status != evidence.Found {
		t.Errorf("%d: projected as %s, %v, want evidence", q.N, p.Status, err)
		return
	}
	if want := fmt.Sprintf(`"row_count":%d`, q.RowCount); !strings.Contains(string(p.Result), want) {
		t.Errorf("%d: the model does not get %s: %s", q.N, want, p.Result)
	}
	if want := fmt.Sprintf("exactly %d", q.RowCount); len(p.Facts) == 0 || p.Facts[0].Value != want {
		t.Errorf("%d: the first fact is %v, want %q", q.N, p.Facts, want)
	}
}

// An agent with a wrong schema learns that its statement is wrong, never that there is nothing.
func TestCheckDataWrongSchema(t *testing.T) {
	t.Parallel()
	clock := fakes.NewClock()
	b, err := boundary.New(boundary.Config{Store: fakes.NewStore(clock), Authorizer: boundary.AllowAll{}, Codes: sqltool.Codes(), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := boundary.NewToolset(b, newTool(t, openFile(t), sqltool.Config{Checker: authorizer(t)}).Tool("sql"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "spider"}, Budget: boundary.Budget{Calls: 84, PerTool: 84}})
	if err != nil {
		t.Fatal(err)
	}
	codes := map[lifecycle.Code]int{}
	for i, q := range questions(t, "wrong-schema.jsonl", 84) {
		arguments, err := json.Marshal(sqltool.Query{Statement: q.Query})
		if err != nil || q.Error == "" {
			t.Fatalf("line %d: %v, error %q", i, err, q.Error)
		}
		id := boundary.ToolCallID(fmt.Sprintf("call_%d", i))
		result := tools.Dispatch(t.Context(), run, boundary.Call{ID: id, Name: "sql", Arguments: arguments})[0]
		codes[result.Outcome.Code()]++
		if !result.Outcome.IsError() || result.Err == nil || strings.Contains(result.Outcome.Text(), q.Error) {
			t.Errorf("line %d: got %s, want an error without the engine's text", i, result.Outcome.Text())
		}
	}
	report, err := run.Facts(t.Context())
	if err != nil || len(report.Facts) != 0 || len(codes) != 1 || codes[sqltool.CodeInvalid] != 84 {
		t.Errorf("got codes %v, facts %v, %v, want %s 84 times and no fact", codes, report.Facts, err, sqltool.CodeInvalid)
	}
	t.Logf("84 queries for another schema: %v, %d facts", codes, len(report.Facts))
}
