package conversation

// wrappers are members in which recorders put a whole message or item of a provider.
var wrappers = [...]string{"message", "payload", "item", "content"}

// isStep tells whether an object is one message, item, content or event of a conversation in any known format.
func (r *reader) isStep(o object, nesting int) bool {
	if isMessage(o) || isItem(o) {
		return true
	}
	if v, ok := o.first("parts"); ok && v.isArray() {
		return true
	}
	if nesting > 1 {
		return false
	}
	for _, name := range wrappers {
		if v, ok := o.first(name); ok && v.isObject() && r.isStep(r.object(v), nesting+1) {
			return true
		}
	}
	return false
}

// isMessage tells whether an object has the role of a message and something that a message says.
func isMessage(o object) bool {
	switch o.word("role") {
	case "system", "developer", "user", "assistant", "model", "tool", "function":
		return o.has("content", "parts", "tool_calls", "function_call", "tool_plan")
	}
	return false
}

// step gives the events of one message, item, content or event; there is always at least one.
func (r *reader) step(o object, turn int) []event {
	return r.unwrapped(o, turn, 0)
}

func (r *reader) unwrapped(o object, turn, nesting int) []event {
	var events []event
	switch {
	case isMessage(o):
		events = append(r.message(o), r.content(o)...)
	case isItem(o):
		events = r.item(o)
	case o.has("parts"):
		events = r.content(o)
	case nesting <= 1:
		for _, name := range wrappers {
			if v, ok := o.first(name); ok && v.isObject() && r.isStep(r.object(v), nesting+1) {
				return r.unwrapped(r.object(v), turn, nesting+1)
			}
		}
	}
	if len(events) == 0 && o.word("type") != "reasoning" {
		events = []event{{kind: spoke}}
	}
	for i := range events {
		events[i].turn = turn
	}
	return events
}

// content gives the calls and results that stand inside the content or the parts of a message.
func (r *reader) content(o object) []event {
	var events []event
	for _, name := range [...]string{"content", "parts"} {
		list, ok := o.get(name)
		if !ok {
			continue
		}
		for v := range list.elements() {
			part := r.object(v)
			events = append(events, r.block(part)...)
			events = append(events, r.part(part)...)
		}
	}
	return events
}

// message reads what OpenAI Chat Completions, and those who copied it, keep beside the content.
func (r *reader) message(o object) []event {
	var events []event
	for v := range o.array("tool_calls").elements() {
		events = append(events, r.chatCall(r.object(v)))
	}
	if _, ok := o.get("function_call"); ok {
		events = append(events, r.function(o.child("function_call"), ""))
	}
	switch o.word("role") {
	case "tool", "function":
		if e := r.chatResult(o); !r.holdsResults(o) {
			events = append(events, e)
		}
	}
	return events
}

// holdsResults tells whether a message of a tool keeps its results as blocks or parts in the manner of other formats.
func (r *reader) holdsResults(o object) bool {
	for _, e := range r.content(o) {
		if e.kind == answered {
			return true
		}
	}
	return false
}

// chatCall reads one element of tool_calls: a function, or a custom tool whose input is free text.
func (r *reader) chatCall(o object) event {
	id := o.text("id")
	if custom := o.child("custom"); len(custom.members) > 0 {
		return event{kind: called, format: chat, id: id, name: custom.text("name"), body: r.optional(custom, "input")}
	}
	return r.function(o.child("function"), id)
}

func (r *reader) function(o object, id string) event {
	return event{kind: called, format: chat, id: id, name: o.text("name"), body: r.optional(o, "arguments")}
}

// chatResult reads a message of a tool. SWE-agent calls the id tool_call_ids and keeps it in a list.
func (r *reader) chatResult(o object) event {
	id := o.text("tool_call_id")
	if list, ok := o.get("tool_call_ids"); ok && id == "" {
		for v := range list.elements() {
			id = string(r.bytes(v))
			break
		}
	}
	return event{kind: answered, format: chat, id: id, name: o.text("name"), body: r.content0(o, "content")}
}

// optional is what a member holds, nil where it is absent or null.
func (r *reader) optional(o object, name string) []byte {
	if v, ok := o.get(name); ok {
		return r.bytes(v)
	}
	return nil
}

// content0 is what a member holds, empty but not nil where it is absent or null: a result without content is a result.
func (r *reader) content0(o object, name string) []byte {
	if v, ok := o.get(name); ok {
		return r.bytes(v)
	}
	return []byte{}
}
