package sqlagent

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode"
)

const (
	maxNouns = 5
	// minScore keeps names out that share a chance group of letters only. One half would already lose "alis in chain".
	minScore = 0.25
	// scoreKind goes into the result, since a number alone does not say whether more is better.
	scoreKind = "share of common groups of three letters, 0 to 1, higher is nearer"
)

// Noun is one name that is near to what was asked.
type Noun struct {
	Name   string  `json:"name"`
	Column string  `json:"column"` // table and column that hold it
	Score  float64 `json:"score"`  // 0 to 1, higher is nearer
}

// NounSearch is the raw result of search_proper_nouns.
type NounSearch struct {
	Query     string   `json:"query"` // as it came
	Columns   []string `json:"columns"`
	Compared  int      `json:"compared"` // names that were looked at, all of them
	ScoreKind string   `json:"score_kind"`
	Names     []Noun   `json:"names"` // nearest first, five at most; empty, never null
}

// nounColumns are searched in this order; a name that two of them hold is kept for the first.
func nounColumns() [][2]string {
	return [][2]string{{"Artist", "Name"}, {"Album", "Title"}, {"Genre", "Name"}}
}

// ProperNouns compares the text with every artist, album and genre name and writes a [NounSearch] as JSON. Letter
// case and everything that is neither letter nor digit do not count; accents do.
func (t *Tools) ProperNouns(ctx context.Context, in QueryInput, raw io.Writer) error {
	wanted := trigrams(in.Query)
	if len(wanted) == 0 {
		return ErrNothingAsked
	}
	search := NounSearch{Query: in.Query, ScoreKind: scoreKind, Names: []Noun{}}
	seen := map[string]bool{}
	for _, column := range nounColumns() {
		where := column[0] + "." + column[1]
		names, err := t.column(ctx, "SELECT "+quote(column[1])+" FROM "+quote(column[0]))
		if err != nil {
			return err
		}
		search.Columns = append(search.Columns, where)
		search.Compared += len(names)
		for _, name := range names {
			if score := similarity(wanted, trigrams(name)); score >= minScore && !seen[name] {
				seen[name] = true
				search.Names = append(search.Names, Noun{Name: name, Column: where, Score: score})
			}
		}
	}
	slices.SortFunc(search.Names, func(a, b Noun) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Name, b.Name))
	})
	search.Names = search.Names[:min(len(search.Names), maxNouns)]
	return json.NewEncoder(raw).Encode(search)
}

// trigrams are the groups of three letters of each word, with a blank before and behind it so that short words and
// the ends of words count. How often a group occurs is left out.
func trigrams(s string) map[string]bool {
	groups := map[string]bool{}
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, word := range words {
		runes := []rune(" " + word + " ")
		for i := 0; i+3 <= len(runes); i++ {
			groups[string(runes[i:i+3])] = true
		}
	}
	return groups
}

// similarity is twice the number of common groups over the number of both, which is 1 for equal sets.
func similarity(a, b map[string]bool) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	common := 0
	for group := range a {
		if b[group] {
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}
