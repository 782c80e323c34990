package checker

import (
	"fmt"
	"io"
	"sort"
	"strings"
)

// Row is one line of the table: a fault of a section. All numbers are counts.
type Row struct {
	Section, Fault string

	Places   int // combinations of script and place with at least one injection
	Least    int // injections of the combination that has the fewest
	Injected int
	Entered0 int // calls whose tool was not entered
	Entered1 int // calls whose tool was entered once
	Lost     int
	Doubled  int
	Unknown  int
	NoTTL    int // keys
	Wrong    int
}

// placed is what was asked and done of one combination.
type placed struct {
	asked, done int
	reason      string
}

// maxTexts bounds how many failures are told in words; all are counted.
const maxTexts = 100

// Result is the table and everything that failed.
type Result struct {
	rows     map[[2]string]*Row
	places   map[place]*placed
	calls    int
	failures int
	texts    []string
}

func (r *Result) row(p place) *Row {
	at := [2]string{p.Section, p.Fault}
	if r.rows[at] == nil {
		r.rows[at] = &Row{Section: p.Section, Fault: p.Fault}
	}
	return r.rows[at]
}

func (r *Result) place(p place) *placed {
	if r.places[p] == nil {
		r.places[p] = &placed{}
	}
	return r.places[p]
}

// count adds one call.
func (r *Result) count(e evidence, v verdict) {
	row := r.row(e.at())
	r.calls++
	if e.Part == 0 {
		row.Injected++
		r.place(e.at()).done++
	}
	if e.Call != "" {
		switch {
		case v.doubled:
			row.Doubled++
			r.fail(e.at(), fmt.Sprintf("%s%s: entered %d times", e.Base, e.Call, e.entered))
		case e.entered == 1:
			row.Entered1++
		default:
			row.Entered0++
		}
	}
	if v.unknown {
		row.Unknown++
	}
	if len(v.lost) > 0 {
		row.Lost++
	}
	if len(v.wrong) > 0 {
		row.Wrong++
	}
	for _, text := range append(v.lost, v.wrong...) {
		r.fail(e.at(), fmt.Sprintf("seed %d, %s%s: %s", e.Seed, e.Base, e.Call, text))
	}
}

func (r *Result) withoutTTL(p place, known bool, text string) {
	if known {
		r.row(p).NoTTL++
	}
	r.fail(p, text)
}

func (r *Result) wrong(p place, text string) {
	if p.Section != "" {
		r.row(p).Wrong++
	}
	r.fail(p, text)
}

// general is a failure that belongs to no row.
func (r *Result) general(text string) { r.fail(place{}, text) }

func (r *Result) fail(p place, text string) {
	r.failures++
	if len(r.texts) < maxTexts {
		r.texts = append(r.texts, strings.TrimSpace(fmt.Sprintf("%s %s %s %s: ", p.Section, p.Fault, p.Script, p.Place))+" "+text)
	}
}

// OK reports that nothing was lost, doubled, without TTL or wrong.
func (r *Result) OK() bool { return r.failures == 0 }

// Failures are what failed, in words; the first hundred of them.
func (r *Result) Failures() []string { return r.texts }

// Rows is the table, sorted by section and fault.
func (r *Result) Rows() []Row {
	for p, done := range r.places {
		if row := r.rows[[2]string{p.Section, p.Fault}]; row != nil && done.done > 0 && !done.short() {
			if row.Places++; row.Least == 0 || done.done < row.Least {
				row.Least = done.done
			}
		}
	}
	var rows []Row
	for _, row := range r.rows {
		rows = append(rows, *row)
		row.Places, row.Least = 0, 0
	}
	sort.Slice(rows, func(i, j int) bool {
		if rows[i].Section != rows[j].Section {
			return rows[i].Section < rows[j].Section
		}
		return rows[i].Fault < rows[j].Fault
	})
	return rows
}

func (p *placed) short() bool { return p.reason != "" || p.done < p.asked || p.asked == 0 }

// NotTested lists the combinations that had no injections or fewer than asked,
// with the reason, those with the same reason on one line.
func (r *Result) NotTested() []string {
	groups := map[string][]string{}
	for p, done := range r.places {
		if !done.short() {
			continue
		}
		reason := done.reason
		switch {
		case reason != "":
		case done.asked == 0:
			reason = "no plan says how many injections there should be"
		default:
			reason = fmt.Sprintf("%d of %d injections", done.done, done.asked)
		}
		at := p.Section + ", " + reason
		groups[at] = append(groups[at], strings.Join(strings.Fields(p.Script+" "+p.Place+" ("+p.Fault+")"), " "))
	}
	var list []string
	for _, at := range sorted(groups) {
		sort.Strings(groups[at])
		list = append(list, at+": "+strings.Join(groups[at], "; "))
	}
	return list
}

// Print writes the table, what was not tested, and what failed.
func (r *Result) Print(w io.Writer) error {
	var b strings.Builder
	rows := r.Rows()
	width := len("fault")
	for _, row := range rows {
		width = max(width, len(row.Section)+2+len(row.Fault))
	}
	format := fmt.Sprintf("%%-%ds %%6v %%6v %%8v %%7v %%7v %%5v %%7v %%7v %%6v %%5v\n", width)
	fmt.Fprintf(&b, format, "fault", "places", "least", "injected", "ran 0x", "ran 1x", "lost", "doubled", "unknown", "no TTL", "wrong")
	sum := Row{}
	for _, row := range rows {
		fmt.Fprintf(&b, format, row.Section+": "+row.Fault, row.Places, row.Least, row.Injected, row.Entered0, row.Entered1,
			row.Lost, row.Doubled, row.Unknown, row.NoTTL, row.Wrong)
		sum.Places, sum.Injected = sum.Places+row.Places, sum.Injected+row.Injected
		sum.Entered0, sum.Entered1 = sum.Entered0+row.Entered0, sum.Entered1+row.Entered1
		sum.Lost, sum.Doubled, sum.Unknown = sum.Lost+row.Lost, sum.Doubled+row.Doubled, sum.Unknown+row.Unknown
		sum.NoTTL, sum.Wrong = sum.NoTTL+row.NoTTL, sum.Wrong+row.Wrong
	}
	fmt.Fprintf(&b, format, "all", sum.Places, "", sum.Injected, sum.Entered0, sum.Entered1, sum.Lost, sum.Doubled, sum.Unknown, sum.NoTTL, sum.Wrong)
	for _, text := range r.NotTested() {
		fmt.Fprintf(&b, "not tested: %s\n", text)
	}
	for _, text := range r.texts {
		fmt.Fprintf(&b, "FAILED: %s\n", text)
	}
	if more := r.failures - len(r.texts); more > 0 {
		fmt.Fprintf(&b, "FAILED: and %d more\n", more)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
