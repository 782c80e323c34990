package findings

import (
	"fmt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// Admission is the answer of [Admit]: a verdict for each citation in the order of
// the declaration, behind them one for what could not be read.
type Admission struct {
	Declaration Declaration
	Verdicts    []Verdict
}

// Verdict is what became of one citation.
type Verdict struct {
	ID      string             // as cited; empty for what could not be read
	Refused Reason             // empty: admitted
	Backing Backing            // what it backs; empty when refused
	Body    Body               // whether its text stood in the request; empty where the id was not found
	Run     canonical.RunID    // of the result, where identity is known
	Call    canonical.CallName // likewise

	// Coverage is where was looked, beside BacksAbsence. Outside of it the
	// absence says nothing.
	Coverage evidence.Coverage
}

// Admit judges every citation of one proposal. It is a pure function: no I/O, no
// clock, the same answer for the same input, from any number of goroutines. A
// declaration without a citation is admitted whatever the witness.
//
// The call is refused as a whole when one citation is ([Admission.Refused]). Its
// siblings in the same message have declarations of their own and are not touched
// (F05); they are not in the witness either, so none can be cited.
func Admit(w *Witness, d Declaration) Admission {
	a := Admission{Declaration: d}
	for _, c := range d.Previous {
		a.Verdicts = append(a.Verdicts, judge(w, c))
	}
	if d.Frame != nil {
		a.Verdicts = append(a.Verdicts, Verdict{Refused: Malformed})
	}
	return a
}

func judge(w *Witness, c Citation) Verdict {
	e, reason := w.identify(c.ID)
	v := Verdict{ID: c.ID, Refused: reason, Body: e.Body}
	if reason == "" || reason == WasNotDispatched { // a notice has an identity, too (F14)
		v.Run, v.Call = e.Run, e.Call
	}
	if reason != "" {
		return v
	}
	if !c.Standing.needsRecord() {
		v.Backing = BacksIdentity
		return v
	}
	v.Backing, v.Refused = e.Record.backs()
	if v.Backing == BacksAbsence {
		v.Coverage = e.Record.Coverage.Clone()
	}
	return v
}

// Refused reports whether the proposal must not go on.
func (a Admission) Refused() bool {
	for _, v := range a.Verdicts {
		if v.Refused != "" {
			return true
		}
	}
	return false
}

// Format prints counts and reasons, none of the model's words and no id.
func (a Admission) Format(f fmt.State, _ rune) { fmt.Fprint(f, a.summary()) }

func (a Admission) summary() string {
	text := fmt.Sprintf("%d citations", len(a.Declaration.Previous))
	for _, n := range a.reasons() {
		text += fmt.Sprintf(", %d %s", n.Count, n.Reason)
	}
	return text
}

// Event is what an observer may be told of an admission: identities, words of
// closed lists and counts. It has no field for a model's text (F48).
type Event struct {
	Call      canonical.Identity // the proposal; its call name is empty for an answer
	Admitted  bool
	Citations int
	Dropped   int // parts of the declaration that were left out
	Reasons   []ReasonCount
}

// ReasonCount is how often one reason was given.
type ReasonCount struct {
	Reason Reason
	Count  int
}

// Event is the event of the admission of that proposal.
func (a Admission) Event(call canonical.Identity) Event {
	return Event{Call: call, Admitted: !a.Refused(), Citations: len(a.Declaration.Previous),
		Dropped: a.Declaration.Dropped, Reasons: a.reasons()}
}

// reasons counts them, in the order in which they were first given.
func (a Admission) reasons() []ReasonCount {
	var all []ReasonCount
	at := map[Reason]int{}
	for _, v := range a.Verdicts {
		if v.Refused == "" {
			continue
		}
		i, ok := at[v.Refused]
		if !ok {
			i = len(all)
			at[v.Refused] = i
			all = append(all, ReasonCount{Reason: v.Refused})
		}
		all[i].Count++
	}
	return all
}
