package findings

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// LedgerVersion is the version of stored ledgers that this code writes and reads.
const LedgerVersion = 1

type storedLedger struct {
	Version int         `json:"v"`
	Omitted int         `json:"omitted,omitzero"`
	Rows    []storedRow `json:"rows,omitzero"`
}

type storedRow struct {
	Row
	Call   string `json:"call,omitzero"` // CallName.String; empty for an answer
	Answer Stage  `json:"answer,omitzero"`
}

// EncodeLedger is the stored form of a ledger, for the snapshot of its run: one
// JSON object. Refusals stay refusals in it (F31). Every text goes through the
// redactor; ids, too, so a redacted one no longer names its result here.
func EncodeLedger(l *Ledger, redact Redactor) ([]byte, error) {
	s := storedLedger{Version: LedgerVersion}
	var kept Ledger // redacted texts may be longer, and the bounds hold for them, too
	for _, r := range l.Rows() {
		shown, err := r.redacted(redact)
		if err != nil {
			return nil, &CodeError{What: "ledger", Reason: "the redactor failed"}
		}
		if !kept.add(shown) {
			continue
		}
		stored := storedRow{Row: shown, Answer: r.Origin.Answer}
		if r.Origin.Answer == "" {
			stored.Call = r.Origin.Call.String()
		}
		s.Rows = append(s.Rows, stored)
	}
	s.Omitted = l.Omitted() + kept.omitted
	return json.Marshal(s, json.Deterministic(true))
}

// redacted is a copy whose texts may be stored. A text that grows is cut to the
// bound of its field again.
func (r Row) redacted(redact Redactor) (Row, error) {
	r = r.clone()
	var failed error
	on := func(text *string, limit int) {
		shown, err := redact.line(*text, limit)
		if err != nil {
			failed = err
		}
		*text = shown
	}
	on(&r.ID, MaxListedID)
	for _, text := range []*string{&r.Line, &r.Proposition, &r.Predicts} {
		on(text, MaxLine)
	}
	for _, text := range []*string{&r.Scope, &r.TryInstead} {
		on(text, evidence.MaxCoverageLine)
	}
	on(&r.Key, maxKey)
	if r.Frame != nil {
		on(&r.Frame.Text, MaxFrame)
	}
	for i := range r.Assertions {
		a := &r.Assertions[i]
		for _, text := range []*string{&a.Subject.Kind, &a.Subject.ID, &a.Predicate} {
			on(text, evidence.MaxFactName)
		}
		on(&a.Value, evidence.MaxFactValue)
	}
	for i := range r.Witnesses {
		on(&r.Witnesses[i], MaxListedID)
	}
	for i := range r.NotChecked {
		on(&r.NotChecked[i], evidence.MaxCoverageLine)
	}
	for i := range r.CannotCover {
		on(&r.CannotCover[i].What, evidence.MaxCoverageLine)
		on(&r.CannotCover[i].Reason, evidence.MaxCoverageLine)
	}
	return r, failed
}

// maxKey bounds a key in bytes: three parts, each byte of which quoting may turn
// into ten.
const maxKey = 3 * (10*evidence.MaxFactName + 3)

func (r Row) clone() Row {
	r.Assertions, r.Witnesses = slices.Clone(r.Assertions), slices.Clone(r.Witnesses)
	r.NotChecked, r.CannotCover = slices.Clone(r.NotChecked), slices.Clone(r.CannotCover)
	if r.Frame != nil {
		frame := *r.Frame
		r.Frame = &frame
	}
	return r
}

// DecodeLedger reads what [EncodeLedger] wrote, and checks all of it first. The
// error is a [*CodeError], and then there is no ledger.
func DecodeLedger(encoded []byte) (*Ledger, error) {
	if err := checkVersion("ledger", encoded, LedgerVersion); err != nil {
		return nil, err
	}
	var s storedLedger
	if err := json.Unmarshal(encoded, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, &CodeError{What: "ledger", Reason: "not one JSON object of a ledger"}
	}
	if s.Omitted < 0 {
		return nil, &CodeError{What: "ledger", Reason: "a count that cannot be"}
	}
	l := &Ledger{}
	for i, stored := range s.Rows {
		r, reason := stored.row()
		if reason == "" && !l.add(r) {
			reason = "over the bounds of a ledger"
		}
		if reason != "" {
			return nil, &CodeError{What: "ledger", Reason: fmt.Sprintf("row %d: %s", i, reason)}
		}
	}
	l.omitted = s.Omitted
	return l, nil
}

// row gives a row, or the rule that it breaks.
func (s storedRow) row() (Row, string) {
	r := s.Row
	r.Origin.Answer = s.Answer
	switch {
	case s.Answer != "" && s.Answer != RawAnswer && s.Answer != TransformedAnswer, s.Answer != "" && s.Call != "":
		return r, "not an origin"
	case s.Answer == "":
		call, err := canonical.ParseCallName(s.Call)
		if err != nil {
			return r, "not an origin"
		}
		r.Origin.Call = call
	}
	return r, r.check()
}

func (r Row) check() string {
	switch {
	case !slices.Contains([]RowKind{RowBasis, RowStanding, RowConflict, RowRefusal, RowUnsettled}, r.Kind):
		return "not a kind"
	case r.Standing != "" && !r.Standing.Valid(), r.Basis != "" && !r.Basis.Valid(), r.Expect != "" && !r.Expect.Valid():
		return "not a word of its list"
	case r.Kind == RowStanding && r.Unknown == (r.Backing != ""):
		return "unknown and backing exclude each other"
	case r.Backing != "" && r.Backing != BacksFact && r.Backing != BacksAbsence && r.Backing != BacksIdentity:
		return "not a backing"
	case (r.Unknown || r.Kind == RowRefusal) && !r.Refused:
		return "a citation was refused and its proposal was not"
	case r.Frame != nil && utf8.RuneCountInString(r.Frame.Text) > MaxFrame:
		return "the frame is too long"
	case len(r.ID) > MaxListedID, len(r.Assertions) > MaxAssertions, r.Cut < 0, r.Dropped < 0:
		return "over the bounds of a row"
	}
	return ""
}
