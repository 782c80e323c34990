package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
)

// What Sweep reads and what its scripts find may differ: in between the owner
// may have ended the call, or the list came from a clock that was ahead.
func TestSweep_script_decides_anew(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := redistest.Mini(t)
	s, err := New(m.Client(), nil)
	if err != nil {
		t.Fatal(err)
	}
	limits, err := canonical.Limits{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	run := canonical.RunKey{Scope: canonical.Scope{Tenant: "t"}, Run: "r"}
	state, err := s.OpenRun(ctx, canonical.Opening{Run: run, Token: "t", Duration: time.Hour, Limits: limits, Budget: canonical.Budget{Calls: 9, PerTool: 9, Bytes: 1 << 40}})
	if err != nil {
		t.Fatal(err)
	}
	var names []canonical.CallName
	for _, id := range []canonical.ToolCallID{"open", "ended", "gone"} {
		a := canonical.Admission{Run: run, Call: canonical.CallName{ID: id}, Claim: "c", EvidenceID: canonical.EvidenceID(id), Tool: "t", Effect: canonical.EffectRead,
			ToolBudget: canonical.Unlimited, NotAfter: state.Now.Add(time.Hour), Timeout: time.Minute, Closing: time.Minute, TTL: limits.RecordTTL}
		if _, err := s.Admit(ctx, a); err != nil {
			t.Fatal(err)
		}
		names = append(names, a.Call)
	}
	end := canonical.Ending{Run: run, Call: names[1], Claim: "c", Verdict: lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.Completed)}
	if _, err := s.Complete(ctx, end); err != nil {
		t.Fatal(err)
	}
	k := s.keys(run)
	if err := m.Client().Del(ctx, k.record(names[2])).Err(); err != nil {
		t.Fatal(err)
	}
	swept := func(want int) {
		t.Helper()
		got, err := s.sweep(ctx, k, time.Minute, names)
		if err != nil || len(got) != want {
			t.Errorf("swept %+v, %v; want %d calls", got, err, want)
		}
	}
	swept(0)                    // nothing is due
	m.Advance(2 * time.Minute)  // due
	swept(0)                    // and inside the grace
	m.Advance(time.Minute)      // the grace to the millisecond
	swept(0)                    // which has not passed then
	m.Advance(time.Millisecond) // now it has
	swept(1)
	if left := m.Client().ZCard(ctx, k.open()).Val(); left != 0 {
		t.Errorf("%d names are still listed as open, also that of a record which is gone", left)
	}
}
