package projector

import (
	stdjson "encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// List builds an agent result that stays within a limit by construction:
//
//	{"service":"checkout","items":[…],"returned":20,"omitted":131}
//
// Members come first, in the order of [List.Set]; then as many items as fit;
// then how many are there and how many were left out. Values are encoded as
// JSON with map keys sorted; numbers given as json.Number or raw JSON keep their
// digits. Control and invisible format characters appear as JSON escapes, so
// that quoted text cannot act on whoever prints it. A List is for one goroutine.
type List struct {
	max      int
	array    string // name of the array
	names    map[string]bool
	members  []byte // "name":value, …
	items    []byte // value,value
	returned int64
	omitted  int64
	full     bool
	err      error
}

// NewList starts a list of at most maxBytes bytes of JSON. Below some 90 bytes
// nothing fits and Err says so.
func NewList(maxBytes int) *List { return NewNamedList("items", maxBytes) }

// NewNamedList is [NewList] with another name for the array. The name must not
// be "returned" or "omitted".
func NewNamedList(array string, maxBytes int) *List {
	l := &List{max: maxBytes, array: array, names: map[string]bool{"returned": true, "omitted": true}}
	name, err := encode(array)
	switch {
	case err != nil || l.names[array]:
		l.fail(&Error{Kind: Invalid, Field: FieldResult})
	default:
		l.array = string(name)
		l.names[array] = true
	}
	if l.size() > l.max {
		l.fail(tooLarge(FieldResult, l.size(), l.max))
	}
	return l
}

// Set writes one member before the items. A name that is used already, a value
// that JSON cannot hold, and a member that does not fit beside what is there
// change nothing and are reported by Err.
func (l *List) Set(name string, value any) {
	key, keyErr := encode(name)
	encoded, err := encode(value)
	if err = errors.Join(keyErr, err); err != nil || l.names[name] {
		l.fail(&Error{Kind: Invalid, Field: FieldResult, cause: err})
		return
	}
	grown := len(key) + len(":") + len(encoded) + len(",")
	if l.size()+grown > l.max {
		l.fail(tooLarge(FieldResult, l.size()+grown, l.max))
		return
	}
	l.names[name] = true
	l.members = append(append(append(append(l.members, key...), ':'), encoded...), ',')
}

// Add appends one item. It returns false when the item does not fit; that item
// and all later ones are left out and counted, so that what is shown is always
// the beginning. A value that JSON cannot hold is reported by Err.
func (l *List) Add(value any) bool {
	if l.full {
		l.Omit(1)
		return false
	}
	encoded, err := encode(value)
	if err != nil {
		l.fail(&Error{Kind: Invalid, Field: FieldResult, cause: err})
		return false
	}
	grown := len(encoded)
	if l.returned > 0 {
		grown += len(",")
	}
	if l.size()+grown > l.max {
		l.full = true
		l.Omit(1)
		return false
	}
	if l.returned > 0 {
		l.items = append(l.items, ',')
	}
	l.items = append(l.items, encoded...)
	l.returned++
	return true
}

// Omit counts n items as left out that were never given to Add, for a source
// that says how many more it has. A negative n counts nothing.
func (l *List) Omit(n int64) {
	if n > 0 {
		l.omitted += min(n, math.MaxInt64-l.omitted)
	}
}

// Returned is the number of items in the list.
func (l *List) Returned() int64 { return l.returned }

// Omitted is the number of items that were left out.
func (l *List) Omitted() int64 { return l.omitted }

// Err is the first thing that went wrong, an [*Error], or nil. Items left out
// for room are no error.
func (l *List) Err() error { return l.err }

// JSON returns the result, at most the given number of bytes; nil when not even
// an empty list fits. The list can be added to afterwards.
func (l *List) JSON() []byte {
	if l.size() > l.max {
		return nil
	}
	out := make([]byte, 0, l.size())
	out = append(append(out, '{'), l.members...)
	out = append(append(out, l.array...), ":["...)
	out = append(append(out, l.items...), `],"returned":`...)
	out = strconv.AppendInt(out, l.returned, 10)
	out = append(out, `,"omitted":`...)
	out = strconv.AppendInt(out, l.omitted, 10)
	return append(out, '}')
}

// size is an upper bound of JSON's length: both counts are taken at their
// longest, so that counting one more never breaks the limit.
func (l *List) size() int {
	const frame = len(`{:[],"returned":,"omitted":}`) + 2*len("9223372036854775807")
	return frame + len(l.members) + len(l.array) + len(l.items)
}

func (l *List) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// encode writes one value as JSON on one line.
func encode(value any) ([]byte, error) {
	encoded, err := json.Marshal(value, json.Deterministic(true), json.WithMarshalers(json.MarshalToFunc(writeNumber)))
	if err != nil {
		return nil, err
	}
	return escapeHidden(encoded), nil
}

// writeNumber writes a json.Number with the digits it has; the default would
// make a string of it.
func writeNumber(enc *jsontext.Encoder, n stdjson.Number) error {
	if value := jsontext.Value(n); value.Kind() == '0' {
		return enc.WriteValue(value)
	}
	return errors.New("not a JSON number")
}
