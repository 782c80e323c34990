package docsearch

import (
	"fmt"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/char/regexp"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/mapping"
	index "github.com/blevesearch/bleve_index_api"
)

// The two analyses. Their names are in indexes on disk.
const (
	stems = "stems"
	words = "words"
)

// Members of a document in the index. The parts of a name before and behind the
// point are a sub-document and its member.
const (
	memberTitle    = "title"
	memberText     = "text"
	memberOf       = "of"
	memberPosition = "position"
	memberFields   = "fields"
)

// newMapping describes documents to bleve: nothing is guessed from what they hold.
func newMapping(fields []string) (*mapping.IndexMappingImpl, error) {
	m := bleve.NewIndexMapping()
	m.ScoringModel = index.BM25Scoring
	m.DefaultAnalyzer = keyword.Name
	document := mapping.NewDocumentStaticMapping()
	for _, name := range []string{memberTitle, memberText} {
		document.AddFieldMappingsAt(name, stored(), analyzed(name, stems), analyzed(name, words))
	}
	document.AddFieldMappingsAt(memberOf, stored())
	document.AddFieldMappingsAt(memberPosition, stored())
	values := mapping.NewDocumentStaticMapping()
	for _, name := range fields {
		values.AddFieldMappingsAt(name, exact())
	}
	document.AddSubDocumentMapping(memberFields, values)
	m.DefaultMapping = document

	// A colon between letters joins two words for Unicode (UAX 29): "title:fee" would be one. A blank has as many bytes.
	const colons = "colons"
	if err := m.AddCustomCharFilter(colons, map[string]any{"type": regexp.Name, "regexp": ":", "replace": " "}); err != nil {
		return nil, fmt.Errorf("docsearch: mapping: %w", err)
	}
	const pairsAndSingles = "pairs_and_singles"
	if err := m.AddCustomTokenFilter(pairsAndSingles, map[string]any{"type": cjk.BigramName, "output_unigram": true}); err != nil {
		return nil, fmt.Errorf("docsearch: mapping: %w", err)
	}
	for name, filters := range map[string][]string{
		stems: {cjk.WidthName, en.PossessiveName, lowercase.Name, en.StopName, pairsAndSingles, porter.Name},
		words: {cjk.WidthName, lowercase.Name, cjk.BigramName},
	} {
		if err := m.AddCustomAnalyzer(name, map[string]any{
			"type": custom.Name, "char_filters": []string{colons}, "tokenizer": unicode.Name, "token_filters": filters,
		}); err != nil {
			return nil, fmt.Errorf("docsearch: mapping: %w", err)
		}
	}
	return m, m.Validate()
}

// stored keeps a text as it is, to be read and not to be found.
func stored() *mapping.FieldMapping {
	f := bleve.NewTextFieldMapping()
	f.Index, f.DocValues, f.IncludeInAll, f.IncludeTermVectors = false, false, false, false
	return f
}

// analyzed makes a text findable under one analysis.
func analyzed(member, analysis string) *mapping.FieldMapping {
	f := bleve.NewTextFieldMapping()
	f.Name, f.Analyzer = analyzedName(member, analysis), analysis
	f.Store, f.DocValues, f.IncludeInAll, f.IncludeTermVectors = false, false, false, false
	return f
}

func analyzedName(member, analysis string) string { return member + "_" + analysis }

// exact makes a value findable as a whole.
func exact() *mapping.FieldMapping {
	f := bleve.NewKeywordFieldMapping()
	f.Store, f.DocValues, f.IncludeInAll, f.IncludeTermVectors = false, false, false, false
	return f
}
