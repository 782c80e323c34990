package conversation

import (
	"encoding/json"
	"strings"
)

// draft is a call whose pieces still arrive.
type draft struct {
	event
	whole []byte // what a call had before any piece of its arguments came, used when none does
}

// assembly puts a response together from its pieces, in the order in which their calls began.
type assembly struct {
	r      *reader
	id     string // of a response of OpenAI Responses
	drafts []*draft
	open   map[string]*draft // by the place that the pieces name
	done   bool              // a stream of OpenAI Responses named at least one item
}

// assemble reads the values of one response: one object, or the pieces of a stream.
func (r *reader) assemble(values []value) *assembly {
	a := &assembly{r: r, open: map[string]*draft{}}
	for _, v := range values {
		a.take(r.object(v))
	}
	return a
}

// events are the calls, and whatever else a response said; a provider's own tools have results in it.
func (a *assembly) events() []event {
	var all []event
	for _, d := range a.drafts {
		if d.kind == called && len(d.body) == 0 && d.whole != nil {
			d.body = d.whole
		}
		all = append(all, d.event)
	}
	return all
}

func (a *assembly) take(o object) {
	switch {
	case o.peek("choices").isArray():
		a.chat(o)
	case o.peek("candidates").isArray():
		a.add(a.r.step(a.firstOf(o, "candidates"), 0, 0)...)
	case a.responses(o), a.anthropic(o), a.cohere(o), a.bedrock(o):
	case a.r.isStep(o, 0):
		a.add(a.r.step(o, 0, 0)...)
	}
}

func (a *assembly) add(events ...event) {
	for _, e := range events {
		a.drafts = append(a.drafts, &draft{event: e})
	}
}

// begin opens a draft at a place.
func (a *assembly) begin(place string, e event) *draft {
	d := &draft{event: e}
	a.drafts, a.open[place] = append(a.drafts, d), d
	return d
}

// firstOf is the first of the alternatives that a response offers: the one that is gone on with.
func (a *assembly) firstOf(o object, name string) object {
	for v := range o.array(name).elements() {
		choice := a.r.object(v)
		if index := choice.peek("index"); len(index.raw) == 0 || string(index.raw) == "0" {
			return choice
		}
	}
	return object{r: a.r, at: o.at}
}

// chat reads a response of Chat Completions or a chunk of one.
func (a *assembly) chat(o object) {
	choice := a.firstOf(o, "choices")
	if message := choice.peek("message"); message.isObject() {
		a.add(a.r.step(a.r.object(message), 0, 0)...)
	}
	delta := choice.child("delta")
	for v := range delta.array("tool_calls").elements() {
		piece := a.r.object(v)
		a.join("chat:"+string(piece.peek("index").raw), a.r.chatCall(piece))
	}
	if legacy := a.r.function(delta.child("function_call"), ""); legacy.name != "" || len(legacy.body) > 0 {
		a.join("chat:function_call", legacy)
	}
}

// join adds a piece to the draft at its place, or opens one. Some providers give every whole call the same index, or
// none: another id, or a name behind arguments that are complete, begins another call.
func (a *assembly) join(place string, piece event) {
	d := a.open[place]
	switch {
	case d == nil,
		piece.id != "" && d.id != "" && piece.id != d.id,
		piece.name != "" && len(d.body) > 0 && json.Valid(d.body):
		a.begin(place, piece)
		return
	}
	if d.id == "" {
		d.id = piece.id
	}
	if d.name == "" {
		d.name = piece.name
	}
	d.body = append(d.body, piece.body...)
}

// responses reads a response of OpenAI Responses or an event of one. The item that ends counts over the pieces before
// it; the list at the end counts only where the stream named no item.
func (a *assembly) responses(o object) bool {
	if output := o.peek("output"); output.isArray() {
		a.list(o)
		return true
	}
	item := o.child("item")
	place := "item:" + string(o.peek("output_index").raw)
	if place == "item:" {
		place += item.word("id") + o.word("item_id")
	}
	switch o.word("type") {
	case "response.created":
		a.id = o.child("response").text("id")
	case "response.output_item.added", "response.output_item.done":
		a.itemPiece(place, item)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		if d := a.open[place]; d != nil {
			d.body = append(d.body, recorded(o, "delta")...)
		}
	case "response.completed", "response.incomplete", "response.failed", "response.done":
		if !a.done {
			a.list(o.child("response"))
		}
	}
	return strings.HasPrefix(o.word("type"), "response.")
}

// list reads a whole response of OpenAI Responses.
func (a *assembly) list(o object) {
	if id := o.text("id"); id != "" {
		a.id = id
	}
	a.add(a.r.steps(a.r.listed(o.array("output")))...)
}

func (a *assembly) itemPiece(place string, item object) {
	a.done = true
	for _, e := range a.r.item(item) {
		if d := a.open[place]; d != nil {
			d.event = e
		} else {
			a.begin(place, e)
		}
	}
}

// anthropic reads an event of Anthropic Messages.
func (a *assembly) anthropic(o object) bool {
	place := "block:" + string(o.peek("index").raw)
	switch o.word("type") {
	case "message_start":
		clear(a.open)
		a.add(a.r.content(o.child("message"))...)
	case "content_block_start":
		for _, e := range a.r.block(o.child("content_block")) {
			start := e.body
			e.body = nil
			a.begin(place, e).whole = start
		}
	case "content_block_delta":
		if d, delta := a.open[place], o.child("delta"); d != nil && delta.word("type") == "input_json_delta" {
			d.body = append(d.body, delta.text("partial_json")...)
		}
	case "content_block_stop":
		delete(a.open, place)
	default:
		return false
	}
	return true
}

// cohere reads an event of Cohere's chat.
func (a *assembly) cohere(o object) bool {
	switch o.word("type") {
	case "tool-call-start", "tool-call-delta":
		piece := o.child("delta").child("message").child("tool_calls")
		a.join("cohere:"+string(o.peek("index").raw), a.r.chatCall(piece))
		return true
	}
	return false
}

// bedrock reads a response of Bedrock Converse, or an event of ConverseStream that was recorded as JSON.
func (a *assembly) bedrock(o object) bool {
	if message := o.child("output").child("message"); len(message.members) > 0 {
		a.add(a.r.step(message, 0, 0)...)
		return true
	}
	if start := o.child("contentBlockStart"); len(start.members) > 0 {
		for _, e := range a.r.block(start.child("start")) {
			a.begin("bedrock:"+string(start.peek("contentBlockIndex").raw), e)
		}
		return true
	}
	delta := o.child("contentBlockDelta")
	if d := a.open["bedrock:"+string(delta.peek("contentBlockIndex").raw)]; d != nil {
		d.body = append(d.body, recorded(delta.child("delta").child("toolUse"), "input")...)
	}
	return len(delta.members) > 0
}
