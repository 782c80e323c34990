package demo

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/evidence"
)

// told is what this program reads of the text that a model gets of a search, whichever of the projectors made it.
type told struct {
	Columns  []string `json:"columns"`
	Rows     [][]any  `json:"rows"`
	RowCount int64    `json:"row_count"`

	RecordCount   int64           `json:"record_count"`
	RecordCountIs string          `json:"record_count_is"`
	EndReached    bool            `json:"end_reached"`
	Window        *windowed       `json:"window"`
	Sources       []string        `json:"sources"`
	OtherSources  int             `json:"sources_of_others"`
	Levels        []countedGroup  `json:"levels"`
	Services      []countedGroup  `json:"services"`
	Patterns      []countedGroup  `json:"patterns"`
	OtherPatterns int64           `json:"patterns_of_others"` // records of patterns that are not shown
	Samples       json.RawMessage `json:"samples"`

	HitCount   int64  `json:"hit_count"`
	HitCountIs string `json:"hit_count_is"`
	Query      string `json:"query"`
	Hits       []struct {
		Document string `json:"document"`
		Title    string `json:"title"`
		Snippet  string `json:"snippet"`
	} `json:"hits"`

	NothingFound string `json:"nothing_found"`
}

type windowed struct{ From, To string }

// countedGroup is one level, service or pattern with its records.
type countedGroup struct {
	Level   string `json:"level"`
	Service string `json:"service"`
	Pattern string `json:"pattern"`
	Count   int64  `json:"count"`
}

func (g countedGroup) String() string {
	return fmt.Sprintf("%s=%d", g.Level+g.Service+g.Pattern, g.Count)
}

// found says in a line what a model is told of a search.
func found(tool string, o boundary.Outcome) string {
	if o.IsError() {
		return "not an absence: the model is told " + string(o.Code()) + ", and that the tool ran: " + o.Execution().Ran()
	}
	var a told
	if json.Unmarshal([]byte(o.Text()), &a) != nil {
		return ""
	}
	if o.Evidence() == evidence.None {
		return "nothing, counted to the end: " + a.NothingFound
	}
	switch tool {
	case nameSearchLogs, nameSearchPart:
		return a.records()
	case nameSearchArticles:
		return a.hits()
	}
	return a.rows()
}

func (a told) records() string {
	end := "the end was not reached"
	if a.EndReached {
		end = "end reached"
	}
	in := "at any time"
	if a.Window != nil {
		in = "from " + a.Window.From + " to " + a.Window.To
	}
	text := fmt.Sprintf("%s %s in %d files %s, %s. %s. %s", exactly(a.RecordCountIs), some(a.RecordCount, "record"), len(a.Sources)+a.OtherSources, in, end,
		listed(a.Levels), listed(a.Services))
	if len(a.Patterns) > 0 {
		text += fmt.Sprintf(". Most often: %s (%d)", evidence.Line(a.Patterns[0].Pattern, 100), a.Patterns[0].Count)
	}
	return text
}

func (a told) hits() string {
	var titles []string
	for _, h := range a.Hits {
		titles = append(titles, h.Title)
	}
	return fmt.Sprintf("%s %s: %s", exactly(a.HitCountIs), some(a.HitCount, "article"), strings.Join(titles, "; "))
}

func (a told) rows() string {
	var first []any
	if len(a.Rows) > 0 {
		first = a.Rows[0]
	}
	return fmt.Sprintf("%s of %s: %v", some(a.RowCount, "row"), strings.Join(a.Columns, ", "), first)
}

// exactly is the projectors' word for a count that is one, in a sentence.
func exactly(accuracy string) string {
	if accuracy == isExact {
		return "exactly"
	}
	return accuracy
}

// The projectors' words for a count: of all there is, or of what was seen so far.
const (
	isExact   = "exact"
	isAtLeast = "at least"
)

// some is a number of things.
func some(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

func listed(groups []countedGroup) string {
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g.String()
	}
	return strings.Join(texts, ", ")
}
