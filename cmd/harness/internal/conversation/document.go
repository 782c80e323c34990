package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// shape is what one JSON value of a file can be.
type shape int

const (
	other    shape = iota
	step           // a message, item, content or event: part of a conversation
	reply          // a response of a provider, whole or a piece of a stream
	history        // an object with the list of a conversation, such as the body of a request
	exchange       // a request and its response
)

// document reads the whole file: JSON values one behind another (one a line, or only one), or one event stream.
func (r *reader) document() []Conversation {
	data := bytes.TrimPrefix(r.data, []byte("\ufeff"))
	start := len(r.data) - len(data)
	switch text := bytes.TrimLeft(data, " \t\r\n"); {
	case isEventStream(text):
		return r.replies(r.eventStream(value{raw: data, at: start}))
	case isYAML(text):
		r.fail(len(r.data)-len(text), ReasonYAML)
		return nil
	case len(text) > 0 && text[0] != '{' && text[0] != '[':
		return nil
	}
	return r.sequence(r.values(value{raw: data, at: start}), MaxNesting)
}

// isYAML knows how the usual recorders begin a cassette.
func isYAML(text []byte) bool {
	for _, start := range [...]string{"---", "interactions:", "http_interactions:", "version:", "%YAML"} {
		if bytes.HasPrefix(text, []byte(start)) {
			return true
		}
	}
	return false
}

// values are the JSON values of a text, which need nothing but space between them. A malformed first value is a failure
// at the line of the fault, a later one at the line where it begins: in a file of lines that is the line to look at.
func (r *reader) values(text value) []value {
	var all []value
	decoder := json.NewDecoder(bytes.NewReader(text.raw))
	for {
		var raw json.RawMessage
		from := int(decoder.InputOffset())
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			r.fail(text.part(r.fault(text.raw, from, err), len(text.raw)).at, ReasonSyntax)
			return all
		}
		to := int(decoder.InputOffset())
		all = append(all, text.part(to-len(raw), to))
	}
}

func (r *reader) fault(text []byte, from int, err error) int {
	syntax := (*json.SyntaxError)(nil)
	switch {
	case from > 0:
		return len(text) - len(bytes.TrimLeft(text[from:], " \t\r\n"))
	case errors.As(err, &syntax):
		return min(max(int(syntax.Offset)-1, 0), len(text))
	}
	return len(text) // it is cut off
}

// shape recognises a value by its members alone. It never fails.
func (r *reader) shape(v value) shape {
	o := r.object(v)
	switch {
	case len(o.members) == 0:
		return other
	case r.isExchange(o):
		return exchange
	case r.isHistory(o):
		return history
	case r.isReply(o):
		return reply
	case r.isStep(o, 0):
		return step
	}
	return other
}

// sequence reads the values of a file of lines, or of an array. Steps, exchanges and replies that follow each other are
// one conversation, one recording, one stream; each history is a conversation of its own. Whatever else stands between
// them is the recorder's own and parts nothing; elsewhere it is searched.
func (r *reader) sequence(values []value, left int) []Conversation {
	var all []Conversation
	var run []value
	current := other
	flush := func() {
		all = append(all, r.run(current, run)...)
		run, current = nil, other
	}
	for _, v := range values {
		switch found := r.shape(v); {
		case found == other && current == step:
			run = append(run, v) // it has a place in the list, so the places of the messages stay what they are
		case found == other && (current == exchange || current == reply):
		case found == other && left > 0:
			if inside := r.search(v, left-1); len(inside) > 0 {
				flush()
				all = append(all, inside...)
			}
		case found != other:
			if found != current {
				flush()
			}
			run, current = append(run, v), found
		}
	}
	flush()
	return all
}

// run reads values of one shape.
func (r *reader) run(of shape, values []value) []Conversation {
	switch {
	case len(values) == 0:
		return nil
	case of == step:
		return r.alone(values[0].at, r.steps(values))
	case of == exchange:
		return r.recording(values)
	case of == reply:
		return r.replies(values)
	}
	return r.histories(values)
}

// alone is a conversation that needs nothing but its own events.
func (r *reader) alone(at int, events []event) []Conversation {
	calls, unmatched := pair(events)
	return []Conversation{{Line: r.line(at), Calls: calls, Unmatched: unmatched}}
}

// steps are the events of a list of messages, items, contents or events; anything else in the list is passed over.
func (r *reader) steps(list []value) []event {
	var events []event
	turn, models := 0, false
	for i, v := range list {
		o := r.object(v)
		if !r.isStep(o, 0) {
			continue
		}
		model := isModelItem(o)
		if !model || !models {
			turn = i
		}
		models = model
		events = append(events, r.step(o, turn, 0)...)
	}
	return events
}

// search looks for conversations inside a value that is none itself.
func (r *reader) search(v value, left int) []Conversation {
	var all []Conversation
	found, _ := r.find(v, left)
	for _, f := range found {
		all = append(all, r.sequence(r.listed(f.value), f.left)...)
	}
	return all
}

// found is a value that holds something of a conversation, and how much deeper the reader may look inside.
type found struct {
	value
	left int
}

// find gives the values that hold something of a conversation, and how deep the nearest lies. Of the members of one
// object only the nearest count, since what lies deeper in such a file repeats them; all elements of an array count.
func (r *reader) find(v value, left int) (all []found, depth int) {
	if r.holds(v) {
		return []found{{v, left}}, 0
	}
	nearest := MaxNesting + 1
	if left == 0 {
		return nil, nearest
	}
	for element := range v.elements() {
		inside, depth := r.find(element, left-1)
		all, nearest = append(all, inside...), min(nearest, depth)
	}
	for _, m := range r.object(v).members {
		switch inside, depth := r.find(m.value, left-1); {
		case depth < nearest:
			all, nearest = inside, depth
		case depth == nearest:
			all = append(all, inside...)
		}
	}
	return all, nearest + 1
}

// listed are the elements of an array; of anything else, the value itself.
func (r *reader) listed(v value) []value {
	if !v.isArray() {
		return []value{v}
	}
	var all []value
	for element := range v.elements() {
		all = append(all, element)
	}
	return all
}

// holds tells whether a value, or an element of it, is something of a conversation.
func (r *reader) holds(v value) bool {
	for _, v := range r.listed(v) {
		if r.shape(v) != other {
			return true
		}
	}
	return false
}
