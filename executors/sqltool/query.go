package sqltool

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Query is the argument object of the tool, as a model fills it in.
type Query struct {
	Statement string `json:"query"`
	// Parameters are bound to the placeholders of the statement, in order: texts,
	// numbers, true, false and null. A number that a 64-bit integer or float does
	// not hold exactly is refused; send it as text.
	Parameters []any `json:"parameters,omitempty"`
}

// QueryError names the argument that cannot be used. It never repeats its value.
type QueryError struct {
	Field  string
	Reason string

	cause error // the checker's
}

// Error has the member's name and the rule.
func (e *QueryError) Error() string { return "sqltool: argument " + e.Field + ": " + e.Reason }

// GoString keeps %#v from walking into the checker's error.
func (e *QueryError) GoString() string { return "&" + e.Error() }

// Unwrap gives the checker's error, or nil.
func (e *QueryError) Unwrap() error { return e.cause }

// prepared is a query that may run.
type prepared struct {
	statement  string
	parameters []any // nil, bool, int64, float64 or string
}

// prepare does all that can be done without the database.
func (t *Tool) prepare(q Query) (prepared, error) {
	statement, err := t.oneStatement(q.Statement)
	if err != nil {
		return prepared{}, err
	}
	if len(q.Parameters) > t.limits.MaxParameters {
		return prepared{}, &QueryError{Field: "parameters", Reason: fmt.Sprintf("has more than %d entries", t.limits.MaxParameters)}
	}
	p := prepared{statement: statement, parameters: make([]any, len(q.Parameters))}
	for i, value := range q.Parameters {
		var ok bool
		if p.parameters[i], ok = bindable(value); !ok {
			return prepared{}, &QueryError{Field: fmt.Sprintf("parameters[%d]", i), Reason: "is not a text, true, false, null, or a number that can be bound exactly"}
		}
	}
	if err := t.checker.CheckStatement(statement); err != nil {
		return prepared{}, &QueryError{Field: "query", Reason: "is not permitted", cause: err}
	}
	return p, nil
}

// oneStatement takes one semicolon away from the end and refuses what may hold a
// second statement, or one that nobody sees whole.
func (t *Tool) oneStatement(text string) (string, error) {
	bad := func(format string, args ...any) (string, error) {
		return "", &QueryError{Field: "query", Reason: fmt.Sprintf(format, args...)}
	}
	statement := strings.Trim(text, " \t\r\n")
	statement = strings.TrimRight(strings.TrimSuffix(statement, ";"), " \t\r\n")
	switch {
	case len(text) > t.limits.MaxStatementBytes:
		return bad("is over %d bytes", t.limits.MaxStatementBytes)
	case statement == "":
		return bad("is empty")
	case !utf8.ValidString(statement) || strings.ContainsRune(statement, 0):
		return bad("is no UTF-8 or has a NUL, where engines stop reading")
	case !t.allowSemicolons && strings.Contains(statement, ";"):
		return bad("has a semicolon inside; bind text that has one as a parameter")
	}
	return statement, nil
}

// bindable turns a decoded JSON value into one that every driver takes.
func bindable(value any) (any, bool) {
	switch v := value.(type) {
	case nil, bool, string:
		return v, true
	case json.Number:
		return exactNumber(v.String())
	case int64:
		return v, true
	case int:
		return int64(v), true
	}
	return nil, false
}

// exactNumber is an int64 or a float64 that has the value as it was written.
func exactNumber(text string) (any, bool) {
	const longest = 64
	if len(text) > longest {
		return nil, false
	}
	if !strings.ContainsAny(text, ".eE") {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f == 0 && strings.ContainsAny(mantissa(text), "123456789") {
		return nil, false // beyond the range, at either end
	}
	// What is read back is the shortest text of f, so that is what is compared.
	written, ok := new(big.Rat).SetString(text)
	read, okRead := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return f, ok && okRead && written.Cmp(read) == 0
}

// mantissa is a number without its exponent.
func mantissa(text string) string {
	digits, _, _ := strings.Cut(strings.ToLower(text), "e")
	return digits
}
