package retrieval

import (
	"time"
	"unicode/utf8"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// ExportFormat names the form of an exported run. A change of the form changes it.
const ExportFormat = "harness.run-export/1"

// MaxExportLine bounds one line of an exported run, in bytes, its end included.
const MaxExportLine = 256 << 20

// The kinds of lines, in their order: one run, its calls each with what was
// settled of it behind it, one manifest, one end.
const (
	lineRun        = "run"
	lineCall       = "call"
	lineSettlement = "settlement"
	lineManifest   = "manifest"
	lineEnd        = "end"
)

// runLine is the first line.
type runLine struct {
	Type      string              `json:"type"`
	Format    string              `json:"format"`
	Scope     canonical.Scope     `json:"scope"`
	Run       canonical.RunID     `json:"run"`
	Phase     canonical.Phase     `json:"phase"`
	Complete  bool                `json:"complete"` // closed and nothing open: no call can come
	Calls     int64               `json:"calls"`    // admitted until now
	Principal canonical.Principal `json:"principal"`
	Continues []canonical.RunID   `json:"continues,omitempty"`
	Deadline  time.Time           `json:"deadline"`
	Expires   time.Time           `json:"expires"`
	At        time.Time           `json:"exported_at"` // by the store's clock
}

// callLine is one call. Gone: the record was deleted or has expired, and only name
// and place are left.
type callLine struct {
	Type       string               `json:"type"`
	Seq        int64                `json:"seq"`
	Turn       canonical.Turn       `json:"turn,omitempty"`
	ToolCallID canonical.ToolCallID `json:"tool_call_id"`
	Gone       bool                 `json:"gone,omitzero"`
	Record     *recordForm          `json:"record,omitempty"`
}

func (l callLine) name() canonical.CallName {
	return canonical.CallName{Turn: l.Turn, ID: l.ToolCallID}
}

// recordForm is a record.
type recordForm struct {
	Version      int                  `json:"version"`
	Tool         string               `json:"tool"`
	Effect       canonical.Effect     `json:"effect"`
	Principal    canonical.Principal  `json:"principal"`
	EvidenceID   canonical.EvidenceID `json:"evidence_id"`
	OperationKey string               `json:"operation_key"`
	Redacted     string               `json:"redacted,omitempty"` // before it was stored, by the policy of this fingerprint
	State        lifecycle.State      `json:"state"`
	Code         lifecycle.Code       `json:"code,omitempty"`
	Status       evidence.Status      `json:"evidence_status,omitempty"`
	Execution    lifecycle.Execution  `json:"execution,omitempty"`
	Stage        canonical.Stage      `json:"stage,omitempty"`
	Created      time.Time            `json:"created"`
	Due          time.Time            `json:"due"`
	Ended        *time.Time           `json:"ended,omitempty"`
	Expires      time.Time            `json:"expires"`
	Reference    *evidence.Reference  `json:"reference,omitempty"`

	Request  *bodyForm `json:"request"`
	Raw      *bodyForm `json:"raw,omitempty"`
	Agent    *bodyForm `json:"agent_result,omitempty"`
	Facts    *bodyForm `json:"facts,omitempty"`
	Coverage *bodyForm `json:"coverage,omitempty"`
}

// settlementLine is what became known of the call before it.
type settlementLine struct {
	Type       string               `json:"type"`
	Seq        int64                `json:"seq"`
	Turn       canonical.Turn       `json:"turn,omitempty"`
	ToolCallID canonical.ToolCallID `json:"tool_call_id"`
	Late       *lateForm            `json:"late,omitempty"`
	Resolved   *resolvedForm        `json:"resolved,omitempty"`
}

func (l settlementLine) name() canonical.CallName {
	return canonical.CallName{Turn: l.Turn, ID: l.ToolCallID}
}

type lateForm struct {
	State     lifecycle.State     `json:"state"`
	Code      lifecycle.Code      `json:"code,omitempty"`
	Status    evidence.Status     `json:"evidence_status"`
	Execution lifecycle.Execution `json:"execution"`
	At        time.Time           `json:"at"`
	Raw       *bodyForm           `json:"raw,omitempty"`
	Agent     *bodyForm           `json:"agent_result,omitempty"`
}

type resolvedForm struct {
	Verdict  canonical.EffectVerdict `json:"verdict"`
	Evidence string                  `json:"evidence"`
}

// bodyForm is bytes: as text where they are UTF-8, else in base64.
type bodyForm struct {
	Bytes   int64   `json:"bytes"`
	SHA256  string  `json:"sha256"`
	AtLeast bool    `json:"at_least,omitzero"` // the whole is larger
	Absent  bool    `json:"absent,omitzero"`   // known, and not kept
	Text    *string `json:"text,omitzero"`
	Base64  []byte  `json:"base64,omitzero"`
}

// manifestLine lists every line before it.
type manifestLine struct {
	Type  string         `json:"type"`
	Lines []manifestItem `json:"lines"`
}

type manifestItem struct {
	Name   string `json:"name"` // "run", "call <turn>:<id>", "settlement <turn>:<id>"
	SHA256 string `json:"sha256"`
}

// endLine is the last line. Its digests are over the manifest's line and over all
// lines before this one.
type endLine struct {
	Type     string `json:"type"`
	Manifest string `json:"manifest_sha256"`
	File     string `json:"file_sha256"`
}

func formOf(b canonical.Body) *bodyForm {
	if b == nil {
		return nil
	}
	f := &bodyForm{Bytes: int64(len(b)), SHA256: b.SHA256()}
	if utf8.Valid(b) {
		text := string(b)
		f.Text = &text
	} else {
		f.Base64 = b
	}
	return f
}

func formOfRaw(r canonical.Raw) *bodyForm {
	if r.Present() {
		f := formOf(r.Bytes)
		f.AtLeast = r.AtLeast
		return f
	}
	if r.SHA256 == "" && r.Size == 0 {
		return nil
	}
	return &bodyForm{Bytes: r.Size, SHA256: r.SHA256, AtLeast: r.AtLeast, Absent: true}
}

// body is the bytes, and whether they are what the form says of them.
func (f *bodyForm) body() (canonical.Body, bool) {
	switch {
	case f.Absent:
		return nil, f.Text == nil && f.Base64 == nil
	case f.Text != nil && f.Base64 != nil, f.Text == nil && f.Base64 == nil:
		return nil, false
	}
	b := canonical.Body(f.Base64)
	if f.Text != nil {
		b = canonical.Body(*f.Text)
	}
	return b, int64(len(b)) == f.Bytes && b.SHA256() == f.SHA256
}

func formOfRecord(r canonical.Record) *recordForm {
	f := &recordForm{
		Version: r.Version, Tool: r.Tool, Effect: r.Effect, Principal: r.Principal, EvidenceID: r.EvidenceID,
		OperationKey: r.OperationKey, Redacted: r.Redacted, State: r.State, Code: r.Code, Status: r.Evidence, Execution: r.Execution, Stage: r.Stage,
		Created: r.Created, Due: r.Due, Expires: r.Expires,
		Request: formOf(r.Request), Raw: formOfRaw(r.Raw), Agent: formOf(r.Agent), Facts: formOf(r.Facts), Coverage: formOf(r.Coverage),
	}
	if !r.Ended.IsZero() {
		f.Ended = &r.Ended
	}
	if ref, ok := r.Reference(); ok {
		f.Reference = &ref
	}
	return f
}
