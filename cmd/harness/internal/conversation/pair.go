package conversation

// kind is what one event of a history says.
type kind int

const (
	spoke    kind = iota + 1 // a message without a call: it ends a batch of calls
	called                   // a call of the model
	answered                 // a result
)

// format is the provider format in which a call was written; the histories of two formats are never merged.
type format int

const (
	chat format = iota + 1
	responses
	blocks // Anthropic Messages and Bedrock Converse: typed blocks inside the content
	parts  // Gemini
)

// event is one thing that a history says, in its order, before results are joined with calls.
type event struct {
	kind   kind
	format format
	turn   int // index of the message
	id     string
	name   string
	body   []byte // arguments or result
}

// pair joins results with calls: by id where the result has one, else by name and order, else by order alone. Where an
// id or a name repeats, a result belongs to the latest batch of calls that still waits for one, and inside that batch
// to the first: providers want a call answered before the next one, so an older call that still waits was abandoned.
func pair(events []event) (calls []Call, unmatched int) {
	p := pairing{waiting: map[string][]batch{}}
	for _, e := range events {
		switch e.kind {
		case called:
			p.call(e)
		case answered:
			p.interrupted = true
			if !p.answer(e) {
				unmatched++
			}
		default:
			p.interrupted = true
		}
	}
	return p.calls, unmatched
}

// pairing remembers, for each id and each name, the calls that may still be waiting.
type pairing struct {
	calls       []Call
	batch       int
	interrupted bool
	waiting     map[string][]batch
}

// batch are calls that were made without anything in between, as indexes of calls.
type batch struct {
	number int
	calls  []int
}

func (p *pairing) call(e event) {
	if p.interrupted {
		p.batch++
		p.interrupted = false
	}
	at := len(p.calls)
	p.calls = append(p.calls, Call{ID: e.id, Name: e.name, Arguments: e.body, Turn: e.turn})
	if e.id != "" {
		p.wait("id:"+e.id, at)
		p.wait("with id:"+e.name, at)
	} else {
		p.wait("without id:"+e.name, at)
	}
	p.wait("any", at)
}

func (p *pairing) wait(key string, at int) {
	list := p.waiting[key]
	if n := len(list); n > 0 && list[n-1].number == p.batch {
		list[n-1].calls = append(list[n-1].calls, at)
		return
	}
	p.waiting[key] = append(list, batch{p.batch, []int{at}})
}

// answer gives the result to its call. A result with an id never goes to a call with another id.
func (p *pairing) answer(e event) bool {
	keys := []string{"without id:" + e.name, "with id:" + e.name}
	switch {
	case e.id != "":
		keys = []string{"id:" + e.id, "without id:" + e.name}
	case e.name == "":
		keys = []string{"any"}
	}
	for _, key := range keys {
		if at, ok := p.take(key); ok {
			p.calls[at].Result, p.calls[at].HasResult = e.body, true
			return true
		}
	}
	return false
}

// take is the next waiting call under that key. Calls that were answered under another key are dropped on the way, so
// that all takes together cost no more than all waits.
func (p *pairing) take(key string) (int, bool) {
	list := p.waiting[key]
	defer func() { p.waiting[key] = list }()
	for len(list) > 0 {
		last := &list[len(list)-1]
		for len(last.calls) > 0 {
			at := last.calls[0]
			last.calls = last.calls[1:]
			if !p.calls[at].HasResult {
				return at, true
			}
		}
		list = list[:len(list)-1]
	}
	return 0, false
}
