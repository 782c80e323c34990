package findings

import (
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// WitnessVersion is the version of stored witnesses that this code writes and
// reads. A newer one is refused with canonical.ErrNewerVersion.
const WitnessVersion = 1

// Redactor makes the form of a text that may be stored. One is used for the
// ledger and for witnesses, the same that the host uses on the conversation
// (F24). It gets one text at a time; with its error nothing is stored. nil: none.
type Redactor func(text []byte) ([]byte, error)

func (r Redactor) line(text string, limit int) (string, error) {
	if r == nil || text == "" {
		return text, nil
	}
	out, err := r([]byte(text))
	if err != nil {
		return "", err
	}
	if string(out) == text {
		return text, nil
	}
	return evidence.Line(string(out), limit), nil
}

type storedWitness struct {
	Version int             `json:"v"`
	Run     canonical.RunID `json:"run"`
	Scope   string          `json:"scope"`
	Gap     Reason          `json:"gap,omitzero"`
	Entries []storedEntry   `json:"entries,omitzero"`
}

type storedEntry struct {
	ID       string          `json:"id"`
	Times    int             `json:"times"`
	Marks    int             `json:"marks"`
	Run      canonical.RunID `json:"run,omitzero"`
	Call     string          `json:"call,omitzero"` // CallName.String
	Foreign  bool            `json:"foreign,omitzero"`
	Dispatch Dispatch        `json:"dispatch,omitzero"`
	Body     Body            `json:"body"`
	Record   *storedRecord   `json:"record,omitzero"`
}

type storedRecord struct {
	Unreadable bool            `json:"unreadable,omitzero"`
	State      lifecycle.State `json:"state,omitzero"`
	Status     evidence.Status `json:"status,omitzero"`
	Coverage   jsontext.Value  `json:"coverage,omitzero"`
}

// EncodeWitness is the stored form of a witness: one JSON object, equal bytes for
// equal witnesses. An id that the redactor would change is left out, and can then
// not be cited: a changed id might be another one's.
func EncodeWitness(w *Witness, redact Redactor) ([]byte, error) {
	stored, err := w.stored(redact)
	if err != nil {
		return nil, err
	}
	return json.Marshal(stored, json.Deterministic(true))
}

func (w *Witness) stored(redact Redactor) (storedWitness, error) {
	if w == nil {
		return storedWitness{}, &CodeError{What: "witness", Reason: "there is none"}
	}
	s := storedWitness{Version: WitnessVersion, Run: w.run, Scope: w.scope, Gap: w.gap}
	for _, id := range w.order {
		shown, err := redact.line(id, len(id))
		if err != nil {
			return s, &CodeError{What: "witness", Reason: "the redactor failed"}
		}
		if shown != id || !utf8.ValidString(id) {
			continue
		}
		e, err := w.entries[id].stored(redact)
		if err != nil {
			return s, err
		}
		s.Entries = append(s.Entries, e)
	}
	return s, nil
}

func (e entry) stored(redact Redactor) (storedEntry, error) {
	s := storedEntry{ID: e.ID, Times: e.Times, Marks: e.Marks, Run: e.Run, Foreign: e.Foreign, Dispatch: e.Dispatch, Body: e.Body}
	if e.Marks == 1 {
		s.Call = e.Call.String()
	}
	if !e.Record.Read {
		return s, nil
	}
	s.Record = &storedRecord{Unreadable: e.Record.Unreadable, State: e.Record.State, Status: e.Record.Status}
	coverage, err := redactCoverage(e.Record.Coverage, redact)
	if err == nil {
		s.Record.Coverage, err = evidence.EncodeCoverage(coverage)
	}
	if err != nil {
		return s, &CodeError{What: "witness", Reason: "a coverage cannot be stored as redacted"}
	}
	return s, nil
}

func redactCoverage(c evidence.Coverage, redact Redactor) (evidence.Coverage, error) {
	c = c.Clone()
	texts := []*string{&c.LookedFor, &c.TryInstead}
	for _, list := range [][]string{c.Checked, c.Unchecked, c.Filters} {
		for i := range list {
			texts = append(texts, &list[i])
		}
	}
	for i := range c.Uncovered {
		texts = append(texts, &c.Uncovered[i].What, &c.Uncovered[i].Reason)
	}
	for _, text := range texts {
		shown, err := redact.line(*text, evidence.MaxCoverageLine)
		if err != nil {
			return c, err
		}
		*text = shown
	}
	return c, nil
}

// DecodeWitness reads what [EncodeWitness] wrote, and checks all of it first. The
// error is a [*CodeError]; then there is no witness, and every citation is refused
// (F30). What it cannot check is whether the host kept the bytes as they were:
// they are trusted host state, and carry no signature (F33).
func DecodeWitness(encoded []byte) (*Witness, error) {
	if err := checkVersion("witness", encoded, WitnessVersion); err != nil {
		return nil, err
	}
	var s storedWitness
	if err := json.Unmarshal(encoded, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, &CodeError{What: "witness", Reason: "not one JSON object of a witness"}
	}
	return s.witness()
}

// checkVersion looks at the version before anything else, since a newer form may
// differ in everything else.
func checkVersion(what string, encoded []byte, most int) error {
	var head struct {
		Version *int `json:"v"`
	}
	switch err := json.Unmarshal(encoded, &head); {
	case err != nil || head.Version == nil || *head.Version < 1:
		return &CodeError{What: what, Reason: "not one JSON object with a version"}
	case *head.Version > most:
		return &CodeError{What: what, Reason: canonical.ErrNewerVersion.Error(), cause: canonical.ErrNewerVersion}
	}
	return nil
}

func (s storedWitness) witness() (*Witness, error) {
	bad := func(reason string) (*Witness, error) { return nil, &CodeError{What: "witness", Reason: reason} }
	if s.Version != WitnessVersion {
		return bad("not of a known version")
	}
	if _, err := canonical.ParseRunID(string(s.Run)); err != nil || !isHex(s.Scope, 16) {
		return bad("the run or the digest of the scope is not valid")
	}
	if s.Gap != "" && (s.Gap != Overflow && s.Gap != Incomplete || len(s.Entries) > 0) {
		return bad("the gap is not known, or there are entries beside it")
	}
	w := &Witness{run: s.Run, scope: s.Scope, gap: s.Gap, entries: make(map[string]entry, len(s.Entries))}
	characters := 0
	for i, stored := range s.Entries {
		e, reason := stored.entry()
		if _, twice := w.entries[e.ID]; twice {
			reason = "the id has two entries"
		}
		characters += utf8.RuneCountInString(e.ID) * min(max(e.Times, 0), MaxIDCharacters+1)
		if len(w.entries) >= MaxResults || characters > MaxIDCharacters {
			reason = "over the bounds of a witness"
		}
		if reason != "" {
			return bad(fmt.Sprintf("entry %d: %s", i, reason))
		}
		w.order = append(w.order, e.ID)
		w.entries[e.ID] = e
	}
	return w, nil
}

// entry gives an entry, or the rule that it breaks.
func (s storedEntry) entry() (entry, string) {
	e := entry{ID: s.ID, Times: s.Times, Marks: s.Marks, Run: s.Run, Foreign: s.Foreign, Dispatch: s.Dispatch, Body: s.Body}
	switch {
	case s.ID == "" || s.Times < 1 || s.Marks < 0:
		return e, "no id, or a count that cannot be"
	case s.Body != BodyServed && s.Body != BodyWithheld && s.Body != BodyUnknown:
		return e, "not a visibility"
	case s.Dispatch != "" && s.Dispatch != Executed && s.Dispatch != NotDispatched:
		return e, "not a dispatch"
	case s.Marks != 1:
		if s.Run != "" || s.Call != "" || s.Foreign || s.Dispatch != "" || s.Record != nil {
			return e, "it is known without a mark"
		}
		return e, ""
	}
	call, err := canonical.ParseCallName(s.Call)
	if err != nil || string(call.ID) != s.ID {
		return e, "the call is not the one of the id"
	}
	if _, err := canonical.ParseRunID(string(s.Run)); err != nil {
		return e, "not a run id"
	}
	e.Call = call
	if s.Record == nil {
		return e, ""
	}
	if s.Foreign {
		return e, "a record of another run was read"
	}
	e.Record, err = s.Record.recorded()
	if err != nil {
		return e, "the record is not valid"
	}
	return e, ""
}

func (s storedRecord) recorded() (recorded, error) {
	r := recorded{Read: true, Unreadable: s.Unreadable, State: s.State, Status: s.Status}
	coverage, err := evidence.DecodeCoverage(s.Coverage)
	if err != nil {
		return r, err
	}
	r.Coverage = coverage
	probe := Record{State: r.State, Status: r.Status, Coverage: coverage, Unreadable: r.Unreadable}
	if probe.checkState() != "" || r.Status != evidence.None && !coverage.IsZero() {
		return r, &CodeError{What: "witness", Reason: "a record that cannot be"}
	}
	return r, nil
}
