package conversation

// wrappers are members in which recorders put a whole message or item of a provider.
func wrappers() [4]string { return [...]string{"message", "payload", "item", "content"} }

// isStep tells whether an object is one message, item, content or event of a conversation in any known format.
func (r *reader) isStep(o object, nesting int) bool {
	if isMessage(o) || isItem(o) {
		return true
	}
	if o.peek("parts").isArray() {
		return true
	}
	if nesting > 1 {
		return false
	}
	for _, name := range wrappers() {
		if v := o.peek(name); v.isObject() && r.isStep(r.object(v), nesting+1) {
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

// step gives the events of one message, item, content or event.
func (r *reader) step(o object, turn, nesting int) []event {
	if isMessage(o) || isItem(o) || o.peek("parts").isArray() {
		return r.said(o, turn)
	}
	for _, name := range wrappers() {
		if v, _ := o.get(name); v.isObject() && r.isStep(r.object(v), nesting+1) {
			return r.step(r.object(v), turn, nesting+1)
		}
	}
	return nil
}

// said gives the events of a message, item or content that stands in no wrapper. One that neither calls nor answers
// still parts two batches of calls, unless it is reasoning: one response holds the calls on both sides of that.
func (r *reader) said(o object, turn int) []event {
	var events []event
	if isItem(o) {
		events = r.item(o)
	} else {
		inside := r.content(o)
		events = append(r.message(o, inside), inside...)
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

// message reads what OpenAI Chat Completions, and those who copied it, keep beside the content. A message of a tool is
// itself a result, unless its content holds results in the manner of the other formats.
func (r *reader) message(o object, inside []event) []event {
	var events []event
	for v := range o.array("tool_calls").elements() {
		events = append(events, r.chatCall(r.object(v)))
	}
	if call := o.child("function_call"); call.word("name") != "" {
		events = append(events, r.function(call, ""))
	}
	if role := o.word("role"); (role == "tool" || role == "function") && len(inside) == 0 {
		events = append(events, r.chatResult(o))
	}
	return events
}

// chatCall reads one element of tool_calls: a function, or a custom tool whose input is free text. Some providers fill
// the member that does not apply with empty texts.
func (r *reader) chatCall(o object) event {
	id := o.text("id")
	if custom := o.child("custom"); custom.word("name") != "" {
		return event{kind: called, format: chat, id: id, name: custom.text("name"), body: recorded(custom, "input")}
	}
	return r.function(o.child("function"), id)
}

func (r *reader) function(o object, id string) event {
	return event{kind: called, format: chat, id: id, name: o.text("name"), body: recorded(o, "arguments")}
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
	return event{kind: answered, format: chat, id: id, name: o.text("name"), body: resultOf(o, "content")}
}

// recorded is what a member holds, nil where it is absent or null.
func recorded(o object, name string) []byte {
	if v, ok := o.get(name); ok {
		return o.r.bytes(v)
	}
	return nil
}

// resultOf is what a member holds, empty but not nil where it is absent or null: a result without content is a result.
func resultOf(o object, name string) []byte {
	if v, ok := o.get(name); ok {
		return o.r.bytes(v)
	}
	return []byte{}
}
