package lines

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// DocumentError says why raw bytes are not a result that can be judged. It never
// repeats them.
type DocumentError struct {
	Member string // the member of the document at fault; empty for the whole
	Reason string
}

// Error names member and rule; neither is made of the document.
func (e *DocumentError) Error() string {
	return "lines: document: " + (&bounds.Fault{Member: e.Member, Reason: e.Reason}).Error()
}

// documentError gives a fault the type that this package promises.
func documentError(err error) error {
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return &DocumentError{Member: fault.Member, Reason: fault.Reason}
	}
	return err
}

// document is what the projector keeps of a raw document: everything but the
// records after the first few, which are counted.
type document struct {
	format         string
	sources        []string
	window         *evidence.Window // nil: no filter on time
	query          string
	queryIsDefault bool
	limit          int64 // zero: none
	order          Order
	retainedFrom   time.Time
	unreached      []evidence.Gap
	mock           bool
	success        bool // what the tool says of itself; true where it says nothing
	returned       int64
	cursor         string
	cutBy          string
	endReached     bool
	failed         []Failure

	keep    int
	samples []Record // the first keep records
	times   []time.Time
	tally   *tally
}

// readDocument reads all of raw, strictly.
func readDocument(ctx context.Context, raw []byte, keep int) (*document, error) {
	d := &document{keep: keep, success: true, tally: newTally()}
	met, err := bounds.Object(raw, func(dec *jsontext.Decoder, name string) error { return d.member(ctx, dec, name) })
	if err != nil {
		return nil, documentError(err)
	}
	return d, documentError(d.check(met))
}

func (d *document) member(ctx context.Context, dec *jsontext.Decoder, name string) error {
	switch name {
	case "records":
		return d.readRecords(ctx, dec)
	case "window":
		return d.readWindow(dec)
	case "retained_from":
		return readTime(dec, name, &d.retainedFrom)
	case "error":
		return &bounds.Fault{Member: name, Reason: "the tool reported an error; that is no absence"}
	case "status":
		return readStatus(dec)
	case "returned":
		return bounds.Count(dec, name, &d.returned)
	case "limit":
		return bounds.Count(dec, name, &d.limit)
	case "sources":
		return bounds.Decode(dec, name, &d.sources, "a list of strings")
	case "cannot_cover":
		return bounds.Decode(dec, name, &d.unreached, "a list of gaps")
	case "failed":
		return bounds.Decode(dec, name, &d.failed, "a list of failed sources")
	case "order":
		return bounds.Text(dec, name, (*string)(&d.order))
	}
	if text, ok := map[string]*string{"format": &d.format, "query": &d.query, "cursor": &d.cursor, "cut_by": &d.cutBy}[name]; ok {
		return bounds.Text(dec, name, text)
	}
	if flag, ok := map[string]*bool{
		"query_is_default": &d.queryIsDefault, "mock": &d.mock, "success": &d.success, "end_reached": &d.endReached,
	}[name]; ok {
		return bounds.Flag(dec, name, flag)
	}
	return bounds.Skip(dec)
}

// readStatus takes a status of a tool's own for what it says when it says error;
// any other is of no interest here.
func readStatus(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return bounds.Cut()
	}
	switch strings.ToLower(string(value)) {
	case `"error"`, `"failed"`, `"failure"`:
		return &bounds.Fault{Member: "status", Reason: "the tool reported an error; that is no absence"}
	}
	return nil
}

func readTime(dec *jsontext.Decoder, name string, to *time.Time) error {
	var text string
	if err := bounds.Text(dec, name, &text); err != nil {
		return err
	}
	var ok bool
	if *to, ok = parseTime(text); !ok {
		return &bounds.Fault{Member: name, Reason: "a time is not RFC 3339"}
	}
	return nil
}

func (d *document) readWindow(dec *jsontext.Decoder) error {
	var wire *wireWindow
	if err := bounds.Decode(dec, "window", &wire, "a window"); err != nil || wire == nil {
		return err
	}
	from, fromOK := parseTime(wire.From)
	to, toOK := parseTime(wire.To)
	switch {
	case !fromOK || !toOK:
		return &bounds.Fault{Member: "window", Reason: "a time is not RFC 3339"}
	case to.Before(from):
		return &bounds.Fault{Member: "window", Reason: "ends before it begins"}
	}
	d.window = &evidence.Window{From: from, To: to}
	return nil
}

func (d *document) readRecords(ctx context.Context, dec *jsontext.Decoder) error {
	return bounds.Array(dec, "records", func(i int64) error {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var wire wireRecord
		if err := bounds.Decode(dec, "records", &wire, "a list of records"); err != nil {
			return err
		}
		r, err := wire.record()
		if err != nil {
			return err
		}
		if len(d.samples) < d.keep {
			d.samples = append(d.samples, r)
		}
		if !r.Time.IsZero() {
			d.times = append(d.times, r.Time)
		}
		d.tally.add(r)
		return nil
	})
}

// check compares the parts of a whole document with each other.
func (d *document) check(met map[string]bool) error {
	for _, name := range []string{"format", "sources", "window", "query", "records", "returned", "end_reached"} {
		if !met[name] {
			return bounds.Missing(name)
		}
	}
	counted := d.tally.all.count
	for _, c := range []struct {
		bad            bool
		member, reason string
	}{
		{d.format != Format, "format", "not " + Format},
		{len(d.sources) == 0 || bounds.AnyBlank(d.sources), "sources", "none, or one without a name; nobody knows where was looked"},
		{!d.order.known(), "order", "not a known order"},
		{d.cutBy != "" && d.cutBy != ByLimit && d.cutBy != ByMaxBytes, "cut_by", "not a known cap"},
		{bounds.GapsBlank(d.unreached), "cannot_cover", "has an entry without a name or a reason"},
		{failuresBlank(d.failed), "failed", "has an entry without a name or a reason"},
		{met["limit"] && d.limit == 0, "limit", "zero; such a page cannot hold anything"},
		{d.returned != counted, "returned", "not the number of records"},
		{d.limit > 0 && counted > d.limit, "limit", "less than the number of records"},
		{!d.success && counted > 0, "success", "false beside records"},
		{counted == 0 && !d.complete(), "end_reached", "nothing on a page that is not the whole; that is no absence"},
		{counted == 0 && d.beyondRetention(), "retained_from", "behind the whole window; nothing of it was searched"},
	} {
		if c.bad {
			return &bounds.Fault{Member: c.member, Reason: c.reason}
		}
	}
	return nil
}

// complete reports whether the page is all that the window holds.
func (d *document) complete() bool {
	return d.endReached && !d.full() && d.cutBy == "" && len(d.failed) == 0
}

// full: a page that holds as many records as were asked for says nothing of the
// next one.
func (d *document) full() bool { return d.limit > 0 && d.tally.all.count >= d.limit }

// beyondRetention: all of the window was deleted already.
func (d *document) beyondRetention() bool {
	return d.window != nil && !d.retainedFrom.IsZero() && d.retainedFrom.After(d.window.To)
}

// accuracy says how counts are to be read.
func (d *document) accuracy() string {
	if d.complete() {
		return "exact"
	}
	return "at least"
}

// outside counts the records whose time lies outside the window.
func (d *document) outside() (n int64) {
	if d.window == nil {
		return 0
	}
	for _, t := range d.times {
		if t.Before(d.window.From) || t.After(d.window.To) {
			n++
		}
	}
	return n
}

func failuresBlank(failed []Failure) bool {
	for _, f := range failed {
		if bounds.Blank(f.Source) || bounds.Blank(f.Reason) {
			return true
		}
	}
	return false
}
