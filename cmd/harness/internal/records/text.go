package records

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/lifecycle"
)

// Text prints a table of runs and how to see more of them.
func (l RunList) Text(out *console.Console) {
	if len(l.Runs) == 0 && l.Next == "" {
		out.Line("no runs in the scope %s", ScopeText(l.Scope))
		return
	}
	rows := [][]string{{"run", "phase", "calls", "deadline", "expires", "agent"}}
	for _, r := range l.Runs {
		if r.Fault != "" {
			rows = append(rows, []string{string(r.ID), unreadable(r.Fault), "", "", moment(r.Expires)})
			continue
		}
		rows = append(rows, []string{
			string(r.ID), string(r.Phase), number(r.Calls), moment(r.Deadline), moment(r.Expires), console.Plain(r.Principal.Agent),
		})
	}
	table(out, rows)
	more(out, l.Next)
}

// Text prints a table of calls and how to see more of them.
func (l CallList) Text(out *console.Console) {
	if len(l.Calls) == 0 && l.Next == "" {
		out.Line("no such calls in run %s", l.Run)
		return
	}
	rows := [][]string{{"seq", "call", "tool", "state", "evidence", "ran", "raw bytes", "to the model"}}
	for _, c := range l.Calls {
		if c.Fault != "" {
			rows = append(rows, []string{number(c.Seq), c.Name, "", unreadable(c.Fault)})
			continue
		}
		raw, model := "", ""
		if c.HasResult {
			raw = number(c.RawBytes)
		}
		if c.State == lifecycle.Ready {
			model = number(c.ModelBytes)
		}
		rows = append(rows, []string{number(c.Seq), c.Name, console.Plain(c.Tool), c.ended(), string(c.Evidence), c.Ran, raw, model})
	}
	table(out, rows)
	more(out, l.Next)
}

// ended is the state, with the code where there is one.
func (c Call) ended() string {
	return strings.TrimSpace(string(c.State) + " " + string(c.Code))
}

func unreadable(fault string) string { return "unreadable: " + fault }

// table prints rows, the first of them as the head.
func table(out *console.Console, rows [][]string) {
	widths := console.Widths(rows)
	for i, cells := range rows {
		line := console.Row(widths, cells)
		if i == 0 {
			line = out.Strong(line)
		}
		out.Line("%s", line)
	}
}

func more(out *console.Console, next string) {
	if next != "" {
		out.Line("")
		out.Line("There is more: --after %s", next)
	}
}

// pairs prints names and values, those without a value left out. Long values may be broken on a terminal.
func pairs(out *console.Console, indent string, rows [][2]string) {
	width := 0
	for _, row := range rows {
		if row[1] != "" {
			width = max(width, console.Cells(row[0]))
		}
	}
	for _, row := range rows {
		if row[1] != "" {
			out.Long(indent, row[0]+strings.Repeat(" ", width-console.Cells(row[0])+2)+console.Plain(row[1]))
		}
	}
}

// Text prints everything that is known of the call, and bodies where they were asked for.
func (r Record) Text(out *console.Console) {
	pairs(out, "", [][2]string{
		{"run", string(r.Run)}, {"call", r.Name}, {"seq", number(r.Seq)}, {"tool", r.Tool + ", " + string(r.Effect)},
		{"state", r.ended()}, {"evidence", string(r.Evidence)}, {"ran", r.Ran}, {"failed at", string(r.Stage)},
		{"request", sized(r.Request, r.RequestSHA256, false)}, {"raw result", r.rawLine()}, {"to the model", sized(r.ModelBytes, r.ModelSHA256, false)},
		{"admitted", moment(r.Created)}, {"due", moment(r.Due)}, {"ended", moment(r.Ended)}, {"expires", moment(r.Expires)},
		{"on behalf of", behalf(r.Principal)}, {"evidence id", string(r.EvidenceID)}, {"operation key", r.OperationKey}, {"strength", string(r.Strength)},
		{"redacted by", r.Redacted},
	})
	if len(r.Facts) > 0 {
		heading(out, "Facts")
		for _, f := range r.Facts {
			out.Long("  ", console.Plain(strings.TrimSpace(f.Subject.Kind+" "+f.Subject.ID)+": "+f.Predicate+" = "+f.Value))
		}
	}
	r.coverageText(out)
	r.settledText(out)
	for _, b := range []struct {
		name string
		body *Body
	}{{"Request", r.RequestBody}, {"Raw result", r.RawBody}, {"To the model", r.ModelBody}} {
		if b.body != nil {
			heading(out, b.name)
			b.body.text(out)
		}
	}
}

func (r Record) coverageText(out *console.Console) {
	c := r.Coverage
	if c == nil {
		return
	}
	heading(out, "Coverage")
	gaps := make([]string, len(c.Uncovered))
	for i, g := range c.Uncovered {
		gaps[i] = g.What + " (" + g.Reason + ")"
	}
	window := ""
	if c.Window != nil {
		window = moment(c.Window.From) + " to " + moment(c.Window.To)
	}
	again := ""
	if c.SameOnRetry {
		again = "would give the same"
	}
	pairs(out, "  ", [][2]string{
		{"looked for", c.LookedFor}, {"checked", strings.Join(c.Checked, ", ")}, {"not checked", strings.Join(c.Unchecked, ", ")},
		{"out of reach", strings.Join(gaps, ", ")}, {"window", window}, {"filters", strings.Join(c.Filters, ", ")},
		{"to the end", yesNo(c.Complete)}, {"asking again", again}, {"try instead", c.TryInstead},
	})
}

func (r Record) settledText(out *console.Console) {
	s := r.Settled
	if s == nil {
		return
	}
	heading(out, "Known later")
	late := ""
	if s.State != "" {
		late = strings.TrimSpace(string(s.State)+" "+string(s.Code)) + " at " + moment(s.At) + ", " + number(s.RawBytes) + " bytes raw"
	}
	pairs(out, "  ", [][2]string{{"result", late}, {"verdict", string(s.Verdict)}, {"grounds", s.Grounds}})
}

// text prints a body line by line, each harmless.
func (b Body) text(out *console.Console) {
	if b.Text == nil {
		out.Paragraph("  ", fmt.Sprintf("%d bytes that are not UTF-8; read --raw writes them, -o json shows them in base64", b.Bytes))
		return
	}
	for line := range strings.Lines(*b.Text) {
		out.Long("  ", console.Plain(strings.TrimRight(line, "\r\n")))
	}
}

// Text prints what the file holds.
func (m Manifest) Text(out *console.Console) {
	if !m.OK {
		return // the error says it
	}
	calls := number(*m.Calls)
	if *m.Gone > 0 {
		calls += ", of them " + number(*m.Gone) + " deleted or expired"
	}
	complete := "yes"
	if !*m.Complete {
		complete = "no, the run was not closed or a call was open"
	}
	pairs(out, "", [][2]string{
		{"file", m.File}, {"run", string(m.Run)}, {"scope", ScopeText(*m.Scope)}, {"calls", calls}, {"settlements", number(*m.Settlements)},
		{"complete", complete}, {"bytes", number(*m.Bytes)}, {"sha256", m.SHA256},
	})
	out.Line("Every record fits its digests, and every line the manifest.")
}

func heading(out *console.Console, text string) {
	out.Line("")
	out.Line("%s", out.Strong(text))
}

// rawLine says of a result how large it is, and whether it is kept.
func (r Record) rawLine() string {
	line := sized(r.RawBytes, r.RawSHA256, r.RawAtLeast)
	if line != "" && !r.HasResult {
		line += ", not kept"
	}
	return line
}

// sized is size and digest of a body, nothing where there is none.
func sized(bytes int64, sha256 string, atLeast bool) string {
	if sha256 == "" {
		return ""
	}
	line := number(bytes) + " bytes, sha256 " + sha256
	if atLeast {
		line = "at least " + line
	}
	return line
}

func behalf(p canonical.Principal) string {
	var parts []string
	for _, f := range []struct{ name, value string }{{"user", p.User}, {"account", p.Account}, {"agent", p.Agent}, {"connector", p.Connector}} {
		if f.value != "" {
			parts = append(parts, f.name+" \""+f.value+"\"")
		}
	}
	return strings.Join(parts, ", ")
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// moment is a time for people, to the second.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
