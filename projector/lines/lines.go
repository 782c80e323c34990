package lines

import (
	"context"
	"fmt"
	"strconv"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// Defaults of [Options].
const (
	DefaultSamples      = 20
	DefaultMessageBytes = 240
	DefaultGroups       = 10
	DefaultPatterns     = 8
)

// Options of the projector. The zero value is fit for use; zero and negative
// numbers mean the default.
type Options struct {
	Samples      int // records shown to the model at most; 20
	MessageBytes int // bytes shown of one message at most, mark included; 240
	Groups       int // levels shown at most, and services; 10 of each
	Patterns     int // message patterns shown at most; 8

	// AllowMock lets documents marked as mock data through, as found, with the
	// mark in result and coverage. Without it they are errors: invented records
	// must not become evidence.
	AllowMock bool
}

// New is the projector of documents written by [Encoder]. It keeps no state and
// is safe for concurrent use.
func New(o Options) projector.Projector {
	for _, number := range []struct {
		is       *int
		standard int
	}{
		{&o.Samples, DefaultSamples}, {&o.MessageBytes, DefaultMessageBytes}, {&o.Groups, DefaultGroups}, {&o.Patterns, DefaultPatterns},
	} {
		if *number.is <= 0 {
			*number.is = number.standard
		}
	}
	return logLines{o}
}

type logLines struct{ options Options }

// Project implements projector.Projector.
func (p logLines) Project(ctx context.Context, in projector.Input) (projector.Projection, error) {
	d, err := readDocument(ctx, in.Raw, p.options.Samples)
	if err != nil {
		return projector.Projection{}, err
	}
	if d.mock && !p.options.AllowMock {
		return projector.Projection{}, &DocumentError{Member: "mock", Reason: "invented records are no evidence"}
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
	if d.tally.all.count > 0 {
		out.Status = evidence.Found
		out.Facts, err = d.facts(room)
	}
	return out, err
}

// coverage has the request as what was looked for, since the model asked for
// that, and everything else as the tool says it really was.
func (d *document) coverage(in projector.Input, line int) evidence.Coverage {
	c := evidence.Searched(evidence.Line(string(in.Request), line), bounds.Lines("log", d.sources, line)...)
	c.Complete = d.complete()
	if d.window != nil {
		c = c.Between(d.window.From, d.window.To)
	}
	c.Filters = d.filters(line)
	c.Unchecked = d.unchecked(line)
	if !d.retainedFrom.IsZero() && (d.window == nil || d.retainedFrom.After(d.window.From)) {
		c.Uncovered = append(c.Uncovered, evidence.Gap{What: "before " + shownTime(d.retainedFrom), Reason: "beyond retention"})
	}
	c.Uncovered = append(c.Uncovered, bounds.Gaps(d.unreached, line)...)
	return c
}

func (d *document) filters(line int) []string {
	query := "query " + d.query
	switch {
	case bounds.Blank(d.query):
		query = "every record"
	case d.queryIsDefault:
		query = "default " + query
	}
	filters := []string{evidence.Line(query, line)}
	if d.window == nil {
		filters = append(filters, "no filter on time")
	}
	if d.limit > 0 {
		filters = append(filters, "limit "+strconv.FormatInt(d.limit, 10))
	}
	if d.mock {
		filters = append(filters, "mock data")
	}
	return filters
}

// unchecked says what of the window was not read.
func (d *document) unchecked(line int) []string {
	var out []string
	if !d.endReached || d.full() || d.cutBy != "" {
		rest := fmt.Sprintf("records after the first %d", d.tally.all.count)
		switch d.order {
		case NewestFirst:
			rest = fmt.Sprintf("records older than the newest %d", d.tally.all.count)
		case OldestFirst:
			rest = fmt.Sprintf("records newer than the oldest %d", d.tally.all.count)
		}
		out = append(out, rest)
	}
	var failed []string
	for _, f := range d.failed {
		failed = append(failed, f.Source+": "+f.Reason)
	}
	return append(out, bounds.Lines("log", failed, line)...)
}
