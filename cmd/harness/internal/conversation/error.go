package conversation

import (
	"bytes"
	"fmt"
)

// Reason says why a file was refused. It is a fixed text, never a part of the file.
type Reason string

const (
	// ReasonTooLarge means more than [MaxBytes].
	ReasonTooLarge Reason = "larger than the reader takes"
	// ReasonSyntax means that a JSON value is cut off or malformed, in the file itself or in a recorded body.
	ReasonSyntax Reason = "not valid JSON"
	// ReasonYAML means a cassette in YAML; recorders can write the same as JSON.
	ReasonYAML Reason = "a recording in YAML, which is not read; record it as JSON"
	// ReasonUnknown means that nothing in the file has the form of a conversation.
	ReasonUnknown Reason = "no conversation in a known format"
	// ReasonText means an id, a name, an argument or a result that is a string but no valid Unicode: invalid UTF-8 or
	// half a surrogate pair. Its bytes cannot be given exactly, so they are not given at all.
	ReasonText Reason = "a recorded string is not valid Unicode"
	// ReasonDuplicate means a member that decides what a call is and stands twice in one object, so that two readers
	// could read two different calls.
	ReasonDuplicate Reason = "a member occurs twice in one object"
	// ReasonShape means a member of a call or a result that has another JSON type than its format gives it.
	ReasonShape Reason = "a member of a call or result has the wrong JSON type"
	// ReasonDepth means that bodies stand inside bodies more than [MaxNesting] times.
	ReasonDepth Reason = "bodies are nested too deep"
)

// Error is the only error of [Read]. It names the place and the reason and holds nothing of the content.
type Error struct {
	File   string // as given to Read
	Line   int    // counted from 1; 0 where no line is to blame
	Reason Reason
}

// Error is one line, with the line number only where there is one.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("conversation: %s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("conversation: %s: line %d: %s", e.File, e.Line, e.Reason)
}

// reader holds one file while it is read. The first failure stays; what is read behind it is thrown away, so that the
// functions below need not return an error each.
type reader struct {
	file string
	data []byte
	err  *Error

	lineAt, lines int // an offset and the line feeds before it: lines are asked for mostly in rising order
}

func (r *reader) fail(at int, reason Reason) {
	if r.err == nil {
		r.err = &Error{File: r.file, Line: r.line(at), Reason: reason}
	}
}

// line is the line of an offset, from 1.
func (r *reader) line(at int) int {
	at = min(max(at, 0), len(r.data))
	if at >= r.lineAt {
		r.lines += bytes.Count(r.data[r.lineAt:at], []byte{'\n'})
	} else {
		r.lines -= bytes.Count(r.data[at:r.lineAt], []byte{'\n'})
	}
	r.lineAt = at
	return 1 + r.lines
}
