package docsearch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/search/query"
)

// Query is the argument object of the tool, as a model fills it in.
type Query struct {
	Query   string            `json:"query"`             // words; nothing in it is an operator
	TopK    int               `json:"top_k,omitempty"`   // hits at most; 0: the host's number
	Filters map[string]string `json:"filters,omitempty"` // field and exact value; all must fit
}

// QueryError names the argument that cannot be used. It never repeats its value.
type QueryError struct {
	Field  string
	Reason string
}

// Error has the member's name and the rule.
func (e *QueryError) Error() string { return "docsearch: argument " + e.Field + ": " + e.Reason }

// plan is a query with everything resolved.
type plan struct {
	text    string
	topK    int
	filters []string        // "field = value", sorted
	exact   []query.Query   // the same for bleve
	stems   map[string]bool // terms of the query
	words   map[string]bool
}

// resolve checks a query and fills in what it leaves out.
func (x *Index) resolve(q Query) (plan, error) {
	p := plan{text: q.Query, topK: q.TopK}
	switch {
	case len(q.Query) > x.limits.MaxQueryBytes:
		return plan{}, &QueryError{"query", fmt.Sprintf("is over %d bytes", x.limits.MaxQueryBytes)}
	case !utf8.ValidString(q.Query):
		return plan{}, &QueryError{"query", "is no UTF-8"}
	}
	p.stems, p.words = terms(x.stems, q.Query), terms(x.words, q.Query)
	if len(p.stems)+len(p.words) == 0 {
		return plan{}, &QueryError{"query", "has no word to look for"}
	}
	if p.topK == 0 {
		p.topK = x.limits.TopK
	}
	if p.topK < 1 || p.topK > x.limits.MaxTopK {
		return plan{}, &QueryError{"top_k", fmt.Sprintf("must be 1 to %d", x.limits.MaxTopK)}
	}
	for _, name := range slices.Sorted(maps.Keys(q.Filters)) {
		if !slices.Contains(x.config.Fields, name) {
			return plan{}, &QueryError{"filters", "has a field that does not exist"}
		}
		value := q.Filters[name]
		if value == "" || !printable(value, MaxFieldValueBytes) {
			return plan{}, &QueryError{"filters", fmt.Sprintf("has a value that is not 1 to %d bytes of printable text", MaxFieldValueBytes)}
		}
		term := bleve.NewTermQuery(value)
		term.SetField(memberFields + "." + name)
		p.exact = append(p.exact, term)
		p.filters = append(p.filters, name+" = "+value)
	}
	return p, nil
}

// terms are what an analysis makes of a text.
func terms(a analysis.Analyzer, text string) map[string]bool {
	set := map[string]bool{}
	for _, token := range a.Analyze([]byte(text)) {
		if strings.ContainsFunc(string(token.Term), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			set[string(token.Term)] = true
		}
	}
	return set
}

// titleBoost lets a word of the title count for more than one of the text.
const titleBoost = 2

// forBleve builds the query out of match queries, which take text for words.
func (p plan) forBleve() query.Query {
	var found []query.Query
	for _, part := range []struct { // in one order, since sums of floats depend on it
		member, analysis string
		boost            float64
	}{{memberTitle, stems, titleBoost}, {memberText, stems, 1}, {memberTitle, words, titleBoost}, {memberText, words, 1}} {
		match := bleve.NewMatchQuery(p.text)
		match.SetField(analyzedName(part.member, part.analysis))
		match.Analyzer = part.analysis // the name of a field alone would give the default
		match.SetBoost(part.boost)
		found = append(found, match)
	}
	either := bleve.NewDisjunctionQuery(found...)
	if len(p.exact) == 0 {
		return either
	}
	both := bleve.NewBooleanQuery()
	both.AddMust(either)
	both.AddFilter(bleve.NewConjunctionQuery(p.exact...))
	return both
}
