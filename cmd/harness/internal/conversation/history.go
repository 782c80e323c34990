package conversation

import "bytes"

// isHistory tells whether an object has the list of a conversation where the bodies of requests have it.
func (r *reader) isHistory(o object) bool {
	for _, name := range lists() {
		if r.isList(o.peek(name)) {
			return true
		}
	}
	return o.peek("input").isString() && o.peek("model").isString()
}

// lists are the members in which requests carry the conversation, by provider.
func lists() [3]string { return [...]string{"messages", "contents", "input"} }

// isList tells whether a value is a list of steps, or an empty one.
func (r *reader) isList(v value) bool {
	return v.isArray() && (r.holdsSteps(v) || len(bytes.TrimSpace(v.raw[1:len(v.raw)-1])) == 0)
}

func (r *reader) holdsSteps(v value) bool {
	for element := range v.elements() {
		if r.isStep(r.object(element), 0) {
			return true
		}
	}
	return false
}

// carried are the events of that list. An input that is a text alone is one message.
func (r *reader) carried(o object) []event {
	if list := r.listOf(o); list.isArray() {
		return r.steps(r.listed(list))
	}
	return []event{{kind: spoke}}
}

// listOf is that list; not there where the only input is a text.
func (r *reader) listOf(o object) value {
	for _, name := range lists() {
		if r.isList(o.peek(name)) {
			v, _ := o.get(name)
			return v
		}
	}
	return value{}
}

// histories reads objects that each carry a whole conversation. A log of requests repeats the history in each line:
// there, a line that goes on from an earlier one takes its place.
func (r *reader) histories(values []value) []Conversation {
	var all []Conversation
	ends := map[digest]int{}
	for _, v := range values {
		o := r.object(v)
		one := r.history(v, o)
		if !o.peek("model").isString() {
			all = append(all, one...)
			continue
		}
		chain := r.chain(r.listOf(o))
		at, known := earlier(ends, chain)
		if !known {
			at = len(all)
			all = append(all, one...)
		}
		all[at] = one[0]
		if len(chain) > 0 {
			ends[chain[len(chain)-1]] = at
		}
	}
	return all
}

// history reads one such object, which may have the response to it beside the list.
func (r *reader) history(v value, o object) []Conversation {
	if o.has("response") || r.isReply(o) {
		return r.recording([]value{v})
	}
	return r.alone(v.at, r.carried(o))
}

// chain has one digest for each beginning of a list.
func (r *reader) chain(list value) []digest {
	var chain []digest
	var last digest
	for element := range list.elements() {
		last = digestOf(last[:], element.raw)
		chain = append(chain, last)
	}
	return chain
}

// earlier finds the conversation whose whole list is the longest beginning of this one, and forgets it under that list.
func earlier(ends map[digest]int, chain []digest) (int, bool) {
	for i := len(chain) - 1; i >= 0; i-- {
		if at, ok := ends[chain[i]]; ok {
			delete(ends, chain[i])
			return at, true
		}
	}
	return 0, false
}
