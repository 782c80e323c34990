package runprogress

import (
	"fmt"
	"strings"
)

// Room for the lines that are no observations, in bytes. A report keeps it free,
// so that what is missing can always be said.
const (
	gapBytes       = 4 << 10
	exclusionBytes = 3 << 10 // of it, for the lines on excluded calls
)

// maxSentence bounds the coverage of one absence, in bytes before quoting.
const maxSentence = 480

// Text is the report for a prompt: at most [MaxBytes] of valid UTF-8, one line
// for each observation in order of admission, then one for each kind of gap.
// See the package comment for the form. Equal reports have equal texts.
func (r Report) Text() string {
	var b strings.Builder
	b.WriteString(r.heading())
	absences := r.Absences
	for _, f := range r.Facts {
		for len(absences) > 0 && absences[0].Seq < f.Seq {
			b.WriteString(absences[0].line() + "\n")
			absences = absences[1:]
		}
		b.WriteString(f.line() + "\n")
	}
	for _, a := range absences {
		b.WriteString(a.line() + "\n")
	}
	b.WriteString(r.gaps())
	return b.String()
}

func (r Report) heading() string {
	end := "not complete"
	if r.Complete {
		end = "complete"
	}
	behind := ""
	if r.After > 0 {
		behind = fmt.Sprintf(" behind call %d", r.After)
	}
	t := r.Totals
	return fmt.Sprintf("run %s, %s: %s admitted, %d looked at%s, %d ready, %s, %s; %s\n", r.Run, r.Phase,
		counted(t.Admitted, "call"), t.Calls, behind, t.Ready,
		counted(len(r.Facts), "fact"), counted(len(r.Absences), "absence"), end)
}

// gaps says what the report does not have.
func (r Report) gaps() string {
	var b strings.Builder
	if n := r.Totals.WithoutFacts; n > 0 {
		fmt.Fprintf(&b, "no facts given by %s\n", counted(n, "ready call"))
	}
	b.WriteString(r.exclusions())
	o := r.Omitted
	for _, gap := range []struct {
		count       int
		what, bound string
	}{
		{o.FactsOverCall, "fact", fmt.Sprintf("over %d of one call", MaxFactsPerCall)},
		{o.FactsOverRun, "fact", fmt.Sprintf("over %d observations", MaxObservations)},
		{o.FactsOverSize, "fact", fmt.Sprintf("over %d bytes", MaxBytes)},
		{o.Absences, "absence", "over the same bounds"},
	} {
		if gap.count > 0 {
			fmt.Fprintf(&b, "omitted: %s %s\n", counted(gap.count, gap.what), gap.bound)
		}
	}
	return b.String()
}

// exclusions has one line for each kind of exclusion, with as many calls as
// there is room for; ids are named whole or not at all.
func (r Report) exclusions() string {
	var b strings.Builder
	left := r.Omitted.Exclusions
	for _, group := range grouped(r.Excluded) {
		const more = 64 // room for "and n more" and for the last line
		head := "excluded: " + fmt.Sprint(len(group)) + " " + group[0].kind() + ":"
		if b.Len()+len(head)+more > exclusionBytes {
			left += len(group)
			continue
		}
		b.WriteString(head)
		named := 0
		for _, x := range group {
			item := " " + x.Call.label()
			if b.Len()+len(item)+2*more > exclusionBytes {
				break
			}
			if named > 0 {
				b.WriteByte(',')
			}
			b.WriteString(item)
			named++
		}
		if rest := len(group) - named; rest > 0 {
			fmt.Fprintf(&b, " and %d more", rest)
		}
		b.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(&b, "excluded: %d more\n", left)
	}
	return b.String()
}

// kind is what exclusions of one line have in common.
func (x Exclusion) kind() string {
	if x.Reason == Failed {
		return fmt.Sprintf("%s %s, ran %s", x.Reason, x.Code, x.Execution.Ran())
	}
	return string(x.Reason)
}

// grouped puts exclusions of one kind together, kinds in order of their first.
func grouped(list []Exclusion) [][]Exclusion {
	var groups [][]Exclusion
	place := map[string]int{}
	for _, x := range list {
		at, known := place[x.kind()]
		if !known {
			at = len(groups)
			place[x.kind()] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], x)
	}
	return groups
}

func (f Fact) line() string {
	words := []string{f.Call.label() + ":", quoted(f.Subject.Kind)}
	if f.Subject.ID != "" {
		words = append(words, quoted(f.Subject.ID))
	}
	return strings.Join(append(words, quoted(f.Predicate), "=", quoted(f.Value)), " ")
}

func (a Absence) line() string {
	return a.Call.label() + `: found nothing: ` + inQuotes(a.Coverage.Sentence(maxSentence))
}

// label names a call. None of its parts can hold a space, so "turn" cannot be
// part of an id.
func (c Call) label() string {
	text := fmt.Sprint(c.Seq)
	if c.Tool != "" {
		text += " " + c.Tool
	}
	text += " " + string(c.ToolCallID)
	if c.Turn != "" {
		text += " turn " + string(c.Turn)
	}
	return text
}

// quoted leaves a plain word as it is. Everything else is quoted, so that a value
// cannot look like the end of one fact and the start of another.
func quoted(text string) string {
	if text == "" {
		return `""`
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_.-/@+%", c) >= 0
		if !plain {
			return inQuotes(text)
		}
	}
	return text
}

// inQuotes puts text, which is one printable line, into double quotes.
func inQuotes(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

func counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
