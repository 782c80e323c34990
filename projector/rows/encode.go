package rows

import (
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Format is the first member of every document; the projector refuses others.
const Format = "rows/1"

// Words of truncated_by.
const (
	ByMaxRows    = "max_rows"
	ByMaxBytes   = "max_bytes"
	ByResultSets = "more_result_sets" // only the first result set is encoded
)

// Encode writes all rows of rs without caps of its own; the writer's limit is
// the cap. See [Encoder] for the rest.
func Encode(w io.Writer, rs *sql.Rows) error { return Encoder{}.Encode(w, rs) }

// Encoder writes results with caps and with their source. The zero value has
// neither. It is a plain value; use it for one Encode or for many.
type Encoder struct {
	MaxRows  int   // rows written; zero: no cap (200 is usual for an agent's tool)
	MaxBytes int64 // bytes of the whole document; zero: no cap (256 KiB is usual)

	// Where the rows come from. The model sees all of it in a coverage, so
	// nothing secret belongs here.
	Database   string    // database and schema that were really opened
	Statement  string    // written without its literals, see [Fingerprint]
	Parameters []any     // the values bound to it
	ReadAt     time.Time // when it was read; left out when zero
}

// Encode streams rs to w, a row at a time, and returns an [*EncodeError] as soon
// as anything fails; what was written by then is not a complete document. It
// reads rs to its end or to a cap and never closes it.
func (e Encoder) Encode(w io.Writer, rs *sql.Rows) error {
	if w == nil || rs == nil || e.MaxRows < 0 || e.MaxBytes < 0 {
		return &EncodeError{Step: StepOptions}
	}
	out := &documentWriter{w: w, max: e.MaxBytes}
	if err := e.head(out, rs); err != nil {
		return err
	}
	by, err := e.body(out, rs)
	if err != nil {
		return err
	}
	return out.write(tail(out.seen, by))
}

// head writes everything up to and including the bracket that opens the rows.
func (e Encoder) head(out *documentWriter, rs *sql.Rows) error {
	head := append([]byte(`{"format":`), `"`+Format+`"`...)
	for _, member := range []struct{ name, value string }{
		{"database", e.Database}, {"statement", Fingerprint(e.Statement)}, {"read_at", readAt(e.ReadAt)},
	} {
		if member.value != "" {
			head = appendText(append(head, `,"`+member.name+`":`...), member.value)
		}
	}
	if len(e.Parameters) > 0 {
		var err error
		if head, err = appendRow(append(head, `,"parameters":`...), e.Parameters); err != nil {
			return &EncodeError{Step: StepParameters, cause: err}
		}
	}
	columns, err := appendColumns(append(head, `,"columns":[`...), rs)
	if err != nil {
		return &EncodeError{Step: StepColumns, cause: err}
	}
	head = append(columns, `],"rows":[`...)
	if !out.fits(len(head)) {
		return &EncodeError{Step: StepHead, Size: int64(len(head)), Limit: e.MaxBytes}
	}
	return out.write(head)
}

// body writes the rows and returns the cap that ended them, if any did.
func (e Encoder) body(out *documentWriter, rs *sql.Rows) (by string, err error) {
	cells, targets := scanTargets(rs)
	for written := 0; rs.Next(); written++ {
		out.seen++
		if e.MaxRows > 0 && written == e.MaxRows {
			return ByMaxRows, nil
		}
		if err := rs.Scan(targets...); err != nil {
			return "", &EncodeError{Step: StepRead, Row: out.seen, cause: err}
		}
		out.row = out.row[:0]
		if written > 0 {
			out.row = append(out.row, ',')
		}
		if out.row, err = appendRow(out.row, cells); err != nil {
			return "", &EncodeError{Step: StepValue, Row: out.seen, cause: err}
		}
		if !out.fits(len(out.row)) {
			return ByMaxBytes, nil
		}
		if err := out.write(out.row); err != nil {
			return "", err
		}
	}
	if err := rs.Err(); err != nil {
		return "", &EncodeError{Step: StepRead, Row: out.seen, cause: err}
	}
	return moreResults(rs, out.seen)
}

// moreResults looks for a further result set with columns; some drivers end a
// procedure with an empty one, which holds nothing.
func moreResults(rs *sql.Rows, seen int64) (by string, err error) {
	for rs.NextResultSet() {
		if columns, err := rs.Columns(); err == nil && len(columns) > 0 {
			return ByResultSets, nil
		}
	}
	if err := rs.Err(); err != nil {
		return "", &EncodeError{Step: StepRead, Row: seen, cause: err}
	}
	return "", nil
}

func scanTargets(rs *sql.Rows) (cells, targets []any) {
	columns, _ := rs.Columns() // head has read them, so they are there
	cells, targets = make([]any, len(columns)), make([]any, len(columns))
	for i := range cells {
		targets[i] = &cells[i]
	}
	return cells, targets
}

func appendColumns(dst []byte, rs *sql.Rows) ([]byte, error) {
	names, err := rs.Columns()
	if err != nil {
		return nil, err
	}
	types, err := rs.ColumnTypes()
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(append(dst, `{"name":`...), name)
		if i < len(types) && types[i].DatabaseTypeName() != "" {
			dst = appendText(append(dst, `,"type":`...), types[i].DatabaseTypeName())
		}
		dst = append(dst, '}')
	}
	return dst, nil
}

// appendText quotes a name; bytes that are no UTF-8 become U+FFFD in it.
func appendText(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(text, "\uFFFD")) // no error is left to happen
	return dst
}

func readAt(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// tail closes the document. seen counts the row that hit a cap as well.
func tail(seen int64, by string) []byte {
	end := strconv.AppendInt([]byte(`],"row_count":`), seen, 10)
	if by == "" {
		return append(end, `,"truncated":false}`...)
	}
	return append(end, `,"truncated":true,"truncated_by":"`+by+`"}`...)
}

// maxTail is the room that every document keeps for its end.
const maxTail = len(`],"row_count":9223372036854775807,"truncated":true,"truncated_by":"more_result_sets"}`)

// documentWriter counts what it passes on.
type documentWriter struct {
	w       io.Writer
	max     int64 // zero: no cap
	written int64
	seen    int64  // rows read
	row     []byte // reused
}

func (d *documentWriter) fits(more int) bool {
	return d.max == 0 || d.written+int64(more+maxTail) <= d.max
}

func (d *documentWriter) write(p []byte) error {
	n, err := d.w.Write(p)
	d.written += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return &EncodeError{Step: StepWrite, Row: d.seen, cause: err}
	}
	return nil
}

// Step says what an encoder was doing when it failed.
type Step string

// The steps.
const (
	StepOptions    Step = "options"    // a nil writer or rows, a negative cap
	StepParameters Step = "parameters" // a bound value has no exact text
	StepColumns    Step = "columns"    // names or types could not be read
	StepHead       Step = "head"       // metadata and columns alone are over MaxBytes
	StepRead       Step = "read"       // the driver failed; the statement may not have ended
	StepValue      Step = "value"      // a cell has no exact text, see [*ValueError]
	StepWrite      Step = "write"      // the writer failed, or its limit was reached
)

// EncodeError is every failure of Encode. Its text never has the driver's text,
// which names hosts, users and values; errors.Is and errors.As reach that.
type EncodeError struct {
	Step  Step
	Row   int64 // rows read by then, this one included
	Size  int64 // bytes, for StepHead
	Limit int64

	cause error
}

// Error names step and row, sizes in bytes, and the column of a value that has
// no exact text.
func (e *EncodeError) Error() string {
	text := "rows: encode " + string(e.Step)
	if e.Row > 0 {
		text += fmt.Sprintf(" at row %d", e.Row)
	}
	if e.Limit > 0 {
		text += fmt.Sprintf(" (%d bytes, limit %d)", e.Size, e.Limit)
	}
	if value, ok := e.cause.(*ValueError); ok {
		text += ": " + value.Error()
	}
	return text
}

// GoString keeps %#v from walking into the driver's error.
func (e *EncodeError) GoString() string { return "&" + e.Error() }

// Unwrap gives the driver's, the writer's or the value's error.
func (e *EncodeError) Unwrap() error { return e.cause }
