package demo

import (
	"strconv"
	"strings"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// Text is a [Screen] for people: aligned lines as things happen, and on a terminal what is going on in a last line.
// Ids are shown whole. Nothing that came from elsewhere is printed without being made harmless.
type Text struct {
	out     *console.Console
	calls   []int // widths of the columns of the recorded calls
	refused []int
	started bool // the head of the refusals is printed
}

// NewText prints to a console, whose error the caller asks for at the end.
func NewText(out *console.Console) *Text { return &Text{out: out} }

// Begin prints what is known ahead and takes the widths of all columns from it, so that lines printed one by one align.
func (t *Text) Begin(d Document) {
	calls := [][]string{callHead(), {"", "", string(lifecycle.Ready), string(evidence.Found), "", ""}}
	count := 0
	for _, q := range d.Questions {
		for _, c := range q.Calls {
			count++
			calls = append(calls, []string{string(c.ID), c.Tool})
		}
	}
	refused := [][]string{refusedHead(), {"", "", "", string(lifecycle.RunDeadlineExceeded)}}
	for _, r := range d.Refused {
		refused = append(refused, []string{r.What, shown(r.ID), r.Tool, string(r.WantCode)})
	}
	t.calls, t.refused = console.Widths(calls), console.Widths(refused)
	t.out.Line("%d recorded calls of a SQL agent, run again on the Chinook database through the boundary", count)
	t.out.Line("store %s, run %s", d.Store, d.Run)
	t.out.Line("")
	t.out.Line("%s", t.out.Strong(indent+console.Row(t.calls, callHead())))
}

// indent sets the calls off from the questions above them.
const indent = "  "

// Running shows what is going on, where that can be taken back.
func (t *Text) Running(what string, n, of int) { t.out.Status("%d of %d: %s", n, of, what) }

// Question puts the question of a conversation above its calls.
func (t *Text) Question(text string) { t.out.Line("%s", console.Plain(text)) }

// Call prints one recorded call.
func (t *Text) Call(c Call) {
	state := string(c.State)
	if c.Code != "" {
		state += " " + string(c.Code)
	}
	t.out.Line("%s", indent+console.Row(t.calls, []string{string(c.ID), c.Tool, state, string(c.Evidence), number(c.RawBytes), number(int64(c.ModelBytes))}))
}

// Refused prints one call that was refused, with what it should have been where it was not.
func (t *Text) Refused(r Refusal) {
	if !t.started {
		t.started = true
		t.out.Line("")
		t.out.Line("%s", t.out.Strong(indent+console.Row(t.refused, refusedHead())))
	}
	t.out.Line("%s", indent+console.Row(t.refused, []string{r.What, shown(r.ID), r.Tool, orNone(string(r.Code)), r.Ran}))
	if !r.AsItMust() {
		t.out.Line("%s", t.out.Alert(indent+indent+"must be "+string(r.WantCode)+", ran "+r.WantRan))
	}
}

// End prints the facts, the checks and how to look at what was kept.
func (t *Text) End(d Document) {
	t.out.Line("")
	t.out.Line("%s", t.out.Strong("The run's facts, from its records alone"))
	for line := range strings.Lines(d.Facts.Text()) {
		t.out.Line("%s", indent+console.Plain(strings.TrimSuffix(line, "\n")))
	}
	t.out.Line("")
	t.out.Line("%s", t.out.Strong("Checked"))
	for _, c := range d.Checks {
		if c.OK {
			t.out.Line("  ok      %s: %s", c.What, console.Plain(c.Detail))
		} else {
			t.out.Line("%s", t.out.Alert("  FAILED  "+c.What+": "+console.Plain(c.Detail)))
		}
	}
	if d.LookWith != "" {
		t.out.Line("")
		t.out.Line("%d keys are left in Redis until they expire. To look at one record:", len(d.Kept))
		t.out.Line("%s", indent+d.LookWith)
		if d.NeedsPassword {
			t.out.Line("%s", indent+"with the password in REDISCLI_AUTH")
		}
	}
	t.out.Line("")
	if failed := len(d.Failed()); failed > 0 {
		t.out.Line("%s", t.out.Alert(strconv.Itoa(failed)+" of "+strconv.Itoa(len(d.Checks))+" checks failed."))
	} else {
		t.out.Line("All %d checks passed.", len(d.Checks))
	}
	t.out.Close()
}

func callHead() []string {
	return []string{"id", "tool", "state", "evidence", "raw bytes", "to the model"}
}

func refusedHead() []string { return []string{"what must be refused", "id", "tool", "code", "ran"} }

// shown is an id as it can be printed: one that breaks the rules of ids in quotes, its characters escaped.
func shown(id boundary.ToolCallID) string {
	text := string(id)
	if console.Plain(text) == text && !strings.ContainsAny(text, " \"") {
		return text
	}
	return strconv.QuoteToASCII(text)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// Silent is a [Screen] that shows nothing; the document is all.
type Silent struct{}

// Begin shows nothing.
func (Silent) Begin(Document) {}

// Running shows nothing.
func (Silent) Running(string, int, int) {}

// Question shows nothing.
func (Silent) Question(string) {}

// Call shows nothing.
func (Silent) Call(Call) {}

// Refused shows nothing.
func (Silent) Refused(Refusal) {}

// End shows nothing.
func (Silent) End(Document) {}
