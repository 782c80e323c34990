package lifecycle

import (
	"fmt"
	"sort"
	"unicode/utf8"
)

// MaxMessage bounds the model's text of a registered code, in UTF-8 bytes.
const MaxMessage = 256

// Registry holds the codes that a host added for its tools and projectors. It
// is built once and only read afterwards, so it is safe for concurrent use. A
// nil *Registry has no codes.
type Registry struct{ messages map[Code]string }

// NewRegistry checks every code and message at once and reports all that is
// wrong. A built-in code cannot be registered, nor a text over [MaxMessage].
func NewRegistry(messages map[Code]string) (*Registry, error) {
	r := &Registry{messages: make(map[Code]string, len(messages))}
	var bad []string
	for code, message := range messages {
		switch _, builtin := code.Info(); {
		case !code.WellFormed():
			bad = append(bad, "a code does not match ^[A-Z][A-Z0-9_]{0,63}$")
		case builtin:
			bad = append(bad, fmt.Sprintf("%s is built in", code))
		case message == "" || len(message) > MaxMessage || !utf8.ValidString(message):
			bad = append(bad, fmt.Sprintf("%s needs a message of 1 to %d bytes of UTF-8", code, MaxMessage))
		}
		r.messages[code] = message
	}
	if len(bad) > 0 {
		sort.Strings(bad)
		return nil, &RegistryError{Problems: bad}
	}
	return r, nil
}

// Has reports whether code was registered.
func (r *Registry) Has(code Code) bool {
	if r == nil {
		return false
	}
	_, ok := r.messages[code]
	return ok
}

// Message is the model's text of code: the table's for a built-in code, the
// registered one otherwise. A code that is neither (a record written by a host
// with other codes) reads as [ToolExecutionFailed] does.
func (r *Registry) Message(code Code) string {
	if info, ok := code.Info(); ok {
		return info.Message
	}
	if r.Has(code) {
		return r.messages[code]
	}
	info, _ := ToolExecutionFailed.Info()
	return info.Message
}

// RegistryError lists everything that is wrong with registered codes.
type RegistryError struct{ Problems []string }

// Error lists every problem on one line.
func (e *RegistryError) Error() string {
	return fmt.Sprintf("lifecycle: registered codes: %v", e.Problems)
}
