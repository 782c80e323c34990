package conversation

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"unicode/utf8"
)

// value is one JSON value, known to be valid, as it stands in the file.
type value struct {
	raw   []byte // without space around it
	at    int    // offset in the file; of the enclosing string where inner is set
	inner bool   // came out of a recorded string, whose offsets mean nothing in the file
}

func (v value) part(from, to int) value {
	if v.inner {
		return value{raw: v.raw[from:to:to], at: v.at, inner: true}
	}
	return value{raw: v.raw[from:to:to], at: v.at + from}
}

func (v value) isObject() bool { return len(v.raw) > 0 && v.raw[0] == '{' }
func (v value) isArray() bool  { return len(v.raw) > 0 && v.raw[0] == '[' }
func (v value) isString() bool { return len(v.raw) > 0 && v.raw[0] == '"' }
func (v value) isNull() bool   { return len(v.raw) == 0 || v.raw[0] == 'n' }

// elements are the values of an array; of anything else there are none.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		if !v.isArray() {
			return
		}
		for i := skip(v.raw, 1); v.raw[i] != ']'; i = skip(v.raw, i) {
			to := end(v.raw, i)
			if !yield(v.part(i, to)) {
				return
			}
			i = to
		}
	}
}

// member is one name and value of an object. The name is decoded; broken Unicode in it matches nothing.
type member struct {
	name string
	value
}

// object is a JSON object with its members in the order of the text, each still undecoded.
type object struct {
	r       *reader
	at      int
	members []member
}

// object takes an object apart by one level. Anything else has no members.
func (r *reader) object(v value) object {
	o := object{r: r, at: v.at}
	if !v.isObject() {
		return o
	}
	for i := skip(v.raw, 1); v.raw[i] != '}'; i = skip(v.raw, i) {
		to := end(v.raw, i)
		name, _ := unquote(v.raw[i:to])
		from := skip(v.raw, to)
		to = end(v.raw, from)
		o.members = append(o.members, member{name, v.part(from, to)})
		i = to
	}
	return o
}

// get is the member of that name unless it is absent or null. A name that occurs twice is a failure of the file.
func (o object) get(name string) (value, bool) {
	var found value
	seen := false
	for _, m := range o.members {
		if m.name != name {
			continue
		}
		if seen {
			o.r.fail(m.at, ReasonDuplicate)
		}
		found, seen = m.value, true
	}
	return found, seen && !found.isNull()
}

// peek is the first member of that name, and never a failure: it serves to recognise what an object is.
func (o object) peek(name string) value {
	for _, m := range o.members {
		if m.name == name {
			return m.value
		}
	}
	return value{}
}

// has tells whether the object has a member of that name at all; null counts.
func (o object) has(names ...string) bool {
	for _, m := range o.members {
		for _, name := range names {
			if m.name == name {
				return true
			}
		}
	}
	return false
}

// first is the first of these members that is there and not null.
func (o object) first(names ...string) (value, bool) {
	for _, name := range names {
		if v, ok := o.get(name); ok {
			return v, true
		}
	}
	return value{}, false
}

// child takes the member apart; an absent one, or one that is no object, has no members.
func (o object) child(name string) object {
	v, _ := o.get(name)
	return o.r.object(v)
}

// text is a member that must be a string; empty where it is absent or null.
func (o object) text(names ...string) string {
	v, ok := o.first(names...)
	if !ok {
		return ""
	}
	if !v.isString() {
		o.r.fail(v.at, ReasonShape)
		return ""
	}
	return string(o.r.bytes(v))
}

// word is a member by which the format is recognised: empty unless it is a well-formed string, and never a failure.
func (o object) word(name string) string {
	v := o.peek(name)
	if !v.isString() {
		return ""
	}
	text, _ := unquote(v.raw)
	return text
}

// array is a member that must be an array where it is there and not null.
func (o object) array(name string) value {
	v, ok := o.get(name)
	if ok && !v.isArray() {
		o.r.fail(v.at, ReasonShape)
	}
	return v
}

// bytes is what was recorded, as a copy: the text of a string, the exact JSON of anything else.
func (r *reader) bytes(v value) []byte {
	if !v.isString() {
		return append([]byte{}, v.raw...)
	}
	text, ok := unquote(v.raw)
	if !ok {
		r.fail(v.at, ReasonText)
	}
	return []byte(text)
}

// skip moves over space, commas and colons, which in valid JSON say nothing that the walk needs.
func skip(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t' || raw[i] == ',' || raw[i] == ':' {
		i++
	}
	return i
}

// end is the offset behind the value that starts at i. It counts brackets and does not recurse, so that depth costs nothing.
func end(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = closing(raw, i)
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			for i+1 < len(raw) && bytes.IndexByte([]byte(" \n\r\t,]}"), raw[i+1]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(raw)
}

// closing is the offset of the quote that ends the string which starts at i.
func closing(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

// unquote decodes a JSON string; it reports false where the string is no valid Unicode.
func unquote(raw []byte) (string, bool) {
	if !utf8.Valid(raw) {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	if !pairedSurrogates(raw) {
		return "", false
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return text, true
}

// pairedSurrogates tells whether each \uD800..\uDFFF is half of a pair; the standard decoder would replace the others.
func pairedSurrogates(raw []byte) bool {
	high := false
	for i := 0; i < len(raw); i++ {
		unit := uint64(0)
		if raw[i] == '\\' {
			i++
			if raw[i] == 'u' {
				unit, _ = strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
				i += 4
			}
		}
		low := unit >= 0xDC00 && unit <= 0xDFFF
		if low != high {
			return false
		}
		high = unit >= 0xD800 && unit <= 0xDBFF
	}
	return !high
}
