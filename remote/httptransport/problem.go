package httptransport

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/remote"
)

const (
	problemType = "application/problem+json"
	problemURN  = "urn:harness:tool-outcomes:1:"
)

// problem is a refusal as RFC 9457 wants it: type and title are constants, the rest
// are the members of remote.ProtocolError.
type problem struct {
	Type      string           `json:"type"`
	Title     string           `json:"title"`
	Status    int              `json:"status"`
	Code      remote.ErrorCode `json:"code"`
	Admitted  string           `json:"admitted"`
	Session   string           `json:"session,omitempty"`
	Epoch     string           `json:"epoch,omitempty"`
	RequestID string           `json:"request_id"`
}

var statuses = map[remote.ErrorCode]int{
	remote.InvalidRequest:       http.StatusBadRequest,
	remote.NegotiationFailed:    http.StatusConflict,
	remote.Unauthorized:         http.StatusForbidden,
	remote.SessionUnknown:       http.StatusNotFound,
	remote.SessionClosed:        http.StatusGone,
	remote.ToolNotAllowed:       http.StatusForbidden,
	remote.RequestConflict:      http.StatusConflict,
	remote.RequestLimitExceeded: http.StatusTooManyRequests,
	remote.RequestWithdrawn:     http.StatusGone,
	remote.StorageDegraded:      http.StatusServiceUnavailable,
	remote.EvidenceUnavailable:  http.StatusNotFound,
	remote.ToolFailed:           http.StatusBadGateway,
	remote.Internal:             http.StatusInternalServerError,
}

// refuse writes a refusal with the code's own text, whatever stood in it.
func refuse(w http.ResponseWriter, e *remote.ProtocolError) {
	p := problem{
		Type: problemURN + string(e.Code), Title: e.Code.Text(), Status: statuses[e.Code], Code: e.Code, Admitted: e.Admitted,
		Session: e.Session, Epoch: e.Epoch, RequestID: e.RequestID,
	}
	if p.Admitted == "" {
		p.Admitted = remote.AdmittedUnknown
	}
	if p.RequestID == "" {
		p.RequestID = remote.InvalidRequestID
	}
	text, err := json.Marshal(p)
	if err != nil || p.Status == 0 {
		status(w, http.StatusInternalServerError)
		return
	}
	write(w, p.Status, problemType, text)
}

// parseProblem is the refusal in a body; false where it is none of this protocol.
func parseProblem(code int, body []byte) (*remote.ProtocolError, bool) {
	var p problem
	if json.Unmarshal(body, &p, json.RejectUnknownMembers(true)) != nil {
		return nil, false
	}
	if p.Type != problemURN+string(p.Code) || p.Title != p.Code.Text() || p.Status != code || statuses[p.Code] != code {
		return nil, false
	}
	e := remote.ProtocolError{
		Code: p.Code, Message: p.Code.Text(), Admitted: p.Admitted, Session: p.Session, Epoch: p.Epoch, RequestID: p.RequestID,
	}
	if _, err := remote.Encode(e); err != nil {
		return nil, false
	}
	return &e, true
}
