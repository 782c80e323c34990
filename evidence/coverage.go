package evidence

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of a Coverage. Lines are counted in UTF-8 bytes.
const (
	MaxCoverageLine    = 512 // each line of text
	MaxCoverageEntries = 64  // each list
)

// Coverage says where was looked, how far, and where not. It is what makes an
// absence mean something: "searched S in window W to the end, found none".
//
// LookedFor repeats what the model asked for and is never evidence. Every other
// field must hold resolved values (the collection that was really opened, the
// window in UTC after defaults were applied), not an echo of the request.
type Coverage struct {
	LookedFor string   `json:"looked_for"`
	Checked   []string `json:"checked"`               // places that were searched; at least one
	Unchecked []string `json:"not_checked,omitempty"` // could have been searched and were not
	Uncovered []Gap    `json:"cannot_cover,omitempty"`
	Window    *Window  `json:"window,omitempty"`
	Filters   []string `json:"filters,omitempty"` // conditions that narrowed the search, resolved

	// Complete is true only when the search provably ran to its end: no page
	// left, no leg failed, nothing cut.
	Complete bool `json:"complete"`
	// SameOnRetry says that asking again would give the same answer.
	SameOnRetry bool `json:"same_on_retry,omitzero"`
	// TryInstead is a hint for the model; may be empty.
	TryInstead string `json:"try_instead,omitempty"`
}

// Gap is a place that a search could not reach, with the reason.
type Gap struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Window is a closed interval of time. Both ends are kept in UTC.
type Window struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Searched is the coverage of a search that ran to its end in each of the named
// places. Set the other fields on the value it returns.
func Searched(lookedFor string, where ...string) Coverage {
	return Coverage{LookedFor: lookedFor, Checked: append([]string(nil), where...), Complete: true}
}

// Between returns a copy whose window is from to to, both turned into UTC.
func (c Coverage) Between(from, to time.Time) Coverage {
	c.Window = &Window{From: from.UTC(), To: to.UTC()}
	return c
}

// IsZero reports whether no coverage was given at all.
func (c Coverage) IsZero() bool {
	return c.LookedFor == "" && c.Checked == nil && c.Unchecked == nil && c.Uncovered == nil &&
		c.Window == nil && c.Filters == nil && !c.Complete && !c.SameOnRetry && c.TryInstead == ""
}

// Validate checks bounds and text. The zero Coverage is valid: a positive
// result need not carry one.
func (c Coverage) Validate() error {
	if c.IsZero() {
		return nil
	}
	if len(c.Checked) == 0 {
		return &Error{Field: "coverage.checked", Reason: "names no place that was searched"}
	}
	if c.Window != nil && c.Window.To.Before(c.Window.From) {
		return &Error{Field: "coverage.window", Reason: "ends before it begins"}
	}
	if c.Window != nil && (!writable(c.Window.From) || !writable(c.Window.To)) {
		return &Error{Field: "coverage.window", Reason: "outside the years 0 to 9999"}
	}
	if err := c.checkEntries(); err != nil {
		return err
	}
	for _, list := range []struct {
		field string
		lines []string
	}{
		{"looked_for", []string{c.LookedFor}}, {"checked", c.Checked}, {"not_checked", c.Unchecked},
		{"filters", c.Filters}, {"try_instead", []string{c.TryInstead}}, {"cannot_cover", gapLines(c.Uncovered)},
	} {
		if err := checkLines("coverage."+list.field, list.lines); err != nil {
			return err
		}
	}
	return nil
}

// ValidateAbsence checks that c can carry a NO_EVIDENCE: it must name at least
// one place, and the search must have run to its end (C18, A19).
func (c Coverage) ValidateAbsence() error {
	if c.IsZero() {
		return &Error{Field: "coverage", Reason: "missing; an absence without a scope says nothing"}
	}
	if !c.Complete {
		return &Error{Field: "coverage.complete", Reason: "false; a search that did not end proves no absence"}
	}
	return c.Validate()
}

// Sentence states the coverage in one line of at most limit bytes, for a prompt.
func (c Coverage) Sentence(limit int) string {
	text := fmt.Sprintf("searched %s", join(c.Checked, 3))
	if c.LookedFor != "" {
		text += " for " + c.LookedFor
	}
	if c.Window != nil {
		text += fmt.Sprintf(" between %s and %s", c.Window.From.UTC().Format(time.RFC3339), c.Window.To.UTC().Format(time.RFC3339))
	}
	if len(c.Filters) > 0 {
		text += " where " + join(c.Filters, 3)
	}
	if n := len(c.Unchecked); n > 0 {
		text += fmt.Sprintf("; not checked: %s", join(c.Unchecked, 3))
	}
	if len(c.Uncovered) > 0 {
		text += fmt.Sprintf("; out of reach: %s", join(gapLines(c.Uncovered), 3))
	}
	if !c.Complete {
		text += "; the search did not end"
	}
	return Line(text, limit)
}

// checkEntries refuses lists with an entry that says nothing: a place without a
// name is no place that was searched.
func (c Coverage) checkEntries() error {
	for _, list := range []struct {
		field   string
		entries []string
	}{{"checked", c.Checked}, {"not_checked", c.Unchecked}, {"filters", c.Filters}} {
		if slices.ContainsFunc(list.entries, blank) {
			return &Error{Field: "coverage." + list.field, Reason: "has an empty entry"}
		}
	}
	for _, gap := range c.Uncovered {
		if blank(gap.What) || blank(gap.Reason) {
			return &Error{Field: "coverage.cannot_cover", Reason: "has an entry without a name or a reason"}
		}
	}
	return nil
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// writable reports whether RFC 3339 has a form for t.
func writable(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }

func gapLines(gaps []Gap) []string {
	lines := make([]string, 0, len(gaps))
	for _, g := range gaps {
		lines = append(lines, g.What+": "+g.Reason)
	}
	return lines
}

func checkLines(field string, lines []string) error {
	if len(lines) > MaxCoverageEntries {
		return &Error{Field: field, Reason: "too many entries", Size: int64(len(lines)), Limit: MaxCoverageEntries}
	}
	for _, line := range lines {
		if err := checkLine(field, line, MaxCoverageLine); err != nil {
			return err
		}
	}
	return nil
}

func join(items []string, most int) string {
	text := ""
	for i, item := range items {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(items)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += item
	}
	return text
}
