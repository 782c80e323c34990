package findings

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// AnswerTeaching is what a host that was allowed a corrective call anyway may say
// to the model. Constant: nothing is interpolated (F20).
const AnswerTeaching = "The answer cites a result that was not served in this conversation. It was not accepted. Cite only ids that you were given."

// Stage says which text of a final answer was looked at.
type Stage string

// The stages.
const (
	RawAnswer         Stage = "raw"         // as the model wrote it
	TransformedAnswer Stage = "transformed" // as the host's own output middleware left it
)

// AdmitAnswer judges the citations of a final answer. The error is nil or an
// [*AnswerDeniedError]. It never calls a model and has no budget: whether the
// model is asked again is decided by what the host had allowed before (F26).
//
// Where a host has middleware on answers, it asks twice: for the text of the
// model, and for the text that the middleware made of it. So middleware can
// neither wash out a bad citation nor add one (F27).
//
// An answer that is one JSON object is read by its outermost member _findings.
// In any other text each such member is read wherever it stands, in prose, in a
// block of code or in JSON that is broken, since a lenient reader behind us might
// find it there. Text without it cites nothing.
func AdmitAnswer(w *Witness, stage Stage, text []byte) (Admission, error) {
	a := Admit(w, readAnswer(text))
	if a.Refused() {
		return a, &AnswerDeniedError{Stage: stage, Admission: a}
	}
	return a, nil
}

// AnswerDeniedError is a final answer that must not be accepted.
type AnswerDeniedError struct {
	Stage     Stage
	Admission Admission
}

// Error has stage, counts and reasons; no id and no word of the answer.
func (e *AnswerDeniedError) Error() string {
	return fmt.Sprintf("findings: %s answer denied: %s", e.Stage, e.Admission.summary())
}

// Format prints what Error says, for every verb.
func (e *AnswerDeniedError) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.Error()) }

func readAnswer(text []byte) Declaration {
	at, found, err := reservedMember(text)
	if err == nil {
		if !found {
			return Declaration{}
		}
		return readDeclaration(at.value)
	}
	var all Declaration
	for _, value := range searched(text) {
		d := Declaration{Frame: newFrame(string(value.rest))}
		if value.json != nil {
			d = readDeclaration(value.json)
		}
		all = all.and(d)
	}
	return all
}

// and joins what two places of one answer declare.
func (d Declaration) and(more Declaration) Declaration {
	if d.Basis == "" {
		d.Basis = more.Basis
	}
	if d.Expect == "" {
		d.Expect = more.Expect
	}
	if d.Proposition == "" {
		d.Proposition = more.Proposition
	}
	if d.Predicts == "" {
		d.Predicts = more.Predicts
	}
	d.Previous = append(d.Previous, more.Previous...)
	d.Dropped += more.Dropped
	if d.Frame == nil {
		d.Frame = more.Frame
	}
	return d
}

// place is where a text has the reserved name as a member's name. json is its
// value where that can be read, rest what stands behind the colon.
type place struct {
	json jsontext.Value
	rest []byte
}

// longestName is the reserved name with every letter escaped, and its quotes.
const longestName = 2 + 6*len(Reserved)

// searched finds the reserved name in any text. It goes on behind a value that it
// could read, so that data inside of it does not count, and stops at the first that
// it could not: the answer is refused by then, and each text is read once.
func searched(text []byte) []place {
	var found []place
	for i := 0; i < len(text); {
		start := bytes.IndexByte(text[i:], '"')
		if start < 0 {
			break
		}
		i += start
		colon, ok := namedHere(text[i:])
		if !ok {
			i++
			continue
		}
		rest := text[i+colon+1:]
		d := jsontext.NewDecoder(bytes.NewBuffer(rest))
		value, err := d.ReadValue()
		if err != nil {
			return append(found, place{rest: rest})
		}
		found = append(found, place{json: bytes.Clone(value)})
		i += colon + 1 + int(d.InputOffset())
	}
	return found
}

// namedHere reports whether text begins with the reserved name in quotes and a
// colon, and where the colon is.
func namedHere(text []byte) (colon int, ok bool) {
	end := bytes.IndexByte(text[1:min(len(text), longestName)], '"')
	if end < 0 {
		return 0, false
	}
	end += 2
	name, err := jsontext.AppendUnquote(nil, text[:end])
	if err != nil || string(name) != Reserved {
		return 0, false
	}
	rest := bytes.TrimLeft(text[end:], " \t\r\n")
	return len(text) - len(rest), len(rest) > 0 && rest[0] == ':'
}
