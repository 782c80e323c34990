package boundary

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolharness/harness/canonical"
)

// schemaCheck checks arguments against a tool's JSON Schema (draft 2020-12
// unless the schema names another). It is compiled once and then only read.
type schemaCheck struct {
	schema   *jsonschema.Schema
	declared map[string]bool // member names that the schema itself has
}

// schemaURL names the schema inside the compiler; nothing is ever fetched. It has
// a path, so that a relative reference resolves to another name and is refused,
// not to the schema itself.
const schemaURL = "schema://tool/schema"

// maxExponent bounds the power of ten of a number that a schema looks at. A
// validator computes exactly, so 1e999999 would cost it megabytes and 50 ms
// each, on the word of a model.
const maxExponent = 1000

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
	if err != nil {
		rule := "does not compile"
		if _, leaves := errors.AsType[*jsonschema.LoadURLError](err); leaves {
			rule = "refers to a file or address"
		}
		return nil, &SchemaError{Rule: rule}
	}
	declared := map[string]bool{}
	collectNames(document, declared)
	return &schemaCheck{schema: compiled, declared: declared}, nil
}

// CheckArguments reports the first place that breaks the schema, in the order of
// places and not of the validator, which walks maps.
func (s *schemaCheck) CheckArguments(arguments []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments)) // keeps numbers as text
	if err != nil {
		return &SchemaError{Rule: "not valid JSON"}
	}
	if path, found := enormous(value, nil); found {
		return &SchemaError{Path: s.pointer(path, value), Rule: "number beyond all bounds"}
	}
	err = s.schema.Validate(value)
	if err == nil {
		return nil
	}
	broken, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return &SchemaError{Rule: "not valid"}
	}
	return slices.MinFunc(s.places(broken, value), func(a, b *SchemaError) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule))
	})
}

// places lists the innermost failures; at least one. What is wrong with a member
// name is told of the object that has it.
func (s *schemaCheck) places(e *jsonschema.ValidationError, value any) []*SchemaError {
	if _, name := e.ErrorKind.(*kind.PropertyNames); !name && len(e.Causes) > 0 {
		var list []*SchemaError
		for _, cause := range e.Causes {
			list = append(list, s.places(cause, value)...)
		}
		return list
	}
	rule := strings.Join(e.ErrorKind.KeywordPath(), "/")
	if rule == "" {
		rule = "not valid"
	}
	return []*SchemaError{{Path: s.pointer(e.InstanceLocation, value), Rule: rule}}
}

// pointer writes a place in value as a JSON Pointer. Indexes of arrays are kept;
// names that come from the arguments are not, digits or letters alike.
func (s *schemaCheck) pointer(path []string, value any) string {
	var b strings.Builder
	for _, name := range path {
		if list, ok := value.([]any); ok {
			value = nil
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(list) {
				value = list[i]
			}
		} else {
			object, _ := value.(map[string]any)
			value = object[name]
			if !s.declared[name] {
				name = "*"
			}
		}
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// enormous finds the first number whose exponent is beyond maxExponent.
func enormous(value any, path []string) ([]string, bool) {
	switch v := value.(type) {
	case json.Number:
		_, exponent, has := strings.Cut(strings.ToLower(string(v)), "e")
		n, err := strconv.Atoi(exponent)
		return path, has && (err != nil || max(n, -n) > maxExponent)
	case []any:
		for i, inner := range v {
			if found, ok := enormous(inner, append(slices.Clip(path), strconv.Itoa(i))); ok {
				return found, true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found, ok := enormous(v[name], append(slices.Clip(path), name)); ok {
				return found, true
			}
		}
	}
	return nil, false
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
