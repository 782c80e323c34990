package lines

import (
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/projector/internal/bounds"
)

// Writer writes the records of one document. It is for one goroutine.
type Writer struct {
	w        io.Writer
	limit    int64 // records; zero: none
	max      int64 // bytes; zero: none
	written  int64
	returned int64
	cutBy    string
	err      error // the first; nothing is written after it
	closed   bool
}

// Add writes one record, unless the page is full: then it returns false, the
// document states that more matched, and the search can stop. After an error the
// document is lost.
func (d *Writer) Add(r Record) (more bool, err error) {
	switch {
	case d.err != nil:
		return false, d.err
	case d.closed:
		return false, &EncodeError{Field: "record", Reason: "added after Close"}
	case d.cutBy != "":
		return false, nil
	case d.limit > 0 && d.returned == d.limit:
		d.cutBy = ByLimit
		return false, nil
	}
	encoded, err := encodeRecord(r)
	if err != nil {
		d.err = &EncodeError{Field: "record", Record: d.returned + 1, Reason: "cannot be written", cause: err}
		return false, d.err
	}
	if d.returned > 0 {
		encoded = append([]byte{','}, encoded...)
	}
	if !d.fits(len(encoded)) {
		d.cutBy = ByMaxBytes
		return false, nil
	}
	if err := d.write(encoded); err != nil {
		return false, err
	}
	d.returned++
	return true, nil
}

type wireEnd struct {
	Returned   int64     `json:"returned"`
	Failed     []Failure `json:"failed,omitempty"`
	Cursor     string    `json:"cursor,omitempty"`
	CutBy      string    `json:"cut_by,omitempty"`
	EndReached bool      `json:"end_reached"`
}

// Close writes the end. Whatever end says, it was not reached where a record was
// refused by Add. Failures and cursor are not counted in MaxBytes.
func (d *Writer) Close(end End) error {
	if d.err != nil {
		return d.err
	}
	if d.closed {
		return &EncodeError{Field: "document", Reason: "closed twice"}
	}
	wire := wireEnd{Returned: d.returned, Cursor: valid(end.Cursor), CutBy: d.cutBy, EndReached: end.Reached && d.cutBy == ""}
	for _, f := range end.Failed {
		if bounds.Blank(f.Source) || bounds.Blank(f.Reason) {
			return &EncodeError{Field: "failed", Reason: "has an entry without a name or a reason"}
		}
		wire.Failed = append(wire.Failed, Failure{Source: valid(f.Source), Reason: valid(f.Reason)})
	}
	tail, err := json.Marshal(wire, json.Deterministic(true))
	if err != nil {
		return &EncodeError{Field: "document", Reason: "cannot be written as JSON", cause: err}
	}
	d.closed = true
	return d.write(append([]byte("],"), tail[len("{"):]...))
}

// maxTail is the room that every document keeps for an end without failures and
// cursor.
const maxTail = len(`],"returned":9223372036854775807,"cut_by":"max_bytes","end_reached":false}`)

func (d *Writer) fits(more int) bool { return d.max == 0 || d.written+int64(more+maxTail) <= d.max }

func (d *Writer) write(p []byte) error {
	n, err := d.w.Write(p)
	d.written += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		d.err = &EncodeError{Field: "writer", Record: d.returned, Reason: "failed, or its limit was reached", cause: err}
		return d.err
	}
	return nil
}

// EncodeError is every failure of an encoder. Its text never has the writer's
// text or a record; errors.Is and errors.As reach the cause.
type EncodeError struct {
	Field  string // field of the encoder, "record", "writer" or "document"
	Record int64  // which record, from 1; zero: none
	Reason string
	Size   int64 // bytes, where the reason is a size
	Limit  int64

	cause error
}

// Error names field, record and rule, sizes in bytes.
func (e *EncodeError) Error() string {
	text := "lines: encode " + e.Field
	if e.Record > 0 {
		text += " " + strconv.FormatInt(e.Record, 10)
	}
	text += ": " + e.Reason
	if e.Limit > 0 {
		text += fmt.Sprintf(" (%d bytes, limit %d)", e.Size, e.Limit)
	}
	return text
}

// GoString keeps %#v from walking into the cause.
func (e *EncodeError) GoString() string { return "&" + e.Error() }

// Unwrap gives the writer's error, or nil.
func (e *EncodeError) Unwrap() error { return e.cause }
