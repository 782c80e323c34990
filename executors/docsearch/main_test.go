package docsearch_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolharness/harness/executors/docsearch"
)

// page is a raw document as a reader that is not ours sees it.
type page struct {
	Status, Query string
	Collections   []string
	TopK          int    `json:"top_k"`
	Version       string `json:"index_version"`
	Filters       []string
	Legs          []struct {
		Name string
		Hits int
	}
	Hits []struct {
		ID, Document, Title, Snippet, Content string
		Position                              int
		Score                                 float64
		Kind                                  string `json:"score_kind"`
	}
	CutBy string `json:"cut_by"`
}

// ids are the documents found, best first.
func (p page) ids() string {
	var out []string
	for _, h := range p.Hits {
		out = append(out, h.Document)
	}
	return strings.Join(out, " ")
}

func build(t testing.TB, c docsearch.Config, documents ...docsearch.Document) *docsearch.Index {
	t.Helper()
	if c.Name == "" {
		c.Name = "kb"
	}
	index, err := docsearch.Build(t.Context(), c, docsearch.Of(documents...))
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, index)
	return index
}

func closeAtEnd(t testing.TB, index *docsearch.Index) {
	t.Cleanup(func() {
		if err := index.Close(); err != nil {
			t.Error(err)
		}
	})
}

func run(t testing.TB, index *docsearch.Index, q docsearch.Query) (page, error) {
	t.Helper()
	var raw bytes.Buffer
	if err := index.Run(t.Context(), q, &raw); err != nil {
		return page{}, err
	}
	var p page
	if err := json.Unmarshal(raw.Bytes(), &p); err != nil {
		t.Fatalf("the result is no JSON: %v\n%s", err, raw.Bytes())
	}
	return p, nil
}

func mustRun(t testing.TB, index *docsearch.Index, q docsearch.Query) page {
	t.Helper()
	p, err := run(t, index, q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return p
}

// jsonl reads a file of one JSON object a line.
func jsonl[T any](t testing.TB, path ...string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("line %d: %v", len(list)+1, err)
		}
		list = append(list, one)
	}
	if lines.Err() != nil || len(list) == 0 {
		t.Fatalf("%d lines, %v", len(list), lines.Err())
	}
	return list
}

// bank is a small collection in two languages.
func bank() []docsearch.Document {
	return []docsearch.Document{
		{ID: "fees", Title: "Annual fees", Text: "The Gold Rewards Card has an annual fee of $95. It is waived in the first year.", Fields: map[string]string{"product": "card", "lang": "en"}},
		{ID: "wire", Title: "Wire transfers", Text: "A wire transfer out of the country costs 25 dollars; inside it is free.", Fields: map[string]string{"product": "account", "lang": "en"}},
		{ID: "年费", Title: "信用卡年费", Text: "金卡的年费为 95 美元，首年免收。余额不足时会收取透支费用。", Fields: map[string]string{"product": "card", "lang": "zh"}},
		{ID: "guide#2", Of: "guide", Position: 2, Title: "Handbook", Text: "Chapter two. Overdrafts are charged once a day.", Fields: map[string]string{"product": "account"}},
		{ID: "plain", Text: "Opening hours: nine to five, not on Sundays."},
	}
}

func bankConfig() docsearch.Config {
	return docsearch.Config{Name: "bank-kb", Version: "v7", Fields: []string{"product", "lang"}}
}
