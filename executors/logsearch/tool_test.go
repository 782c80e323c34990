package logsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/executors/logsearch"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/lines"
)

// bench is a boundary over a store in memory with the search as its only tool.
type bench struct {
	tools *boundary.Toolset
	run   *boundary.Run
	ids   int
}

func newBench(t *testing.T, s *logsearch.Search) *bench {
	t.Helper()
	clock := fakes.NewClock()
	b, err := boundary.New(boundary.Config{Store: fakes.NewStore(clock), Authorizer: boundary.AllowAll{}, Codes: logsearch.Codes(), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := boundary.NewToolset(b, s.Tool("search_logs"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "t", Owner: "o", Namespace: "n"}, Budget: boundary.Budget{Calls: 100, PerTool: 100}})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{tools: tools, run: run}
}

func (b *bench) call(t *testing.T, arguments string) boundary.Result {
	t.Helper()
	b.ids++
	id := boundary.ToolCallID("call_" + strings.Repeat("i", b.ids))
	return b.tools.Dispatch(t.Context(), b.run, boundary.Call{ID: id, Name: "search_logs", Arguments: []byte(arguments)})[0]
}

func TestToolThroughTheBoundary(t *testing.T) {
	t.Parallel()
	b := newBench(t, shopSearch(t, logsearch.Limits{}))
	for name, c := range map[string]struct{ arguments, want string }{
		"found":      {`{"text":"timeout","levels":["ERROR"]}`, `"record_count":2,"record_count_is":"exact"`},
		"everything": {`{}`, `"record_count":8,"record_count_is":"exact"`},
		"page":       {`{"limit":2}`, `"record_count":2,"record_count_is":"at least","end_reached":false`},
		"undated":    {`{"from":"2026-01-02T03:00:00Z","to":"2026-01-02T03:00:00Z"}`, `"without_time":2`},
		"chinese":    {`{"text":"连接"}`, `info 连接超时`},
		"cut_shown":  {`{"text":"timeout","limit":1}`, `"cursor":"`},
	} {
		result := b.call(t, c.arguments)
		if result.Err != nil || !strings.Contains(result.Outcome.Text(), c.want) {
			t.Errorf("%s: got %v, %s, want %s", name, result.Err, result.Outcome.Text(), c.want)
		}
	}
}

// A query that a program fills in is as good as one of a model.
func TestQueryAsArguments(t *testing.T) {
	t.Parallel()
	b := newBench(t, shopSearch(t, logsearch.Limits{}))
	for _, q := range []logsearch.Query{{}, {Text: "TIMEOUT", IgnoreCase: true, Levels: []string{"ERROR"}, Sources: []string{"b.log"}, Limit: 7, From: "2026-01-02T03:00:00Z"}} {
		arguments, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if result := b.call(t, string(arguments)); result.Err != nil {
			t.Errorf("%s: got %v, want a result", arguments, result.Err)
		}
	}
}

func TestToolAbsence(t *testing.T) {
	t.Parallel()
	b := newBench(t, shopSearch(t, logsearch.Limits{}))
	result := b.call(t, `{"text":"OutOfMemory","from":"2026-01-02T03:00:00Z","to":"2026-01-02T04:00:00Z"}`)
	text := result.Outcome.Text()
	if result.Err != nil || !strings.Contains(text, `"record_count":0,"record_count_is":"exact","end_reached":true`) || !strings.Contains(text, "nothing_found") {
		t.Errorf("got %v, %s, want an absence that reached the end", result.Err, text)
	}
	report, err := b.run.Facts(t.Context())
	if err != nil || !strings.Contains(report.Text(), "OutOfMemory") {
		t.Errorf("facts: got %v, %s, want the absence with what was looked for", err, report.Text())
	}
}

// What cannot run is refused before anything was admitted, and costs nothing.
func TestToolRefusesInPreflight(t *testing.T) {
	t.Parallel()
	b := newBench(t, shopSearch(t, logsearch.Limits{}))
	for name, arguments := range map[string]string{
		"unknown_member":  `{"query":"x"}`,
		"member_in_caps":  `{"Text":"x"}`,
		"wrong_type":      `{"text":1}`,
		"fraction":        `{"limit":1.5}`,
		"huge_limit":      `{"limit":99999}`,
		"unknown_source":  `{"sources":["c.txt"]}`,
		"no_time":         `{"from":"yesterday"}`,
		"made_up_cursor":  `{"cursor":"AAAA"}`,
		"control":         `{"text":"a\nb"}`,
		"dsn_is_no_name":  `{"dsn":"x"}`,
		"ends_before":     `{"from":"2026-01-02T03:00:00Z","to":"2026-01-02T02:00:00Z"}`,
		"case_of_nothing": `{"ignore_case":true}`,
	} {
		result := b.call(t, arguments)
		if result.Outcome.Code() != lifecycle.InvalidInput || result.Outcome.Execution() != boundary.NotStarted {
			t.Errorf("%s: got %s, %v, want %s, not started", name, result.Outcome.Code(), result.Outcome.Execution(), lifecycle.InvalidInput)
		}
	}
	// The executor's own check, where no schema stands before it.
	checker := shopSearch(t, logsearch.Limits{}).Executor().(boundary.ArgumentChecker)
	if err := checker.CheckArguments([]byte(`{"sources":["c.txt"]}`)); err == nil {
		t.Error("an unknown source passed the executor's check")
	}
	if err := checker.CheckArguments([]byte(`{"text":"x","limit":1}`)); err != nil {
		t.Errorf("a good query: got %v", err)
	}
}

func TestToolCodes(t *testing.T) {
	t.Parallel()
	gone := logsearch.Source{Name: "gone", Parser: logsearch.PlainLines{}, Open: func(context.Context) (io.ReadCloser, error) {
		return nil, errors.New("no route to 10.0.0.7, user secret")
	}}
	texts := map[string]string{"a": numbered(300)}
	small := logsearch.Limits{MaxMessageBytes: 64, MaxRecordBytes: 64, MaxScanBytes: 200}
	cursor := mustRun(t, newSearch(t, logsearch.Config{Sources: textSources(texts, logsearch.RFC3339Lines{})}), logsearch.Query{}).Cursor
	for code, c := range map[boundary.Code]struct {
		config    logsearch.Config
		arguments string
	}{
		logsearch.CodeSourceFailed: {logsearch.Config{Sources: []logsearch.Source{gone}}, `{"text":"x"}`},
		logsearch.CodeScanLimit:    {logsearch.Config{Sources: textSources(texts, logsearch.RFC3339Lines{}), Limits: small}, `{"text":"nowhere"}`},
		logsearch.CodeCursorStale:  {logsearch.Config{Sources: textSources(map[string]string{"a": "x"}, logsearch.RFC3339Lines{})}, `{"cursor":"` + cursor + `"}`},
	} {
		result := newBench(t, newSearch(t, c.config)).call(t, c.arguments)
		if result.Outcome.Code() != code || !strings.Contains(result.Outcome.Text(), logsearch.Codes()[code]) {
			t.Errorf("got %s, want %s with its text", result.Outcome.Text(), code)
		}
		if strings.Contains(result.Outcome.Text(), "secret") {
			t.Errorf("the model gets the cause: %s", result.Outcome.Text())
		}
	}
	if len(logsearch.Codes()) != 3 {
		t.Errorf("got %d codes, want the 3 that are produced here", len(logsearch.Codes()))
	}
	for code, text := range logsearch.Codes() {
		if !code.WellFormed() || text == "" {
			t.Errorf("code %q with text %q cannot be registered", code, text)
		}
	}
}

// A page behind a cursor proves an absence for what it looked at only.
func TestAbsenceBehindACursorHasItsGap(t *testing.T) {
	t.Parallel()
	s := newSearch(t, logsearch.Config{Sources: textSources(map[string]string{"a": numbered(3)}, logsearch.RFC3339Lines{})})
	q := logsearch.Query{Limit: 3}
	q.Cursor = mustRun(t, s, q).Cursor
	arguments, err := json.Marshal(map[string]any{"limit": 3, "cursor": q.Cursor})
	if err != nil {
		t.Fatal(err)
	}
	var raw strings.Builder
	if err := s.Run(t.Context(), q, &raw); err != nil {
		t.Fatal(err)
	}
	p, err := projector.Drive(t.Context(), lines.New(lines.Options{}), projector.Input{Tool: "search_logs", Request: arguments, Raw: []byte(raw.String())}, projector.Options{})
	if err != nil || p.Status != evidence.None || len(p.Coverage.Uncovered) != 1 || !strings.Contains(p.Coverage.Uncovered[0].What, "before byte 123 of a") {
		t.Errorf("got %v, %s, %+v, want an absence with what was not looked at", err, p.Status, p.Coverage.Uncovered)
	}
}

func TestSchemaListsTheSources(t *testing.T) {
	t.Parallel()
	schema := string(shopSearch(t, logsearch.Limits{MaxPageRecords: 321}).Schema())
	for _, want := range []string{`"enum":["a.log","b.log"]`, `"maximum":321`, `"additionalProperties":false`} {
		if !strings.Contains(schema, want) {
			t.Errorf("got %s, want %s in it", schema, want)
		}
	}
	var properties struct {
		Properties map[string]any
	}
	if err := json.Unmarshal([]byte(schema), &properties); err != nil || len(properties.Properties) != 8 {
		t.Errorf("got %d properties, %v, want the 8 of a query", len(properties.Properties), err)
	}
}
