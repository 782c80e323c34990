package evidence

// Limits of a Fact, in UTF-8 bytes.
const (
	MaxFactName  = 120 // subject kind, subject id, predicate
	MaxFactValue = 240 // value
)

// Subject is what a fact is about: a kind ("table", "service", "document") and
// the id that the tool's own system uses.
type Subject struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Fact is one bounded line that says what a tool returned.
type Fact struct {
	Subject   Subject `json:"subject"`
	Predicate string  `json:"predicate"`
	Value     string  `json:"value"` // text, so that digits survive
}

// Validate checks that every part is one line of valid UTF-8 without control
// characters and inside its limit, and that kind and predicate are not empty.
func (f Fact) Validate() error {
	if f.Subject.Kind == "" {
		return &Error{Field: "fact.subject.kind", Reason: "empty"}
	}
	if f.Predicate == "" {
		return &Error{Field: "fact.predicate", Reason: "empty"}
	}
	for _, part := range []struct {
		field, text string
		limit       int
	}{
		{"fact.subject.kind", f.Subject.Kind, MaxFactName}, {"fact.subject.id", f.Subject.ID, MaxFactName},
		{"fact.predicate", f.Predicate, MaxFactName}, {"fact.value", f.Value, MaxFactValue},
	} {
		if err := checkLine(part.field, part.text, part.limit); err != nil {
			return err
		}
	}
	return nil
}

// NewFact makes a valid fact of any text, as long as kind and predicate have a
// visible character: line feeds are folded, control characters removed, and each
// part clipped with a mark at a rune boundary.
func NewFact(subject Subject, predicate, value string) Fact {
	return Fact{
		Subject:   Subject{Kind: Line(subject.Kind, MaxFactName), ID: Line(subject.ID, MaxFactName)},
		Predicate: Line(predicate, MaxFactName),
		Value:     Line(value, MaxFactValue),
	}
}
