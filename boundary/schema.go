package boundary

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolharness/harness/canonical"
)

// schemaCheck checks arguments against a tool's JSON Schema (draft 2020-12
// unless the schema names another). It is compiled once and then only read.
type schemaCheck struct {
	schema   *jsonschema.Schema
	declared map[string]bool // member names that the schema itself has
}

// schemaURL names the schema inside the compiler; nothing is ever fetched.
const schemaURL = "schema:tool"

// SchemaError says where arguments break a tool's schema, or that a schema is of
// no use. It names places and rules, never values of the arguments.
type SchemaError struct {
	Path string // JSON Pointer into the arguments; empty for the whole
	Rule string // the schema's keyword that is broken
}

// Error has place and rule, never a value.
func (e *SchemaError) Error() string {
	if e.Path == "" {
		return "schema: " + e.Rule
	}
	return fmt.Sprintf("schema: at %q: %s", e.Path, e.Rule)
}

var errNoLoading = errors.New("boundary: schemas are not loaded from anywhere")

// denyLoader refuses every reference that leaves the schema.
type denyLoader struct{}

func (denyLoader) Load(string) (any, error) { return nil, errNoLoading }

func newSchemaCheck(schema []byte) (*schemaCheck, error) {
	if _, err := canonical.ParseRequest(schema, canonical.MaxRequestBytes); err != nil {
		return nil, &SchemaError{Rule: "is not one JSON object"}
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, &SchemaError{Rule: "is not one JSON object"}
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(denyLoader{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, &SchemaError{Rule: "cannot be used as a schema"}
	}
	compiled, err := compiler.Compile(schemaURL)
	switch {
	case errors.Is(err, errNoLoading):
		return nil, &SchemaError{Rule: "refers to a file or address"}
	case err != nil:
		return nil, &SchemaError{Rule: "does not compile"}
	}
	declared := map[string]bool{}
	collectNames(document, declared)
	return &schemaCheck{schema: compiled, declared: declared}, nil
}

// CheckArguments reports the first place that breaks the schema.
func (s *schemaCheck) CheckArguments(arguments []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments)) // keeps numbers as text
	if err != nil {
		return &SchemaError{Rule: "not valid JSON"}
	}
	err = s.schema.Validate(value)
	if err == nil {
		return nil
	}
	broken, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return &SchemaError{Rule: "not valid"}
	}
	for len(broken.Causes) > 0 {
		broken = broken.Causes[0]
	}
	rule := strings.Join(broken.ErrorKind.KeywordPath(), "/")
	if rule == "" {
		rule = "not valid"
	}
	return &SchemaError{Path: s.pointer(broken.InstanceLocation), Rule: rule}
}

// pointer writes a place as a JSON Pointer. Indexes are kept; names that come
// from the arguments are not.
func (s *schemaCheck) pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		if _, err := strconv.Atoi(name); err != nil && !s.declared[name] {
			name = "*"
		}
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// collectNames finds every member name of the schema, properties among them.
func collectNames(value any, names map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			names[name] = true
			collectNames(inner, names)
		}
	case []any:
		for _, inner := range v {
			collectNames(inner, names)
		}
	}
}
