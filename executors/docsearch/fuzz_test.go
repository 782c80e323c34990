package docsearch

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/hits"
)

// FuzzSnippet: a snippet is valid, within its limit, and made of the text.
func FuzzSnippet(f *testing.F) {
	x := bareIndex(f)
	for _, text := range []string{"a fee of $95 and more", "年费 and ｶﾞｶﾞ", "🙂🙂🙂 fee", " \n\t", "İstanbul's ﬁne", strings.Repeat("x fee ", 90)} {
		f.Add(text, "fee 年费 ガ", 64)
	}
	f.Fuzz(func(t *testing.T, text, query string, limit int) {
		p, err := x.resolve(Query{Query: query})
		if err != nil || !utf8.ValidString(text) {
			return
		}
		limit = leastSnippet + limit&0xff
		got := x.snippet(text, p, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%d bytes for a limit of %d, valid %t: %q", len(got), limit, utf8.ValidString(got), got)
		}
		if inner := strings.TrimSuffix(strings.TrimPrefix(got, cutMark), cutMark); !strings.Contains(text, inner) {
			t.Errorf("%q is not in the text", inner)
		}
	})
}

// FuzzQuery: whatever a model asks, the answer is a refusal of its arguments, or a
// result that the projector can judge; a query that is a text of the index word
// for word finds that text.
func FuzzQuery(f *testing.F) {
	texts := []string{"An annual fee of $95", "金卡的年费为 95 美元", "title:fee AND x*", "it's open_bank_account_4821"}
	documents := make([]Document, len(texts))
	for i, text := range texts {
		documents[i] = Document{ID: string(rune('a' + i)), Text: text, Fields: map[string]string{"lang": "en"}}
	}
	x, err := Build(f.Context(), Config{Name: "kb", Fields: []string{"lang"}}, Of(documents...))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { x.Close() })
	for _, query := range append(texts, "", "*", "\x00", "a:b", `"x"`, "\u202e", "ａ", "ｶﾞ", "0") {
		f.Add(query, "", 3)
	}
	f.Add("fee", "en", 20)
	f.Fuzz(func(t *testing.T, query, value string, top int) {
		q := Query{Query: query, TopK: top}
		if value != "" {
			q.Filters = map[string]string{"lang": value}
		}
		var raw strings.Builder
		if err := x.Run(t.Context(), q, &raw); err != nil {
			if _, ok := errors.AsType[*QueryError](err); !ok {
				t.Fatalf("%v", err)
			}
			return
		}
		p, err := projector.Drive(t.Context(), hits.New(hits.Options{}), projector.Input{Raw: []byte(raw.String())}, projector.Options{})
		if err != nil {
			t.Fatalf("the projector cannot judge it: %v\n%s", err, raw.String())
		}
		for _, text := range texts {
			if text == query && value == "" && p.Status != evidence.Found {
				t.Errorf("%q does not find itself", text)
			}
		}
	})
}
