package text

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// omittedName is the member that counts what is missing. It begins with the mark
// of a cut, so that it can hardly be a member of the tool's.
const omittedName = evidence.ClipMark + "omitted"

// detail is how much of a JSON value is shown.
type detail struct {
	text    int // bytes of a string or number
	items   int // elements of an array
	members int // members of an object
	depth   int // levels of containers
}

const all = math.MaxInt

// Where strings stop being shortened before elements are left out, and how many
// elements are kept before strings are shortened further.
const (
	enoughText  = 256
	enoughItems = 8
)

// details are the steps from showing everything to showing next to nothing:
// long strings go first, then elements, then the rest.
func details(maxBytes, depth int) []detail {
	steps := []detail{{all, all, all, depth}}
	for text := maxBytes - maxBytes/16; text > enoughText; text -= text / 4 {
		steps = append(steps, detail{text, all, all, depth})
	}
	for items := 512; items >= enoughItems; items /= 2 {
		steps = append(steps, detail{enoughText, items, max(items, 16), depth})
	}
	for _, last := range []detail{{128, 8, 16, depth}, {64, 8, 16, depth}, {64, 4, 16, 6}, {32, 4, 8, 4}, {32, 2, 8, 3}, {16, 1, 4, 2}, {16, 1, 2, 1}, {16, 0, 0, 1}} {
		last.depth = min(last.depth, depth)
		steps = append(steps, last)
	}
	return steps
}

// errFull ends an attempt that has passed the limit.
var errFull = errors.New("the limit is reached")

// shape writes the JSON of r in at most maxBytes.
func shape(ctx context.Context, r *result, maxBytes, depth int) ([]byte, error) {
	steps, seen := details(maxBytes, depth), map[int64]longText{}
	for _, least := range []int64{enoughItems, 1, 0} { // elements of a top array that make a step good enough
		for _, much := range steps {
			w := &writer{ctx: ctx, dec: newDecoder(r.value), max: maxBytes, much: much, seen: seen}
			out, err := w.attempt(r, least)
			if err != errFull {
				return out, err
			}
		}
		if r.kind != '[' {
			break
		}
	}
	return nil, &projector.Error{Kind: projector.TooLarge, Field: projector.FieldResult, Size: int64(max(maxBytes, 0) + 1), Limit: int64(max(maxBytes, 1))}
}

// attempt writes r at one step. A top array that does not fit is filled with the
// elements that do, if they are as many as least or all.
func (w *writer) attempt(r *result, least int64) ([]byte, error) {
	if r.kind != '[' || w.much.items == all && least == enoughItems {
		err := w.value(0)
		if err != errFull || r.kind != '[' {
			return w.out, err
		}
	}
	w.dec, w.out = newDecoder(r.value), nil
	return w.fillArray(r, least)
}

// fillArray writes a top array as an object that says how many elements it has
// and how many not.
func (w *writer) fillArray(r *result, least int64) ([]byte, error) {
	tail := func(shown int64) string {
		return fmt.Sprintf(`],"returned":%d,"omitted":%d}`, shown, r.members-shown)
	}
	w.max -= len(tail(r.members)) + len(strconv.FormatInt(r.members, 10)) // its longest form
	if err := w.write(`{"items":[`); err != nil {
		return nil, err
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return nil, err
	}
	shown := int64(0)
	for w.dec.PeekKind() != ']' {
		before := len(w.out)
		if shown > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(1); err == errFull {
			w.out = w.out[:before]
			break
		} else if err != nil {
			return nil, err
		}
		shown++
	}
	if shown < min(least, r.members) {
		return nil, errFull
	}
	return append(w.out, tail(shown)...), nil
}

// writer copies one value, showing as much of it as its detail says.
type writer struct {
	ctx    context.Context
	dec    *jsontext.Decoder
	out    []byte
	max    int
	much   detail
	values int
	seen   map[int64]longText // by offset; shared by all attempts
}

// longText is a string that takes long to decode, cut to what can be shown.
type longText struct {
	head string
	size int // bytes of the whole
}

// longLiteral is the size in bytes from which a string is decoded only once.
const longLiteral = 64 << 10

func (w *writer) write(text string) error {
	if len(w.out)+len(text) > w.max {
		return errFull
	}
	w.out = append(w.out, text...)
	return nil
}

// value writes the next value; level is the number of containers around it.
func (w *writer) value(level int) error {
	if w.values++; w.values%1024 == 0 && w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	switch w.dec.PeekKind() {
	case '{':
		return w.object(level)
	case '[':
		return w.array(level)
	}
	value, err := w.dec.ReadValue()
	if err != nil {
		return err
	}
	switch value.Kind() {
	case '"':
		return w.text(w.decoded(value))
	case '0':
		if len(value) > max(w.much.text, 40) { // no number that anybody computes with
			return w.text(string(value), len(value))
		}
	}
	return w.write(string(value))
}

// decoded is the text of a string, or more of it than can be shown, and the size
// of the whole.
func (w *writer) decoded(value jsontext.Value) (text string, size int) {
	if len(value) < longLiteral {
		text = unquoted(value)
		return text, len(text)
	}
	long, ok := w.seen[w.dec.InputOffset()]
	if !ok {
		text = unquoted(value)
		long = longText{head: evidence.Clip(text, w.max+2*len(evidence.ClipMark)), size: len(text)}
		w.seen[w.dec.InputOffset()] = long
	}
	return long.head, long.size
}

func (w *writer) text(text string, size int) error {
	if min(size, w.much.text) > w.max {
		return errFull
	}
	return w.write(string(appendString(nil, clip(text, size, w.much.text))))
}

// clip cuts a text of the given size, or the beginning of one, at a rune boundary
// and says how long the whole is. Line feeds stay: in JSON they are escapes.
func clip(text string, whole, limit int) string {
	if whole <= limit {
		return text
	}
	size := fmt.Sprintf("[%d bytes]", whole)
	if room := limit - len(size); room > len(evidence.ClipMark) {
		return evidence.Clip(text, room) + size
	}
	return evidence.Clip(text, limit)
}

func (w *writer) array(level int) error {
	if err := w.open("["); err != nil {
		return err
	}
	shown, omitted := 0, 0
	for w.dec.PeekKind() != ']' {
		if shown == w.much.items || level >= w.much.depth {
			omitted++
			if err := w.skip(omitted); err != nil {
				return err
			}
			continue
		}
		if shown > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(level + 1); err != nil {
			return err
		}
		shown++
	}
	if omitted > 0 {
		statement := fmt.Sprintf(`{"%s":%d}`, omittedName, omitted)
		if shown > 0 {
			statement = "," + statement
		}
		if err := w.write(statement); err != nil {
			return err
		}
	}
	return w.close("]")
}

func (w *writer) object(level int) error {
	if err := w.open("{"); err != nil {
		return err
	}
	shown, omitted, counter := 0, 0, omittedName
	for w.dec.PeekKind() != '}' {
		token, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if shown == w.much.members || level >= w.much.depth || len(name) > max(w.much.text, 64) {
			omitted++
			if err := w.skip(omitted); err != nil {
				return err
			}
			continue
		}
		if strings.HasSuffix(name, counter) {
			counter = evidence.ClipMark + name // so it is no shown name, before or after this one
		}
		if err := w.member(name, shown > 0); err != nil {
			return err
		}
		if err := w.value(level + 1); err != nil {
			return err
		}
		shown++
	}
	if omitted > 0 {
		if err := w.member(counter, shown > 0); err != nil {
			return err
		}
		if err := w.write(strconv.Itoa(omitted)); err != nil {
			return err
		}
	}
	return w.close("}")
}

// member writes a name.
func (w *writer) member(name string, comma bool) error {
	if comma {
		w.out = append(w.out, ',')
	}
	return w.write(string(appendString(nil, name)) + ":")
}

func (w *writer) open(bracket string) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	return w.write(bracket)
}

func (w *writer) close(bracket string) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	return w.write(bracket)
}

// skip passes over a value that is not shown; n counts such values.
func (w *writer) skip(n int) error {
	if n%1024 == 0 && w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	return w.dec.SkipValue()
}
