package tools

import (
	"errors"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/retrieval"
)

// What a model is told when nothing could be read.
const (
	Missing      lifecycle.Code = "EVIDENCE_MISSING"
	NoResult     lifecycle.Code = "EVIDENCE_WITHOUT_RESULT"
	LookupBudget lifecycle.Code = "EVIDENCE_LOOKUP_BUDGET"
	Busy         lifecycle.Code = "EVIDENCE_BUSY"
	ViewChanged  lifecycle.Code = "EVIDENCE_VIEW_CHANGED"
	Withheld     lifecycle.Code = "EVIDENCE_WITHHELD"
	Unreadable   lifecycle.Code = "EVIDENCE_UNREADABLE"
	Unavailable  lifecycle.Code = "EVIDENCE_UNAVAILABLE"
	Selection    lifecycle.Code = "EVIDENCE_SELECTION"
)

// rows are the codes, why each is said, and the model's text.
var rows = [...]struct {
	code lifecycle.Code
	why  error
	text string
}{
	{LookupBudget, retrieval.ErrLookupBudget, "The look-up ended before all runs were looked at. This does not say that the evidence does not exist. Give the full reference instead of the id."},
	{NoResult, retrieval.ErrNoResult, "The call is recorded, and no result of it is stored."},
	{Missing, retrieval.ErrMissing, "There is no such evidence. The id may be wrong, or the evidence has expired."},
	{Busy, retrieval.ErrBusy, "Too many reads are under way. Nothing was read. Try again later."},
	{ViewChanged, retrieval.ErrViewChanged, "The text is not the one of the earlier part any more. Read again from offset 0."},
	{Withheld, retrieval.ErrWithheld, "The text cannot be shown."},
	{Unreadable, retrieval.ErrCorrupt, "The stored evidence is damaged and cannot be used."},
	{Unreadable, retrieval.ErrVersion, "The stored evidence is damaged and cannot be used."},
	{Unreadable, retrieval.ErrTooLarge, "The stored evidence is damaged and cannot be used."},
	{Selection, retrieval.ErrCursor, "What was selected does not fit: use the offset, view, reference and cursor exactly as they were given."},
	{Selection, retrieval.ErrReference, "What was selected does not fit: use the offset, view, reference and cursor exactly as they were given."},
	{Selection, retrieval.ErrArgument, "What was selected does not fit: use the offset, view, reference and cursor exactly as they were given."},
	{Unavailable, retrieval.ErrUnavailable, "The evidence could not be looked at. This does not say that it does not exist."},
}

// Codes are for boundary.Config.Codes.
func Codes() map[lifecycle.Code]string {
	out := make(map[lifecycle.Code]string, len(rows))
	for _, row := range rows {
		out[row.code] = row.text
	}
	return out
}

// coded gives an error its code. Nothing was changed by any of them.
func coded(err error) error {
	for _, row := range rows {
		if errors.Is(err, row.why) {
			return boundary.NotApplied(row.code, err)
		}
	}
	return boundary.NotApplied(Unavailable, err)
}
