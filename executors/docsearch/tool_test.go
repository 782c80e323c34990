package docsearch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/executors/docsearch"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

// call makes one call through a boundary that has the search as its only tool.
func call(t *testing.T, index *docsearch.Index, arguments string) (boundary.Result, *boundary.Run) {
	t.Helper()
	clock := fakes.NewClock()
	b, err := boundary.New(boundary.Config{Store: fakes.NewStore(clock), Authorizer: boundary.AllowAll{}, Codes: docsearch.Codes(), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := boundary.NewToolset(b, index.Tool("search_articles"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	return tools.Dispatch(t.Context(), run, boundary.Call{ID: "call_1", Name: "search_articles", Arguments: []byte(arguments)})[0], run
}

func TestToolThroughTheBoundary(t *testing.T) {
	t.Parallel()
	index := build(t, bankConfig(), bank()...)
	for name, c := range map[string]struct{ arguments, want string }{
		"found":   {`{"query":"annual fee"}`, "waived in the first year"},
		"chinese": {`{"query":"年费","top_k":2}`, "首年免收"},
		"filter":  {`{"query":"95","filters":{"lang":"zh"}}`, "金卡"},
		"nothing": {`{"query":"cryptocurrency"}`, "nothing_found"},
	} {
		result, run := call(t, index, c.arguments)
		if result.Err != nil || !strings.Contains(result.Outcome.Text(), c.want) {
			t.Errorf("%s: got %v, %s, want %s", name, result.Err, result.Outcome.Text(), c.want)
		}
		if report, err := run.Facts(t.Context()); err != nil || !strings.Contains(report.Text(), "bank-kb") && name == "nothing" {
			t.Errorf("%s: facts: got %v, %s", name, err, report.Text())
		}
	}
}

func TestToolRefusesInPreflight(t *testing.T) {
	t.Parallel()
	index := build(t, bankConfig(), bank()...)
	for name, arguments := range map[string]string{
		"no_query":        `{}`,
		"no_word":         `{"query":"?!"}`,
		"member_in_caps":  `{"Query":"fee"}`,
		"unknown_member":  `{"query":"fee","index":"other"}`,
		"unknown_field":   `{"query":"fee","filters":{"path":"x"}}`,
		"filter_no_text":  `{"query":"fee","filters":{"lang":1}}`,
		"top_k_fraction":  `{"query":"fee","top_k":1.5}`,
		"top_k_too_large": `{"query":"fee","top_k":21}`,
	} {
		result, _ := call(t, index, arguments)
		if result.Outcome.Code() != lifecycle.InvalidInput || result.Outcome.Execution() != boundary.NotStarted {
			t.Errorf("%s: got %s, %v, want %s, not started", name, result.Outcome.Code(), result.Outcome.Execution(), lifecycle.InvalidInput)
		}
	}
	// The executor's own check, where no schema stands before it.
	checker := index.Executor().(boundary.ArgumentChecker)
	if err := checker.CheckArguments([]byte(`{"query":"*"}`)); err == nil {
		t.Error("a query without a word passed the executor's check")
	}
	if err := checker.CheckArguments([]byte(`{"query":"fee"}`)); err != nil {
		t.Errorf("a good query: got %v", err)
	}
}

func TestToolFailure(t *testing.T) {
	t.Parallel()
	index, err := docsearch.Build(t.Context(), bankConfig(), docsearch.Of(bank()...))
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Close(); err != nil {
		t.Fatal(err)
	}
	result, _ := call(t, index, `{"query":"fee"}`)
	if result.Outcome.Code() != docsearch.CodeSearchFailed || !strings.Contains(result.Outcome.Text(), docsearch.Codes()[docsearch.CodeSearchFailed]) {
		t.Errorf("got %s, want %s with its text", result.Outcome.Text(), docsearch.CodeSearchFailed)
	}
	if len(docsearch.Codes()) != 1 {
		t.Errorf("got %d codes, want the one that is produced here", len(docsearch.Codes()))
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	index := build(t, bankConfig(), bank()...)
	tool := index.Tool("search_articles")
	if !strings.Contains(tool.Description, "bank-kb of 5 documents") {
		t.Errorf("got %q, want name and number", tool.Description)
	}
	var schema struct {
		Properties map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(tool.Schema, &schema); err != nil || len(schema.Properties) != 3 || len(schema.Properties["filters"].Properties) != 2 {
		t.Errorf("got %s, %v, want three properties and two fields", tool.Schema, err)
	}
	bare := build(t, docsearch.Config{}, bank()[4])
	if strings.Contains(string(bare.Schema()), "filters") {
		t.Errorf("got %s, want no filters where there are no fields", bare.Schema())
	}
	// A query that a program fills in is as good as one of a model.
	for _, q := range []docsearch.Query{{Query: "fee"}, {Query: "fee", TopK: 2, Filters: map[string]string{"lang": "en"}}} {
		arguments, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if result, _ := call(t, index, string(arguments)); result.Err != nil {
			t.Errorf("%s: got %v", arguments, result.Err)
		}
	}
}
