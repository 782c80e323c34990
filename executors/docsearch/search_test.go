package docsearch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/executors/docsearch"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	index := build(t, bankConfig(), bank()...)
	for name, c := range map[string]struct {
		query docsearch.Query
		want  string
	}{
		"english":            {docsearch.Query{Query: "annual fee"}, "fees"},
		"stems":              {docsearch.Query{Query: "transferring wires"}, "wire"},
		"possessive":         {docsearch.Query{Query: "the Card's"}, "fees wire"},
		"upper_case":         {docsearch.Query{Query: "HANDBOOK"}, "guide"},
		"only_in_the_title":  {docsearch.Query{Query: "handbook"}, "guide"},
		"chinese":            {docsearch.Query{Query: "金卡的年费是多少？"}, "年费"},
		"chinese_pair":       {docsearch.Query{Query: "透支"}, "年费"},
		"chinese_character":  {docsearch.Query{Query: "卡"}, "年费"},
		"both_languages":     {docsearch.Query{Query: "annual 年费"}, "年费 fees"},
		"full_width":         {docsearch.Query{Query: "ＧＯＬＤ"}, "fees"},
		"number":             {docsearch.Query{Query: "95"}, "fees 年费"},
		"stop_word_alone":    {docsearch.Query{Query: "once"}, "guide"},
		"nothing":            {docsearch.Query{Query: "cryptocurrency"}, ""},
		"nothing_in_chinese": {docsearch.Query{Query: "龘"}, ""},
		"filter":             {docsearch.Query{Query: "95", Filters: map[string]string{"lang": "en"}}, "fees"},
		"two_filters":        {docsearch.Query{Query: "95 dollars", Filters: map[string]string{"product": "account", "lang": "en"}}, "wire"},
		"filter_is_exact":    {docsearch.Query{Query: "95", Filters: map[string]string{"lang": "EN"}}, ""},
		"filter_no_prefix":   {docsearch.Query{Query: "95", Filters: map[string]string{"product": "car"}}, ""},
		"no_such_pair":       {docsearch.Query{Query: "wire", Filters: map[string]string{"product": "account", "lang": "zh"}}, ""},
		"top_1":              {docsearch.Query{Query: "95", TopK: 1}, "fees"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustRun(t, index, c.query)
			if p.ids() != c.want {
				t.Errorf("got %q, want %q", p.ids(), c.want)
			}
			if want := map[bool]string{true: "no_results", false: "success"}[c.want == ""]; p.Status != want {
				t.Errorf("status: got %q, want %q", p.Status, want)
			}
		})
	}
}

// The query is words; what looks like the language of a query string is not one.
func TestNoQueryLanguage(t *testing.T) {
	t.Parallel()
	index := build(t, bankConfig(), bank()...)
	for _, query := range []string{
		"title:handbook", "-annual", "+wire -annual", "ann*", "an?ual", "/ann.*/", `"fee annual"`, "annual^5", "annual~2", "text_stems:fee", "fee AND wire", "_id:fees",
	} {
		p, err := run(t, index, docsearch.Query{Query: query})
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		// The same without any sign that is no letter.
		plain := strings.Map(func(r rune) rune {
			if strings.ContainsRune(`:-+*?/".^~()`, r) {
				return ' '
			}
			return r
		}, query)
		if want := mustRun(t, index, docsearch.Query{Query: plain}); p.ids() != want.ids() {
			t.Errorf("%s: got %q, want %q as for %q", query, p.ids(), want.ids(), plain)
		}
	}
	if p := mustRun(t, index, docsearch.Query{Query: "ann*"}); p.ids() != "" {
		t.Errorf("a wildcard found %q", p.ids())
	}
}

func TestWhatAResultSays(t *testing.T) {
	t.Parallel()
	index := build(t, bankConfig(), bank()...)
	p := mustRun(t, index, docsearch.Query{Query: "overdraft", TopK: 3, Filters: map[string]string{"product": "account"}})
	if p.Query != "overdraft" || fmt.Sprintf("%v %v %v %v %v", p.Collections, p.TopK, p.Version, p.Filters, p.Legs) != "[bank-kb] 3 v7 [product = account] [{bm25 1}]" {
		t.Errorf("got %+v, want what was searched", p)
	}
	h := p.Hits[0]
	if h.ID != "guide#2" || h.Document != "guide" || h.Position != 2 || h.Kind != "bm25" || h.Score <= 0 || h.Title != "Handbook" || h.Content != bank()[3].Text || h.Snippet != h.Content {
		t.Errorf("got %+v, want the chunk with its document, place, score and text", h)
	}
	whole := mustRun(t, index, docsearch.Query{Query: "Sundays"}).Hits[0]
	if whole.ID != "" || whole.Document != "plain" || whole.Position != 0 || whole.Title != "" {
		t.Errorf("got %+v, want a whole document without a title", whole)
	}
}

// The number of matches is told even where fewer are returned.
func TestTotal(t *testing.T) {
	t.Parallel()
	var many []docsearch.Document
	for i := range 50 {
		many = append(many, docsearch.Document{ID: fmt.Sprintf("d%02d", i), Text: "the same words in each of them"})
	}
	index := build(t, docsearch.Config{}, many...)
	p := mustRun(t, index, docsearch.Query{Query: "words"})
	if len(p.Hits) != 6 || p.Legs[0].Hits != 50 || index.Count() != 50 {
		t.Errorf("got %d hits of %d in %d documents, want 6 of 50 in 50", len(p.Hits), p.Legs[0].Hits, index.Count())
	}
	if p.ids() != "d00 d01 d02 d03 d04 d05" {
		t.Errorf("equal scores: got %s, want the order of ids", p.ids())
	}
}

func TestTitleCountsForMore(t *testing.T) {
	t.Parallel()
	index := build(t, docsearch.Config{}, docsearch.Document{ID: "in_text", Title: "other", Text: "loans and more words here"}, docsearch.Document{ID: "in_title", Title: "loans", Text: "other and more words here"})
	if got := mustRun(t, index, docsearch.Query{Query: "loans"}).ids(); got != "in_title in_text" {
		t.Errorf("got %s, want the title first", got)
	}
}

func TestSameAnswerEveryTime(t *testing.T) {
	t.Parallel()
	q := docsearch.Query{Query: "the annual fee of a card 年费 wire", TopK: 5}
	first := ""
	for range 3 {
		index := build(t, bankConfig(), bank()...)
		var wait sync.WaitGroup
		answers := make([]string, 8)
		for i := range answers {
			wait.Go(func() {
				var raw strings.Builder
				if err := index.Run(t.Context(), q, &raw); err != nil {
					t.Error(err)
				}
				answers[i] = raw.String()
			})
		}
		wait.Wait()
		if first == "" {
			first = answers[0]
		}
		for _, answer := range answers {
			if answer != first {
				t.Fatalf("got\n%s\nand\n%s", answer, first)
			}
		}
	}
}

func TestRefusedQueries(t *testing.T) {
	t.Parallel()
	index := build(t, bankConfig(), bank()...)
	for name, c := range map[string]struct {
		query docsearch.Query
		field string
	}{
		"empty":           {docsearch.Query{}, "query"},
		"blank":           {docsearch.Query{Query: " \n\t"}, "query"},
		"no_word":         {docsearch.Query{Query: "?!… — «»"}, "query"},
		"stars":           {docsearch.Query{Query: "*"}, "query"},
		"too_long":        {docsearch.Query{Query: strings.Repeat("fee ", 257)}, "query"},
		"no_utf8":         {docsearch.Query{Query: "fee \xff"}, "query"},
		"negative_top_k":  {docsearch.Query{Query: "fee", TopK: -1}, "top_k"},
		"large_top_k":     {docsearch.Query{Query: "fee", TopK: 21}, "top_k"},
		"unknown_field":   {docsearch.Query{Query: "fee", Filters: map[string]string{"title": "Annual fees"}}, "filters"},
		"path_of_a_field": {docsearch.Query{Query: "fee", Filters: map[string]string{"fields.product": "card"}}, "filters"},
		"empty_value":     {docsearch.Query{Query: "fee", Filters: map[string]string{"product": ""}}, "filters"},
		"control_value":   {docsearch.Query{Query: "fee", Filters: map[string]string{"product": "a\nb"}}, "filters"},
		"long_value":      {docsearch.Query{Query: "fee", Filters: map[string]string{"product": strings.Repeat("x", 257)}}, "filters"},
	} {
		_, err := run(t, index, c.query)
		refused, ok := errors.AsType[*docsearch.QueryError](err)
		if !ok || refused.Field != c.field || strings.Contains(err.Error(), "Annual") {
			t.Errorf("%s: got %v, want an error about %s that repeats nothing", name, err, c.field)
		}
	}
	for _, q := range []docsearch.Query{{Query: strings.Repeat("fee ", 256)}, {Query: "fee", TopK: 20}, {Query: "the"}, {Query: "é"}, {Query: "7"}} {
		if _, err := run(t, index, q); err != nil {
			t.Errorf("%.20q: got %v, want a result", q.Query, err)
		}
	}
}

func TestClosedIndexFails(t *testing.T) {
	t.Parallel()
	index, err := docsearch.Build(t.Context(), bankConfig(), docsearch.Of(bank()...))
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Close(); err != nil {
		t.Fatal(err)
	}
	if err := index.Run(t.Context(), docsearch.Query{Query: "fee"}, io.Discard); !errors.Is(err, docsearch.ErrFailed) {
		t.Errorf("got %v, want %v and no absence", err, docsearch.ErrFailed)
	}
}

func TestEndOfTheCaller(t *testing.T) {
	t.Parallel()
	index := build(t, bankConfig(), bank()...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := index.Run(ctx, docsearch.Query{Query: "fee"}, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// limited takes no byte at all.
type limited struct{ err error }

func (l limited) Write([]byte) (int, error) { return 0, l.err }

func TestWriterErrorComesBack(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	if err := build(t, bankConfig(), bank()...).Run(t.Context(), docsearch.Query{Query: "fee"}, limited{full}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

func TestLargeTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("错误 and prose. ", 900) + "needle " + strings.Repeat("more of it. ", 200)
	var many []docsearch.Document
	for i := range 20 {
		many = append(many, docsearch.Document{ID: fmt.Sprint(i), Title: strings.Repeat("\"t\"", 300), Text: long})
	}
	index := build(t, docsearch.Config{Limits: docsearch.Limits{MaxBytes: 80 << 10}}, many...)
	p := mustRun(t, index, docsearch.Query{Query: "needle", TopK: 20})
	if p.CutBy != "max_bytes" || len(p.Hits) == 0 || len(p.Hits) >= 20 || p.Legs[0].Hits != 20 {
		t.Errorf("got %d hits, cut by %q, %d in all, want some of 20 and the cut told", len(p.Hits), p.CutBy, p.Legs[0].Hits)
	}
	for _, h := range p.Hits {
		if len(h.Content) > 8<<10 || !strings.HasSuffix(h.Content, "more bytes") || strings.ContainsRune(h.Content, '\uFFFD') {
			t.Errorf("content of %d bytes ends in %q", len(h.Content), h.Content[len(h.Content)-30:])
		}
		if len(h.Snippet) > 300 || !strings.Contains(h.Snippet, "needle") || !strings.HasPrefix(h.Snippet, "…") || !strings.HasSuffix(h.Snippet, "…") {
			t.Errorf("snippet %q of %d bytes, want the word with marks at both ends", h.Snippet, len(h.Snippet))
		}
	}
	if !strings.HasPrefix(p.ids(), "0 1 10 ") {
		t.Errorf("got %s, want equal ones by id", p.ids())
	}
}
