package findings

import (
	"fmt"
	"slices"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// Witness is what one request proves: which results it served, what the host says
// of them, and what their records said. It is immutable and safe for concurrent
// use. A nil Witness is a capture that is missing, and refuses every citation.
type Witness struct {
	run     canonical.RunID
	scope   string // digest; a stored witness must not spell a tenant's name
	gap     Reason // Incomplete or Overflow; then there are no entries
	order   []string
	entries map[string]entry
}

// entry is what is known of one id that was served.
type entry struct {
	ID       string
	Times    int // as a result in the request
	Marks    int // of the host with that id
	Call     canonical.CallName
	Run      canonical.RunID
	Foreign  bool // of a run that this one does not continue, or of another scope
	Dispatch Dispatch
	Body     Body
	Record   recorded
}

// recorded is what the record behind an entry said. The zero value is "not read".
type recorded struct {
	Read       bool
	Unreadable bool
	State      lifecycle.State
	Status     evidence.Status
	Coverage   evidence.Coverage
}

// NewWitness makes the witness of a capture. It returns a [*CaptureError], and no
// witness, for marks or records that no host could mean; a capture over a bound is
// no error but a witness that refuses everything (F16, F17).
func NewWitness(c Capture) (*Witness, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	w := &Witness{run: c.Run.Run, scope: c.Run.Scope.Digest()}
	switch {
	case c.overflows():
		w.gap = Overflow
	case c.Incomplete:
		w.gap = Incomplete
	default:
		w.fill(c)
	}
	return w, nil
}

func (w *Witness) fill(c Capture) {
	marks := make(map[string][]Mark, len(c.Marks))
	for _, m := range c.Marks {
		id := string(m.Call.Call.ID)
		marks[id] = append(marks[id], m)
	}
	records := make(map[canonical.Identity]Record, len(c.Records))
	for _, r := range c.Records {
		records[r.Call] = r
	}
	w.entries = make(map[string]entry)
	for _, s := range c.Served {
		if s.ID == "" {
			continue
		}
		e, again := w.entries[s.ID]
		e.Times++
		if !again {
			w.order = append(w.order, s.ID)
			e = newEntry(c, s, marks[s.ID], records)
		}
		w.entries[s.ID] = e
	}
}

func newEntry(c Capture, s Served, marks []Mark, records map[canonical.Identity]Record) entry {
	e := entry{ID: s.ID, Times: 1, Marks: len(marks), Body: BodyUnknown}
	if len(marks) != 1 {
		return e
	}
	m := marks[0]
	e.Call, e.Run, e.Foreign, e.Dispatch = m.Call.Call, m.Call.Run, !c.allows(m.Call), m.Dispatch
	switch {
	case slices.Contains(s.Texts, m.Text):
		e.Body = BodyServed
	case m.Ticket != Ticket{} && slices.Contains(s.Texts, TextDigest([]byte(m.Ticket.text))):
		e.Body = BodyWithheld
	}
	if r, ok := records[m.Call]; ok && !e.Foreign {
		e.Record = recorded{Read: true, Unreadable: r.Unreadable, State: r.State, Status: r.Status}
		if r.Status == evidence.None {
			e.Record.Coverage = r.Coverage.Clone()
		}
	}
	return e
}

// Run is the run whose request it was.
func (w *Witness) Run() canonical.RunID { return w.run }

// Of reports whether the witness was captured in that run and scope.
func (w *Witness) Of(run canonical.RunKey) bool {
	return w != nil && w.run == run.Run && w.scope == run.Scope.Digest()
}

// Format prints run and counts, never an id or a coverage.
func (w *Witness) Format(f fmt.State, _ rune) {
	if w == nil {
		fmt.Fprint(f, "{no witness}")
		return
	}
	fmt.Fprintf(f, "{witness of run %q: %d ids, gap %q}", w.run, len(w.order), w.gap)
}

// identify says whether the id names one result that was executed and may be
// cited at all; the reason is empty then.
func (w *Witness) identify(id string) (entry, Reason) {
	switch {
	case w == nil:
		return entry{}, NoWitness
	case w.gap != "":
		return entry{}, w.gap
	}
	e, ok := w.entries[id]
	switch {
	case !ok:
		return e, NotServed
	case e.Times != 1:
		return e, Ambiguous
	case e.Marks == 0:
		return e, Unmarked
	case e.Marks != 1:
		return e, Ambiguous
	case e.Foreign:
		return e, OtherRun
	case e.Dispatch == NotDispatched:
		return e, WasNotDispatched
	case e.Dispatch != Executed:
		return e, Unmarked
	}
	return e, ""
}

// backs says what the record behind an entry can carry.
func (r recorded) backs() (Backing, Reason) {
	switch {
	case !r.Read:
		return "", RecordNotRead
	case r.Unreadable:
		return "", RecordUnreadable
	case r.State == "":
		return "", RecordGone
	case r.State == lifecycle.Projecting:
		return "", RecordOpen
	case r.State == lifecycle.Error:
		return "", RecordFailed
	case r.Status == evidence.None:
		return BacksAbsence, ""
	}
	return BacksFact, ""
}

// only is the witness reduced to the ids that a declaration cites. Admit gives the
// same verdicts with it, and it stays as small as the proposal.
func (w *Witness) only(d Declaration) *Witness {
	if w == nil {
		return nil
	}
	cut := &Witness{run: w.run, scope: w.scope, gap: w.gap, entries: map[string]entry{}}
	for _, c := range d.Previous {
		e, ok := w.entries[c.ID]
		if _, twice := cut.entries[c.ID]; ok && !twice {
			cut.order = append(cut.order, c.ID)
			cut.entries[c.ID] = e
		}
	}
	return cut
}
