package text

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// judge finds out what raw is and refuses what is empty, cut or an error.
func (p anything) judge(ctx context.Context, raw []byte) (*result, error) {
	raw = trimmed(raw)
	if len(raw) == 0 {
		return nil, &ResultError{"no bytes, or nothing but white space"}
	}
	value, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return p.judgeText(raw)
	}
	r := &result{value: value, kind: value.Kind()}
	switch r.kind {
	case '[':
		r.counted = true
		err = eachElement(ctx, value, func() { r.count++; r.members++ })
	case '{':
		err = p.judgeObject(ctx, r)
	default:
		err = p.judgeScalar(r)
	}
	return r, err
}

// newDecoder tolerates lone surrogates, as many writers of JSON do; they become
// U+FFFD when they are shown.
func newDecoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true))
}

// deepest is the nesting at which the decoder gives up.
const deepest = 10_000

// parse returns raw as JSON, or nil where it is text. JSON that was cut, or that
// two readers could read in two ways, is neither.
func parse(raw []byte) (jsontext.Value, error) {
	dec := newDecoder(raw)
	value, err := dec.ReadValue()
	if err == nil {
		value = value.Clone() // the decoder goes on
		if _, err := dec.ReadToken(); err == io.EOF {
			return value, nil
		}
		return nil, nil
	}
	if raw[0] != '{' && raw[0] != '[' {
		return nil, nil
	}
	syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &ResultError{"JSON that ends too early"}
	case errors.Is(err, jsontext.ErrDuplicateName):
		return nil, &ResultError{"JSON with one member name twice in an object"}
	case syntax != nil && strings.Count(string(syntax.JSONPointer), "/") >= deepest-1:
		return nil, &ResultError{"JSON that is nested too deep"}
	}
	return nil, nil
}

// judgeText is for prose: it is what the tool returned, and nothing in it is
// counted.
func (p anything) judgeText(raw []byte) (*result, error) {
	if p.shaped() {
		return nil, &ResultError{"text, where the options name members of an object"}
	}
	r := &result{plain: printable(string(raw))}
	start := strings.TrimSpace(r.plain)
	if start == "" {
		return nil, &ResultError{"nothing that can be shown"}
	}
	for _, prefix := range p.options.ErrorPrefixes {
		if prefix != "" && strings.HasPrefix(start, prefix) {
			return nil, &ResultError{"text that begins as the tool's errors do"}
		}
	}
	// An error object with something behind it, or with characters inside that
	// are no JSON and were dropped.
	if value, err := newDecoder([]byte(start)).ReadValue(); err == nil {
		if err := p.refuseError(value); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// shaped reports whether the host has said which shape its tool has.
func (p anything) shaped() bool { return p.options.Items != "" || p.options.Count != "" }

func (p anything) judgeScalar(r *result) error {
	switch {
	case r.kind == 'n':
		return &ResultError{"null; that is neither something nor a counted nothing"}
	case p.shaped():
		return &ResultError{"a plain value, where the options name members of an object"}
	case r.kind != '"':
		return nil
	}
	content := unquoted(r.value)
	if strings.TrimSpace(printable(content)) == "" {
		return &ResultError{"a string with nothing that can be shown"}
	}
	inner := trimmed([]byte(content))
	if value, err := newDecoder(inner).ReadValue(); err == nil {
		return p.refuseError(value)
	}
	return nil
}

// maxScalars is how many plain members of an object are kept for facts.
const maxScalars = 12

// judgeObject looks at the members of an object: errors first, then counts, then
// whether there is anything at all.
func (p anything) judgeObject(ctx context.Context, r *result) error {
	if err := p.refuseError(r.value); err != nil {
		return err
	}
	content := false
	err := eachMember(ctx, r.value, func(name string, value jsontext.Value) error {
		r.members++
		content = content || hasContent(value)
		if kind := value.Kind(); kind == '{' || kind == '[' {
			return nil
		}
		if len(r.scalars) < maxScalars {
			r.scalars = append(r.scalars, member{name, value.Clone()})
		} else {
			r.moreScalars++
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case p.shaped():
		return p.count(ctx, r)
	case !content:
		return &ResultError{"an object with nothing in it; a wrapper of an unknown shape is no absence"}
	}
	return nil
}

// count reads what the options name.
func (p anything) count(ctx context.Context, r *result) error {
	r.counted = true
	items, stated := int64(-1), int64(-1)
	if p.options.Items != "" {
		value := find(r.value, p.options.Items)
		if value.Kind() != '[' {
			return &ResultError{"no array where the options name one"}
		}
		items = 0
		if err := eachElement(ctx, value, func() { items++ }); err != nil {
			return err
		}
	}
	if p.options.Count != "" {
		value := find(r.value, p.options.Count)
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 || value.Kind() != '0' {
			return &ResultError{"no whole number where the options name a count"}
		}
		stated = n
	}
	if items >= 0 && stated >= 0 && (items == 0) != (stated == 0) {
		return &ResultError{"count and array do not agree about zero; what was cut to nothing is no absence"}
	}
	r.count = max(items, stated)
	return nil
}

// refuseError is an error where value is an object that the rules call one.
func (p anything) refuseError(value jsontext.Value) error {
	if value.Kind() != '{' {
		return nil
	}
	return eachMember(context.Background(), value, func(name string, value jsontext.Value) error {
		for _, rule := range p.options.Errors {
			if rule.Member == name && rule.holds(value) {
				return &ResultError{"the tool's own error object; that is no absence"}
			}
		}
		return nil
	})
}

func (r ErrorRule) holds(value jsontext.Value) bool {
	if len(r.Values) == 0 {
		text := string(value)
		return hasContent(value) && text != "false" && text != "0"
	}
	text := string(value)
	if value.Kind() == '"' {
		text = unquoted(value)
	}
	return slices.ContainsFunc(r.Values, func(v string) bool { return strings.EqualFold(v, text) })
}

func unquoted(value jsontext.Value) string {
	text, _ := jsontext.AppendUnquote(nil, value) // a lone surrogate becomes U+FFFD, and an error
	return string(text)
}

// eachMember calls do for the members of an object that was parsed before.
func eachMember(ctx context.Context, object jsontext.Value, do func(name string, value jsontext.Value) error) error {
	dec := newDecoder(object)
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; dec.PeekKind() == '"'; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := do(name, value); err != nil {
			return err
		}
	}
	return nil
}

// eachElement calls do for the elements of an array that was parsed before.
func eachElement(ctx context.Context, array jsontext.Value, do func()) error {
	dec := newDecoder(array)
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := dec.SkipValue(); err != nil {
			return err
		}
		do()
	}
	return nil
}

// find follows a member name or a JSON Pointer through objects; nil where it
// leads nowhere.
func find(value jsontext.Value, pointer string) jsontext.Value {
	names := []string{pointer}
	if strings.HasPrefix(pointer, "/") {
		names = strings.Split(pointer[1:], "/")
		for i, name := range names {
			names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		}
	}
	for _, name := range names {
		var found jsontext.Value
		if value.Kind() == '{' {
			_ = eachMember(context.Background(), value, func(n string, v jsontext.Value) error { // the value was parsed before
				if n == name {
					found = v.Clone()
				}
				return nil
			})
		}
		value = found
	}
	return value
}

// hasContent reports whether a value has anything in it but null, empty strings
// and empty containers, at any depth.
func hasContent(value jsontext.Value) bool {
	dec := newDecoder(value)
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return false // the end: the value was parsed before
		}
		kind, position := dec.StackIndex(dec.StackDepth())
		switch isName := kind == '{' && position%2 == 1; token.Kind() {
		case '"':
			if !isName && strings.TrimSpace(token.String()) != "" {
				return true
			}
		case '0', 't', 'f':
			return true
		}
	}
}
