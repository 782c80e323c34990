package bounds

import (
	"bytes"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Fault says why raw bytes are not a document that can be judged. Neither part
// is made of the bytes. Each projector turns it into an error type of its own.
type Fault struct {
	Member string // the member at fault; empty for the whole
	Reason string
}

// Error names member and rule.
func (f *Fault) Error() string {
	if f.Member == "" {
		return f.Reason
	}
	return f.Member + ": " + f.Reason
}

// Cut is the fault of bytes that end too early or are no JSON. The decoder's own
// error is dropped: its text quotes the input.
func Cut() error { return &Fault{Reason: "cut short, or not valid JSON"} }

// Missing is the fault of a document without a member that it must have.
func Missing(member string) error {
	return &Fault{Member: member, Reason: "missing; a result without it was cut or is of another kind"}
}

// Object reads all of raw as one JSON object: no member twice, valid UTF-8,
// nothing behind it. For each member it calls read, which must take the value
// from the decoder, and it returns the names that it met.
func Object(raw []byte, read func(dec *jsontext.Decoder, name string) error) (met map[string]bool, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if dec.PeekKind() != '{' {
		return nil, &Fault{Reason: "not a JSON object"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, Cut()
	}
	met = map[string]bool{}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, Cut()
		}
		name := token.String()
		met[name] = true
		if err := read(dec, name); err != nil {
			return nil, err
		}
	}
	if _, err := dec.ReadToken(); err != nil { // the closing brace, or where it should be
		return nil, Cut()
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, &Fault{Reason: "something stands behind the document"}
	}
	return met, nil
}

// Skip passes over a value that nobody asked for.
func Skip(dec *jsontext.Decoder) error {
	if dec.SkipValue() != nil {
		return Cut()
	}
	return nil
}

// Text reads a string.
func Text(dec *jsontext.Decoder, name string, to *string) error {
	token, err := dec.ReadToken()
	if err != nil || token.Kind() != '"' {
		return &Fault{Member: name, Reason: "not a string"}
	}
	*to = token.String()
	return nil
}

// Flag reads a boolean.
func Flag(dec *jsontext.Decoder, name string, to *bool) error {
	token, err := dec.ReadToken()
	if err != nil || token.Kind() != 't' && token.Kind() != 'f' {
		return &Fault{Member: name, Reason: "not a boolean"}
	}
	*to = token.Bool()
	return nil
}

// Count reads a whole number from 0 to 2^63-1, written without fraction and
// exponent.
func Count(dec *jsontext.Decoder, name string, to *int64) error {
	value, err := dec.ReadValue()
	if err == nil && value.Kind() == '0' {
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= 0 {
			*to = n
			return nil
		}
	}
	return &Fault{Member: name, Reason: "not a whole number"}
}

// Decode reads a value of a Go type; what names the type in the fault.
func Decode(dec *jsontext.Decoder, name string, to any, what string) error {
	if json.UnmarshalDecode(dec, to) != nil {
		return &Fault{Member: name, Reason: "not " + what}
	}
	return nil
}

// Array calls read for each element, with its index, until the array ends.
func Array(dec *jsontext.Decoder, name string, read func(i int64) error) error {
	if dec.PeekKind() != '[' {
		return &Fault{Member: name, Reason: "not an array"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return Cut()
	}
	for i := int64(0); ; i++ {
		switch dec.PeekKind() {
		case ']':
			if _, err := dec.ReadToken(); err != nil {
				return Cut()
			}
			return nil
		case jsontext.KindInvalid:
			return Cut()
		}
		if err := read(i); err != nil {
			return err
		}
	}
}
