package conversation

import (
	"bytes"
	"strings"
)

// isEventStream tells whether a text is a stream of server-sent events.
func isEventStream(text []byte) bool {
	for _, start := range [...]string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(text, []byte(start)) {
			return true
		}
	}
	return false
}

// eventStream gives the JSON data of server-sent events in their order: the data lines of one event are joined, any
// other field and any data that begins no JSON object or array ("[DONE]", "ping") is passed over.
func (r *reader) eventStream(text value) []value {
	var all []value
	var data []byte
	at := 0
	finish := func() {
		trimmed := bytes.TrimSpace(data)
		if len(trimmed) > 0 && (trimmed[0] == '{' || bytes.HasPrefix(trimmed, []byte("[{"))) {
			all = append(all, r.values(value{raw: trimmed, at: at, inner: true})...)
		}
		data = nil
	}
	for from := 0; from < len(text.raw); {
		to, next := lineEnd(text.raw, from)
		line := text.raw[from:to]
		field, isData := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case isData && data == nil:
			at = text.part(from, to).at
			data = append([]byte{}, field...)
		case isData:
			data = append(append(data, '\n'), field...)
		case len(line) == 0:
			finish()
		}
		from = next
	}
	finish()
	return all
}

// lineEnd is where a line ends and where the next begins; a line ends with \n, \r\n or \r, as WHATWG HTML section 9.2.5 says.
func lineEnd(text []byte, from int) (to, next int) {
	n := bytes.IndexAny(text[from:], "\r\n")
	if n < 0 {
		return len(text), len(text)
	}
	to = from + n
	if text[to] == '\r' && to+1 < len(text) && text[to+1] == '\n' {
		return to, to + 2
	}
	return to, to + 1
}

// isReply tells whether an object is a response of a provider or one piece of a streamed one. Responses that are
// themselves a message, as those of Anthropic, Cohere and Ollama, are steps.
func (r *reader) isReply(o object) bool {
	if o.peek("choices").isArray() || o.peek("candidates").isArray() {
		return true
	}
	if kind := o.word("type"); strings.HasPrefix(kind, "response.") || isPiece(kind) {
		return true
	}
	output := o.peek("output")
	if r.object(output).peek("message").isObject() {
		return true
	}
	if output.isArray() && (o.word("object") == "response" || r.holdsSteps(output)) {
		return true
	}
	return o.has("contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStart", "messageStop")
}

// isPiece knows the events of the streams of Anthropic and Cohere.
func isPiece(kind string) bool {
	switch strings.ReplaceAll(kind, "-", "_") {
	case "message_start", "message_delta", "message_stop", "message_end", "ping",
		"content_block_start", "content_block_delta", "content_block_stop",
		"content_start", "content_delta", "content_end", "tool_plan_delta",
		"tool_call_start", "tool_call_delta", "tool_call_end", "citation_start", "citation_end":
		return true
	}
	return false
}

// replies reads responses that stand alone, whole or streamed. Each is a conversation of its own, whose calls have no result.
func (r *reader) replies(values []value) []Conversation {
	var all []Conversation
	var last string
	for from, i := 0, 0; i < len(values); i++ {
		o := r.object(values[i])
		id := o.word("id") + o.word("responseId")
		if id != "" {
			last = id
		}
		if i+1 == len(values) || r.begins(r.object(values[i+1]), last) {
			a := r.assemble(values[from : i+1])
			all = append(all, r.alone(values[from].at, a.events())...)
			from, last = i+1, ""
		}
	}
	return all
}

// begins tells whether an object is of another response than the one with that id.
func (r *reader) begins(o object, last string) bool {
	switch o.word("type") {
	case "message_start", "message-start", "response.created":
		return true
	}
	id := o.word("id") + o.word("responseId")
	return id != "" && last != "" && id != last || o.has("messageStart")
}
