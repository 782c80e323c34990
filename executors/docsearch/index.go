package docsearch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
)

// Index is an open index. It is safe for concurrent use and is never written to.
type Index struct {
	config Config
	limits Limits
	bleve  bleve.Index
	stems  analysis.Analyzer
	words  analysis.Analyzer
	count  int
}

// ErrNotAnIndex means that a folder holds no index that this package built whole,
// or one that the configuration does not fit.
var ErrNotAnIndex = errors.New("docsearch: not a whole index of this form and configuration")

// Open opens an index on disk, to be read by any number of processes.
func Open(c Config) (*Index, error) {
	limits := c.Limits.withDefaults()
	if err := c.check(limits); err != nil {
		return nil, err
	}
	if c.Path == "" {
		return nil, &ConfigError{"Path", "is missing"}
	}
	opened, err := bleve.OpenUsing(c.Path, map[string]any{"read_only": true})
	if err != nil {
		return nil, fmt.Errorf("docsearch: open an index: %w", err)
	}
	return newIndex(c, limits, opened)
}

// newIndex checks the mark of an open index, and closes it where that is not as
// it has to be.
func newIndex(c Config, limits Limits, opened bleve.Index) (*Index, error) {
	x := &Index{config: c, limits: limits, bleve: opened}
	x.config.Fields = slices.Clone(c.Fields)
	m := opened.Mapping()
	if x.stems, x.words = m.AnalyzerNamed(stems), m.AnalyzerNamed(words); x.stems == nil || x.words == nil {
		return nil, errors.Join(ErrNotAnIndex, opened.Close())
	}
	if err := x.checkMark(); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return x, nil
}

func (x *Index) checkMark() error {
	content, err := x.bleve.GetInternal([]byte(markKey))
	if err != nil {
		return fmt.Errorf("docsearch: read an index: %w", err)
	}
	count, err := x.bleve.DocCount()
	if err != nil {
		return fmt.Errorf("docsearch: read an index: %w", err)
	}
	var is mark
	if json.Unmarshal(content, &is) != nil || is.Format != markFormat || uint64(is.Documents) != count {
		return ErrNotAnIndex
	}
	for _, name := range x.config.Fields {
		if !slices.Contains(is.Fields, name) {
			return fmt.Errorf("%w: it has no field %s", ErrNotAnIndex, name)
		}
	}
	x.count = is.Documents
	return nil
}

// Count is the number of documents.
func (x *Index) Count() int { return x.count }

// Close ends the index. Searches after it fail.
func (x *Index) Close() error { return x.bleve.Close() }
