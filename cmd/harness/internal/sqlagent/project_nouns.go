package sqlagent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// nounDocument is [NounSearch] as the projector reads it: what is missing can be told from what is zero, and a score keeps
// the digits it was written with.
type nounDocument struct {
	Query     *string   `json:"query"`
	Columns   []string  `json:"columns"`
	Compared  *int64    `json:"compared"`
	ScoreKind string    `json:"score_kind"`
	Names     []nounRow `json:"names"`
}

type nounRow struct {
	Name   string      `json:"name"`
	Column string      `json:"column"`
	Score  json.Number `json:"score"`
}

// projectNouns shows the names, or says in which columns none was near enough. A search compares every name of its columns
// or fails, so an empty list is a counted zero.
func (t *Tools) projectNouns() projector.Projector {
	return projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		search, err := readNouns(in.Raw)
		if err != nil {
			return projector.Projection{}, err
		}
		coverage := search.coverage(t.name)
		encoded, err := evidence.EncodeCoverage(coverage)
		if err != nil {
			return projector.Projection{}, err
		}
		if over := len(encoded) - in.Limits.FactsBytes; over > 0 {
			return projector.Projection{}, &projector.Error{Kind: projector.TooLarge, Field: projector.FieldFacts,
				Size: int64(len(encoded)), Limit: int64(in.Limits.FactsBytes)}
		}
		list := search.list(coverage, in.Limits.AgentBytes)
		p := projector.Projection{Result: list.JSON(), Status: evidence.None, Coverage: coverage}
		if err := list.Err(); err != nil {
			return projector.Projection{}, err
		}
		if len(search.Names) > 0 {
			p.Status = evidence.Found
			p.Facts, err = fitting(search.facts(), in.Limits.FactsBytes-len(encoded))
		}
		return p, err
	})
}

func readNouns(raw []byte) (nounDocument, error) {
	var search nounDocument
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields() // an error object has other members
	if decoder.Decode(&search) != nil {
		return nounDocument{}, errUnreadable
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nounDocument{}, errUnreadable
	}
	if search.Query == nil || search.Compared == nil || len(search.Columns) == 0 || search.Names == nil || *search.Compared < int64(len(search.Names)) {
		return nounDocument{}, errUnreadable
	}
	for _, name := range search.Names {
		if name.Name == "" || name.Column == "" || name.Score == "" {
			return nounDocument{}, errUnreadable
		}
	}
	return search, nil
}

// shownQuery bounds the part of a coverage and of a fact that repeats what was asked, in bytes.
const shownQuery = 80

func (d nounDocument) coverage(database string) evidence.Coverage {
	places := make([]string, len(d.Columns))
	for i, column := range d.Columns {
		places[i] = evidence.Line("column "+column, shownQuery)
	}
	c := evidence.Searched(evidence.Line(*d.Query, shownQuery), places...)
	c.Filters = []string{evidence.Line("database "+database, shownQuery), fmt.Sprintf("score at least %v", minScore)}
	c.SameOnRetry = true
	return c
}

func (d nounDocument) list(c evidence.Coverage, maxBytes int) *projector.List {
	list := projector.NewNamedList("names", maxBytes)
	list.Set("compared", *d.Compared)
	if len(d.Names) == 0 {
		list.Set("nothing_found", c.Sentence(evidence.MaxFactValue))
		return list
	}
	list.Set("score_kind", evidence.Line(d.ScoreKind, shownQuery))
	for _, name := range d.Names {
		list.Add(name)
	}
	return list
}

func (d nounDocument) facts() []evidence.Fact {
	subject := evidence.Subject{Kind: "search", ID: evidence.Line(*d.Query, shownQuery)}
	nearest := d.Names[0]
	return []evidence.Fact{
		evidence.NewFact(subject, "nearest_name", nearest.Name),
		evidence.NewFact(subject, "nearest_column", nearest.Column),
		evidence.NewFact(subject, "nearest_score", nearest.Score.String()),
		evidence.NewFact(subject, "names", fmt.Sprintf("%d near enough of %d compared", len(d.Names), *d.Compared)),
	}
}
