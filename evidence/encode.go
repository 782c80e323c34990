package evidence

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
)

// EncodeFacts is the stored form of facts: one JSON array, members always in the
// same order, so that equal facts have equal bytes and equal digests. No facts
// encode to no bytes. An invalid fact is refused, with its index in the error.
func EncodeFacts(facts []Fact) ([]byte, error) {
	if len(facts) == 0 {
		return nil, nil
	}
	if err := checkFacts(facts); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(facts, json.Deterministic(true))
	if err != nil {
		return nil, &Error{Field: "facts", Reason: "cannot be written as JSON"}
	}
	return encoded, nil
}

// DecodeFacts reads what [EncodeFacts] wrote. Unknown members are tolerated, so
// that a later minor version may add one; duplicate members, invalid UTF-8,
// bytes behind the array and facts that do not validate are refused. The error
// never repeats stored text.
func DecodeFacts(encoded []byte) ([]Fact, error) {
	if len(encoded) == 0 {
		return nil, nil
	}
	var facts []Fact
	if err := json.Unmarshal(encoded, &facts); err != nil {
		return nil, &Error{Field: "facts", Reason: "not one JSON array of facts"}
	}
	if err := checkFacts(facts); err != nil {
		return nil, err
	}
	return facts, nil
}

// EncodeCoverage is the stored form of a coverage: one JSON object with its
// members always in the same order and times in UTC. The zero Coverage encodes
// to no bytes.
func EncodeCoverage(c Coverage) ([]byte, error) {
	if c.IsZero() {
		return nil, nil
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Window != nil {
		c = c.Between(c.Window.From, c.Window.To)
	}
	encoded, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return nil, &Error{Field: "coverage", Reason: "cannot be written as JSON"}
	}
	return encoded, nil
}

// DecodeCoverage reads what [EncodeCoverage] wrote, with the strictness of
// [DecodeFacts].
func DecodeCoverage(encoded []byte) (Coverage, error) {
	if len(encoded) == 0 {
		return Coverage{}, nil
	}
	var c Coverage
	if err := json.Unmarshal(encoded, &c); err != nil {
		return Coverage{}, &Error{Field: "coverage", Reason: "not one JSON object of a coverage"}
	}
	if err := c.Validate(); err != nil {
		return Coverage{}, err
	}
	return c, nil
}

// Clone returns a copy that shares no memory with c.
func (c Coverage) Clone() Coverage {
	c.Checked = slices.Clone(c.Checked)
	c.Unchecked = slices.Clone(c.Unchecked)
	c.Uncovered = slices.Clone(c.Uncovered)
	c.Filters = slices.Clone(c.Filters)
	if c.Window != nil {
		window := *c.Window
		c.Window = &window
	}
	return c
}

func checkFacts(facts []Fact) error {
	for i, fact := range facts {
		if err := fact.Validate(); err != nil {
			e := *err.(*Error)
			e.Field = fmt.Sprintf("facts[%d].%s", i, e.Field[len("fact."):])
			return &e
		}
	}
	return nil
}
