package canonical

import "strings"

// Limits of names, in bytes.
const (
	MaxToolCallID = 512
	MaxTurn       = 32
	MaxRunID      = 128
)

// Alphabets beside letters and digits. None has a brace, so that the only hash
// tag in a Redis key is ours; the run's and the turn's have no colon, so that a
// key and a call name split in one way.
const (
	callIDMarks = "._:|/+=@~-"
	runIDMarks  = "._-"
)

// RunID names a run inside its scope. It is made by [ParseRunID] or taken from
// a store; a conversion skips the check, which stores and boundary repeat.
type RunID string

// ToolCallID is the id that the framework gave to a call, exactly.
type ToolCallID string

// Turn is the place of the model's message in the run, set by the host; empty
// where the host does not set it.
type Turn string

// ParseRunID checks text and returns it unchanged, or a [*NameError].
func ParseRunID(text string) (RunID, error) {
	return parsed(RunID(text), checkName("run_id", text, 1, MaxRunID, runIDMarks))
}

// ParseToolCallID checks text and returns it unchanged, or a [*NameError].
func ParseToolCallID(text string) (ToolCallID, error) {
	return parsed(ToolCallID(text), checkName("tool_call_id", text, 1, MaxToolCallID, callIDMarks))
}

// ParseTurn checks text and returns it unchanged, or a [*NameError].
func ParseTurn(text string) (Turn, error) {
	return parsed(Turn(text), checkName("turn", text, 0, MaxTurn, runIDMarks))
}

// CallName is the name of a call inside its run. It is comparable and may be a
// map key.
type CallName struct {
	Turn Turn
	ID   ToolCallID
}

// String is the one encoding of the name: turn, colon, id. The first colon ends
// the turn, which has none, so the encoding is injective.
func (n CallName) String() string { return string(n.Turn) + ":" + string(n.ID) }

// Validate checks both parts.
func (n CallName) Validate() error {
	if _, err := ParseTurn(string(n.Turn)); err != nil {
		return err
	}
	_, err := ParseToolCallID(string(n.ID))
	return err
}

// ParseCallName reads the encoding that String writes.
func ParseCallName(text string) (CallName, error) {
	turn, id, ok := strings.Cut(text, ":")
	if !ok {
		return CallName{}, &NameError{Field: "call_name", Reason: "has no colon after the turn"}
	}
	n := CallName{Turn: Turn(turn), ID: ToolCallID(id)}
	if err := n.Validate(); err != nil {
		return CallName{}, err
	}
	return n, nil
}

// parsed is a name or an error, never both: a caller that overlooks the error
// must not go on with a name that was refused.
func parsed[N ~string](name N, err error) (N, error) {
	if err != nil {
		return "", err
	}
	return name, nil
}

func checkName(field, text string, least, most int, marks string) error {
	if len(text) < least {
		return &NameError{Field: field, Reason: "empty"}
	}
	if len(text) > most {
		return &NameError{Field: field, Reason: "too long in bytes", Size: len(text), Limit: most}
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; !alphanumeric(c) && strings.IndexByte(marks, c) < 0 {
			return &NameError{Field: field, Reason: reasonByte, Offset: i}
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
