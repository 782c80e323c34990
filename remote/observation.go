package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// Observation is what the store here keeps of a remote result: where the admission
// record is, what the proxy saw, the receipt that was checked, and the whole
// result. As bytes it is one line of JSON and, behind it, the result exactly as it
// was returned, so that no encoding stands between its digest and its bytes.
type Observation struct {
	Schema    string           `json:"schema"`
	Admission AdmissionPointer `json:"admission"`
	Proxy     ProxySaw         `json:"proxy"`
	Receipt   Receipt          `json:"receipt"` // without inline bytes
	Payload   PayloadNote      `json:"payload"`
}

// AdmissionPointer ties an observation to its admission record.
type AdmissionPointer struct {
	Run           canonical.RunID      `json:"run_id"`
	Turn          canonical.Turn       `json:"turn,omitempty"`
	Call          canonical.ToolCallID `json:"tool_call_id"`
	Seq           int64                `json:"seq"`
	EvidenceID    canonical.EvidenceID `json:"evidence_id"`
	OperationKey  string               `json:"operation_key"`
	RequestSHA256 string               `json:"request_sha256"`
	Tool          string               `json:"tool"`
	Session       string               `json:"session"`
	Epoch         string               `json:"epoch"`
	RequestID     string               `json:"request_id"`
	Fingerprint   string               `json:"fingerprint"`
	Contract      string               `json:"contract"`
}

// ProxySaw is the local side alone: what the server says of times is in the receipt.
type ProxySaw struct {
	SubmittedAt string `json:"submitted_at,omitempty"`
	AnsweredAt  string `json:"answered_at,omitempty"`
	Abandoned   bool   `json:"abandoned,omitzero"` // the local call had ended before the answer
}

// PayloadNote describes the bytes behind the line.
type PayloadNote struct {
	Present bool   `json:"present"` // false: the result is at the source, or nowhere
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256,omitempty"`
}

// maxObservationHead bounds the line.
const maxObservationHead = 32 << 10

// encode is the observation with its payload; nil for none.
func encodeObservation(o Observation, payload []byte) ([]byte, error) {
	line, err := marshal(o)
	if err != nil {
		return nil, err
	}
	return append(append(line, '\n'), payload...), nil
}

// DecodeObservation reads what the store keeps of a remote result, strictly, and
// checks the result against its digest. The payload is nil where it was not kept.
// The error wraps [ErrObservation] or [ErrContent].
func DecodeObservation(raw []byte) (Observation, []byte, error) {
	var o Observation
	line, payload, found := bytes.Cut(raw, []byte("\n"))
	if !found || len(line) > maxObservationHead || json.Unmarshal(line, &o, json.RejectUnknownMembers(true)) != nil || o.Schema != ObservationSchema {
		return Observation{}, nil, ErrObservation
	}
	if err := check(o.Receipt.restored()); err != nil {
		return Observation{}, nil, errors.Join(ErrObservation, err)
	}
	switch {
	case !o.Payload.Present && len(payload) > 0:
		return Observation{}, nil, ErrObservation
	case !o.Payload.Present:
		return o, nil, nil
	case o.Receipt.Content == nil || o.Payload.SHA256 != o.Receipt.Content.SHA256 || int64(len(payload)) != o.Payload.Bytes || sha256Hex(payload) != o.Payload.SHA256:
		return Observation{}, nil, ErrContent
	}
	return o, payload, nil
}

// restored is a kept receipt in a form that can be checked: the bytes of an inline
// result are not in it.
func (r Receipt) restored() Receipt {
	if r.Content != nil && r.Content.Inline == nil && r.Content.Reference == nil {
		c := *r.Content
		c.Reference = &evidence.Reference{}
		r.Content = &c
	}
	return r
}

// observation is that of inv, and what may stand beside it.
func (s *Session) observation(inv *invocation, r Receipt, payload []byte) Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := Observation{
		Schema: ObservationSchema,
		Admission: AdmissionPointer{
			Run: inv.identity.Run, Turn: inv.identity.Call.Turn, Call: inv.identity.Call.ID, Seq: inv.seq, EvidenceID: inv.evidence,
			OperationKey: inv.operation, RequestSHA256: inv.requestSHA, Tool: inv.tool, Session: inv.session, Epoch: inv.epoch,
			RequestID: inv.requestID, Fingerprint: inv.fingerprint, Contract: inv.contract,
		},
		Proxy:   ProxySaw{SubmittedAt: stamp(inv.submitted), AnsweredAt: stamp(inv.answered), Abandoned: inv.abandoned},
		Receipt: r.withoutInline(),
	}
	if payload != nil {
		o.Payload = PayloadNote{Present: true, Bytes: int64(len(payload)), SHA256: sha256Hex(payload)}
	}
	return o
}

// write hands the observation over as the call's raw result.
func (s *Session) write(raw io.Writer, inv *invocation, r Receipt, payload []byte) error {
	whole, err := encodeObservation(s.observation(inv, r, payload), payload)
	if err != nil {
		return err
	}
	_, err = raw.Write(whole)
	return err
}

var errPayloadTooLarge = errors.New("remote: the result is larger than what is kept here; it stays at the source")

// payload is the whole result, verified, or why it is not here. Until all of it fits
// its digest none of it is used.
func (s *Session) payload(ctx context.Context, inv *invocation, r Receipt) ([]byte, error) {
	if r.Content == nil {
		return nil, nil
	}
	if r.Content.Bytes > s.payloadRoom(ctx, inv) {
		return nil, errPayloadTooLarge
	}
	if r.Content.Inline != nil {
		return append([]byte{}, *r.Content.Inline...), nil
	}
	return s.fetch(ctx, inv, *r.Content)
}

// payloadRoom is how large a result may be to be kept here.
func (s *Session) payloadRoom(ctx context.Context, inv *invocation) int64 {
	s.mu.Lock()
	room, known := s.rawRoom[inv.identity.RunKey]
	s.mu.Unlock()
	if !known {
		state, err := s.cfg.Store.Inspect(ctx, inv.identity.RunKey)
		if err != nil {
			return s.cfg.PayloadBytes
		}
		room = state.Limits.RawBytes
		s.mu.Lock()
		if len(s.rawRoom) >= MaxInvocations {
			clear(s.rawRoom)
		}
		s.rawRoom[inv.identity.RunKey] = room
		s.mu.Unlock()
	}
	return min(s.cfg.PayloadBytes, max(0, room-maxObservationHead))
}

// fetch gets a referenced result chunk by chunk.
func (s *Session) fetch(ctx context.Context, inv *invocation, c Content) ([]byte, error) {
	whole := make([]byte, 0, c.Bytes)
	for offset := int64(0); offset < c.Bytes; {
		m := EvidenceRequest{
			Protocol: Protocol, Session: inv.session, Epoch: inv.epoch, RequestID: inv.requestID, SHA256: c.SHA256,
			Offset: offset, MaxBytes: s.cfg.ChunkBytes,
		}
		part, err := s.cfg.Transport.ReadEvidence(ctx, m)
		if err != nil {
			return nil, err
		}
		if check(part) != nil || !fits(part, m, c) {
			return nil, ErrContent
		}
		whole = append(whole, part.Data...)
		offset = part.Next
	}
	if sha256Hex(whole) != c.SHA256 {
		return nil, ErrContent
	}
	return whole, nil
}

func fits(part EvidenceResponse, m EvidenceRequest, c Content) bool {
	return part.Session == m.Session && part.RequestID == m.RequestID && part.SHA256 == c.SHA256 && part.Bytes == c.Bytes &&
		part.Offset == m.Offset && len(part.Data) > 0 && len(part.Data) <= m.MaxBytes && part.ChunkSHA256 == sha256Hex(part.Data)
}

// shown shows a remote result through the host's own projector, which sees the
// result as the tool returned it. A result that is not here is stated, not shown.
type shown struct{ inner projector.Projector }

// Project implements projector.Projector.
func (p shown) Project(ctx context.Context, in projector.Input) (projector.Projection, error) {
	o, payload, err := DecodeObservation(in.Raw)
	if err != nil {
		return projector.Projection{}, err
	}
	if o.Payload.Present {
		in.Raw = payload
		return p.inner.Project(ctx, in)
	}
	note, err := absenceNote(o.Receipt)
	return projector.Projection{Result: note, Status: evidence.Found}, err
}

// absenceNote tells the model that the call ran and where its result is.
func absenceNote(r Receipt) ([]byte, error) {
	type note struct {
		Ran        string `json:"ran"`
		Applied    string `json:"applied,omitempty"`
		Kept       string `json:"kept"`
		Code       string `json:"code,omitempty"`
		Bytes      int64  `json:"bytes,omitzero"`
		SHA256     string `json:"sha256,omitempty"`
		EvidenceID string `json:"evidence_id,omitempty"`
	}
	n := note{Ran: "yes", Applied: r.Applied, Kept: "nowhere", Code: r.Code}
	if r.Execution == executionNotStarted {
		n.Ran = "no"
	}
	if r.Content != nil {
		n.Kept, n.Bytes, n.SHA256 = "at the source", r.Content.Bytes, r.Content.SHA256
		if r.Content.Reference != nil {
			n.EvidenceID = r.Content.Reference.EvidenceID
		}
	}
	text, err := json.Marshal(map[string]note{"remote_result": n}, jsontext.EscapeForHTML(false))
	return text, err
}

// observationRun is how long the run of an observation is open.
const observationRun = time.Minute
