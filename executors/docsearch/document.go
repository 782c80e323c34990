package docsearch

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a document, in bytes.
const (
	MaxIDBytes         = 256
	MaxTitleBytes      = 1 << 10
	MaxTextBytes       = 1 << 20
	MaxFieldValueBytes = 256
)

// Document is one document, or one chunk of a longer one: what a search finds.
type Document struct {
	ID    string // unique in the index; 1 to 256 bytes of printable text
	Title string // at most 1 KiB of UTF-8
	Text  string // at most 1 MiB of UTF-8, not blank

	// Of names the document that this is a chunk of, and Position its place there,
	// from 1. Empty and zero: the document is whole.
	Of       string
	Position int

	// Fields are exact values for filters; the names are those of the
	// configuration.
	Fields map[string]string
}

// Of makes a sequence for [Build] of documents in memory.
func Of(documents ...Document) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, d := range documents {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// DocumentError says which document cannot be taken into an index, and why. It
// names its place and never its text.
type DocumentError struct {
	Number int // from 1, in the order of the sequence
	Field  string
	Reason string

	cause error
}

// Error has place, field and rule.
func (e *DocumentError) Error() string {
	return fmt.Sprintf("docsearch: document %d: %s: %s", e.Number, e.Field, e.Reason)
}

// Unwrap gives the error of the sequence, or nil.
func (e *DocumentError) Unwrap() error { return e.cause }

// check refuses what an index could not hold or would not find again.
func (d Document) check(number int, fields []string) error {
	for _, c := range []struct {
		bad           bool
		field, reason string
	}{
		{d.ID == "" || !printable(d.ID, MaxIDBytes), "ID", "must be 1 to 256 bytes of printable text"},
		{len(d.Title) > MaxTitleBytes || !utf8.ValidString(d.Title), "Title", "must be at most 1 KiB of UTF-8"},
		{len(d.Text) > MaxTextBytes || !utf8.ValidString(d.Text), "Text", "must be at most 1 MiB of UTF-8"},
		{strings.TrimSpace(d.Text) == "", "Text", "is blank"},
		{!printable(d.Of, MaxIDBytes), "Of", "must be at most 256 bytes of printable text"},
		{d.Position < 0 || d.Position > 0 && d.Of == "", "Position", "is negative, or there is no document that this is a chunk of"},
	} {
		if c.bad {
			return &DocumentError{Number: number, Field: c.field, Reason: c.reason}
		}
	}
	for name, value := range d.Fields {
		if !slices.Contains(fields, name) {
			return &DocumentError{Number: number, Field: "Fields", Reason: "has a name that the configuration does not have"}
		}
		if value == "" || !printable(value, MaxFieldValueBytes) {
			return &DocumentError{Number: number, Field: "Fields." + name, Reason: "must be 1 to 256 bytes of printable text"}
		}
	}
	return nil
}
