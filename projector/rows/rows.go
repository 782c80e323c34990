package rows

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// Defaults of [Options].
const (
	DefaultMaxRows   = 20
	DefaultCellBytes = 120
)

// Options of the projector. The zero value is fit for use; zero and negative
// numbers mean the default.
type Options struct {
	MaxRows   int    // rows shown to the model at most; 20
	CellBytes int    // bytes of text shown of one cell at most, mark included; 120
	Database  string // names the database where the document does not
	Key       string // column by which facts name a row; empty: the first
}

// New is the projector of documents written by [Encode]. It keeps no state and
// is safe for concurrent use.
func New(o Options) projector.Projector {
	if o.MaxRows <= 0 {
		o.MaxRows = DefaultMaxRows
	}
	if o.CellBytes <= 0 {
		o.CellBytes = DefaultCellBytes
	}
	return sqlRows{o}
}

type sqlRows struct{ options Options }

// Project implements projector.Projector.
func (p sqlRows) Project(ctx context.Context, in projector.Input) (projector.Projection, error) {
	doc, err := readDocument(ctx, in.Raw, max(p.options.MaxRows, factRows))
	if err != nil {
		return projector.Projection{}, err
	}
	if doc.database == "" {
		doc.database = p.options.Database
	}
	coverage, coverageBytes, err := doc.coverage(in)
	if err != nil {
		return projector.Projection{}, err
	}
	result, err := p.view(doc, coverage, in.Limits.AgentBytes)
	if err != nil {
		return projector.Projection{}, err
	}
	out := projector.Projection{Result: result, Status: evidence.None, Coverage: coverage}
	if doc.counted > 0 {
		out.Status = evidence.Found
		out.Facts, err = p.facts(doc, in.Tool, in.Limits.FactsBytes-coverageBytes)
	}
	return out, err
}

// Limits of the lines of a coverage; halved until the coverage leaves room for
// facts.
const (
	longestLine    = evidence.MaxCoverageLine
	shortestLine   = 16
	shownParameter = 8
)

// coverage says what the rows are rows of, within half of the bytes for facts.
func (d *document) coverage(in projector.Input) (c evidence.Coverage, size int, err error) {
	for limit := longestLine; ; limit /= 2 {
		c = d.coverageLines(in, limit)
		encoded, err := evidence.EncodeCoverage(c)
		if err != nil {
			return c, 0, err
		}
		if len(encoded) <= in.Limits.FactsBytes/2 {
			return c, len(encoded), nil
		}
		if limit/2 < shortestLine {
			return c, 0, &projector.Error{Kind: projector.TooLarge, Field: projector.FieldFacts,
				Size: int64(len(encoded)), Limit: int64(in.Limits.FactsBytes / 2)}
		}
	}
}

// coverageLines has the request as what was looked for, since the model asked
// for that, and as places and filters what the tool says it really used.
func (d *document) coverageLines(in projector.Input, limit int) evidence.Coverage {
	place := "database " + d.database
	if d.database == "" {
		place = "database of tool " + in.Tool
	}
	c := evidence.Searched(evidence.Line(string(in.Request), limit), evidence.Line(place, limit))
	c.Complete = !d.truncated
	if d.truncated {
		c.Unchecked = []string{fmt.Sprintf("rows after the first %d", d.counted)}
	}
	if d.statement != "" {
		c.Filters = append(c.Filters, evidence.Line("statement "+d.statement, limit))
	}
	for i, value := range d.parameters {
		if i == shownParameter {
			c.Filters = append(c.Filters, fmt.Sprintf("%d more parameters", len(d.parameters)-i))
			break
		}
		c.Filters = append(c.Filters, evidence.Line(fmt.Sprintf("parameter %d = %s", i+1, value), min(limit, DefaultCellBytes)))
	}
	if d.readAt != "" {
		c.Filters = append(c.Filters, evidence.Line("read at "+d.readAt, min(limit, DefaultCellBytes)))
	}
	return c
}

// accuracy says how row_count is to be read.
func (d *document) accuracy() string {
	if d.truncated {
		return "at least"
	}
	return "exactly"
}

// names are the columns as shown: in order, duplicates kept.
func (d *document) names() []string {
	names := make([]string, len(d.columns))
	for i, c := range d.columns {
		names[i] = evidence.Line(c.Name, DefaultCellBytes)
	}
	return names
}

// plain is a cell without its JSON quotes: a string's text, or the literal.
func plain(cell jsontext.Value) string {
	if cell.Kind() != '"' {
		return string(cell)
	}
	text, _ := jsontext.AppendUnquote(nil, cell) // cells were read by a strict decoder
	return string(text)
}
