package logsearch

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Query is the argument object of the tool, as a model fills it in. Every member
// may be left out; an empty one is as good as none.
type Query struct {
	Text       string   `json:"text,omitempty"`        // must occur in the record, as plain text; no pattern language
	IgnoreCase bool     `json:"ignore_case,omitempty"` // for Text
	Levels     []string `json:"levels,omitempty"`      // one of them, in any letter case
	From       string   `json:"from,omitempty"`        // RFC 3339, included; none: from the start
	To         string   `json:"to,omitempty"`          // RFC 3339, included; none: to the end
	Sources    []string `json:"sources,omitempty"`     // names of sources; none: all
	Limit      int      `json:"limit,omitempty"`       // records at most; 0: the host's page
	Cursor     string   `json:"cursor,omitempty"`      // of an earlier page of the same search; none: from the start
}

// Bounds of a query, in bytes and entries.
const (
	maxTextBytes  = 1024
	maxLevels     = 16
	maxLevelBytes = 32
	maxShortField = 256 // level, service, instance and id in a result; a source's name and an offset fit
)

// QueryError names the argument that cannot be used. It never repeats its value.
type QueryError struct {
	Field  string
	Reason string
}

// Error has the member's name and the rule.
func (e *QueryError) Error() string { return "logsearch: argument " + e.Field + ": " + e.Reason }

// plan is a query with everything resolved.
type plan struct {
	text     string
	fold     bool
	levels   []string
	from, to time.Time // both zero: no filter on time
	sources  []Source
	limit    int
	start    place // where to begin
	resumed  bool
}

// The ends of a window that was left open at one side.
var (
	openFrom = time.Unix(0, 0).UTC()
	openTo   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// resolve checks a query and fills in what it leaves out.
func (s *Search) resolve(q Query) (plan, error) {
	p := plan{text: q.Text, fold: q.IgnoreCase, sources: s.sources, limit: q.Limit}
	if err := checkText(q); err != nil {
		return plan{}, err
	}
	p.levels = slices.Clone(q.Levels)
	var err error
	if p.from, p.to, err = window(q.From, q.To); err != nil {
		return plan{}, err
	}
	if p.sources, err = s.named(q.Sources); err != nil {
		return plan{}, err
	}
	if p.limit == 0 {
		p.limit = s.limits.PageRecords
	}
	if p.limit < 1 || p.limit > s.limits.MaxPageRecords {
		return plan{}, &QueryError{"limit", fmt.Sprintf("must be 1 to %d", s.limits.MaxPageRecords)}
	}
	if q.Cursor != "" {
		if p.start, err = parseCursor(q.Cursor, p); err != nil {
			return plan{}, err
		}
		p.resumed = true
	}
	return p, nil
}

func checkText(q Query) error {
	switch {
	case len(q.Text) > maxTextBytes:
		return &QueryError{"text", fmt.Sprintf("is over %d bytes", maxTextBytes)}
	case !utf8.ValidString(q.Text) || strings.ContainsFunc(q.Text, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }):
		return &QueryError{"text", "has control characters or is no UTF-8; a search stays within one line"}
	case q.Text == "" && q.IgnoreCase:
		return &QueryError{"ignore_case", "is given without text"}
	case len(q.Levels) > maxLevels:
		return &QueryError{"levels", fmt.Sprintf("has more than %d entries", maxLevels)}
	}
	for _, level := range q.Levels {
		if !printable(level, maxLevelBytes) {
			return &QueryError{"levels", fmt.Sprintf("has an entry that is not 1 to %d bytes of printable text", maxLevelBytes)}
		}
	}
	return nil
}

// window resolves the two ends. One alone leaves the other open, which the
// result states as the widest time there is.
func window(from, to string) (begin, end time.Time, err error) {
	if from == "" && to == "" {
		return time.Time{}, time.Time{}, nil
	}
	begin, end = openFrom, openTo
	for _, side := range []struct {
		name, text string
		at         *time.Time
	}{{"from", from, &begin}, {"to", to, &end}} {
		if side.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, side.text)
		if err != nil || !writable(at) || at.IsZero() {
			return begin, end, &QueryError{side.name, "is no time of RFC 3339, as 2026-01-02T03:04:05Z"}
		}
		*side.at = at.UTC()
	}
	if end.Before(begin) {
		return begin, end, &QueryError{"to", "is before from"}
	}
	return begin, end, nil
}

// named picks sources by name, in the order of the configuration. A name that
// is not there is an error and never a place where nothing was found.
func (s *Search) named(names []string) ([]Source, error) {
	if len(names) == 0 {
		return s.sources, nil
	}
	var picked []Source
	for _, source := range s.sources {
		if slices.Contains(names, source.Name) {
			picked = append(picked, source)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(picked, func(s Source) bool { return s.Name == name }) {
			return nil, &QueryError{"sources", "names a source that does not exist"}
		}
	}
	return picked, nil
}

// describe is the query as it ran, for result and coverage; empty: every record.
func (p plan) describe() string {
	var parts []string
	if p.text != "" {
		part := fmt.Sprintf("text %q", p.text)
		if p.fold {
			part += " in any letter case"
		}
		parts = append(parts, part)
	}
	if len(p.levels) > 0 {
		parts = append(parts, "level "+strings.Join(p.levels, " or "))
	}
	return strings.Join(parts, " and ")
}

// matches decides about one record. A record without a time is in no window and
// cannot be shown to be outside of one either, so that a window never drops it;
// the result counts it apart. One without a level has none of those asked for.
func (p plan) matches(r *record) bool {
	if !p.from.IsZero() && !r.Time.IsZero() && (r.Time.Before(p.from) || r.Time.After(p.to)) {
		return false
	}
	if len(p.levels) > 0 && !slices.ContainsFunc(p.levels, func(l string) bool { return strings.EqualFold(l, r.Level) }) {
		return false
	}
	if p.text == "" {
		return true
	}
	// The text as it stands has time and level too, and for JSON the escapes.
	return contains(r.text, p.text, p.fold) || contains(r.message(), p.text, p.fold)
}
