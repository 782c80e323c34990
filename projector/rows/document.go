package rows

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// document is what the projector keeps of a raw document: everything but the
// rows after the first few, which are checked and counted.
type document struct {
	format      string
	database    string
	statement   string
	readAt      string
	parameters  []jsontext.Value
	columns     []column
	rows        [][]jsontext.Value // the first keep rows
	counted     int64              // all rows of the document
	rowCount    int64              // as stated
	truncated   bool
	truncatedBy string

	keep         int
	narrow, wide int // least and most cells of a row
	seen         map[string]bool
}

type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// DocumentError says why raw bytes are not a result that can be judged. It never
// repeats them.
type DocumentError struct {
	Member string // the member of the document at fault; empty for the whole
	Reason string
}

// Error names member and rule; neither is made of the document.
func (e *DocumentError) Error() string {
	if e.Member == "" {
		return "rows: document: " + e.Reason
	}
	return fmt.Sprintf("rows: document: %s: %s", e.Member, e.Reason)
}

// readDocument reads all of raw, strictly: one object, no member twice, valid
// UTF-8, nothing behind it, each row as wide as the columns, counts that agree.
func readDocument(ctx context.Context, raw []byte, keep int) (*document, error) {
	d := &document{keep: keep, seen: map[string]bool{}}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if dec.PeekKind() != '{' {
		return nil, &DocumentError{Reason: "not a JSON object"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, unreadable(err)
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, unreadable(err)
		}
		if err := d.member(ctx, dec, name.String()); err != nil {
			return nil, err
		}
	}
	if _, err := dec.ReadToken(); err != nil { // the closing brace, or where it should be
		return nil, unreadable(err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, &DocumentError{Reason: "something stands behind the document"}
	}
	return d, d.check()
}

// unreadable drops the decoder's error: its text quotes the input.
func unreadable(error) error {
	return &DocumentError{Reason: "cut short, or not valid JSON"}
}

func (d *document) member(ctx context.Context, dec *jsontext.Decoder, name string) error {
	d.seen[name] = true
	switch name {
	case "format":
		return readText(dec, name, &d.format)
	case "database":
		return readText(dec, name, &d.database)
	case "statement":
		return readText(dec, name, &d.statement)
	case "read_at":
		return readText(dec, name, &d.readAt)
	case "truncated_by":
		return readText(dec, name, &d.truncatedBy)
	case "columns":
		if err := json.UnmarshalDecode(dec, &d.columns); err != nil {
			return &DocumentError{Member: name, Reason: "not a list of columns"}
		}
		return nil
	case "parameters":
		row, err := readRow(dec)
		d.parameters = row
		return inMember(name, err)
	case "rows":
		return inMember(name, d.readRows(ctx, dec))
	case "row_count":
		return d.readCount(dec)
	case "truncated":
		token, err := dec.ReadToken()
		if err != nil || token.Kind() != 't' && token.Kind() != 'f' {
			return &DocumentError{Member: name, Reason: "not a boolean"}
		}
		d.truncated = token.Bool()
		return nil
	case "error":
		return &DocumentError{Member: name, Reason: "the tool reported an error; that is no absence"}
	}
	if err := dec.SkipValue(); err != nil {
		return unreadable(err)
	}
	return nil
}

func inMember(name string, err error) error {
	if detail, ok := err.(*DocumentError); ok && detail.Member == "" {
		detail.Member = name
	}
	return err
}

func readText(dec *jsontext.Decoder, name string, to *string) error {
	token, err := dec.ReadToken()
	if err != nil || token.Kind() != '"' {
		return &DocumentError{Member: name, Reason: "not a string"}
	}
	*to = token.String()
	return nil
}

func (d *document) readCount(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err == nil && value.Kind() == '0' {
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= 0 {
			d.rowCount = n
			return nil
		}
	}
	return &DocumentError{Member: "row_count", Reason: "not a whole number"}
}

func (d *document) readRows(ctx context.Context, dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' {
		return &DocumentError{Reason: "not an array"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return unreadable(err)
	}
	for ; dec.PeekKind() == '['; d.counted++ {
		if d.counted%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := d.readOne(dec); err != nil {
			return err
		}
	}
	if dec.PeekKind() != ']' {
		return &DocumentError{Reason: "a row is not an array"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return unreadable(err)
	}
	return nil
}

// readOne keeps one of the first rows and only measures a later one.
func (d *document) readOne(dec *jsontext.Decoder) error {
	var width int
	if d.counted < int64(d.keep) {
		row, err := readRow(dec)
		if err != nil {
			return err
		}
		d.rows = append(d.rows, row)
		width = len(row)
	} else {
		var err error
		if width, err = skipRow(dec); err != nil {
			return err
		}
	}
	if d.counted == 0 {
		d.narrow, d.wide = width, width
	}
	d.narrow, d.wide = min(d.narrow, width), max(d.wide, width)
	return nil
}

// readRow reads an array of cells. Cells stay as they are written: a number is
// never parsed.
func readRow(dec *jsontext.Decoder) ([]jsontext.Value, error) {
	row := []jsontext.Value{}
	err := eachCell(dec, func() error {
		value, err := dec.ReadValue()
		if err != nil {
			return unreadable(err)
		}
		row = append(row, value.Clone())
		return nil
	})
	return row, err
}

func skipRow(dec *jsontext.Decoder) (width int, err error) {
	err = eachCell(dec, func() error {
		width++
		if err := dec.SkipValue(); err != nil {
			return unreadable(err)
		}
		return nil
	})
	return width, err
}

// eachCell calls read for every cell of the next array, which is checked to have
// cells of the documented forms only.
func eachCell(dec *jsontext.Decoder, read func() error) error {
	if dec.PeekKind() != '[' {
		return &DocumentError{Reason: "not an array"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return unreadable(err)
	}
	for {
		switch kind := dec.PeekKind(); kind {
		case ']':
			_, err := dec.ReadToken()
			return err
		case '"', '0', 't', 'f', 'n', '{':
			if err := read(); err != nil {
				return err
			}
		case '[':
			return &DocumentError{Reason: "a cell is an array"}
		default:
			return unreadable(nil)
		}
	}
}

// binaryCell reads the object form of a cell and returns the number of its
// bytes.
func binaryCell(cell jsontext.Value) (size int, err error) {
	var marked struct {
		Base64 *string `json:"base64"`
	}
	if err := json.Unmarshal(cell, &marked, json.RejectUnknownMembers(true)); err != nil || marked.Base64 == nil {
		return 0, &DocumentError{Member: "rows", Reason: "a cell is an object, but not marked base64"}
	}
	content, err := base64.StdEncoding.Strict().DecodeString(*marked.Base64)
	if err != nil {
		return 0, &DocumentError{Member: "rows", Reason: "a cell marked base64 is not"}
	}
	return len(content), nil
}

// check compares the parts of a whole document with each other.
func (d *document) check() error {
	for _, name := range []string{"format", "columns", "rows", "row_count", "truncated"} {
		if !d.seen[name] {
			return &DocumentError{Member: name, Reason: "missing; a result without it was cut or is of another kind"}
		}
	}
	switch {
	case d.format != Format:
		return &DocumentError{Member: "format", Reason: "not " + Format}
	case len(d.columns) == 0:
		return &DocumentError{Member: "columns", Reason: "none; a statement without a result found nothing and proved nothing"}
	case d.counted > 0 && (d.narrow != len(d.columns) || d.wide != len(d.columns)):
		return &DocumentError{Member: "rows", Reason: "a row has not as many cells as there are columns"}
	case !d.truncated && d.rowCount != d.counted:
		return &DocumentError{Member: "row_count", Reason: "not the number of rows"}
	case d.truncated && d.rowCount < d.counted:
		return &DocumentError{Member: "row_count", Reason: "less than the number of rows"}
	case d.truncated && d.counted == 0:
		return &DocumentError{Member: "truncated", Reason: "cut before the first row; that is no absence"}
	}
	return nil
}
