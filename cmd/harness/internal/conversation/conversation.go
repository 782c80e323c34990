package conversation

const (
	// MaxBytes is the largest file that [Read] takes: 512 MiB. Reading needs a few times that much memory.
	MaxBytes = 512 << 20
	// MaxNesting is how often a list, a body or a wrapper may stand inside another before the reader stops looking. It
	// limits the reader's own recursion; arguments and results may be as deep as they like.
	MaxNesting = 12
)

// Conversation is one recorded conversation, or one recording of exchanges that belong together.
type Conversation struct {
	// Line is where it begins in the file, counted from 1.
	Line int
	// Calls are in the order in which the model asked for them.
	Calls []Call
	// Unmatched counts results that answer no call which the conversation carries.
	Unmatched int
	// Outside counts calls of a recording which only a response carries, or only a request in another provider's format
	// than the one that was read. They are not in Calls: the host never reported them back. Recording-wide, it stands
	// at the first conversation of a recording. A call that the host renamed before it reported it back counts too.
	Outside int
}

// Call is one recorded tool call. All byte slices are the caller's own.
type Call struct {
	// ID is exact; empty where the recording has none, or an empty one.
	ID string
	// Name is the tool's, exact.
	Name string
	// Arguments are the text that the model wrote, or the exact JSON where the format has an object instead of a text.
	// Nil where the recording has none.
	Arguments []byte
	// Turn is the index of the model's message among the messages, items, contents or events of the conversation.
	// Calls that were asked for at once share it, where the format keeps them in one message.
	Turn int
	// Result is the text of a result that is a string, and the exact JSON of any other.
	Result []byte
	// HasResult tells an empty result from none.
	HasResult bool
}

// Read finds the conversations of one file; name is for the error alone. The format is found from the content.
// Every error is an [*Error], and with an error there is no conversation. A file without a tool call is no error.
// Safe for concurrent use.
func Read(name string, data []byte) ([]Conversation, error) {
	r := &reader{file: name, data: data}
	if len(data) > MaxBytes {
		return nil, &Error{File: name, Reason: ReasonTooLarge}
	}
	all := r.document()
	if r.err == nil && len(all) == 0 {
		r.err = &Error{File: name, Reason: ReasonUnknown}
	}
	if r.err != nil {
		return nil, r.err
	}
	return all, nil
}
