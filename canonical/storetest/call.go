package storetest

import (
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// call is an admission that a store accepted, and its answer.
type call struct {
	canonical.Admission
	got canonical.Admitted
}

// identity is the call's place among all runs.
func (c call) identity() canonical.Identity {
	return canonical.Identity{RunKey: c.Run, Call: c.Call}
}

// ready is a full READY ending.
func (c call) ready() canonical.Ending {
	return canonical.Ending{
		Run: c.Run, Call: c.Call, Claim: c.Claim, Verdict: lifecycle.Succeed(evidence.Found),
		Raw: canonical.NewRaw([]byte(`[{"answer":42}]`)), Agent: canonical.Body("the answer is 42"),
		Facts: canonical.Body(`[{"n":1}]`), Coverage: canonical.Body(`{"checked":["t"]}`), Expires: c.got.Expires,
	}
}

// failed is an ERROR ending without bodies.
func (c call) failed(code lifecycle.Code, x lifecycle.Execution) canonical.Ending {
	return canonical.Ending{
		Run: c.Run, Call: c.Call, Claim: c.Claim, Verdict: lifecycle.Fail(code, x), Stage: canonical.StageExecute,
		Expires: c.got.Expires,
	}
}

// toolFailed is the plainest ERROR: the tool ran and failed.
func (c call) toolFailed() canonical.Ending {
	return c.failed(lifecycle.ToolExecutionFailed, lifecycle.Completed)
}

// unknown is the ending of a write of which nobody knows whether it applied.
func (c call) unknown() canonical.Ending {
	return c.failed(lifecycle.OutcomeUnknown, lifecycle.Unknown)
}

// saving is the raw result on its own.
func (c call) saving(raw string) canonical.Saving {
	return canonical.Saving{Run: c.Run, Call: c.Call, Claim: c.Claim, Raw: canonical.NewRaw([]byte(raw)), Expires: c.got.Expires}
}

// afterSave is a READY ending whose raw was saved before: its bytes are not
// sent again.
func (c call) afterSave(raw string) canonical.Ending {
	e := c.ready()
	e.Raw, e.RawSaved = canonical.NewRaw([]byte(raw)), true
	e.Raw.Bytes = nil
	return e
}

// resolution is a host's verdict on the call's effect.
func (c call) resolution(v canonical.EffectVerdict) canonical.Resolution {
	return canonical.Resolution{Run: c.Run, Call: c.Call, Verdict: v, Evidence: "receipt 4711"}
}

// admission asks for a read of the tool "sql" under a claim of its own.
func (p *probe) admission(id canonical.ToolCallID, change ...func(*canonical.Admission)) canonical.Admission {
	mark := plain(string(id))
	a := canonical.Admission{
		Run: runKey(), Call: named(id), Claim: canonical.Claim("claim-" + mark),
		EvidenceID: canonical.EvidenceID("evidence-" + mark), OperationKey: "operation-" + mark, Redacted: "policy-" + mark,
		Principal: canonical.Principal{User: "alice", Agent: "agent-7"}, Tool: "sql", Effect: canonical.EffectRead,
		Request: canonical.Body(`{"query":"select 1"}`), ToolBudget: canonical.Unlimited, Reserve: callReserve,
		NotAfter: p.h.Now().Add(time.Hour), Timeout: toolTimeout, Closing: closingTime, TTL: recordTTL,
	}
	for _, f := range change {
		f(&a)
	}
	return a
}

// plain keeps what may stand in a claim.
func plain(text string) string {
	var b []byte
	for i := 0; i < len(text) && len(b) < 64; i++ {
		if c := text[i]; 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' {
			b = append(b, c)
		}
	}
	return string(b)
}

// writes makes an admission one of a tool that may change something.
func writes(a *canonical.Admission) { a.Effect = canonical.EffectWrite }

// claimed gives an admission another claim.
func claimed(claim canonical.Claim) func(*canonical.Admission) {
	return func(a *canonical.Admission) { a.Claim = claim }
}

// inTurn gives an admission a turn.
func inTurn(turn canonical.Turn) func(*canonical.Admission) {
	return func(a *canonical.Admission) { a.Call.Turn = turn }
}

// admit sends an admission that must create a record.
func (p *probe) admit(id canonical.ToolCallID, change ...func(*canonical.Admission)) call {
	p.T.Helper()
	a := p.admission(id, change...)
	got, err := p.s.Admit(p.ctx, a)
	p.must("Admit "+a.Call.String(), err)
	if got.Own || got.State != lifecycle.Projecting {
		p.Fatalf("Admit %s = own %v, state %s; want a new record that is PROJECTING", a.Call, got.Own, got.State)
	}
	return call{a, got}
}
