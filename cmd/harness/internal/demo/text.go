package demo

import (
	"strconv"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// Text is a [Screen] for people: aligned lines as things happen, and on a terminal what is going on in a last line.
// Ids are shown whole. Nothing that came from elsewhere is printed without being made harmless.
type Text struct {
	out                 *console.Console
	calls               []int // widths of the columns of the recorded calls
	search              []int
	refused             []int
	searching, refusing bool // their heads are printed
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
	search := [][]string{callHead(), {"", "", "", string(evidence.Found), "", ""}}
	for _, m := range d.Messages {
		for _, c := range m.Calls {
			search = append(search, []string{label(c.name()), c.Tool, state(stateOf(c.WantCode), c.WantCode)})
		}
	}
	refused := [][]string{refusedHead(), {"", "", "", string(lifecycle.RunDeadlineExceeded)}}
	for _, r := range d.Refused {
		refused = append(refused, []string{r.What, shown(r), r.Tool, string(r.WantCode)})
	}
	t.calls, t.search, t.refused = console.Widths(calls), console.Widths(search), console.Widths(refused)
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
	t.out.Line("%s", indent+console.Row(t.calls, cells(c)))
}

func cells(c Call) []string {
	return []string{label(c.name()), c.Tool, state(c.State, c.Code), string(c.Evidence), number(c.RawBytes), number(int64(c.ModelBytes))}
}

// state is a state with its code, where there is one.
func state(s lifecycle.State, code lifecycle.Code) string {
	if code == "" {
		return string(s)
	}
	return string(s) + " " + string(code)
}

// stateOf is the state of a call that ends with this code, or with none.
func stateOf(code lifecycle.Code) lifecycle.State {
	if code == "" {
		return lifecycle.Ready
	}
	return lifecycle.Error
}

// Message puts the question of a message above its calls, and above the first of them what all of them are.
func (t *Text) Message(m Message) {
	if !t.searching {
		t.searching = true
		t.out.Line("")
		t.out.Line("Messages of our own, the calls of each at once: Kafka broker logs, a bank's articles, Chinook")
		t.out.Line("")
		t.out.Line("%s", t.out.Strong(indent+console.Row(t.search, callHead())))
	}
	t.out.Paragraph("", console.Plain(m.Question))
}

// Searched prints one call of a message, and below it what the model is told, or what it should have been where it was not.
func (t *Text) Searched(s Search) {
	t.out.Line("%s", indent+console.Row(t.search, cells(s.Call)))
	if s.Found != "" {
		t.out.Paragraph(indent+indent, console.Plain(s.Found))
	}
	if !s.AsItMust() {
		t.out.Line("%s", t.out.Alert(indent+indent+"must be "+string(s.WantEvidence)+" "+state(stateOf(s.WantCode), s.WantCode)))
	}
}

// Refused prints one call that was refused, with what it should have been where it was not.
func (t *Text) Refused(r Refusal) {
	if !t.refusing {
		t.refusing = true
		t.out.Line("")
		t.out.Line("%s", t.out.Strong(indent+console.Row(t.refused, refusedHead())))
	}
	t.out.Line("%s", indent+console.Row(t.refused, []string{r.What, shown(r), r.Tool, orNone(string(r.Code)), r.Ran}))
	if !r.AsItMust() {
		t.out.Line("%s", t.out.Alert(indent+indent+"must be "+string(r.WantCode)+", ran "+r.WantRan))
	}
}

// End prints the facts, the checks and how to look at what was kept.
func (t *Text) End(d Document) {
	t.out.Line("")
	t.out.Line("%s", t.out.Strong("The run's facts, from its records alone"))
	for line := range strings.Lines(d.Facts.Text()) {
		t.out.Long(indent, console.Plain(strings.TrimSuffix(line, "\n")))
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
		t.out.Line("%s until they expire. To look at one record:", place.Left(d.Store, len(d.Kept)))
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

// shown is the name of a call as it can be printed: one that breaks the rules of ids in quotes, its characters escaped.
func shown(r Refusal) string {
	text := label(canonical.CallName{Turn: r.Turn, ID: r.ID})
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

// Message shows nothing.
func (Silent) Message(Message) {}

// Searched shows nothing.
func (Silent) Searched(Search) {}

// Refused shows nothing.
func (Silent) Refused(Refusal) {}

// End shows nothing.
func (Silent) End(Document) {}
