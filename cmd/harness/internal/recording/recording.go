package recording

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Conversation is one line of a recording.
type Conversation struct {
	Line     int    // counted from 1
	Source   string // where it was published
	Question string // the first user message; empty where the recording starts behind it
	Calls    []Call // in the order of the messages, calls of one message in its own order
	Answer   string // the text of the last message when the agent wrote it, else empty
}

// Call is one recorded tool call.
type Call struct {
	ID        string
	Tool      string
	Arguments string // the JSON text as the model wrote it
	Message   int    // index of the assistant message among the messages; equal for calls made at once
	Recorded  string // what the recorded tool returned
	HasResult bool   // false when the recording has no result for this call; Recorded is then empty
}

type line struct {
	Source   string    `json:"source"`
	Messages []message `json:"messages"`
}

type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"` // null reads as empty
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Parse reads all conversations of a text. Blank lines are counted and skipped. It returns no conversation with an error.
func Parse(text string) ([]Conversation, error) {
	var all []Conversation
	number := 0
	for row := range strings.Lines(text) {
		number++
		if strings.TrimSpace(row) == "" {
			continue
		}
		var parsed line
		if err := json.Unmarshal([]byte(row), &parsed); err != nil {
			return nil, fmt.Errorf("recording: line %d is not a conversation", number)
		}
		conversation, err := parsed.conversation()
		if err != nil {
			return nil, fmt.Errorf("recording: line %d: %w", number, err)
		}
		conversation.Line = number
		all = append(all, conversation)
	}
	return all, nil
}

func (l line) conversation() (Conversation, error) {
	c := Conversation{Source: l.Source}
	place := map[string]int{}
	for i, m := range l.Messages {
		if m.Role == "user" && c.Question == "" {
			c.Question = m.Content
		}
		for _, call := range m.ToolCalls {
			if _, twice := place[call.ID]; twice {
				return Conversation{}, fmt.Errorf("message %d repeats a tool call id", i)
			}
			place[call.ID] = len(c.Calls)
			c.Calls = append(c.Calls, Call{ID: call.ID, Tool: call.Function.Name, Arguments: call.Function.Arguments, Message: i})
		}
		if m.Role == "tool" {
			at, known := place[m.ToolCallID]
			if !known || c.Calls[at].HasResult {
				return Conversation{}, fmt.Errorf("message %d is a result that belongs to no open call", i)
			}
			c.Calls[at].Recorded, c.Calls[at].HasResult = m.Content, true
		}
		if i == len(l.Messages)-1 && m.Role == "assistant" {
			c.Answer = m.Content
		}
	}
	return c, nil
}
