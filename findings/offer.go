package findings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/canonical"
)

// Offer is which ids a model may be told to cite. It is advice and decides
// nothing: an id that was served and is not offered can be cited, too (F11).
type Offer struct {
	IDs     []Offered // newest first, each once
	Omitted int       // older ones over MaxOffered
}

// Offered is one id, and what its record could back.
type Offered struct {
	ID canonical.ToolCallID
	As Backing // BacksIdentity where the record can back neither fact nor absence
}

// NewOffer lists the ids of a witness that [Admit] would admit, newest first,
// without those that the model has called noise or ruled out (F41, F43). Make it
// from the witness of the request that is about to be sent. l may be nil.
func NewOffer(w *Witness, l *Ledger) Offer {
	var o Offer
	if w == nil {
		return o
	}
	for _, id := range slices.Backward(w.order) {
		e, reason := w.identify(id)
		if reason != "" || retired(l, id) {
			continue
		}
		if len(o.IDs) == MaxOffered {
			o.Omitted++
			continue
		}
		as, _ := e.Record.backs()
		if as == "" {
			as = BacksIdentity
		}
		o.IDs = append(o.IDs, Offered{ID: e.Call.ID, As: as})
	}
	return o
}

func retired(l *Ledger, id string) bool {
	if l == nil {
		return false
	}
	row, ok := l.Standing(id)
	return ok && row.Standing.retires()
}

// Text says to the model which ids may be cited and as what, one line each. Empty
// where there is none.
func (o Offer) Text() string {
	if len(o.IDs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Results that may be cited:\n")
	for _, id := range o.IDs {
		fmt.Fprintf(&b, "%s as %s\n", id.ID, advice(id.As))
	}
	if o.Omitted > 0 {
		fmt.Fprintf(&b, "%d older ones are not listed.\n", o.Omitted)
	}
	return b.String()
}

func advice(as Backing) string {
	switch as {
	case BacksFact:
		return "fact, open, noise or ruled-out"
	case BacksAbsence:
		return "found nothing: open or noise, or a statement that nothing was found"
	}
	return "open or noise"
}

// ArgumentSchema is the JSON Schema of the reserved argument. With ids, cited ids
// are limited to them for providers that enforce schemas; that varies with every
// call, so a host that caches its tool definitions gives the zero Offer.
func ArgumentSchema(o Offer) json.RawMessage {
	id := `{"type":"string"}`
	if len(o.IDs) > 0 {
		var quoted []string
		for _, offered := range o.IDs {
			quoted = append(quoted, `"`+string(offered.ID)+`"`) // the alphabet needs no escape
		}
		id = `{"type":"string","enum":[` + strings.Join(quoted, ",") + `]}`
	}
	return json.RawMessage(strings.Replace(argumentSchema, "ID", id, 1))
}

const argumentSchema = `{"type":"object","description":"What earlier results mean for this call. Optional.","additionalProperties":false,"properties":{` +
	`"basis":{"type":"string","enum":["direct","exploratory"]},` +
	`"expect":{"type":"string","enum":["low","medium","high"]},` +
	`"proposition":{"type":"string"},"predicts":{"type":"string"},` +
	`"previous":{"type":"array","items":{"type":"object","required":["toolCallId"],"additionalProperties":false,"properties":{` +
	`"toolCallId":ID,"standing":{"type":"string","enum":["fact","open","noise","ruled-out"]},"line":{"type":"string"},` +
	`"assertions":{"type":"array","items":{"type":"object","required":["subject","predicate","value"],"additionalProperties":false,"properties":{` +
	`"subject":{"type":"object","required":["kind","id"],"additionalProperties":false,"properties":{"kind":{"type":"string"},"id":{"type":"string"}}},` +
	`"predicate":{"type":"string"},"value":{"type":"string"}}}}}}}}}`

// AddArgument is a tool's schema with the reserved argument among its properties,
// for what the model is shown. The tool's own schema, which is checked after
// [Split], stays as it is; so a closed one stays closed. All other bytes are kept.
func AddArgument(schema, argument json.RawMessage) (json.RawMessage, error) {
	top, err := objectAt(schema)
	if err != nil {
		return nil, err
	}
	own := fmt.Appendf(nil, "%q:%s", Reserved, argument)
	at, ok := top["properties"]
	if !ok {
		return inserted(schema, bytes.IndexByte(schema, '{'), fmt.Appendf(nil, `"properties":{%s}`, own)), nil
	}
	inside, err := objectAt(schema[at.from:at.to])
	if err != nil {
		return nil, err
	}
	if _, taken := inside[Reserved]; taken {
		return nil, &CaptureError{Field: "schema", Reason: "the tool has a " + Reserved + " of its own"}
	}
	return inserted(schema, at.from, own), nil
}

// inserted puts a member first into the object whose brace is at brace.
func inserted(text []byte, brace int, member []byte) []byte {
	out := append(bytes.Clone(text[:brace+1]), member...)
	rest := text[brace+1:]
	if next := bytes.TrimLeft(rest, " \t\r\n"); len(next) > 0 && next[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}

type extent struct{ from, to int }

// objectAt gives the places of the members of a text that is one JSON object.
func objectAt(text []byte) (map[string]extent, error) {
	bad := &CaptureError{Field: "schema", Reason: "not a JSON object"}
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, bad
	}
	all := map[string]extent{}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, bad
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, bad
		}
		to := int(d.InputOffset())
		all[key] = extent{from: to - len(value), to: to}
	}
	if _, err := d.ReadToken(); err != nil || len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return nil, bad
	}
	return all, nil
}
