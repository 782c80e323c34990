package findings

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/canonical"
)

// Parts are a model's arguments after the reserved one was taken off.
type Parts struct {
	// Arguments are what the tool's schema, its authorization, the tool and the
	// record get. Without the reserved argument they are the request itself.
	Arguments   canonical.Request
	Declaration Declaration
}

// Split takes the reserved argument off (F45). Only a member of the outermost
// object counts, however its name is escaped; deeper ones are data. Every other
// byte stays: order, digits, escapes, white space. What goes is the member and
// one comma, the one behind it, or else the one before it with what stands
// between them.
//
// The request is not changed; the transcript keeps it. The only error is a
// [*canonical.RequestError], for a Request that [canonical.ParseRequest] did not
// make.
//
// A tool that owns the name is never split: its boundary does not call Split.
func Split(r canonical.Request) (Parts, error) {
	at, found, err := reservedMember(r.Bytes())
	if err != nil {
		return Parts{}, err
	}
	if !found {
		return Parts{Arguments: r}, nil
	}
	rest := append(bytes.Clone(r.Bytes()[:at.cutFrom]), r.Bytes()[at.cutTo:]...)
	arguments, err := canonical.ParseRequest(rest, canonical.MaxRequestBytes)
	if err != nil {
		return Parts{}, fmt.Errorf("findings: split: %w", err)
	}
	return Parts{Arguments: arguments, Declaration: readDeclaration(at.value)}, nil
}

// member is where the reserved member stands in an object.
type member struct {
	value          jsontext.Value
	cutFrom, cutTo int
}

// reservedMember finds it in a text that must be one JSON object. It reads to the
// end, so that a text is either wholly well-formed or an error.
func reservedMember(text []byte) (at member, found bool, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	if d.PeekKind() != '{' {
		return at, false, &canonical.RequestError{Reason: "not a JSON object"}
	}
	if _, err := d.ReadToken(); err != nil {
		return at, false, notJSON(d)
	}
	previous := 0 // end of the member before
	for d.PeekKind() == '"' {
		before := d.InputOffset()
		name, err := d.ReadToken()
		if err != nil {
			return at, false, notJSON(d)
		}
		ours := name.String() == Reserved
		value, err := d.ReadValue()
		if err != nil {
			return at, false, notJSON(d)
		}
		if ours {
			found = true
			at = span(text, previous, int(before), int(d.InputOffset()))
			at.value = bytes.Clone(value)
		}
		previous = int(d.InputOffset())
	}
	if _, err := d.ReadToken(); err != nil { // the closing brace
		return at, false, notJSON(d)
	}
	if len(bytes.TrimLeft(text[d.InputOffset():], " \t\r\n")) > 0 {
		return at, false, notJSON(d)
	}
	return at, found, nil
}

// span says what to cut for a member that ends at end. previous is the end of the
// member before it, 0 if there is none; before is where reading stood, which is
// that end or lies behind the opening brace.
func span(text []byte, previous, before, end int) member {
	name := before + bytes.IndexByte(text[before:], '"')
	next := end + len(text[end:]) - len(bytes.TrimLeft(text[end:], " \t\r\n"))
	switch {
	case next < len(text) && text[next] == ',':
		return member{cutFrom: name, cutTo: next + 1}
	case previous > 0:
		return member{cutFrom: previous + bytes.IndexByte(text[previous:], ','), cutTo: end}
	}
	return member{cutFrom: name, cutTo: end}
}

func notJSON(d *jsontext.Decoder) error {
	return &canonical.RequestError{Reason: "not valid JSON", Offset: int(d.InputOffset())}
}
