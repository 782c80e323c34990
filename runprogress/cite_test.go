package runprogress_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

func at(seq int64, turn, id string) runprogress.Call {
	return runprogress.Call{Seq: seq, Turn: canonical.Turn(turn), ToolCallID: canonical.ToolCallID(id), Tool: "sql"}
}

func fact(c runprogress.Call) runprogress.Fact {
	return runprogress.Fact{Call: c, Fact: evidence.NewFact(evidence.Subject{Kind: "table", ID: "t"}, "rows", "1")}
}

func TestCitable(t *testing.T) {
	t.Parallel()
	none := runprogress.Absence{Call: at(3, "", "c"), Coverage: evidence.Searched("x", "table t")}
	for name, c := range map[string]struct {
		report runprogress.Report
		want   []runprogress.Citable
	}{
		"nothing": {},
		"each once, in order of admission": {
			runprogress.Report{Facts: []runprogress.Fact{fact(at(1, "", "a")), fact(at(1, "", "a")), fact(at(4, "", "d"))}, Absences: []runprogress.Absence{none}},
			[]runprogress.Citable{{ID: "a"}, {ID: "c", Absence: true}, {ID: "d"}},
		},
		"an id of two turns names neither": {
			runprogress.Report{Facts: []runprogress.Fact{fact(at(1, "t1", "a")), fact(at(2, "t2", "a")), fact(at(4, "", "d"))}},
			[]runprogress.Citable{{ID: "d"}},
		},
		"nor one that an excluded call has, too": {
			runprogress.Report{
				Facts:    []runprogress.Fact{fact(at(1, "t1", "a"))},
				Excluded: []runprogress.Exclusion{{Call: at(2, "t2", "a"), Reason: runprogress.Failed, Code: lifecycle.ToolTimeout}},
			},
			nil,
		},
	} {
		if got := c.report.Citable(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestCitingText(t *testing.T) {
	t.Parallel()
	r := runprogress.Report{
		Run: "r1", Facts: []runprogress.Fact{fact(at(1, "", "a")), fact(at(2, "", "b"))},
		Absences: []runprogress.Absence{{Call: at(3, "", "c"), Coverage: evidence.Searched("x", "table t")}},
	}
	want := r.Text() + "may be cited as fact: a b\nmay be cited as absence, inside its coverage: c\n"
	if got := r.CitingText(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if empty := (runprogress.Report{Run: "r1"}); empty.CitingText() != empty.Text() {
		t.Errorf("a report without anything to cite says\n%s", empty.CitingText())
	}
}

// The longest ids there may be, as many as a report holds.
func TestCitingText_is_bounded_and_counts_the_rest(t *testing.T) {
	t.Parallel()
	r := runprogress.Report{Run: "r1"}
	for i := range runprogress.MaxObservations {
		r.Facts = append(r.Facts, fact(at(int64(i+1), "", fmt.Sprintf("%0*d", canonical.MaxToolCallID, i))))
	}
	text := strings.TrimPrefix(r.CitingText(), r.Text())
	if len(text) > runprogress.MaxCitingBytes {
		t.Errorf("%d bytes were added, the limit is %d", len(text), runprogress.MaxCitingBytes)
	}
	named := strings.Count(text, " 0")
	if want := fmt.Sprintf(" and %d more\n", runprogress.MaxObservations-named); named < 4 || !strings.HasSuffix(text, want) {
		t.Errorf("%d ids are named, and the line ends in %q; want %q", named, text[max(0, len(text)-20):], want)
	}
}
