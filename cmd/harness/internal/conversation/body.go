package conversation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
)

// envelopes are the members in which recorders keep the body of a request or response, or the text of a body, in the
// order in which they are tried: VCR in Python, Ruby and Go, HAR, and plain logs.
func envelopes() [8]string {
	return [...]string{"parsed_body", "body", "json", "postData", "content", "text", "string", "base64_string"}
}

// body finds what was sent: the values of a JSON body, or the data of a streamed one. A body that is neither gives none.
func (r *reader) body(v value, nesting int) []value {
	switch {
	case nesting > MaxNesting:
		r.fail(v.at, ReasonDepth)
		return nil
	case v.isString():
		return r.textBody(v)
	case !v.isObject() || r.shape(v) != other:
		return r.listed(v)
	}
	o := r.object(v)
	for _, name := range envelopes() {
		inside, ok := o.get(name)
		if !ok {
			continue
		}
		if inside.isString() && (name == "base64_string" || o.word("encoding") == "base64") {
			if found := r.encodedBody(inside); len(found) > 0 {
				return found
			}
		}
		if found := r.body(inside, nesting+1); len(found) > 0 {
			return found
		}
	}
	return nil
}

// textBody reads a body that was recorded as a string. What only looks like JSON is a failure where it begins as an
// object, since a body that was cut off would otherwise lose its calls without a word.
func (r *reader) textBody(v value) []value {
	text, ok := unquote(v.raw)
	if !ok {
		start := bytes.TrimLeft(v.raw[1:], " ")
		if start[0] == '{' || start[0] == '[' || isEventStream(start) {
			r.fail(v.at, ReasonText)
		}
		return nil
	}
	return r.innerText(value{raw: []byte(text), at: v.at, inner: true})
}

func (r *reader) encodedBody(v value) []value {
	text, _ := unquote(v.raw)
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return r.innerText(value{raw: decoded, at: v.at, inner: true})
}

func (r *reader) innerText(text value) []value {
	trimmed := bytes.TrimSpace(text.raw)
	switch {
	case isEventStream(trimmed):
		return r.eventStream(text)
	case bytes.HasPrefix(trimmed, []byte("{")), bytes.HasPrefix(trimmed, []byte("[")) && json.Valid(trimmed):
		all := r.values(text)
		if len(all) == 1 {
			return r.listed(all[0])
		}
		return all
	}
	return nil
}
