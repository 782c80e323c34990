package docsearch_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/executors/docsearch"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/hits"
)

type article struct{ ID, Title, Content string }

func articles(t testing.TB, folder string) []docsearch.Document {
	t.Helper()
	var documents []docsearch.Document
	for _, a := range jsonl[article](t, folder, "documents.jsonl") {
		documents = append(documents, docsearch.Document{ID: a.ID, Title: a.Title, Text: a.Content})
	}
	return documents
}

// shared is the folder of a set that stays outside the project.
func shared(t *testing.T, set string) string {
	t.Helper()
	return vectors.Outside(t, set)
}

func expected(t *testing.T, folder string, to any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, to); err != nil {
		t.Fatal(err)
	}
}

func TestBankArticles(t *testing.T) {
	t.Parallel()
	checkArticles(t, "testdata/rho-bank-kb")
}

func TestCheckDataArticles(t *testing.T) {
	t.Parallel()
	checkArticles(t, shared(t, "rho-bank-kb"))
}

// checkArticles looks for every article by its own title, in an index on disk.
func checkArticles(t *testing.T, folder string) {
	var want struct {
		Documents  int            `json:"documents"`
		OwnTitle   int            `json:"bm25_own_title_in_top_10"`
		Containing map[string]int `json:"documents_containing"`
	}
	expected(t, folder, &want)
	documents := articles(t, folder)
	index := build(t, docsearch.Config{Name: "rho-bank", Path: filepath.Join(t.TempDir(), "index")}, documents...)
	if index.Count() != want.Documents || len(documents) != want.Documents {
		t.Fatalf("got %d documents, want %d", index.Count(), want.Documents)
	}
	inTen, first := 0, 0
	for _, d := range documents {
		for i, h := range mustRun(t, index, docsearch.Query{Query: d.Title, TopK: 10}).Hits {
			if h.Document == d.ID {
				inTen++
				if i == 0 {
					first++
				}
			}
		}
	}
	t.Logf("%d of %d articles found by their own title in the top ten, %d of them first", inTen, len(documents), first)
	if inTen < want.OwnTitle {
		t.Errorf("got %d in the top ten, want at least %d", inTen, want.OwnTitle)
	}
	// A name that only some articles have is found in each of them and nowhere else.
	name, n := "open_bank_account_4821", want.Containing["open_bank_account_4821"]
	p := mustRun(t, index, docsearch.Query{Query: name, TopK: 20})
	if len(p.Hits) != n || p.Legs[0].Hits != n || n == 0 {
		t.Errorf("%s: got %d hits, %d in all, want %d", name, len(p.Hits), p.Legs[0].Hits, n)
	}
	for _, h := range p.Hits {
		if !strings.Contains(h.Content, name) || !strings.Contains(h.Snippet, name) {
			t.Errorf("%s: content and snippet of %s are without it: %q", name, h.Document, h.Snippet)
		}
	}
}

// TestCheckDataXQuAD asks the questions of a set in two languages, each with one
// right paragraph; both languages are in one index as well.
func TestCheckDataXQuAD(t *testing.T) {
	t.Parallel()
	folder := shared(t, "xquad")
	var want map[string]struct {
		Documents, Questions int
		At1                  int `json:"bm25_hits_at_1"`
		At5                  int `json:"bm25_hits_at_5"`
	}
	expected(t, folder, &want)
	var both []docsearch.Document
	perLanguage := map[string][]docsearch.Document{}
	for _, language := range []string{"en", "zh"} {
		for _, d := range jsonl[struct{ ID, Text string }](t, folder, "documents."+language+".jsonl") {
			perLanguage[language] = append(perLanguage[language], docsearch.Document{ID: d.ID, Text: d.Text})
			both = append(both, docsearch.Document{ID: language + "/" + d.ID, Text: d.Text, Fields: map[string]string{"lang": language}})
		}
	}
	mixed := build(t, docsearch.Config{Name: "both", Fields: []string{"lang"}}, both...)
	for language, w := range want {
		index := build(t, docsearch.Config{Name: "xquad"}, perLanguage[language]...)
		at1, at5, at5Mixed, asked := 0, 0, 0, 0
		for _, q := range jsonl[struct{ Question, Answer, Doc string }](t, folder, "questions."+language+".jsonl") {
			asked++
			for i, h := range mustRun(t, index, docsearch.Query{Query: q.Question, TopK: 5}).Hits {
				if h.Document == q.Doc && strings.Contains(h.Content, q.Answer) {
					at5++
					if i == 0 {
						at1++
					}
				}
			}
			for _, h := range mustRun(t, mixed, docsearch.Query{Query: q.Question, TopK: 5, Filters: map[string]string{"lang": language}}).Hits {
				if h.Document == language+"/"+q.Doc {
					at5Mixed++
				}
			}
		}
		t.Logf("%s: %d documents, %d questions, right paragraph with its answer first %d times, in the top five %d times, and %d times in one index for both languages",
			language, index.Count(), asked, at1, at5, at5Mixed)
		if index.Count() != w.Documents || asked != w.Questions || at1 < w.At1 || at5 < w.At5 {
			t.Errorf("%s: want %d documents, %d questions, at least %d and %d", language, w.Documents, w.Questions, w.At1, w.At5)
		}
	}
}

// What the index writes is what the projector of package hits can judge.
func TestProjection(t *testing.T) {
	t.Parallel()
	index := build(t, bankConfig(), bank()...)
	for query, want := range map[string]evidence.Status{"annual fee": evidence.Found, "cryptocurrency": evidence.None, "年费": evidence.Found} {
		var raw strings.Builder
		if err := index.Run(t.Context(), docsearch.Query{Query: query}, &raw); err != nil {
			t.Fatal(err)
		}
		request, err := json.Marshal(docsearch.Query{Query: query})
		if err != nil {
			t.Fatal(err)
		}
		p, err := projector.Drive(t.Context(), hits.New(hits.Options{}), projector.Input{Request: request, Raw: []byte(raw.String())}, projector.Options{})
		if err != nil || p.Status != want || !p.Coverage.Complete || !strings.Contains(p.Coverage.Checked[0], "collection bank-kb by bm25") {
			t.Errorf("%s: got %s, %+v, %v, want %s of the whole collection", query, p.Status, p.Coverage, err, want)
		}
		if want == evidence.Found && (len(p.Facts) == 0 || !strings.Contains(string(p.Result), "bm25")) {
			t.Errorf("%s: got %v, %s, want facts and the kind of score", query, p.Facts, p.Result)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	index := build(b, docsearch.Config{Name: "rho-bank"}, articles(b, "testdata/rho-bank-kb")...)
	b.ReportAllocs()
	for b.Loop() {
		mustRun(b, index, docsearch.Query{Query: "How do I open a personal checking account?"})
	}
}
