package remote_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/remote"
)

func TestR10_R59_S119_every_closer_waits_for_the_same_end(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		a := r.negotiated()
		m := request(a, "r1", "slow", `{}`)
		m.WaitMS = 0
		if got, err := r.server.Execute(t.Context(), someCaller, m); err != nil || got.State != remote.Running {
			t.Fatalf("%v, %v", got, err)
		}
		<-r.bench.started
		var wg sync.WaitGroup
		var ended sync.Map
		for i := range 2 {
			wg.Go(func() {
				if err := r.server.Close(context.Background()); err != nil {
					t.Error(err)
				}
				ended.Store(i, true)
			})
		}
		impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := r.server.Close(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient closer: %v", err)
		}
		_, err := r.server.Execute(t.Context(), someCaller, request(a, "r2", "pay", `{}`))
		refusedAs(t, err, remote.SessionClosed, remote.AdmittedNo)
		_, err = r.server.Negotiate(t.Context(), someCaller, remote.NegotiateRequest{Protocols: []string{remote.Protocol}, PackageID: "bench"})
		refusedAs(t, err, remote.SessionClosed, remote.AdmittedUnknown)
		ended.Range(func(k, _ any) bool { t.Errorf("closer %v did not wait", k); return true })
		close(r.bench.gate)
		wg.Wait()
		got, err := r.server.GetReceipt(t.Context(), someCaller, asking(m))
		if err != nil || got.State != remote.Settled || !got.HasResult {
			t.Errorf("a receipt after close: %v, %v", got, err)
		}
		// What was borrowed still works.
		again := r.serve(nil)
		if again.Epoch() == r.server.Epoch() {
			t.Error("two lives have one epoch")
		}
	})
}

func TestR10_close_waits_for_bodies_that_were_left_behind(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{server: func(c *remote.ServerConfig) { c.Boundary.Limits.ToolTimeout = 50 * time.Millisecond }})
		r.bench.quiet.Store(true)
		m := request(r.negotiated(), "r1", "slow", `{}`)
		if got, err := r.server.Execute(t.Context(), someCaller, m); err != nil || got.State != remote.Unsettled {
			t.Fatalf("%v, %v", got, err)
		}
		done := make(chan error, 1)
		go func() { done <- r.server.Close(context.Background()) }()
		select {
		case err := <-done:
			t.Fatalf("closed while a body runs: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		close(r.bench.gate)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got, err := r.server.GetReceipt(t.Context(), someCaller, asking(m)); err != nil || got.State != remote.Settled || !got.Late {
			t.Errorf("the late result: %v, %v", got, err)
		}
	})
}

func TestR11_S120_error_of_the_completion_hook(t *testing.T) {
	t.Parallel()
	hook := errors.New("hook")
	calls := 0
	r := newRig(t, fakePlace, rigOptions{server: func(c *remote.ServerConfig) {
		c.OnClose = func(context.Context) error { calls++; return hook }
	}})
	for range 3 {
		if err := r.server.Close(t.Context()); !errors.Is(err, hook) {
			t.Errorf("got %v, want the hook's error", err)
		}
	}
	if calls != 1 {
		t.Errorf("the hook ran %d times", calls)
	}
	panics := r.serve(func(c *remote.ServerConfig) { c.OnClose = func(context.Context) error { panic("hook") } })
	if err := panics.Close(t.Context()); err == nil {
		t.Error("a panic of the hook is no error")
	}
	next := r.serve(nil) // same store, same tools
	a, err := next.Negotiate(t.Context(), someCaller, remote.NegotiateRequest{Protocols: []string{remote.Protocol}, PackageID: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := next.Execute(t.Context(), someCaller, request(a, "r9", "pay", `{}`)); err != nil || got.State != remote.Settled {
		t.Errorf("a new server on what was borrowed: %v, %v", got, err)
	}
}

func TestR36_R37_unstored_sources_are_kept_and_repaired_by_the_host(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		var cut *cutStore
		var told []boundary.Retained
		r := newRig(t, at, rigOptions{
			store: func(s canonical.Store) canonical.Store { cut = &cutStore{Store: s}; return cut },
			server: func(c *remote.ServerConfig) {
				c.Boundary.OnRetained = func(_ context.Context, k boundary.Retained) { told = append(told, k) }
			},
		})
		set := func(on bool) { cut.mu.Lock(); cut.cut = on; cut.mu.Unlock() }
		set(true)
		failed(t, r.call("c1", "pay", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		id := r.view("c1").RequestID
		if got := r.view("c1").Server; got.State != remote.SettledUnstored || got.HasResult || got.SourceAcked || len(told) != 1 {
			t.Errorf("receipt %v, the host was told %d times", got, len(told))
		}
		kept, err := r.server.ReadRetainedSource(serveScope, id)
		if err != nil || string(kept.Raw.Bytes) != `{"paid":true}` || kept.Tool != "pay" || len(r.server.RetainedSources()) != 1 {
			t.Fatalf("retained: %v, %v", kept, err)
		}
		kept.Raw.Bytes[0] = 'X' // a copy
		a := r.negotiated()
		_, err = r.server.Execute(t.Context(), someCaller, request(a, "r2", "lookup", `{}`))
		refusedAs(t, err, remote.StorageDegraded, remote.AdmittedNo)
		if _, err := r.reconcile("c1"); !errors.Is(err, remote.ErrUnknown) {
			t.Errorf("before the repair: %v", err)
		}
		if err := r.server.SettleSource(t.Context(), serveScope, id); err == nil {
			t.Error("repaired without a store")
		}
		if err := r.server.AcknowledgeSource(t.Context(), serveScope, id, evidence.Reference{}); err == nil {
			t.Error("acknowledged by nothing")
		}
		set(false)
		if err := r.server.SettleSource(t.Context(), serveScope, id); err != nil {
			t.Fatal(err)
		}
		if n := len(r.server.RetainedSources()); n != 0 {
			t.Errorf("%d sources wait", n)
		}
		done, err := r.reconcile("c1")
		if err != nil || done.Text != `"{\"paid\":true}"` || !done.Lifted {
			t.Errorf("reconciled: %v, %v", done, err)
		}
		if got, err := r.server.Execute(t.Context(), someCaller, request(a, "r3", "lookup", `{}`)); err != nil || got.State != remote.Settled {
			t.Errorf("after the repair: %v, %v", got, err)
		}
		if r.bench.count("pay") != 1 {
			t.Errorf("entered %d times", r.bench.count("pay"))
		}
	})
}

// stripping is a store that loses what ties a record to its request.
type stripping struct {
	canonical.Store
	mu sync.Mutex
	on bool
}

func (s *stripping) strip(h *canonical.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on && strings.HasPrefix(string(h.Identity.Run), "rq.") {
		h.OperationKey = "[REDACTED]"
	}
}

func (s *stripping) Heads(ctx context.Context, run canonical.RunKey, calls []canonical.CallName) ([]canonical.Head, error) {
	heads, err := s.Store.Heads(ctx, run, calls)
	for i := range heads {
		s.strip(&heads[i])
	}
	return heads, err
}

func (s *stripping) Record(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.Record, error) {
	rec, err := s.Store.Record(ctx, run, call)
	s.strip(&rec.Head)
	return rec, err
}

func TestR20_S125_lost_correlation_leaves_the_source_unacknowledged(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		var strip *stripping
		r := newRig(t, at, rigOptions{store: func(s canonical.Store) canonical.Store { strip = &stripping{Store: s, on: true}; return strip }})
		failed(t, r.call("c1", "pay", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		if got := r.view("c1").Server; got.State != remote.SettledUnstored || got.SourceAcked || got.HasResult {
			t.Errorf("receipt %v, want unacknowledged", got)
		}
		list := r.server.RetainedSources()
		if len(list) != 1 || list[0].Reason != "unacknowledged" {
			t.Errorf("sources %v", list)
		}
		if err := r.server.SettleSource(t.Context(), serveScope, r.view("c1").RequestID); err == nil {
			t.Error("acknowledged without correlation")
		}
		if _, err := r.reconcile("c1"); !errors.Is(err, remote.ErrUnknown) {
			t.Errorf("reconciled: %v", err)
		}
		strip.mu.Lock()
		strip.on = false
		strip.mu.Unlock()
		if err := r.server.SettleSource(t.Context(), serveScope, r.view("c1").RequestID); err != nil {
			t.Fatal(err)
		}
		if done, err := r.reconcile("c1"); err != nil || !done.Lifted {
			t.Errorf("reconciled: %v, %v", done, err)
		}
	})
}

func TestR39_expired_sessions_make_room_and_keep_answering(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{server: func(c *remote.ServerConfig) { c.MaxRequests = 2; c.SessionDuration = time.Minute }})
	a := r.negotiated()
	first := request(a, "r1", "pay", `{}`)
	for _, m := range []remote.ExecuteRequest{first, request(a, "r2", "pay", `{}`)} {
		if _, err := r.server.Execute(t.Context(), someCaller, m); err != nil {
			t.Fatal(err)
		}
	}
	r.there.advance(time.Minute)
	_, err := r.server.Execute(t.Context(), someCaller, request(a, "r3", "pay", `{}`))
	refusedAs(t, err, remote.SessionClosed, remote.AdmittedNo)
	b := r.negotiated()
	if got, err := r.server.Execute(t.Context(), someCaller, request(b, "r4", "pay", `{}`)); err != nil || got.State != remote.Settled {
		t.Errorf("in a new session: %v, %v", got, err)
	}
	if got, err := r.server.GetReceipt(t.Context(), someCaller, asking(first)); err != nil || got.State != remote.Settled || !got.HasResult {
		t.Errorf("the receipt of the old one: %v, %v", got, err)
	}
	_, err = r.server.Execute(t.Context(), someCaller, first)
	refusedAs(t, err, remote.SessionUnknown, remote.AdmittedUnknown)
	if r.bench.count("pay") != 3 {
		t.Errorf("entered %d times, want 3", r.bench.count("pay"))
	}
}

func TestR27_the_serving_hosts_verdict_is_a_receipt(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		for verdict, applied := range map[canonical.EffectVerdict]string{canonical.Applied: "yes", canonical.NotApplied: "no"} {
			r := newRig(t, at, rigOptions{})
			failed(t, r.call("c1", "lost", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
			if _, err := r.reconcile("c1"); !errors.Is(err, remote.ErrUnknown) {
				t.Errorf("before a verdict: %v", err)
			}
			r.blocked()
			if err := r.server.Resolve(t.Context(), serveScope, r.view("c1").RequestID, verdict, "ledger 7"); err != nil {
				t.Fatal(err)
			}
			done, err := r.reconcile("c1")
			if err != nil || done.Receipt.Applied != applied || !done.Receipt.Resolved || !done.Lifted {
				t.Errorf("reconciled: %v, %v", done, err)
			}
			s, err := r.here.store.SettlementOf(t.Context(), r.run.Key(), name("c1"))
			if err != nil || s.Resolved == nil || s.Resolved.Verdict != verdict {
				t.Errorf("settlement %+v, %v", s, err)
			}
			r.free("c2")
		}
	})
}

func TestR29_a_late_result_after_the_hosts_verdict(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{server: func(c *remote.ServerConfig) { c.Boundary.Limits.ToolTimeout = 50 * time.Millisecond }})
		r.bench.quiet.Store(true)
		failed(t, r.call("c1", "slow", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		if err := r.server.Resolve(t.Context(), serveScope, r.view("c1").RequestID, canonical.NotApplied, "looked"); err != nil {
			t.Fatal(err)
		}
		close(r.bench.gate)
		if err := r.server.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(r.server.RetainedSources()); n != 0 {
			t.Errorf("%d sources wait", n)
		}
		got, err := r.reconcile("c1")
		if err != nil || !got.Receipt.Resolved && !got.Receipt.Late {
			t.Errorf("reconciled: %v, %v", got, err)
		}
	})
}

// Two servers on one store: what one has admitted the other does not enter.
func TestR56_request_admitted_by_another_server(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		m := request(r.negotiated(), "r1", "pay", `{}`)
		if _, err := r.server.Execute(t.Context(), someCaller, m); err != nil {
			t.Fatal(err)
		}
		other := r.serve(nil)
		a, err := other.Negotiate(t.Context(), someCaller, remote.NegotiateRequest{Protocols: []string{remote.Protocol}, PackageID: "bench"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := other.Execute(t.Context(), someCaller, request(a, "r1", "pay", `{}`))
		if err != nil || got.State != remote.Settled || !got.HasResult || r.bench.count("pay") != 1 {
			t.Errorf("%v, %v, %d bodies", got, err, r.bench.count("pay"))
		}
	})
}

func TestR39_sessions_are_bounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{server: func(c *remote.ServerConfig) { c.SessionDuration = time.Minute }})
	for range 999 { // and the rig's own
		r.negotiated()
	}
	ask := remote.NegotiateRequest{Protocols: []string{remote.Protocol}, PackageID: "bench"}
	_, err := r.server.Negotiate(t.Context(), someCaller, ask)
	refusedAs(t, err, remote.RequestLimitExceeded, remote.AdmittedUnknown)
	r.there.advance(time.Minute)
	if _, err := r.server.Negotiate(t.Context(), someCaller, ask); err != nil {
		t.Errorf("after the others have ended: %v", err)
	}
}
