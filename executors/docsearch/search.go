package docsearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"

	"github.com/toolharness/harness/projector/hits"
)

// leg is the name of the one way in which is searched.
const leg = "bm25"

// ErrFailed means that the index could not be searched; the cause is joined to it.
var ErrFailed = errors.New("docsearch: the index could not be searched")

// Run runs one search and writes its result as a document of package hits. Its
// errors are a [*QueryError], [ErrFailed], the context's and the writer's.
func (x *Index) Run(ctx context.Context, q Query, w io.Writer) error {
	p, err := x.resolve(q)
	if err != nil {
		return err
	}
	request := bleve.NewSearchRequestOptions(p.forBleve(), p.topK, 0, false)
	request.Fields = []string{memberTitle, memberText, memberOf, memberPosition}
	request.SortBy([]string{"-_score", "_id"})
	found, err := x.bleve.SearchInContext(ctx, request)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return errors.Join(ErrFailed, err)
	case found.Status != nil && found.Status.Failed > 0:
		return ErrFailed // of a part of the index; what the others found is not the whole
	}
	list := make([]hits.Hit, len(found.Hits))
	for i, match := range found.Hits {
		list[i] = x.hit(match, p)
	}
	return hits.Encoder{
		Query: p.text, Collections: []string{x.config.Name}, TopK: p.topK, Filters: p.filters,
		Legs: []hits.Leg{{Name: leg, Hits: int(found.Total)}}, IndexVersion: x.config.Version, MaxBytes: x.limits.MaxBytes,
	}.Encode(w, list)
}

// hit is one match as it stands in the result.
func (x *Index) hit(match *search.DocumentMatch, p plan) hits.Hit {
	member := func(name string) string {
		text, _ := match.Fields[name].(string) // an empty one is not stored
		return text
	}
	text := member(memberText)
	h := hits.Hit{
		Document: match.ID, Title: member(memberTitle), Score: hits.Score(match.Score), Kind: hits.BM25,
		Snippet: x.snippet(text, p, x.limits.SnippetBytes), Content: clipped(text, x.limits.MaxContentBytes),
	}
	if of := member(memberOf); of != "" {
		h.ID, h.Document = match.ID, of
		h.Position, _ = strconv.Atoi(member(memberPosition)) // written by Build
	}
	return h
}

// clipped cuts text to at most limit bytes between two runes and says how much is
// missing.
func clipped(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const markRoom = len(" … 9223372036854775807 more bytes")
	end := limit - markRoom
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s … %d more bytes", text[:end], len(text)-end)
}
