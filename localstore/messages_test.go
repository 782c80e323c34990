package localstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

const theToken canonical.Token = "token-of-the-run"

func runKey(id canonical.RunID) canonical.RunKey {
	return canonical.RunKey{Scope: canonical.Scope{Tenant: "acme", Owner: "alice"}, Run: id}
}

func opening(id canonical.RunID) canonical.Opening {
	return canonical.Opening{
		Run: runKey(id), Token: theToken, Duration: 15 * time.Minute, Limits: canonical.DefaultLimits(),
		Budget: canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited},
	}
}

func admission(run canonical.RunID, call string, now time.Time) canonical.Admission {
	return canonical.Admission{
		Run: runKey(run), Call: canonical.CallName{ID: canonical.ToolCallID(call)}, Claim: canonical.Claim("claim-" + call),
		EvidenceID: canonical.EvidenceID("evidence-" + call), Tool: "sql", Effect: canonical.EffectRead,
		Request: canonical.Body(`{"call":"` + call + `"}`), ToolBudget: canonical.Unlimited, Reserve: 1000,
		NotAfter: now.Add(time.Minute), Timeout: 30 * time.Second, Closing: 10 * time.Second, TTL: 24 * time.Hour,
	}
}

func ending(a canonical.Admission, expires time.Time, raw []byte) canonical.Ending {
	return canonical.Ending{
		Run: a.Run, Call: a.Call, Claim: a.Claim, Verdict: lifecycle.Succeed(evidence.Found), Raw: canonical.NewRaw(raw),
		Agent: canonical.Body("agent result of " + string(a.Call.ID)), Facts: canonical.Body(`[{"f":1}]`),
		Coverage: canonical.Body(`{"checked":["x"]}`), Expires: expires,
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// work opens a run and carries out calls of it, each with some raw.
func work(t testing.TB, s canonical.Store, run canonical.RunID, raws map[string][]byte) {
	t.Helper()
	ctx := context.Background()
	state, err := s.OpenRun(ctx, opening(run))
	must(t, err)
	for call, raw := range raws {
		a := admission(run, call, state.Now)
		got, err := s.Admit(ctx, a)
		must(t, err)
		_, err = s.Complete(ctx, ending(a, got.Expires, raw))
		must(t, err)
	}
}

// holds checks that each call is there, READY, with its raw.
func holds(t testing.TB, s canonical.Store, run canonical.RunID, raws map[string][]byte) {
	t.Helper()
	for call, raw := range raws {
		rec, err := s.Record(context.Background(), runKey(run), canonical.CallName{ID: canonical.ToolCallID(call)})
		must(t, err)
		if rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != string(raw) || string(rec.Agent) != "agent result of "+call {
			t.Errorf("%s: %s with %v of raw and %q, want READY with %d bytes", call, rec.State, rec.Raw.Bytes, []byte(rec.Agent), len(raw))
		}
	}
}
