package hits

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/internal/bounds"
)

const (
	smallestText = 16 // ends the search for a text size that leaves room for a hit
	scoreBytes   = 40 // of a score's digits; no engine has more
)

// view makes what the model reads. Where not even one hit fits, texts are shown
// shorter before hits are given up.
func (p documentHits) view(d *document, c evidence.Coverage, maxBytes int) ([]byte, error) {
	for text := p.options.SnippetBytes; ; text /= 2 {
		list := p.list(d, c, maxBytes, text)
		err := list.Err()
		last := text/2 < smallestText
		if err == nil && (list.Returned() > 0 || len(d.kept) == 0 || last) {
			return list.JSON(), nil
		}
		if e, ok := errors.AsType[*projector.Error](err); err != nil && (last || !ok || e.Kind != projector.TooLarge) {
			return nil, err
		}
	}
}

// shownHit is a hit as the model sees it; what the tool did not give is left out.
type shownHit struct {
	ID       string    `json:"id,omitempty"`
	Document string    `json:"document"`
	Title    string    `json:"title,omitempty"`
	Position int64     `json:"position,omitzero"`
	Score    any       `json:"score,omitzero"`
	Kind     ScoreKind `json:"score_kind,omitempty"`
	Snippet  string    `json:"snippet,omitempty"`
}

type shownThreshold struct {
	Score any       `json:"score"`
	Kind  ScoreKind `json:"score_kind"`
}

func (p documentHits) list(d *document, c evidence.Coverage, maxBytes, text int) *projector.List {
	list := projector.NewNamedList("hits", maxBytes)
	list.Set("query", bounds.Clip(d.query, text))
	list.Set("collections", clipped("collection", d.collections, text))
	list.Set("top_k", d.topK)
	if d.threshold != nil {
		list.Set("threshold", shownThreshold{showScore(d.threshold.Score), d.threshold.Kind})
	}
	list.Set("hit_count", len(d.kept))
	list.Set("hit_count_is", d.accuracy())
	for _, count := range []struct {
		name string
		n    int64
	}{{"below_threshold", d.below}, {"not_retrieved", d.notRetrieved}} {
		if count.n > 0 {
			list.Set(count.name, count.n)
		}
	}
	if failed := d.failed(); len(failed) > 0 {
		list.Set("failed", clipped("leg", failed, text))
	}
	if len(d.kept) == 0 {
		list.Set("nothing_found", c.Sentence(evidence.MaxFactValue))
		return list
	}
	shown := d.kept[:min(len(d.kept), p.options.MaxHits)]
	for _, h := range shown {
		list.Add(showHit(h, text))
	}
	list.Omit(int64(len(d.kept) - len(shown)))
	return list
}

// clipped are names as the model sees them: as many as the text size allows, and
// a last one with the mark of a cut that counts the others.
func clipped(word string, names []string, text int) []string {
	out := make([]string, 0, len(names))
	for i, name := range names {
		if i == bounds.Entries(text) && i < len(names)-1 {
			return append(out, evidence.ClipMark+bounds.Plural(len(names)-i, "more "+word))
		}
		out = append(out, bounds.Clip(name, text))
	}
	return out
}

func showHit(h wireHit, text int) shownHit {
	shown := shownHit{
		ID: bounds.Clip(h.ID, text), Document: bounds.Clip(h.Document, text), Title: bounds.Clip(h.Title, text), Position: h.Position,
		Score: showScore(h.Score), Kind: h.Kind, Snippet: bounds.Clip(h.Snippet, text),
	}
	if shown.Snippet == "" {
		shown.Snippet = bounds.Clip(h.Content, text)
	}
	return shown
}

// showScore keeps every digit of a score, or shows a clipped string, never
// another number.
func showScore(score jsontext.Value) any {
	switch {
	case len(score) == 0:
		return nil
	case len(score) > scoreBytes:
		return bounds.Clip(string(score), scoreBytes)
	}
	return score
}
