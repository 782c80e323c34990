package fakes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

func theRun() canonical.RunKey {
	return canonical.RunKey{Scope: canonical.Scope{Tenant: "acme"}, Run: "run-1"}
}

func open(t *testing.T, s canonical.Store) canonical.RunState {
	t.Helper()
	limits := canonical.DefaultLimits()
	budget, err := canonical.Budget{}.WithDefaults(limits)
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.OpenRun(context.Background(), canonical.Opening{
		Run: theRun(), Token: "token", Duration: 15 * time.Minute, Budget: budget, Limits: limits,
	})
	if err != nil {
		t.Fatalf("OpenRun: %v", err)
	}
	return state
}

func admission(id canonical.ToolCallID, state canonical.RunState) canonical.Admission {
	return canonical.Admission{
		Run: theRun(), Call: canonical.CallName{ID: id}, Claim: "claim-" + canonical.Claim(id), EvidenceID: "e-" + canonical.EvidenceID(id),
		Tool: "sql", Effect: canonical.EffectRead, Request: canonical.Body(`{"q":1}`), ToolBudget: canonical.Unlimited,
		Reserve: 4096, NotAfter: state.Now.Add(time.Minute), Timeout: 30 * time.Second, Closing: 10 * time.Second, TTL: 24 * time.Hour,
	}
}

func TestStore_one_call(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := fakes.NewStore(fakes.NewClock())
	state := open(t, s)
	a := admission("c1", state)
	if _, err := s.Admit(ctx, a); err != nil {
		t.Fatalf("Admit: %v", err)
	}
	_, err := s.Complete(ctx, canonical.Ending{Run: a.Run, Call: a.Call, Claim: a.Claim,
		Verdict: lifecycle.Succeed(evidence.Found), Raw: canonical.NewRaw([]byte("raw")), Agent: canonical.Body("agent")})
	if err != nil {
		t.Fatalf("Complete: %v", err)
	}
	rec, err := s.Record(ctx, a.Run, a.Call)
	if err != nil || rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != "raw" || string(rec.Agent) != "agent" {
		t.Errorf("Record = %+v, %v; want READY with raw and agent", rec, err)
	}
}

func TestStore_cancelled_context_writes_nothing(t *testing.T) {
	t.Parallel()
	s := fakes.NewStore(fakes.NewClock())
	state := open(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Admit(ctx, admission("c1", state)); !errors.Is(err, context.Canceled) {
		t.Errorf("Admit = %v, want context.Canceled", err)
	}
	if got, err := s.Inspect(context.Background(), theRun()); err != nil || got.LastSeq != 0 {
		t.Errorf("LastSeq = %d, %v; want 0", got.LastSeq, err)
	}
}

func TestStore_alterations(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := fakes.NewStore(fakes.NewClock())
	state := open(t, s)
	snapshot, ok := s.SnapshotLedger(theRun())
	if !ok {
		t.Fatal("no ledger to copy")
	}
	first := admission("c1", state)
	if _, err := s.Admit(ctx, first); err != nil {
		t.Fatal(err)
	}
	if !s.RestoreLedger(snapshot) {
		t.Fatal("no ledger to put back")
	}
	next := admission("c2", state)
	next.Seen = 1
	if _, err := s.Admit(ctx, next); !errors.Is(err, canonical.ErrRunDamaged) {
		t.Errorf("Admit after the ledger went back = %v, want ErrRunDamaged", err)
	}
	id := canonical.Identity{RunKey: theRun(), Call: first.Call}
	if !s.SetRecordVersion(id, canonical.SchemaVersion+1) {
		t.Fatal("no record to alter")
	}
	if _, err := s.View(ctx, theRun(), first.Call); !errors.Is(err, canonical.ErrNewerVersion) {
		t.Errorf("View of a newer record = %v, want ErrNewerVersion", err)
	}
}
