package docsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

// mark is written into an index as the last step of its building.
type mark struct {
	Format    string   `json:"format"`
	Documents int      `json:"documents"`
	Fields    []string `json:"fields"`
}

const (
	markKey    = "docsearch"
	markFormat = "docsearch/1"
)

// batchBytes is how much text is handed to bleve at once, about.
const batchBytes = 4 << 20

// Build makes an index of all documents, in memory or in the folder Config.Path,
// and opens it. The first document that cannot be taken ends it with a
// [*DocumentError]; a folder that was begun is removed then.
func Build(ctx context.Context, c Config, documents iter.Seq2[Document, error]) (*Index, error) {
	limits := c.Limits.withDefaults()
	if err := c.check(limits); err != nil {
		return nil, err
	}
	if documents == nil {
		return nil, &ConfigError{"documents", "are missing"}
	}
	m, err := newMapping(c.Fields)
	if err != nil {
		return nil, err
	}
	if c.Path != "" {
		if _, err := os.Lstat(c.Path); err == nil {
			return nil, &ConfigError{"Path", "is there already; an index is built once"}
		}
	}
	built, err := bleve.NewUsing(c.Path, m, scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("docsearch: begin an index: %w", err)
	}
	if err := fill(ctx, built, c.Fields, documents); err != nil {
		return nil, errors.Join(err, built.Close(), discard(c.Path))
	}
	if c.Path == "" {
		return newIndex(c, limits, built)
	}
	if err := built.Close(); err != nil {
		return nil, errors.Join(fmt.Errorf("docsearch: end an index: %w", err), discard(c.Path))
	}
	return Open(c)
}

func discard(path string) error {
	if path == "" {
		return nil
	}
	return os.RemoveAll(path)
}

// fill writes all documents and then the mark.
func fill(ctx context.Context, to bleve.Index, fields []string, documents iter.Seq2[Document, error]) error {
	seen := map[string]bool{}
	batch, size := to.NewBatch(), 0
	flush := func() error {
		if err := to.Batch(batch); err != nil {
			return fmt.Errorf("docsearch: write to an index: %w", err)
		}
		batch.Reset()
		size = 0
		return ctx.Err()
	}
	for d, err := range documents {
		number := len(seen) + 1
		if err != nil {
			return &DocumentError{Number: number, Field: "sequence", Reason: "failed", cause: err}
		}
		if err := d.check(number, fields); err != nil {
			return err
		}
		if seen[d.ID] {
			return &DocumentError{Number: number, Field: "ID", Reason: "was given to an earlier document"}
		}
		seen[d.ID] = true
		if err := batch.Index(d.ID, d.members()); err != nil {
			return &DocumentError{Number: number, Field: "document", Reason: "cannot be indexed", cause: err}
		}
		if size += len(d.Title) + len(d.Text); size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	sorted := append([]string{}, fields...)
	slices.Sort(sorted)
	content, _ := json.Marshal(mark{Format: markFormat, Documents: len(seen), Fields: sorted}) // of strings and a number
	if err := to.SetInternal([]byte(markKey), content); err != nil {
		return fmt.Errorf("docsearch: write to an index: %w", err)
	}
	return nil
}

// members is a document as bleve takes it.
func (d Document) members() map[string]any {
	members := map[string]any{memberTitle: d.Title, memberText: d.Text}
	if d.Of != "" {
		members[memberOf] = d.Of
		members[memberPosition] = strconv.Itoa(d.Position)
	}
	if len(d.Fields) > 0 {
		fields := map[string]any{}
		for name, value := range d.Fields {
			fields[name] = value
		}
		members[memberFields] = fields
	}
	return members
}
