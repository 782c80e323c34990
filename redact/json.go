package redact

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxEmbedding is how often a JSON text may stand in a string of another one.
// Each level doubles the backslashes, so real data has two or three.
const maxEmbedding = 10

// maxTables is how deep tables may stand in each other: each is read once more for
// itself, and so is all that is in it.
const maxTables = 8

// decoder reads whatever some parser would take as JSON: repeated members and
// broken UTF-8 must not turn a document into text, in which keys are not seen.
func decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// isJSON reports whether text is one JSON value or several, with white space
// around them. Too deep is an error, since what cannot be looked into cannot be
// shown.
func (p *pass) isJSON(text []byte) (bool, error) {
	dec := decoder(text)
	for empty := true; ; empty = false {
		switch _, err := dec.ReadToken(); {
		case errors.Is(err, io.EOF):
			return !empty, nil
		case err != nil:
			return false, nil
		case dec.StackDepth() > p.limits.Depth:
			return false, &Error{Err: ErrTooDeep, Limit: int64(p.limits.Depth)}
		}
	}
}

// frame is one object or array that the walk is in.
type frame struct {
	object  bool
	start   int
	name    string // of the member whose value comes next
	secret  bool   // that name is a credential's
	named   bool   // {"name":"Authorization","value":...}: the name is a credential's
	paired  extent // the value of such an object
	columns extent // of a table that is this object
	rows    extent
	tables  int // how deep tables stand in each other below here
}

// extent is where a value stands in the document.
type extent struct{ start, end int }

func (e extent) of(text []byte) []byte { return text[e.start:e.end] }

// inside is what stands between the quotes of a string.
func (e extent) inside(text []byte) []byte { return text[e.start+1 : e.end-1] }

// walk is one reading of a valid document.
type walk struct {
	*pass
	text  []byte
	dec   *jsontext.Decoder
	base  int // where dec began in text
	level int
	stack []frame
	names map[string]int // how often each member name is taken; made when the first one is changed
	edits []edit
}

func (p *pass) json(text []byte, level int) ([]edit, error) {
	w := walk{pass: p, text: text, dec: decoder(text), level: level, stack: []frame{{}}}
	for {
		switch err := w.next(); {
		case errors.Is(err, io.EOF):
			return w.edits, nil
		case err != nil:
			return nil, err
		}
	}
}

func (w *walk) top() *frame { return &w.stack[len(w.stack)-1] }

// next reads a member name, a plain value, a credential's whole value, or the
// beginning or end of an object or array.
func (w *walk) next() error {
	kind := w.dec.PeekKind()
	in, length := w.dec.StackIndex(w.dec.StackDepth())
	atName := in == '{' && length%2 == 0 && kind != '}'
	f := w.top()
	if f.object && !atName && f.secret && kind != '}' {
		f.secret = false
		at, err := w.read(w.dec.SkipValue)
		if err == nil && !harmless(at.of(w.text)) {
			w.replace(at)
		}
		return err
	}
	at, err := w.read(func() error { _, err := w.dec.ReadToken(); return err })
	if err != nil {
		return err
	}
	switch {
	case atName:
		return w.memberName(at)
	case kind == '{', kind == '[':
		w.stack = append(w.stack, frame{object: kind == '{', start: at.start})
		return nil
	case kind == '}', kind == ']':
		return w.closed(at.end)
	case kind == '"':
		w.ended(at)
		return w.literal(at, f.name)
	}
	w.ended(at)
	return nil
}

// read tells where what it reads stands: behind white space, commas and colons.
func (w *walk) read(one func() error) (extent, error) {
	start := w.base + int(w.dec.InputOffset())
	for start < len(w.text) && strings.IndexByte(" \t\r\n,:", w.text[start]) >= 0 {
		start++
	}
	err := one()
	return extent{start, w.base + int(w.dec.InputOffset())}, err
}

func (w *walk) replace(at extent) {
	w.edits = append(w.edits, edit{at.start, at.end, strconv.Quote(Replacement)})
}

// closed ends an object or array. Pairs and tables are judged here, when all of
// the members are known.
func (w *walk) closed(end int) error {
	f := *w.top()
	w.stack = w.stack[:len(w.stack)-1]
	if f.named && f.paired.end > 0 && !harmless(f.paired.of(w.text)) {
		w.replace(f.paired)
	}
	if f.columns.end > 0 && f.rows.end > 0 {
		if f.tables++; f.tables > maxTables {
			return &Error{Err: ErrTooDeep, Detail: "tables in tables", Limit: maxTables}
		}
		w.table(f.columns, f.rows)
	}
	w.top().tables = max(w.top().tables, f.tables)
	w.ended(extent{f.start, end})
	return w.enough()
}

// literal looks into a string: for findings, and for JSON in it.
func (w *walk) literal(at extent, name string) error {
	content := at.inside(w.text)
	if w.plain(content) {
		return nil
	}
	found, err := w.document(decoded(content), name, w.level+1)
	if err != nil || len(found) == 0 {
		return err
	}
	w.edits = append(w.edits, carried(content, at.start+1, found)...)
	return w.enough()
}

// enough stops a document that has more to replace than is allowed, before the
// list of edits outgrows the document.
func (w *walk) enough() error {
	if len(w.edits) > w.limits.Replacements {
		return &Error{Err: ErrTooMany, Limit: int64(w.limits.Replacements)}
	}
	return nil
}

// plain strings need no look: nothing in them can be JSON, and there are no rules.
func (w *walk) plain(content []byte) bool {
	return len(w.rules) == 0 && !bytes.ContainsAny(content, `{["\\`)
}

// harmless values hold nothing: null, booleans, what is empty. They stay, since
// hasPassword:false says something worth knowing.
func harmless(value []byte) bool {
	switch value[0] {
	case 'n', 't', 'f':
		return true
	case '"':
		return len(value) == 2
	case '[', '{':
		return len(bytes.Trim(value[1:len(value)-1], " \t\r\n")) == 0
	}
	return false
}
