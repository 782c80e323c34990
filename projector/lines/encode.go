package lines

import (
	"errors"
	"io"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// Format is the first member of every document; the projector refuses others.
const Format = "lines/1"

// Words of cut_by.
const (
	ByLimit    = "limit"     // another record matched and the page had no room
	ByMaxBytes = "max_bytes" // the document would have passed its size
)

// Order says which record of the window comes first.
type Order string

// The orders. The zero Order says nothing.
const (
	NewestFirst Order = "newest_first"
	OldestFirst Order = "oldest_first"
)

// Encoder writes what one search returned. Its fields say what the search really
// did, after defaults were applied. The model sees them in a coverage, so nothing
// secret belongs here. It is a plain value, for one document or for many.
type Encoder struct {
	Sources        []string  // files, topics, indexes that were searched; at least one
	From, To       time.Time // the window; both zero: no filter on time
	Query          string    // as it ran; empty: every record
	QueryIsDefault bool      // the caller gave none and this one was used
	Limit          int       // records of a page; zero: no limit
	Order          Order
	RetainedFrom   time.Time      // what is older was deleted; zero: not known
	Unreached      []evidence.Gap // what no search of this tool can reach, with the reason
	Mock           bool           // the records are invented
	MaxBytes       int64          // of the whole document; zero: no cap (256 KiB is usual)
}

// Failure is a source that should have been searched and could not be.
type Failure struct {
	Source string `json:"source"`
	Reason string `json:"reason"` // for the model; no driver's text, no path, no host
}

// End says how far a search went.
type End struct {
	// Reached is true only when the search is known to have seen the last
	// record of its window: the service said so, or the file ended.
	Reached bool
	Cursor  string    // where the service would go on; a cursor alone proves no more records
	Failed  []Failure // sources that could not be searched; none of the others is affected
}

// Encode writes a page that is in memory. An executor that reads a stream uses
// [Encoder.Begin].
func (e Encoder) Encode(w io.Writer, records []Record, end End) error {
	out, err := e.Begin(w)
	if err != nil {
		return err
	}
	for _, r := range records {
		if more, err := out.Add(r); err != nil {
			return err
		} else if !more {
			break
		}
	}
	return out.Close(end)
}

// Begin checks the fields and writes all that stands before the records. An
// error is an [*EncodeError] that names the field.
func (e Encoder) Begin(w io.Writer) (*Writer, error) {
	if w == nil {
		return nil, &EncodeError{Field: "writer", Reason: "nil"}
	}
	head, err := e.head()
	if err != nil {
		return nil, err
	}
	out := &Writer{w: w, limit: int64(e.Limit), max: e.MaxBytes}
	if !out.fits(len(head)) {
		return nil, &EncodeError{Field: "max_bytes", Reason: "less than what stands before the records", Size: int64(len(head)), Limit: e.MaxBytes}
	}
	return out, out.write(head)
}

// wireWindow is a window as written.
type wireWindow struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type wireHead struct {
	Format         string         `json:"format"`
	Sources        []string       `json:"sources"`
	Window         *wireWindow    `json:"window"`
	Query          string         `json:"query"`
	QueryIsDefault bool           `json:"query_is_default,omitzero"`
	Limit          int            `json:"limit,omitzero"`
	Order          Order          `json:"order,omitempty"`
	RetainedFrom   string         `json:"retained_from,omitempty"`
	Unreached      []evidence.Gap `json:"cannot_cover,omitempty"`
	Mock           bool           `json:"mock,omitzero"`
}

func (e Encoder) head() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	wire := wireHead{
		Format: Format, Query: valid(e.Query), QueryIsDefault: e.QueryIsDefault, Limit: e.Limit, Order: e.Order, Mock: e.Mock,
	}
	for _, source := range e.Sources {
		wire.Sources = append(wire.Sources, valid(source))
	}
	for _, gap := range e.Unreached {
		wire.Unreached = append(wire.Unreached, evidence.Gap{What: valid(gap.What), Reason: valid(gap.Reason)})
	}
	if !e.From.IsZero() {
		from, _ := formatTime(e.From) // the years were checked
		to, _ := formatTime(e.To)
		wire.Window = &wireWindow{From: from, To: to}
	}
	if !e.RetainedFrom.IsZero() {
		wire.RetainedFrom, _ = formatTime(e.RetainedFrom)
	}
	head, err := json.Marshal(wire, json.Deterministic(true))
	if err != nil {
		return nil, &EncodeError{Field: "encoder", Reason: "cannot be written as JSON", cause: err}
	}
	return append(head[:len(head)-len("}")], `,"records":[`...), nil
}

// check refuses what the projector would refuse, before anything is written.
func (e Encoder) check() error {
	fromOK, toOK, retainedOK := inYears(e.From), inYears(e.To), inYears(e.RetainedFrom)
	for _, c := range []struct {
		bad           bool
		field, reason string
	}{
		{len(e.Sources) == 0 || bounds.AnyBlank(e.Sources), "sources", "none, or one without a name"},
		{e.From.IsZero() != e.To.IsZero(), "window", "open at one end; resolve it first"},
		{!fromOK || !toOK, "window", errYear.Error()},
		{e.To.Before(e.From), "window", "ends before it begins"},
		{!retainedOK, "retained_from", errYear.Error()},
		{e.Limit < 0, "limit", "negative"},
		{e.MaxBytes < 0, "max_bytes", "negative"},
		{!e.Order.known(), "order", "not a known order"},
		{bounds.GapsBlank(e.Unreached), "cannot_cover", "has an entry without a name or a reason"},
	} {
		if c.bad {
			return &EncodeError{Field: c.field, Reason: c.reason}
		}
	}
	return nil
}

func (o Order) known() bool { return o == "" || o == NewestFirst || o == OldestFirst }

func inYears(t time.Time) bool {
	_, ok := formatTime(t)
	return ok
}

var errYear = errors.New("outside the years 0 to 9999")
