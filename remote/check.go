package remote

import (
	"time"

	"github.com/toolharness/harness/canonical"
)

// checker collects the first rule that a message breaks.
type checker struct{ err error }

func (c *checker) fail(field, reason string, size, limit int64) {
	if c.err == nil {
		c.err = &FormError{Field: field, Reason: reason, Size: size, Limit: limit}
	}
}

func (c *checker) that(ok bool, field, reason string) {
	if !ok {
		c.fail(field, reason, 0, 0)
	}
}

// name: 1 to MaxName bytes of letters, digits and . _ : - so that no id can forge a
// line of a log or a header.
func (c *checker) name(field, text string) {
	if len(text) == 0 || len(text) > MaxName {
		c.fail(field, "must have 1 to 256 bytes", int64(len(text)), MaxName)
		return
	}
	for i := range len(text) {
		b := text[i]
		if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '.' || b == '_' || b == ':' || b == '-') {
			c.fail(field, "has a byte that names do not have", 0, 0)
			return
		}
	}
}

func (c *checker) within(field string, value, least, most int64) {
	if value < least || value > most {
		c.fail(field, "is out of range", value, most)
	}
}

func (c *checker) protocol(text string) { c.that(text == Protocol, "protocol", "is not "+Protocol) }

func (c *checker) address(protocol, session, epoch, request string) {
	c.protocol(protocol)
	c.name("session", session)
	c.name("epoch", epoch)
	c.name("request_id", request)
}

func (c *checker) wait(ms int64) { c.within("wait_ms", ms, 0, MaxWait.Milliseconds()) }

func (c *checker) inline(n int) { c.within("max_inline_bytes", int64(n), 0, MaxInlineBytes) }

func (c *checker) tool(field, name string) {
	c.that(canonical.CheckToolName(name) == nil, field, "is not a tool name")
}

// check is the form of each message; what it means is judged by the two ends.
func check(m any) error {
	var c checker
	switch m := m.(type) {
	case NegotiateRequest:
		c.negotiateRequest(m)
	case NegotiateResponse:
		c.negotiateResponse(m)
	case ExecuteRequest:
		c.executeRequest(m)
	case ReceiptRequest:
		c.address(m.Protocol, m.Session, m.Epoch, m.RequestID)
		c.tool("tool", m.Tool)
		c.that(isFingerprint(m.Fingerprint), "fingerprint", "is not a fingerprint")
		c.inline(m.MaxInlineBytes)
		c.wait(m.WaitMS)
	case CancelRequest:
		c.address(m.Protocol, m.Session, m.Epoch, m.RequestID)
	case CancelResponse:
		c.address(m.Protocol, m.Session, m.Epoch, m.RequestID)
		c.state(m.State)
	case EvidenceRequest:
		c.address(m.Protocol, m.Session, m.Epoch, m.RequestID)
		c.that(isDigest(m.SHA256), "sha256", "is not a digest")
		c.within("offset", m.Offset, 0, canonical.MaxBudgetBytes)
		c.within("max_bytes", int64(m.MaxBytes), 1, MaxChunkBytes)
	case EvidenceResponse:
		c.evidenceResponse(m)
	case Receipt:
		c.receipt(m)
	case ProtocolError:
		c.protocolError(m)
	case Package:
		c.pack(m)
	}
	return c.err
}

func (c *checker) negotiateRequest(m NegotiateRequest) {
	c.within("protocols", int64(len(m.Protocols)), 1, 16)
	for _, p := range m.Protocols {
		c.that(len(p) > 0 && len(p) <= MaxName, "protocols", "has an empty or too long entry")
	}
	c.name("package_id", m.PackageID)
	c.within("contracts", int64(len(m.Contracts)), 0, MaxTools)
	for tool, contract := range m.Contracts {
		c.tool("contracts", tool)
		c.that(isFingerprint(contract), "contracts", "has something that is not a fingerprint")
	}
	c.inline(m.MaxInlineBytes)
}

func (c *checker) negotiateResponse(m NegotiateResponse) {
	c.protocol(m.Protocol)
	c.name("package_id", m.PackageID)
	c.name("epoch", m.Epoch)
	c.name("session", m.Session)
	c.within("expires_in_ms", m.ExpiresInMS, 1, canonical.MaxLimitTime.Milliseconds())
	c.within("tools", int64(len(m.Tools)), 0, MaxTools)
	for _, t := range m.Tools {
		c.tool("tools.name", t.Name)
		c.that(t.Effect.Valid(), "tools.effect", "is not read, write or unknown")
		c.that(isFingerprint(t.Contract), "tools.contract", "is not a fingerprint")
	}
	c.within("limits.arguments_bytes", int64(m.Limits.ArgumentsBytes), 1, MaxArguments)
	c.within("limits.inline_bytes", int64(m.Limits.InlineBytes), 0, MaxInlineBytes)
	c.within("limits.chunk_bytes", int64(m.Limits.ChunkBytes), 1, MaxChunkBytes)
	c.within("limits.requests", int64(m.Limits.Requests), 1, MaxRequests)
	c.within("limits.wait_ms", m.Limits.WaitMS, 0, MaxWait.Milliseconds())
}

func (c *checker) executeRequest(m ExecuteRequest) {
	c.address(m.Protocol, m.Session, m.Epoch, m.RequestID)
	c.tool("tool", m.Tool)
	c.that(isFingerprint(m.Contract), "contract", "is not a fingerprint")
	c.that(isFingerprint(m.Fingerprint), "fingerprint", "is not a fingerprint")
	c.within("arguments", int64(len(m.Arguments)), 2, MaxArguments)
	c.that(isDigest(m.ArgumentsSHA256), "arguments_sha256", "is not a digest")
	c.inline(m.MaxInlineBytes)
	c.wait(m.WaitMS)
}

func (c *checker) evidenceResponse(m EvidenceResponse) {
	c.address(m.Protocol, m.Session, m.Epoch, m.RequestID)
	c.that(isDigest(m.SHA256), "sha256", "is not a digest")
	c.that(isDigest(m.ChunkSHA256), "chunk_sha256", "is not a digest")
	c.within("bytes", m.Bytes, 0, canonical.MaxBudgetBytes)
	c.within("offset", m.Offset, 0, m.Bytes)
	c.within("data", int64(len(m.Data)), 0, MaxChunkBytes)
	c.that(m.Next == m.Offset+int64(len(m.Data)) && m.Next <= m.Bytes, "next", "is not the offset behind the data")
}

func (c *checker) state(s ReceiptState) {
	c.that(s == Running || s == Settled || s == SettledUnstored || s == Unsettled, "state", "is none of the states")
}

// receipt holds a receipt to one meaning: each state with what may stand beside it.
func (c *checker) receipt(r Receipt) {
	c.address(r.Protocol, r.Session, r.Epoch, r.RequestID)
	c.tool("tool", r.Tool)
	c.that(r.Effect.Valid(), "effect", "is not read, write or unknown")
	c.that(isFingerprint(r.Fingerprint), "fingerprint", "is not a fingerprint")
	c.state(r.State)
	c.that(r.Accounting == Accounting, "accounting", "is not "+Accounting)
	c.that(r.Applied == "" || r.Applied == appliedYes || r.Applied == appliedNo, "applied", "is not yes or no")
	if len(r.Code) > MaxCode {
		c.fail("code", "is too long", int64(len(r.Code)), MaxCode)
	}
	for field, at := range map[string]string{"started_at": r.StartedAt, "ended_at": r.EndedAt} {
		if at != "" {
			_, err := time.Parse(time.RFC3339Nano, at)
			c.that(err == nil, field, "is not a time")
		}
	}
	c.that(r.HasResult == (r.Content != nil) || r.State == SettledUnstored && r.Content == nil, "content", "and has_result contradict each other")
	c.that(r.Content == nil || r.Code == "", "code", "stands beside a result")
	c.content(r)
	switch r.State {
	case Settled:
		c.settled(r)
	case SettledUnstored:
		c.that(r.Execution == executionCompleted && !r.SourceAcked, "execution", "does not fit the state")
	default:
		c.that(r.Execution == executionUnknown && r.Applied == "" && r.Content == nil && !r.HasResult, "execution", "does not fit the state")
	}
}

func (c *checker) settled(r Receipt) {
	switch r.Execution {
	case executionNotStarted:
		c.that(r.Content == nil && r.Code != "", "execution", "did not start and yet has a result, or no code")
		c.that(r.Applied == notUnlessRead(r.Effect), "applied", "contradicts the execution")
	case executionCompleted:
		c.that(r.HasResult || r.Code != "", "code", "is missing where there is no result")
		c.that((r.Applied != "") == !r.Effect.Read(), "applied", "is missing, or given for a read")
		c.that(!r.HasResult || r.Effect.Read() || r.Applied == appliedYes, "applied", "contradicts the result")
		c.that(!r.HasResult || r.SourceAcked, "source_acked", "is false for a settled result")
	default:
		c.fail("execution", "does not fit the state", 0, 0)
	}
}

func notUnlessRead(e canonical.Effect) string {
	if e.Read() {
		return ""
	}
	return appliedNo
}

func (c *checker) content(r Receipt) {
	if r.Content == nil {
		return
	}
	k := r.Content
	c.that(isDigest(k.SHA256), "content.sha256", "is not a digest")
	c.within("content.bytes", k.Bytes, 0, canonical.MaxBudgetBytes)
	c.that((k.Inline == nil) != (k.Reference == nil), "content", "must have exactly one of inline and reference")
	if k.Inline != nil {
		c.within("content.inline", int64(len(*k.Inline)), 0, MaxInlineBytes)
		c.that(int64(len(*k.Inline)) == k.Bytes && sha256Hex(*k.Inline) == k.SHA256, "content.inline", "does not fit its digest")
	}
}

func (c *checker) protocolError(e ProtocolError) {
	c.that(e.Code.Valid(), "code", "is none of the codes")
	c.that(e.Message == e.Code.Text(), "message", "is not the code's text")
	c.that(e.Admitted == AdmittedNo || e.Admitted == AdmittedUnknown, "admitted", "is not no or unknown")
	c.name("request_id", e.RequestID)
	if e.Session != "" {
		c.name("session", e.Session)
	}
	if e.Epoch != "" {
		c.name("epoch", e.Epoch)
	}
}
