package findings

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// ToolShape is what arming needs to know of a tool.
type ToolShape struct {
	Name   string
	Schema []byte // JSON Schema of the arguments; may be empty

	// OwnsReserved: the author of the tool brought the name _findings, as a tool of
	// somebody else's server may. Then its arguments are not split and not checked,
	// and the value is its data (F19).
	OwnsReserved bool
}

// CheckTools reports every tool with which findings cannot be armed: one whose
// schema has a property _findings without owning the name would never get its
// value (F49). All that is wrong is reported at once.
func CheckTools(tools ...ToolShape) error {
	var problems []error
	for i, tool := range tools {
		if tool.OwnsReserved || len(tool.Schema) == 0 {
			continue
		}
		brings, err := BringsReserved(tool.Schema)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("tool %d: %w", i, err))
		case brings:
			problems = append(problems, &CaptureError{Field: "tools", Index: i, Reason: "its schema has " + Reserved + ", and it does not own the name"})
		}
	}
	return errors.Join(problems...)
}

// BringsReserved reports whether a schema has a property of the reserved name of
// its own, at its outermost level. The schemas true and false bring none; what is
// neither they nor an object is a [*CaptureError].
func BringsReserved(schema []byte) (bool, error) {
	if kind := jsontext.Value(schema).Kind(); kind == 't' || kind == 'f' {
		return false, nil
	}
	top, err := objectAt(schema)
	if err != nil {
		return false, err
	}
	at, ok := top["properties"]
	if !ok {
		return false, nil
	}
	inside, err := objectAt(schema[at.from:at.to])
	if err != nil {
		return false, err
	}
	_, brings := inside[Reserved]
	return brings, nil
}
