package remotetest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/remote"
)

func hexOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

var fingerprint = "sha256:" + strings.Repeat("0a", 32)

func oddNegotiate() remote.NegotiateRequest {
	return remote.NegotiateRequest{
		Protocols: []string{"other/9", remote.Protocol}, PackageID: "p:1.a_b-c", Contracts: map[string]string{"a.b": fingerprint, "Z-9": fingerprint},
		MaxInlineBytes: 0,
	}
}

func oddNegotiated() remote.NegotiateResponse {
	return remote.NegotiateResponse{
		Protocol: remote.Protocol, PackageID: "p:1.a_b-c", Epoch: "e", Session: "s", ExpiresInMS: 1,
		Tools:  []remote.OfferedTool{{Name: "a.b", Effect: canonical.EffectUnknown, Contract: fingerprint}},
		Limits: remote.ServerLimits{ArgumentsBytes: 1, InlineBytes: 0, ChunkBytes: 1, Requests: 1, WaitMS: 0},
	}
}

// oddArguments has what encoders like to change.
const oddArguments = "{ \"n\":9007199254740993, \"f\":1.0e-0, \"t\":\"<>&\u2028\\u00e9é日本\\\\\\\"\", \"z\":null ,\"a\":[ ] }\n"

func oddExecute(arguments string) remote.ExecuteRequest {
	return remote.ExecuteRequest{
		Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: "r:1.2_3-4", Tool: "a.b", Contract: fingerprint, Fingerprint: fingerprint,
		Arguments: arguments, ArgumentsSHA256: hexOf([]byte(arguments)), MaxInlineBytes: remote.MaxInlineBytes, WaitMS: 1000,
	}
}

func oddAsk(id string) remote.ReceiptRequest {
	return remote.ReceiptRequest{Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: id, Tool: "a.b", Fingerprint: fingerprint, WaitMS: 0}
}

func oddCancel() remote.CancelRequest {
	return remote.CancelRequest{Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: "r"}
}

func oddRead() remote.EvidenceRequest {
	return remote.EvidenceRequest{Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: "r", SHA256: strings.Repeat("0", 64), Offset: 1 << 40, MaxBytes: 7}
}

func oddEvidence(data []byte) remote.EvidenceResponse {
	return remote.EvidenceResponse{
		Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: "r", SHA256: strings.Repeat("0", 64), Bytes: 1 << 40, Offset: 3,
		Next: 3 + int64(len(data)), Data: data, ChunkSHA256: hexOf(data),
	}
}

// oddReceipt refers to a result; its reference has every field.
func oddReceipt(id string) remote.Receipt {
	return remote.Receipt{
		Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: id, Tool: "a.b", Effect: canonical.EffectWrite, Fingerprint: fingerprint,
		State: remote.Settled, Execution: "completed", Applied: "yes", Late: true, CancelRequested: true, HasResult: true, SourceAcked: true,
		Content: &remote.Content{Bytes: 1 << 40, SHA256: strings.Repeat("f", 64), Reference: &evidence.Reference{
			Version: 1, EvidenceID: "x", RunID: "y", Turn: "t", ToolCallID: "z", SHA256: strings.Repeat("f", 64), Bytes: 1 << 40, Pieces: "p", Strength: "replicas:2",
		}},
		StartedAt: "2026-01-02T03:04:05.678901234Z", Accounting: remote.Accounting,
	}
}

// inlineReceipt carries a result.
func inlineReceipt(id string, data []byte) remote.Receipt {
	r := oddReceipt(id)
	r.Content = remote.InlineContent(data)
	return r
}
