package history_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/faults/history"
	"github.com/toolharness/harness/faults/internal/cuts"
)

// totals are what all histories together had in them: proof that clients met.
type totals struct {
	operations, unanswered int
	faults                 cuts.Total
	answers                map[string]int // kind and the answer's first words
	slowest                time.Duration
}

func (x *totals) add(r history.Report) {
	if x.answers == nil {
		x.answers = map[string]int{}
	}
	for _, o := range r.Operations {
		x.operations++
		if !o.Answered() {
			x.unanswered++
		}
		x.answers[string(o.Input.Kind)+": "+gist(o.Output.Text)]++
	}
	x.faults.LostRequests += r.Faults.LostRequests
	x.faults.CutRequests += r.Faults.CutRequests
	x.faults.LostReplies += r.Faults.LostReplies
}

// gist is an answer without numbers, names and digests.
func gist(text string) string {
	switch words := strings.Fields(text); {
	case text == "":
		return "no answer"
	case strings.HasPrefix(text, "no: "):
		return text
	case words[0] == "swept" && len(words) == 3:
		return text
	default:
		return strings.Trim(words[0], "0123456789,:")
	}
}

// mustHave are answers without which the histories would show little.
var mustHave = []string{
	"admit: created", "admit: own", "admit: no: the call name was used before; PROJECTING", "admit: no: the call name was used before",
	"admit: no: the run is closed", "admit: no: the message came after its not-after time", "admit: no: an effect of this run is unresolved",
	"admit: no: the run's capacity is exhausted", "admit: no: the run's budget is exhausted", "admit: no: the tool's budget is exhausted",
	"save: stored", "save: repeat", "complete: stored", "complete: repeat", "complete: no: the record was ended or claimed differently; READY",
	"settle: stored", "sweep: swept ORPHANED unknown", "sweep: swept OUTCOME_UNKNOWN unknown", "sweep: swept PROJECTION_FAILED completed",
	"delete: no: the call is still open; PROJECTING", "delete: no: an effect of this run is unresolved; ERROR", "resolve: done",
}

func (x *totals) print(t *testing.T, histories int) {
	t.Helper()
	t.Logf("%d histories, %d operations, %d without an answer; %d requests lost, %d cut, %d replies lost; slowest check %v",
		histories, x.operations, x.unanswered, x.faults.LostRequests, x.faults.CutRequests, x.faults.LostReplies, x.slowest)
	for _, answer := range slices.Sorted(maps.Keys(x.answers)) {
		t.Logf("  %6d  %s", x.answers[answer], answer)
	}
	for _, answer := range mustHave {
		if x.answers[answer] == 0 {
			t.Errorf("no operation was answered with %q: the histories show too little", answer)
		}
	}
	if x.unanswered*4 > x.operations {
		t.Errorf("%d of %d operations without an answer: the histories show too little", x.unanswered, x.operations)
	}
}
