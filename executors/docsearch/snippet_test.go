package docsearch

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// bareIndex has the analyses of an index and no documents.
func bareIndex(t testing.TB) *Index {
	t.Helper()
	x, err := Build(t.Context(), Config{Name: "kb"}, Of())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	x := bareIndex(t)
	filler := strings.Repeat("nothing of note here. ", 20)
	han := strings.Repeat("没有什么可看。", 40)
	for name, c := range map[string]struct {
		text, query string
		want        []string // parts of the snippet
		not         []string
	}{
		"short":            {"A fee.", "fee", []string{"A fee."}, []string{"…"}},
		"in_the_middle":    {filler + "The annual fee is $95. " + filler, "annual fee", []string{"The annual fee is $95.", "…nothing", "note"}, nil},
		"at_the_start":     {"The annual fee is $95. " + filler, "annual fee", []string{"The annual fee is $95. nothing"}, []string{"…The"}},
		"at_the_end":       {filler + "The annual fee is $95.", "annual fee", []string{"fee is $95."}, []string{"$95.…"}},
		"stem":             {filler + "Fees apply. " + filler, "fee", []string{"Fees apply."}, nil},
		"most_terms_win":   {filler + "A fee. " + filler + "An annual fee for the card. " + filler, "annual card fee", []string{"An annual fee for the card."}, []string{"A fee."}},
		"first_of_equals":  {filler + "One fee. " + filler + "Two fees. " + filler, "fee", []string{"One fee."}, []string{"Two fees."}},
		"stop_words_only":  {filler + "It is what it is. " + filler, "what is it", []string{"It is what it is."}, nil},
		"none_in_the_text": {filler + filler, "handbook", []string{"nothing of note here."}, []string{"…nothing"}},
		"chinese":          {han + "金卡的年费为 95 美元。" + han, "年费多少", []string{"年费为 95 美元", "…"}, nil},
		"one_long_word":    {strings.Repeat("x", 5000) + " fee " + strings.Repeat("y", 5000), "fee", []string{"fee", "…"}, nil},
		"emoji":            {strings.Repeat("🙂", 200) + " fee " + strings.Repeat("🙃", 200), "fee", []string{"fee"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := x.resolve(Query{Query: c.query})
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int{64, 300} {
				got := x.snippet(c.text, p, limit)
				if len(got) > limit || !utf8.ValidString(got) {
					t.Errorf("limit %d: got %d bytes, valid %t", limit, len(got), utf8.ValidString(got))
				}
				if limit < 300 {
					continue
				}
				for _, part := range c.want {
					if !strings.Contains(got, part) {
						t.Errorf("got %q, want %q in it", got, part)
					}
				}
				for _, part := range c.not {
					if strings.Contains(got, part) {
						t.Errorf("got %q, want %q not in it", got, part)
					}
				}
			}
		})
	}
}

func TestClipped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"abc": "abc", strings.Repeat("a", 64): strings.Repeat("a", 64),
		strings.Repeat("a", 65): strings.Repeat("a", 29) + " … 36 more bytes", strings.Repeat("错", 40): strings.Repeat("错", 9) + " … 93 more bytes",
	} {
		if got := clipped(text, 64); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
