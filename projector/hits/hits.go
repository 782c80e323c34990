package hits

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// Defaults of [Options].
const (
	DefaultMaxHits      = 6
	DefaultSnippetBytes = 300
)

// Options of the projector. The zero value is fit for use; zero and negative
// numbers mean the default.
type Options struct {
	MaxHits      int // hits shown to the model at most; 6
	SnippetBytes int // bytes shown of one hit's text at most, mark included; 300
}

// New is the projector of documents written by [Encoder]. It keeps no state and
// is safe for concurrent use.
func New(o Options) projector.Projector {
	if o.MaxHits <= 0 {
		o.MaxHits = DefaultMaxHits
	}
	if o.SnippetBytes <= 0 {
		o.SnippetBytes = DefaultSnippetBytes
	}
	return documentHits{o}
}

type documentHits struct{ options Options }

// Project implements projector.Projector.
func (p documentHits) Project(ctx context.Context, in projector.Input) (projector.Projection, error) {
	d, err := readDocument(ctx, in.Raw)
	if err != nil {
		return projector.Projection{}, err
	}
	coverage, room, err := bounds.Coverage(in.Limits, func(line int) evidence.Coverage { return d.coverage(in, line) })
	if err != nil {
		return projector.Projection{}, err
	}
	result, err := p.view(d, coverage, in.Limits.AgentBytes)
	if err != nil {
		return projector.Projection{}, err
	}
	out := projector.Projection{Result: result, Status: evidence.None, Coverage: coverage}
	if len(d.kept) > 0 {
		out.Status = evidence.Found
		out.Facts, err = d.facts(room)
	}
	return out, err
}

// coverage has the request as what was looked for, since the model asked for
// that, and everything else as the tool says it really was.
func (d *document) coverage(in projector.Input, line int) evidence.Coverage {
	var ran []string
	for _, l := range d.legs {
		if l.ran() {
			ran = append(ran, l.Name)
		}
	}
	by := " by " + evidence.Line(strings.Join(ran, ", "), line/4)
	c := evidence.Searched(evidence.Line(string(in.Request), line), bounds.Lines("collection", d.collections, line-len(by))...)
	c.Checked[0] += by
	c.Complete = d.complete()
	c.Filters = d.conditions(line)
	if d.full() || d.cutBy != "" {
		c.Unchecked = []string{fmt.Sprintf("hits after the first %d", len(d.kept))}
	}
	c.Unchecked = append(c.Unchecked, bounds.Lines("leg", d.failed(), line)...)
	c.Uncovered = append(c.Uncovered, bounds.Gaps(d.unreached, line)...)
	return c
}

// conditions are what narrowed the search, the most telling first.
func (d *document) conditions(line int) []string {
	out := []string{evidence.Line("query "+d.query, line), "top " + strconv.FormatInt(d.topK, 10)}
	if d.threshold != nil {
		word := " at least "
		if d.threshold.Kind == Distance {
			word = " at most "
		}
		out = append(out, evidence.Line(string(d.threshold.Kind)+word+string(d.threshold.Score), line))
		if d.below > 0 {
			out = append(out, fmt.Sprintf("hits that did not reach it: %d", d.below))
		}
	}
	if d.notRetrieved > 0 {
		out = append(out, fmt.Sprintf("hits that no search found: %d", d.notRetrieved))
	}
	out = append(out, bounds.Lines("filter", d.filters, line)...)
	out = append(out, bounds.Lines("rewrite", d.rewrites, line/2)...)
	if d.indexVersion != "" {
		out = append(out, evidence.Line("index version "+d.indexVersion, line))
	}
	return out
}
