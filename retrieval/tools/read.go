package tools

import (
	"context"
	"errors"
	"sort"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/retrieval"
)

// Bytes of text in one reply of evidence_read, before the model's limit.
const (
	DefaultText = 4000
	MaxText     = 8000
)

const readDescription = `Reads a part of a stored tool result, with credentials removed. ` +
	`Name it by exactly one of "id" (an evidence_id) and "reference" (a whole reference object). ` +
	`To go on, repeat the call with offset = next_offset and view = view of the reply, until there is no next_offset.`

// readSchema says all but that exactly one selector is given: some model services
// refuse alternatives at the top of a schema. CheckArguments says it.
const readSchema = `{"type":"object","additionalProperties":false,"properties":{` +
	`"id":{"type":"string","minLength":1,"maxLength":128,"description":"evidence_id of the result; exclusive with reference"},` +
	`"reference":{"type":"object","description":"the whole reference of the result; exclusive with id"},` +
	`"offset":{"type":"integer","minimum":0,"description":"0, or next_offset of the reply before"},` +
	`"view":{"type":"string","pattern":"^[0-9a-f]{16,64}$","description":"view of the reply before"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":8000,"description":"bytes of text wanted; 4000 unless given"}}}`

type readArguments struct {
	ID        *string             `json:"id"`
	Reference *evidence.Reference `json:"reference"`
	Offset    int64               `json:"offset"`
	View      string              `json:"view"`
	Limit     *int                `json:"limit"`
}

func (a readArguments) check() error {
	switch {
	case (a.ID == nil) == (a.Reference == nil):
		return &ArgumentError{Field: "id, reference", Reason: "exactly one of the two is needed"}
	case a.ID != nil && canonical.CheckEvidenceID("evidence_read", canonical.EvidenceID(*a.ID)) != nil:
		return &ArgumentError{Field: "id", Reason: "not an evidence id"}
	case a.Offset < 0:
		return &ArgumentError{Field: "offset", Reason: "negative"}
	case a.Offset > 0 && a.View == "":
		return &ArgumentError{Field: "view", Reason: "needed with an offset"}
	case a.Limit != nil && (*a.Limit < 1 || *a.Limit > MaxText):
		return &ArgumentError{Field: "limit", Reason: "not within 1 to 8000"}
	}
	return nil
}

// textReply is one part of a view.
type textReply struct {
	EvidenceID string `json:"evidence_id"`
	Offset     int64  `json:"offset"`
	Text       string `json:"text"`
	Next       *int64 `json:"next_offset,omitzero"` // absent at the end
	View       string `json:"view"`
	ViewBytes  int64  `json:"view_bytes"`
}

// viewDigits is how much of a view's digest a model has to repeat.
const viewDigits = 16

func (c Config) read(ctx context.Context, r *retrieval.Reader, in boundary.Input) (any, error) {
	a, err := decode[readArguments](in.Arguments)
	if err != nil {
		return nil, err
	}
	ref, err := c.selected(ctx, r, in, a)
	if err != nil {
		return nil, err
	}
	part := retrieval.Part{Offset: a.Offset, Max: min(DefaultText, r.MaxChunkBytes()), View: a.View}
	if a.Limit != nil {
		part.Max = min(*a.Limit, r.MaxChunkBytes())
	}
	chunk, err := r.Read(ctx, ref, part)
	if err != nil {
		return nil, err
	}
	reply := textReply{EvidenceID: ref.EvidenceID, Offset: a.Offset, Text: chunk.Text, View: chunk.ViewSHA256[:viewDigits], ViewBytes: chunk.ViewBytes}
	if chunk.Next != retrieval.LastChunk {
		reply.Next = &chunk.Next
	}
	return reply, nil
}

// selected is the reference that the arguments name.
func (c Config) selected(ctx context.Context, r *retrieval.Reader, in boundary.Input, a readArguments) (evidence.Reference, error) {
	if a.Reference != nil {
		if !c.readable(in, canonical.RunID(a.Reference.RunID)) {
			return evidence.Reference{}, retrieval.ErrMissing
		}
		return *a.Reference, nil
	}
	id := canonical.EvidenceID(*a.ID)
	entry, err := r.Find(ctx, in.Identity.Run, id)
	if errors.Is(err, retrieval.ErrMissing) && c.WholeScope {
		entry, err = r.Find(ctx, "", id)
	}
	if err != nil {
		return evidence.Reference{}, err
	}
	ref, ok := entry.Reference()
	if !ok {
		return evidence.Reference{}, retrieval.ErrNoResult
	}
	return ref, nil
}

// errRoom: the limit of the model's result holds not even one character or entry.
var errRoom = errors.New("tools: the limit for the model is too small for any reply")

// projectText sends as much of the text as fits.
func projectText(_ context.Context, in projector.Input) (projector.Projection, error) {
	var reply textReply
	if err := json.Unmarshal(in.Raw, &reply, json.RejectUnknownMembers(true)); err != nil {
		return projector.Projection{}, err
	}
	whole, err := encode(reply)
	if err != nil || len(whole) <= in.Limits.AgentBytes {
		return found(whole, err)
	}
	var fits []byte
	cuts := runeEnds(reply.Text)
	sort.Search(len(cuts)-1, func(i int) bool { // the last cut is the whole text
		part, next := reply, reply.Offset+int64(cuts[i])
		part.Text, part.Next = reply.Text[:cuts[i]], &next
		text, failed := encode(part)
		if err = errors.Join(err, failed); len(text) > in.Limits.AgentBytes {
			return true
		}
		fits = text
		return false
	})
	if fits == nil {
		err = errors.Join(err, errRoom)
	}
	return found(fits, err)
}

// runeEnds is where the characters of a text end.
func runeEnds(text string) []int {
	ends := make([]int, 0, len(text))
	for i, r := range text {
		ends = append(ends, i+utf8.RuneLen(r))
	}
	return append(ends, len(text))[:max(len(ends), 1)]
}

func encode(reply any) ([]byte, error) { return json.Marshal(reply, json.Deterministic(true)) }

// found is a reply that is sent. Whatever was asked for is there; a page of no
// entries says so itself, in its count.
func found(reply []byte, err error) (projector.Projection, error) {
	if err != nil {
		return projector.Projection{}, err
	}
	return projector.Projection{Result: reply, Status: evidence.Found}, nil
}
