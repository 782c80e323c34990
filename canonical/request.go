package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a request.
const (
	MaxRequestBytes = 256 << 10 // no configuration may allow more: the request passes through a script
	MaxRequestDepth = 100       // nested objects and arrays, the outermost counted
)

// Request is one tool call's input: exactly one JSON object, as it was sent. It
// is immutable; Bytes must not be changed by its reader.
type Request struct {
	body   Body
	digest string
}

// ParseRequest checks input and keeps a copy of it. limit is in bytes; above
// [MaxRequestBytes] that bound holds. It returns a [*RequestError] for a text that is too large, not UTF-8, not one
// JSON object, has a member name twice in one object, a lone surrogate, or more
// than [MaxRequestDepth] levels.
func ParseRequest(input []byte, limit int) (Request, error) {
	limit = min(limit, MaxRequestBytes)
	if len(input) > limit {
		return Request{}, &RequestError{Reason: "too large in bytes", Size: len(input), Limit: limit, TooLarge: true}
	}
	if !utf8.Valid(input) {
		return Request{}, &RequestError{Reason: "not valid UTF-8", Offset: invalidAt(input)}
	}
	if err := checkObject(input); err != nil {
		return Request{}, err
	}
	body := Body(input).Clone()
	return Request{body: body, digest: body.SHA256()}, nil
}

// Bytes is the request exactly as sent.
func (r Request) Bytes() Body { return r.body }

// SHA256 is the digest over the exact bytes, lower-case hex. Two spellings of
// one value have two digests: canonical JSON would let distinct large integers
// collide.
func (r Request) SHA256() string { return r.digest }

// Format prints the size and the digest for every verb: fmt does not ask the
// methods of unexported fields, so the body would be spilled without it.
func (r Request) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%v, sha256 %s", r.body, r.digest) }

// MarshalJSON writes what Format prints, as a string.
func (r Request) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"%v"`, r), nil }

func checkObject(input []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(input)) // strict: no duplicate names, no invalid UTF-8
	if d.PeekKind() != '{' {
		if _, err := d.ReadToken(); err != nil && !errors.Is(err, io.EOF) {
			return syntaxError(err, d)
		}
		return &RequestError{Reason: "not a JSON object"}
	}
	for {
		if _, err := d.ReadToken(); err != nil {
			return syntaxError(err, d)
		}
		if d.StackDepth() > MaxRequestDepth {
			return &RequestError{Reason: "nested too deep", Size: d.StackDepth(), Limit: MaxRequestDepth, Offset: int(d.InputOffset())}
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return &RequestError{Reason: "has more than one JSON value", Offset: int(d.InputOffset())}
	}
	return nil
}

// syntaxError keeps the place and drops the parser's text, which may quote a
// member name.
func syntaxError(err error, d *jsontext.Decoder) error {
	reason := "not valid JSON"
	if errors.Is(err, jsontext.ErrDuplicateName) {
		reason = "has a member name twice in one object"
	}
	offset := int(d.InputOffset())
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		offset = int(syntactic.ByteOffset)
	}
	return &RequestError{Reason: reason, Offset: offset}
}

func invalidAt(input []byte) int {
	for i := 0; i < len(input); {
		r, size := utf8.DecodeRune(input[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(input)
}
