package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
)

var ctx = context.Background()

func start(t *testing.T, o embedded.Options) *embedded.Server {
	t.Helper()
	s, err := embedded.StartWith(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func opening(t *testing.T, id canonical.RunID) canonical.Opening {
	t.Helper()
	l, err := canonical.Limits{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	b, err := canonical.Budget{}.WithDefaults(l)
	if err != nil {
		t.Fatal(err)
	}
	return canonical.Opening{Run: canonical.RunKey{Scope: canonical.Scope{Tenant: "t"}, Run: id}, Token: "token", Duration: 15 * time.Minute, Limits: l, Budget: b}
}

func admission(state canonical.RunState, id canonical.ToolCallID) canonical.Admission {
	return canonical.Admission{
		Run: state.Run, Call: canonical.CallName{ID: id}, Claim: canonical.Claim("claim-" + string(id)), EvidenceID: canonical.EvidenceID("e-" + string(id)),
		Tool: "t", Effect: canonical.EffectRead, Request: canonical.Body("{}"), ToolBudget: canonical.Unlimited, NotAfter: state.Now.Add(time.Hour),
		Timeout: time.Second, Closing: time.Second, TTL: state.Limits.RecordTTL,
	}
}

// call runs one whole call.
func call(t *testing.T, s *redisstore.Store, state canonical.RunState, id canonical.ToolCallID) {
	t.Helper()
	a := admission(state, id)
	got, err := s.Admit(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Complete(ctx, canonical.Ending{Run: a.Run, Call: a.Call, Claim: a.Claim, Verdict: lifecycle.Succeed(evidence.Found),
		Raw: canonical.NewRaw(bytes.Repeat([]byte("r"), 3000)), Agent: canonical.Body("a"), Expires: got.Expires}); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, s *embedded.Server, id canonical.RunID) canonical.RunState {
	t.Helper()
	state, err := s.Store().OpenRun(ctx, opening(t, id))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestStart_runs_as_real_time_does(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := time.Now()
	state := open(t, s, "r")
	if d := state.Now.Sub(before); d < -time.Second || d > 10*time.Second {
		t.Errorf("the server's time is %v away from the real one", d)
	}
	if d := time.Until(s.Now()).Abs(); d > 10*time.Second {
		t.Errorf("Now is %v away from the real time", d)
	}
	call(t, s.Store(), state, "c1")
	passes(t, s, state)
}

// passes waits until the server's time has moved by itself.
func passes(t *testing.T, s *embedded.Server, since canonical.RunState) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); {
		if now, err := s.Store().Inspect(ctx, since.Run); err != nil {
			t.Fatal(err)
		} else if now.Now.After(since.Now.Add(5 * time.Millisecond)) {
			return
		}
	}
	t.Error("the server's time does not move by itself")
}

func TestAdvance_moves_time_deadlines_and_expiry_together(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for name, o := range map[string]embedded.Options{"running": {}, "frozen": {Frozen: true, At: epoch}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, o)
			if o.Frozen && !s.Now().Equal(epoch) {
				t.Errorf("a frozen clock starts at %v, want %v", s.Now(), epoch)
			}
			state := open(t, s, "r")
			call(t, s.Store(), state, "c1")
			if d := state.Now.Sub(s.Now()).Abs(); d > 10*time.Second {
				t.Errorf("TIME and Now are %v apart", d)
			}
			s.Advance(state.Left + time.Second)
			if _, err := s.Store().Admit(ctx, admission(state, "c2")); !errors.Is(err, canonical.ErrDeadline) {
				t.Errorf("admit after the deadline = %v, want ErrDeadline", err)
			}
			later := open(t, s, "r2")
			if d := later.Now.Sub(s.Now()).Abs(); d > 10*time.Second {
				t.Errorf("after Advance TIME and Now are %v apart", d)
			}
			call(t, s.Store(), later, "c1")
			s.Advance(state.Limits.RecordTTL - time.Minute)
			if _, err := s.Store().Record(ctx, state.Run, canonical.CallName{ID: "c1"}); !errors.Is(err, canonical.ErrMissing) {
				t.Errorf("a record a quarter of an hour after its life = %v, want ErrMissing", err)
			}
			if _, err := s.Store().Record(ctx, later.Run, canonical.CallName{ID: "c1"}); err != nil {
				t.Errorf("a record a minute before the end of its life = %v", err)
			}
			s.Advance(time.Hour)
			if _, err := s.Store().Inspect(ctx, later.Run); !errors.Is(err, canonical.ErrRunMissing) {
				t.Errorf("the run after its life = %v, want ErrRunMissing", err)
			}
			if !o.Frozen {
				passes(t, s, open(t, s, "r3"))
			}
		})
	}
}

func TestFrozen_time_stands_still(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Frozen: true})
	first := open(t, s, "r")
	for range 100 {
		if now, err := s.Store().Inspect(ctx, first.Run); err != nil || !now.Now.Equal(first.Now) {
			t.Fatalf("time moved from %v to %v, %v", first.Now, now.Now, err)
		}
	}
	at := s.Now()
	s.Advance(-time.Hour)
	s.Advance(0)
	if !s.Now().Equal(at) {
		t.Errorf("a move of less than nothing moved time from %v to %v", at, s.Now())
	}
	s.Advance(time.Millisecond)
	if now, err := s.Store().Inspect(ctx, first.Run); err != nil || now.Now.Sub(first.Now) != time.Millisecond {
		t.Errorf("after a millisecond time has moved by %v, %v", now.Now.Sub(first.Now), err)
	}
}

func TestServers_share_nothing_and_end_with_Close(t *testing.T) {
	t.Parallel()
	one, two := start(t, embedded.Options{}), start(t, embedded.Options{Prefix: "other"})
	state := open(t, one, "r")
	if _, err := two.Store().Inspect(ctx, state.Run); !errors.Is(err, canonical.ErrRunMissing) {
		t.Errorf("the run of another server = %v, want ErrRunMissing", err)
	}
	if host, _, err := net.SplitHostPort(one.Addr()); err != nil || !net.ParseIP(host).IsLoopback() {
		t.Errorf("the server listens on %s, want loopback alone", one.Addr())
	}
	address := one.Addr()
	one.Advance(time.Hour)
	one.Close()
	one.Close()
	one.Advance(time.Hour) // moves nothing any more, and starts nothing
	if c, err := net.Dial("tcp", address); err == nil {
		_ = c.Close()
		t.Error("somebody still listens after Close")
	}
	if _, err := one.Store().Inspect(ctx, state.Run); !errors.As(err, new(*redisstore.Error)) {
		t.Errorf("the store after Close = %v, want an Error", err)
	}
	if _, err := embedded.StartWith(embedded.Options{Prefix: "{"}); !errors.As(err, new(*redisstore.OptionError)) {
		t.Errorf("a prefix with a brace = %v, want an OptionError", err)
	}
}
