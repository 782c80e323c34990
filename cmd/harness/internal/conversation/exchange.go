package conversation

// isExchange tells whether an object is a recorded request and its response.
func (r *reader) isExchange(o object) bool {
	request := o.peek("request")
	return (request.isObject() || request.isString() || request.isArray()) && o.has("response")
}

// traffic is one exchange as far as it belongs to a conversation.
type traffic struct {
	at       int
	request  []event // the history that the request carries
	response []event // what the response adds
	id       string  // of the response, where its provider keeps the history under it
	previous string  // the id of the response that the request goes on from
}

func (r *reader) traffic(v value) traffic {
	o := r.object(v)
	request, response := v, v
	if r.isExchange(o) {
		request, _ = o.get("request")
		response, _ = o.get("response")
	} else if given, ok := o.get("response"); ok {
		response = given
	}
	t := traffic{at: v.at}
	sent := r.body(request, 0)
	for _, body := range sent {
		if o := r.object(body); r.isHistory(o) {
			t.request = append(t.request, r.carried(o)...)
			t.previous = o.word("previous_response_id")
		}
	}
	if t.request == nil {
		t.request = r.steps(sent)
	}
	answer := r.assemble(r.body(response, 0))
	t.response, t.id = answer.events(), answer.id
	return t
}

// recording reads exchanges that follow each other. What the host reported back counts: the calls that its requests
// carry, each once however many requests repeat it. A call that only a response has was not gone on with, and counts
// only where no request of the recording carries any call.
func (r *reader) recording(values []value) []Conversation {
	var all []traffic
	for _, v := range values {
		all = append(all, r.traffic(v))
	}
	var threads []thread
	for _, chain := range chains(all) {
		threads = append(threads, join(all, chain))
	}
	var found []Conversation
	for _, group := range related(threads) {
		found = append(found, r.merged(threads, group))
	}
	if len(found) == 0 {
		return r.unreported(all)
	}
	found[0].Outside = outside(found, threads, all)
	return found
}

// unreported reads a recording whose requests carry no call: each response is a conversation of its own.
func (r *reader) unreported(all []traffic) []Conversation {
	var found []Conversation
	for _, t := range all {
		if one := r.alone(t.at, t.response); len(one[0].Calls) > 0 {
			found = append(found, one...)
		}
	}
	if found == nil && len(all) > 0 {
		found = r.alone(all[0].at, nil)
	}
	return found
}

// chains puts exchanges that go on from a stored response behind the one they go on from; all others stand alone.
func chains(all []traffic) [][]int {
	var chains [][]int
	chainOf := map[string]int{}
	for i, t := range all {
		c, ok := chainOf[t.previous]
		if !ok || t.previous == "" {
			c = len(chains)
			chains = append(chains, nil)
		}
		chains[c] = append(chains[c], i)
		if t.id != "" {
			chainOf[t.id] = c
		}
	}
	return chains
}

// thread is a history as one request carries it, or as a chain of requests does together.
type thread struct {
	at        int
	format    format
	calls     []Call
	unmatched int
}

// join makes one history of a chain: before each request that goes on comes what the response before it added.
func join(all []traffic, chain []int) thread {
	var events []event
	added := map[string]bool{}
	responseOf := map[string][]event{}
	next := 0
	add := func(more []event) {
		for _, e := range more {
			e.turn += next
			events = append(events, e)
		}
		if n := len(events); n > 0 {
			next = events[n-1].turn + 1
		}
	}
	for _, i := range chain {
		t := all[i]
		if t.previous != "" && !added[t.previous] {
			added[t.previous] = true
			add(responseOf[t.previous])
		}
		add(t.request)
		responseOf[t.id] = t.response
	}
	joined := thread{at: all[chain[0]].at}
	joined.calls, joined.unmatched = pair(events)
	for _, e := range events {
		if e.kind == called {
			joined.format = e.format
			break
		}
	}
	return joined
}
