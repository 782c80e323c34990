package runprogress

import (
	"fmt"
	"strings"

	"github.com/toolharness/harness/canonical"
)

// MaxCitingBytes bounds what [Report.CitingText] adds to [Report.Text], in bytes.
const MaxCitingBytes = 8 << 10

// Citable is one id that a conclusion may cite, and as what.
type Citable struct {
	ID      canonical.ToolCallID `json:"tool_call_id"`
	Absence bool                 `json:"absence,omitempty"` // only that nothing was found, inside the coverage
}

// Citable lists the ids behind the facts and absences of the report, each once, in
// order of admission. An id that two calls of the run have, in different turns, is
// left out: a citation of it would name neither (F15). The list is advice; whether
// an id may be used is judged from what was served, by package findings.
func (r Report) Citable() []Citable {
	calls := map[canonical.ToolCallID]int64{} // the sequence that an id stands for; 0 for several
	note := func(c Call) {
		if seq, seen := calls[c.ToolCallID]; !seen || seq == c.Seq {
			calls[c.ToolCallID] = c.Seq
			return
		}
		calls[c.ToolCallID] = 0
	}
	for _, f := range r.Facts {
		note(f.Call)
	}
	for _, a := range r.Absences {
		note(a.Call)
	}
	for _, x := range r.Excluded {
		note(x.Call)
	}
	var list []Citable
	add := func(c Call, absence bool) {
		if calls[c.ToolCallID] == c.Seq {
			list = append(list, Citable{ID: c.ToolCallID, Absence: absence})
			calls[c.ToolCallID] = 0 // once
		}
	}
	absences := r.Absences
	for _, f := range r.Facts {
		for len(absences) > 0 && absences[0].Seq < f.Seq {
			add(absences[0].Call, true)
			absences = absences[1:]
		}
		add(f.Call, false)
	}
	for _, a := range absences {
		add(a.Call, true)
	}
	return list
}

// CitingText is Text, and behind it which ids may be cited as what: one line for
// facts, one for absences, each id whole, what has no room counted. It has at most
// MaxBytes + MaxCitingBytes.
func (r Report) CitingText() string {
	var facts, absences []string
	for _, c := range r.Citable() {
		if c.Absence {
			absences = append(absences, string(c.ID))
		} else {
			facts = append(facts, string(c.ID))
		}
	}
	return r.Text() + citingLine("may be cited as fact", facts) + citingLine("may be cited as absence, inside its coverage", absences)
}

// citingLine names ids until half of the room is used. Ids have no space in them.
func citingLine(words string, ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	const room = MaxCitingBytes/2 - 64 // for the words that count the rest, and the end of the line
	var b strings.Builder
	b.WriteString(words + ":")
	for i, id := range ids {
		if b.Len()+1+len(id) > room {
			fmt.Fprintf(&b, " and %d more", len(ids)-i)
			break
		}
		b.WriteString(" " + id)
	}
	return b.String() + "\n"
}
