package remote

import (
	"fmt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// NegotiateRequest begins a session. It says what the client holds, so that both
// ends know at once whether they mean the same tools.
type NegotiateRequest struct {
	Protocols      []string          `json:"protocols"`
	PackageID      string            `json:"package_id"`
	Contracts      map[string]string `json:"contracts"` // fingerprint of each tool that the client will call
	MaxInlineBytes int               `json:"max_inline_bytes"`
}

// NegotiateResponse is a session. Its id names it and grants nothing.
type NegotiateResponse struct {
	Protocol    string        `json:"protocol"`
	PackageID   string        `json:"package_id"`
	Epoch       string        `json:"epoch"` // of this life of the server
	Session     string        `json:"session"`
	ExpiresInMS int64         `json:"expires_in_ms"`
	Tools       []OfferedTool `json:"tools"`
	Limits      ServerLimits  `json:"limits"`
}

// OfferedTool is a tool as its server registered it: the effect that counts.
type OfferedTool struct {
	Name     string           `json:"name"`
	Effect   canonical.Effect `json:"effect"`
	Contract string           `json:"contract"`
}

// ServerLimits are a server's limits. A client that wants more is refused by its
// own constructor, before anything is called.
type ServerLimits struct {
	ArgumentsBytes int   `json:"arguments_bytes"`
	InlineBytes    int   `json:"inline_bytes"`
	ChunkBytes     int   `json:"chunk_bytes"`
	Requests       int   `json:"requests"`
	WaitMS         int64 `json:"wait_ms"`
}

// ExecuteRequest asks for one call. It is sent once in its life.
type ExecuteRequest struct {
	Protocol        string `json:"protocol"`
	Session         string `json:"session"`
	Epoch           string `json:"epoch"`
	RequestID       string `json:"request_id"`
	Tool            string `json:"tool"`
	Contract        string `json:"contract"`
	Fingerprint     string `json:"fingerprint"`      // of tool and arguments, canonical form
	Arguments       string `json:"arguments"`        // the exact text that was digested
	ArgumentsSHA256 string `json:"arguments_sha256"` // of that text
	MaxInlineBytes  int    `json:"max_inline_bytes"`
	WaitMS          int64  `json:"wait_ms"` // how long the answer may wait for the end
}

// ReceiptRequest asks what became of a request. It never starts anything.
type ReceiptRequest struct {
	Protocol       string `json:"protocol"`
	Session        string `json:"session"` // in which the request was sent
	Epoch          string `json:"epoch"`   // of that session
	RequestID      string `json:"request_id"`
	Tool           string `json:"tool"`
	Fingerprint    string `json:"fingerprint"`
	MaxInlineBytes int    `json:"max_inline_bytes"`
	WaitMS         int64  `json:"wait_ms"`
}

// CancelRequest asks that one running request be cancelled.
type CancelRequest struct {
	Protocol  string `json:"protocol"`
	Session   string `json:"session"`
	Epoch     string `json:"epoch"`
	RequestID string `json:"request_id"`
}

// CancelResponse says whether the wish was passed on. It says nothing about what
// the tool made of it; the receipt does.
type CancelResponse struct {
	Protocol  string       `json:"protocol"`
	Session   string       `json:"session"`
	Epoch     string       `json:"epoch"`
	RequestID string       `json:"request_id"`
	Accepted  bool         `json:"accepted"`
	State     ReceiptState `json:"state"`
}

// EvidenceRequest asks for a part of a result that a receipt referred to.
type EvidenceRequest struct {
	Protocol  string `json:"protocol"`
	Session   string `json:"session"`
	Epoch     string `json:"epoch"`
	RequestID string `json:"request_id"`
	SHA256    string `json:"sha256"` // of the whole content, from the receipt
	Offset    int64  `json:"offset"`
	MaxBytes  int    `json:"max_bytes"`
}

// EvidenceResponse is one part. The digest of the whole is what counts: a client
// uses nothing of a result before all of it fits that.
type EvidenceResponse struct {
	Protocol    string         `json:"protocol"`
	Session     string         `json:"session"`
	Epoch       string         `json:"epoch"`
	RequestID   string         `json:"request_id"`
	SHA256      string         `json:"sha256"`
	Bytes       int64          `json:"bytes"` // of the whole
	Offset      int64          `json:"offset"`
	Next        int64          `json:"next"` // the offset behind Data; equal to Bytes at the end
	Data        canonicalBytes `json:"data"` // base64
	ChunkSHA256 string         `json:"chunk_sha256"`
}

// Receipt is what the remote side says of one request. Only a settled one ends an
// unknown outcome.
type Receipt struct {
	Protocol        string           `json:"protocol"`
	Session         string           `json:"session"`
	Epoch           string           `json:"epoch"` // of the server that answers
	RequestID       string           `json:"request_id"`
	Tool            string           `json:"tool"`
	Effect          canonical.Effect `json:"effect"`
	Fingerprint     string           `json:"fingerprint"`
	State           ReceiptState     `json:"state"`
	Execution       string           `json:"execution"`         // not_started, completed, unknown
	Code            string           `json:"code,omitempty"`    // why there is no result; never with one
	Applied         string           `json:"applied,omitempty"` // yes or no, for a settled call that is no read
	Late            bool             `json:"late,omitzero"`     // the result came after the source had given up
	Resolved        bool             `json:"resolved,omitzero"` // the source's host gave the verdict
	CancelRequested bool             `json:"cancel_requested,omitzero"`
	HasResult       bool             `json:"has_result"` // an empty result and null are results
	Content         *Content         `json:"content,omitzero"`
	SourceAcked     bool             `json:"source_acked"` // the source's record was stored and read back
	StartedAt       string           `json:"started_at,omitempty"`
	EndedAt         string           `json:"ended_at,omitempty"`
	Accounting      string           `json:"accounting"`
}

// Content is a result: its own size and digest, and its bytes or where they are.
// The digest is of the content; a store's digests are over what a store keeps.
type Content struct {
	Bytes     int64               `json:"bytes"`
	SHA256    string              `json:"sha256"`
	Inline    *canonicalBytes     `json:"inline,omitzero"` // base64
	Reference *evidence.Reference `json:"reference,omitzero"`
}

// canonicalBytes is base64 on the wire and a size in every print.
type canonicalBytes []byte

// Format prints the size for every verb.
func (b canonicalBytes) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%d bytes", len(b)) }

// Format prints names, never the arguments.
func (r ExecuteRequest) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{execute %q tool %q arguments %d bytes}", r.RequestID, r.Tool, len(r.Arguments))
}

// Format prints names and state, never content.
func (r Receipt) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{receipt %q tool %q %s, execution %s, code %q, applied %q}", r.RequestID, r.Tool, r.State, r.Execution, r.Code, r.Applied)
}

// Digest is over what a receipt claims, not over who carries it or how the content
// travels. Two receipts of one request with one digest say the same.
func (r Receipt) Digest() string {
	content := ""
	if r.Content != nil {
		content = fmt.Sprintf("%s %d", r.Content.SHA256, r.Content.Bytes)
	}
	return digest("harness.remote-receipt/1", r.RequestID, r.Tool, string(r.Effect), r.Fingerprint, string(r.State),
		r.Execution, r.Code, r.Applied, fmt.Sprint(r.HasResult), content)
}

// withoutInline is r without its bytes, for what is kept.
func (r Receipt) withoutInline() Receipt {
	if r.Content != nil {
		c := *r.Content
		c.Inline = nil
		r.Content = &c
	}
	return r
}

// InlineContent is a result that travels in its receipt. The bytes are not copied.
func InlineContent(b []byte) *Content {
	inline := canonicalBytes(b)
	if inline == nil {
		inline = canonicalBytes{}
	}
	return &Content{Bytes: int64(len(b)), SHA256: sha256Hex(b), Inline: &inline}
}
