package wire

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/findings"
)

// Format is the wire format of a request.
type Format string

// The formats.
const (
	OpenAIChat      Format = "openai-chat"             // POST /v1/chat/completions, and its many copies
	OpenAIResponses Format = "openai-responses"        // POST /v1/responses
	Anthropic       Format = "anthropic-messages"      // POST /v1/messages, also on other clouds
	Gemini          Format = "gemini-generate-content" // generateContent and streamGenerateContent
	Bedrock         Format = "bedrock-converse"        // Converse and ConverseStream
)

// Reading is what one request served.
type Reading struct {
	Served []findings.Served // in the order of the request

	// Stored: the request goes on from something that the provider keeps, and
	// that may serve results which do not stand in these bytes.
	Stored bool
}

// After is the reading of a request together with that of the one it goes on
// from. When earlier is whole, so is the result.
func (r Reading) After(earlier Reading) Reading {
	return Reading{Served: slices.Concat(earlier.Served, r.Served), Stored: earlier.Stored}
}

// Read finds the results in the body of a request. Every error is an [*Error].
func Read(f Format, body []byte) (Reading, error) {
	read, ok := map[Format]func([]byte) (Reading, error){
		OpenAIChat: readChat, OpenAIResponses: readResponses, Anthropic: readAnthropic, Gemini: readGemini, Bedrock: readBedrock,
	}[f]
	if !ok {
		return Reading{}, &Error{Format: f, Reason: "not a known format"}
	}
	r, err := read(body)
	if err != nil {
		return Reading{}, failure(f, err)
	}
	return r, nil
}

// Error says why a request could not be read. It quotes nothing of it.
type Error struct {
	Format Format
	Reason string
	Offset int64 // in bytes, where it is known; else 0
}

// Error has format, reason and offset.
func (e *Error) Error() string {
	return fmt.Sprintf("findings: request of format %q: %s (byte %d)", string(e.Format), e.Reason, e.Offset)
}

var errNoList = errors.New("the list of the conversation is missing")

func failure(f Format, err error) error {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.Is(err, errNoList):
		return &Error{Format: f, Reason: errNoList.Error()}
	case errors.As(err, &syntactic):
		return &Error{Format: f, Reason: "not strict JSON", Offset: syntactic.ByteOffset}
	case errors.As(err, &semantic):
		return &Error{Format: f, Reason: "not as the format has it", Offset: semantic.ByteOffset}
	}
	return &Error{Format: f, Reason: "cannot be read"}
}
