package docsearch

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// cutMark stands where a snippet leaves something out.
const cutMark = "…"

// span is a piece of a text that matched, in bytes.
type span struct {
	start, end int
	term       string
}

// matches lists where an analysis finds one of the terms in text, in order.
func matches(a analysis.Analyzer, text string, terms map[string]bool) []span {
	var found []span
	for _, token := range a.Analyze([]byte(text)) {
		// A filter that changes the length of a character may leave offsets behind.
		if terms[string(token.Term)] && 0 <= token.Start && token.Start < token.End && token.End <= len(text) {
			found = append(found, span{token.Start, token.End, string(token.Term)})
		}
	}
	slices.SortStableFunc(found, func(a, b span) int { return a.start - b.start })
	return found
}

// snippet is the passage of at most limit bytes with the most different terms of
// the query, the first of those that have equally many.
func (x *Index) snippet(text string, p plan, limit int) string {
	if len(text) <= limit {
		return text
	}
	found := matches(x.stems, text, p.stems)
	if len(found) == 0 {
		found = matches(x.words, text, p.words)
	}
	room := limit - 2*len(cutMark)
	start, end := bestWindow(found, room)
	lead := (room - (end - start)) / 2
	from := max(0, start-lead)
	to := min(len(text), from+room)
	from = max(0, to-room)
	return cutOut(text, from, to)
}

// bestWindow is the stretch from the first to the last match in it.
func bestWindow(found []span, room int) (start, end int) {
	best := 0
	counts := map[string]int{}
	first := 0
	for last, s := range found {
		counts[s.term]++
		for ; first < last && s.end-found[first].start > room; first++ {
			if counts[found[first].term]--; counts[found[first].term] == 0 {
				delete(counts, found[first].term)
			}
		}
		if s.end-found[first].start <= room && len(counts) > best {
			best, start, end = len(counts), found[first].start, s.end
		}
	}
	return start, end
}

// cutOut takes text[from:to], moved inwards to where runes and, if one is near,
// words begin and end.
func cutOut(text string, from, to int) string {
	const near = 24 // bytes that may be given up for a whole word
	for from < to && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	if from > 0 {
		if blank := strings.IndexAny(text[from:min(to, from+near)], " \n\t"); blank >= 0 {
			from += blank + 1
		}
	}
	if to < len(text) {
		edge := max(from, to-near)
		if blank := strings.LastIndexAny(text[edge:to], " \n\t"); blank >= 0 {
			to = edge + blank
		}
	}
	passage := strings.TrimSpace(text[from:to])
	if from > 0 {
		passage = cutMark + passage
	}
	if to < len(text) {
		passage += cutMark
	}
	return passage
}
