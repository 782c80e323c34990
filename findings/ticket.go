package findings

import (
	"encoding/json"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// Ticket is a short text that a host serves in place of a result, so that the
// model keeps the id while the body is withheld. It has no exported part: only
// the constructors of this package make one (F44), and a result whose own bytes
// look like a ticket stays a result (F10). The zero Ticket is none.
type Ticket struct{ text string }

// PlacedTicket is the ticket of a result that was placed outside of the
// conversation. It needs a reference to the stored result and a reason, one line
// of at most MaxLine code points, for the model.
func PlacedTicket(ref evidence.Reference, reason string) (Ticket, error) {
	reason = line(reason)
	if ref.EvidenceID == "" || reason == "" {
		return Ticket{}, &CaptureError{Field: "ticket", Reason: "a placed result needs a reference and a reason"}
	}
	return ticket(struct {
		Placed bool   `json:"placed"`
		Ref    string `json:"ref"`
		Reason string `json:"reason"`
	}{true, ref.EvidenceID, reason})
}

// CollapsedTicket is the ticket of a result that was left out because of what
// the model said of it.
func CollapsedTicket(call canonical.CallName, standing Standing) (Ticket, error) {
	if err := call.Validate(); err != nil {
		return Ticket{}, err
	}
	if !standing.Valid() {
		return Ticket{}, &CaptureError{Field: "ticket", Reason: "a collapsed result needs a standing"}
	}
	return ticket(struct {
		Collapsed  bool     `json:"collapsed"`
		Standing   Standing `json:"standing"`
		ToolCallID string   `json:"toolCallId"`
	}{true, standing, string(call.ID)})
}

func ticket(shape any) (Ticket, error) {
	text, err := json.Marshal(shape)
	if err != nil {
		return Ticket{}, &CaptureError{Field: "ticket", Reason: "cannot be written as JSON"}
	}
	return Ticket{text: string(text)}, nil
}

// Text is what goes into the tool message; empty for the zero Ticket.
func (t Ticket) Text() string { return t.text }
