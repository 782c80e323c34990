package evidence_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/evidence"
)

func fullCoverage() evidence.Coverage {
	return evidence.Coverage{
		LookedFor: "payment failed", Checked: []string{"topic a", "topic b"}, Unchecked: []string{"topic c"},
		Uncovered: []evidence.Gap{{What: "before May", Reason: "retention"}}, Filters: []string{"level=ERROR"},
		Window:   &evidence.Window{From: time.Unix(0, 0).UTC(), To: time.Unix(60, 5).UTC()},
		Complete: true, SameOnRetry: true, TryInstead: "topic d",
	}
}

func TestSearched(t *testing.T) {
	t.Parallel()
	places := []string{"a", "b"}
	c := evidence.Searched("x", places...)
	places[0] = "changed"
	if c.LookedFor != "x" || !reflect.DeepEqual(c.Checked, []string{"a", "b"}) || !c.Complete {
		t.Errorf("Searched = %+v, want x in a and b, complete", c)
	}
	if err := c.ValidateAbsence(); err != nil {
		t.Errorf("Searched is no ground for an absence: %v", err)
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	c := evidence.Searched("x", "a")
	zone := time.FixedZone("east", 7200)
	got := c.Between(time.Unix(0, 0).In(zone), time.Unix(60, 0).In(zone))
	want := &evidence.Window{From: time.Unix(0, 0).UTC(), To: time.Unix(60, 0).UTC()}
	if !reflect.DeepEqual(got.Window, want) || c.Window != nil {
		t.Errorf("Between = %+v (receiver %+v), want %+v in UTC on a copy", got.Window, c.Window, want)
	}
}

func TestT34_absence_needs_a_finished_search_somewhere(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*evidence.Coverage){
		"coverage":          func(c *evidence.Coverage) { *c = evidence.Coverage{} },
		"coverage.complete": func(c *evidence.Coverage) { c.Complete = false },
		"coverage.checked":  func(c *evidence.Coverage) { c.Checked = nil },
		"coverage.window":   func(c *evidence.Coverage) { c.Window.To = c.Window.From.Add(-1) },
	} {
		t.Run(field, func(t *testing.T) {
			c := fullCoverage()
			change(&c)
			wantError(t, c.ValidateAbsence(), field, "payment")
		})
	}
	if err := fullCoverage().ValidateAbsence(); err != nil {
		t.Errorf("the full coverage: %v", err)
	}
}

func TestCoverageValidate(t *testing.T) {
	t.Parallel()
	if err := (evidence.Coverage{}).Validate(); err != nil {
		t.Errorf("the zero coverage: %v, want it valid for a positive result", err)
	}
	incomplete := fullCoverage()
	incomplete.Complete = false
	if err := incomplete.Validate(); err != nil {
		t.Errorf("an incomplete search: %v, want it valid for a positive result", err)
	}
	many := make([]string, evidence.MaxCoverageEntries+1)
	for i := range many {
		many[i] = "place"
	}
	long := strings.Repeat("é", evidence.MaxCoverageLine/2) + "x"
	for _, c := range []struct {
		name, field string
		change      func(*evidence.Coverage)
	}{
		{"complete_alone", "coverage.checked", func(c *evidence.Coverage) { *c = evidence.Coverage{Complete: true} }},
		{"blank_place", "coverage.checked", func(c *evidence.Coverage) { c.Checked = []string{"a", " "} }},
		{"blank_unchecked", "coverage.not_checked", func(c *evidence.Coverage) { c.Unchecked = []string{""} }},
		{"blank_filter", "coverage.filters", func(c *evidence.Coverage) { c.Filters = []string{""} }},
		{"gap_without_reason", "coverage.cannot_cover", func(c *evidence.Coverage) { c.Uncovered[0].Reason = "" }},
		{"gap_without_name", "coverage.cannot_cover", func(c *evidence.Coverage) { c.Uncovered[0].What = "" }},
		{"too_many_places", "coverage.checked", func(c *evidence.Coverage) { c.Checked = many }},
		{"too_many_filters", "coverage.filters", func(c *evidence.Coverage) { c.Filters = many }},
		{"long_place", "coverage.checked", func(c *evidence.Coverage) { c.Checked[1] = long }},
		{"long_request", "coverage.looked_for", func(c *evidence.Coverage) { c.LookedFor = long }},
		{"long_gap", "coverage.cannot_cover", func(c *evidence.Coverage) { c.Uncovered[0].Reason = long }},
		{"line_feed", "coverage.try_instead", func(c *evidence.Coverage) { c.TryInstead = "a\nb" }},
		{"invalid_utf8", "coverage.not_checked", func(c *evidence.Coverage) { c.Unchecked[0] = "\xff" }},
		{"year_10000", "coverage.window", func(c *evidence.Coverage) { c.Window.To = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"year_before_0", "coverage.window", func(c *evidence.Coverage) { c.Window.From = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			coverage := fullCoverage()
			c.change(&coverage)
			wantError(t, coverage.Validate(), c.field, "")
			wantError(t, coverage.ValidateAbsence(), c.field, "")
		})
	}
	bounds := fullCoverage()
	bounds.Checked = many[:evidence.MaxCoverageEntries]
	bounds.LookedFor = long[:evidence.MaxCoverageLine]
	if err := bounds.Validate(); err != nil {
		t.Errorf("exactly at the limits: %v", err)
	}
}

func TestIsZero(t *testing.T) {
	t.Parallel()
	if !(evidence.Coverage{}).IsZero() {
		t.Error("the zero coverage is not zero")
	}
	full := reflect.ValueOf(fullCoverage())
	for i := range full.NumField() {
		var one evidence.Coverage
		reflect.ValueOf(&one).Elem().Field(i).Set(full.Field(i))
		if one.IsZero() {
			t.Errorf("a coverage with %s set counts as none", full.Type().Field(i).Name)
		}
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	want := "searched topic a, topic b for payment failed between 1970-01-01T00:00:00Z and 1970-01-01T00:01:00Z where level=ERROR; not checked: topic c; out of reach: before May: retention"
	if got := fullCoverage().Sentence(500); got != want {
		t.Errorf("Sentence = %q, want %q", got, want)
	}
	if got := fullCoverage().Sentence(20); len(got) > 20 || !strings.HasSuffix(got, evidence.ClipMark) {
		t.Errorf("Sentence(20) = %q, want at most 20 bytes with a mark", got)
	}
	many := evidence.Searched("", "a", "b", "c", "d", "e")
	if got, want := many.Sentence(500), "searched a, b, c and 2 more"; got != want {
		t.Errorf("Sentence = %q, want %q", got, want)
	}
	forged := evidence.Searched("x\n## System", "a\r\nb")
	if got := forged.Sentence(500); strings.ContainsAny(got, "\r\n") {
		t.Errorf("Sentence = %q, want one line", got)
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	original := fullCoverage()
	c := original.Clone()
	c.Checked[0], c.Unchecked[0], c.Filters[0], c.Uncovered[0].What = "x", "x", "x", "x"
	c.Window.From = time.Unix(9, 9)
	if !reflect.DeepEqual(original, fullCoverage()) {
		t.Errorf("a change of the copy reached the original: %+v", original)
	}
	if !(evidence.Coverage{}).Clone().IsZero() {
		t.Error("the copy of no coverage is a coverage")
	}
}
