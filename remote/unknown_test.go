package remote_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/remotetest"
)

func TestR22_R23_S110_S111_lost_reply_barrier_reconciled(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		for _, tool := range []string{"pay", "mystery"} {
			r := newRig(t, at, rigOptions{})
			r.loop.DropReplies(remote.MethodExecute, 1)
			got := r.call("c1", tool, `{}`)
			failed(t, got, lifecycle.OutcomeUnknown, boundary.Unknown)
			if !errors.Is(got.Err, remote.ErrUnknown) || r.view("c1").State != remote.StateUnknown {
				t.Errorf("%v, state %s", got.Err, r.view("c1").State)
			}
			r.blocked()
			done, err := r.reconcile("c1")
			if err != nil || !done.Lifted || done.Reused || done.Receipt.State != remote.Settled {
				t.Fatalf("reconciled: %v, %v", done, err)
			}
			if r.view("c1").State != remote.StateSettled {
				t.Errorf("state %s", r.view("c1").State)
			}
			r.free("c2")
			if n := r.sent(remote.MethodExecute, remotetest.Request); n != 1 || r.bench.count(tool) != 1 {
				t.Errorf("%d submissions, %d bodies", n, r.bench.count(tool))
			}
			s, err := r.here.store.SettlementOf(t.Context(), r.run.Key(), name("c1"))
			if err != nil || s.Resolved == nil || s.Resolved.Verdict != canonical.Applied {
				t.Errorf("settlement %+v, %v", s, err)
			}
			if rec := r.record("c1"); rec.Code != lifecycle.OutcomeUnknown {
				t.Errorf("the record changed to %s", rec.Code)
			}
		}
	})
}

func TestR22_S110_a_read_raises_no_barrier(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		r.loop.DropReplies(remote.MethodExecute, 1)
		got := r.call("c1", "lookup", `{}`)
		if got.Outcome.Code() != remote.CodeUnknown || !errors.Is(got.Err, remote.ErrUnknown) || r.view("c1").State != remote.StateUnknown {
			t.Errorf("got %v, state %s", got.Err, r.view("c1").State)
		}
		r.free("c2")
		done, err := r.reconcile("c1")
		if err != nil || done.Lifted || done.Text != `"{\"success\":true,\"n\":9007199254740993}"` {
			t.Errorf("reconciled: %v, %v", done, err)
		}
		if r.bench.count("lookup") != 1 {
			t.Errorf("entered %d times", r.bench.count("lookup"))
		}
	})
}

func TestR22_request_lost_before_the_server(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		r.loop.DropRequests(remote.MethodExecute, 1)
		failed(t, r.call("c1", "pay", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		r.blocked()
		done, err := r.reconcile("c1")
		if err != nil || done.Receipt.Execution != "not_started" || !done.Lifted {
			t.Fatalf("reconciled: %v, %v", done, err)
		}
		// The message arrives after all, and is refused for good.
		var late remote.ExecuteRequest
		for _, f := range r.frames {
			if f.method == remote.MethodExecute && f.dir == remotetest.Request {
				if late, err = remote.Decode[remote.ExecuteRequest](f.text); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		_, err = r.server.Execute(t.Context(), someCaller, late)
		refusedAs(t, err, remote.RequestWithdrawn, remote.AdmittedNo)
		if r.bench.total() != 0 {
			t.Errorf("%d bodies were entered", r.bench.total())
		}
		r.free("c2")
	})
}

// answering gives what it is told in place of an execute's answer, after the server
// did its work.
type answering struct {
	remote.Transport
	answer func(remote.ExecuteRequest, remote.Receipt) (remote.Receipt, error)
}

func (a answering) Execute(ctx context.Context, m remote.ExecuteRequest) (remote.Receipt, error) {
	r, err := a.Transport.Execute(ctx, m)
	if err != nil {
		return r, err
	}
	return a.answer(m, r)
}

func TestR27_S115_anything_but_a_receipt_of_this_call_is_unknown(t *testing.T) {
	t.Parallel()
	changed := func(change func(*remote.Receipt)) func(remote.ExecuteRequest, remote.Receipt) (remote.Receipt, error) {
		return func(_ remote.ExecuteRequest, r remote.Receipt) (remote.Receipt, error) { change(&r); return r, nil }
	}
	refusal := func(change func(*remote.ProtocolError)) func(remote.ExecuteRequest, remote.Receipt) (remote.Receipt, error) {
		return func(m remote.ExecuteRequest, _ remote.Receipt) (remote.Receipt, error) {
			e := &remote.ProtocolError{Code: remote.ToolNotAllowed, Message: remote.ToolNotAllowed.Text(), Admitted: remote.AdmittedNo, Session: m.Session, Epoch: m.Epoch, RequestID: m.RequestID}
			change(e)
			return remote.Receipt{}, e
		}
	}
	for what, answer := range map[string]func(remote.ExecuteRequest, remote.Receipt) (remote.Receipt, error){
		"error": func(remote.ExecuteRequest, remote.Receipt) (remote.Receipt, error) {
			return remote.Receipt{}, errors.New("x")
		},
		"nothing":                 func(remote.ExecuteRequest, remote.Receipt) (remote.Receipt, error) { return remote.Receipt{}, nil },
		"panic":                   func(remote.ExecuteRequest, remote.Receipt) (remote.Receipt, error) { panic("x") },
		"other request":           changed(func(r *remote.Receipt) { r.RequestID = "other" }),
		"other session":           changed(func(r *remote.Receipt) { r.Session = "other" }),
		"other epoch":             changed(func(r *remote.Receipt) { r.Epoch = "other" }),
		"other tool":              changed(func(r *remote.Receipt) { r.Tool = "lookup" }),
		"other effect":            changed(func(r *remote.Receipt) { r.Effect = canonical.EffectUnknown }),
		"other arguments":         changed(func(r *remote.Receipt) { r.Fingerprint = "sha256:" + canonical.Body("x").SHA256() }),
		"other protocol":          changed(func(r *remote.Receipt) { r.Protocol = "2" }),
		"both branches":           changed(func(r *remote.Receipt) { r.Code = "TOOL_EXECUTION_FAILED" }),
		"inline and reference":    changed(func(r *remote.Receipt) { r.Content.Reference = &evidence.Reference{} }),
		"result without content":  changed(func(r *remote.Receipt) { r.Content = nil }),
		"content without result":  changed(func(r *remote.Receipt) { r.HasResult = false }),
		"not applied":             changed(func(r *remote.Receipt) { r.Applied = "no" }),
		"unacknowledged":          changed(func(r *remote.Receipt) { r.SourceAcked = false }),
		"no state":                changed(func(r *remote.Receipt) { r.State = "done" }),
		"not started with result": changed(func(r *remote.Receipt) { r.Execution = "not_started" }),
		"altered inline":          changed(func(r *remote.Receipt) { (*r.Content.Inline)[0] ^= 1 }),
		"another accounting":      changed(func(r *remote.Receipt) { r.Accounting = "charged" }),
		"refusal of another":      refusal(func(e *remote.ProtocolError) { e.RequestID = "other" }),
		"refusal of a session":    refusal(func(e *remote.ProtocolError) { e.Session = "other" }),
		"refusal of an epoch":     refusal(func(e *remote.ProtocolError) { e.Epoch = "other" }),
		"refusal unsure":          refusal(func(e *remote.ProtocolError) { e.Admitted = remote.AdmittedUnknown }),
		"refusal unheard":         refusal(func(e *remote.ProtocolError) { e.Code = "teapot" }),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fakePlace, rigOptions{})
			r.session = r.connect(func(c *remote.SessionConfig) { c.Transport = answering{r.loop, answer} })
			r.set = r.toolset(r.session)
			failed(t, r.call("c1", "pay", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
			if v := r.view("c1"); v.State != remote.StateUnknown {
				t.Errorf("state %s", v.State)
			}
			failed(t, r.call("c2", "local", `{}`), lifecycle.UnresolvedEffect, boundary.NotStarted)
			done, err := r.reconcile("c1")
			if err != nil || !done.Lifted || done.Text != `"{\"paid\":true}"` {
				t.Errorf("reconciled: %v, %v", done, err)
			}
			if r.bench.count("pay") != 1 {
				t.Errorf("entered %d times", r.bench.count("pay"))
			}
		})
	}
	t.Run("bound refusal is not run", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, fakePlace, rigOptions{server: func(c *remote.ServerConfig) {
			c.Authorize = func(_ context.Context, _ remote.Caller, op remote.Operation) error {
				if op.Method == remote.MethodExecute {
					return errors.New("no")
				}
				return nil
			}
		}})
		failed(t, r.call("c1", "pay", `{}`), remote.CodeRefused, boundary.Completed)
		r.free("c2")
		if r.bench.total() != 0 {
			t.Errorf("%d bodies were entered", r.bench.total())
		}
	})
}

func TestR24_R25_receipts_again_and_at_once(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{server: func(c *remote.ServerConfig) { c.ChunkBytes = 50_000 }})
		r.loop.DropReplies(remote.MethodExecute, 1)
		failed(t, r.call("c1", "bigpay", `{"n":100000}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		var wg sync.WaitGroup
		all := make([]remote.Reconciled, 4)
		for i := range all {
			wg.Go(func() {
				var err error
				if all[i], err = r.session.Reconcile(context.Background(), r.run.ID(), name("c1")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		fresh := 0
		for _, one := range all {
			if !one.Reused {
				fresh++
			}
			if one.Observation != all[0].Observation || one.Text != `{"bytes":100000}` || !one.Lifted {
				t.Errorf("got %v, %s", one, one.Text)
			}
		}
		if asked := r.sent(remote.MethodGetReceipt, remotetest.Request); fresh != 1 || asked != 4 {
			t.Errorf("%d observations, %d receipt calls; want 1 and 4", fresh, asked)
		}
		if chunks := r.sent(remote.MethodReadEvidence, remotetest.Answer); chunks != 2 {
			t.Errorf("%d chunks were read, want 2", chunks)
		}
		if n := r.observations(); n != 1 {
			t.Errorf("%d observation records, want 1", n)
		}
		// A settled call asks again, and has its observation in its own record.
		ready(t, r.call("c2", "pay", `{}`), `"{\"paid\":true}"`)
		done, err := r.reconcile("c2")
		if err != nil || !done.Reused || done.Text != `"{\"paid\":true}"` || r.observations() != 1 {
			t.Errorf("a settled call: %v, %v, %d records", done, err, r.observations())
		}
	})
}

// observations counts the runs that hold one.
func (r *rig) observations() (n int) {
	r.t.Helper()
	runs, err := r.here.store.ListRuns(r.t.Context(), scope, canonical.ListedRun{}, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, run := range runs {
		if len(run.Run) > 3 && run.Run[:3] == "ro." {
			n++
		}
	}
	return n
}

func TestR26_S113_missing_observation_is_made_again(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		r.loop.DropReplies(remote.MethodExecute, 1)
		failed(t, r.call("c1", "pay", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		first, err := r.reconcile("c1")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.here.store.Delete(t.Context(), canonical.RunKey{Scope: scope, Run: canonical.RunID(first.Observation.RunID)}, name("c1")); err != nil {
			t.Fatal(err)
		}
		again, err := r.reconcile("c1")
		if err != nil || again.Reused || again.Text != first.Text || again.Observation == first.Observation {
			t.Errorf("after it was deleted: %v, %v", again, err)
		}
		if n := r.sent(remote.MethodExecute, remotetest.Request); n != 1 || r.bench.count("pay") != 1 {
			t.Errorf("%d submissions, %d bodies", n, r.bench.count("pay"))
		}
	})
}

// cutStore stops storing observations when told.
type cutStore struct {
	canonical.Store
	mu  sync.Mutex
	cut bool
}

func (c *cutStore) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	c.mu.Lock()
	cut := c.cut
	c.mu.Unlock()
	if cut {
		return canonical.Ended{}, errors.New("store down")
	}
	return c.Store.Complete(ctx, e)
}

func (c *cutStore) Settle(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	c.mu.Lock()
	cut := c.cut
	c.mu.Unlock()
	if cut {
		return canonical.Ended{}, errors.New("store down")
	}
	return c.Store.Settle(ctx, e)
}

func TestR26_S113_barrier_stays_while_the_store_fails(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		var cut *cutStore
		r := newRig(t, at, rigOptions{local2: func(s canonical.Store) canonical.Store { cut = &cutStore{Store: s}; return cut }})
		r.loop.DropReplies(remote.MethodExecute, 1)
		failed(t, r.call("c1", "pay", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		cut.mu.Lock()
		cut.cut = true
		cut.mu.Unlock()
		if done, err := r.reconcile("c1"); err == nil || done.Lifted {
			t.Errorf("reconciled without a store: %v", done)
		}
		cut.mu.Lock()
		cut.cut = false
		cut.mu.Unlock()
		r.blocked()
		done, err := r.reconcile("c1")
		if err != nil || !done.Lifted {
			t.Errorf("reconciled: %v, %v", done, err)
		}
		r.free("c2")
	})
}

func TestR17_settled_but_not_stored(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		var cut *cutStore
		r := newRig(t, at, rigOptions{local2: func(s canonical.Store) canonical.Store { cut = &cutStore{Store: s}; return cut }})
		cut.mu.Lock()
		cut.cut = true
		cut.mu.Unlock()
		failed(t, r.call("c1", "pay", `{}`), lifecycle.ResultNotStored, boundary.Completed)
		if got := r.view("c1"); got.State != remote.StateSettledUnstored || got.Server.State != remote.Settled {
			t.Errorf("state %s, receipt %v", got.State, got.Server)
		}
		cut.mu.Lock()
		cut.cut = false
		cut.mu.Unlock()
		if err := r.boundary.Settle(t.Context(), r.retains[0]); err != nil {
			t.Fatal(err)
		}
		done, err := r.reconcile("c1")
		if err != nil || !done.Reused || done.Text != `"{\"paid\":true}"` || r.view("c1").State != remote.StateSettled {
			t.Errorf("settled: %v, %v", done, err)
		}
		if r.bench.count("pay") != 1 || r.observations() != 0 {
			t.Errorf("%d bodies, %d other observations", r.bench.count("pay"), r.observations())
		}
		r.free("c2")
	})
}

func TestR28_R30_S116_waiting_and_cancelling(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		second := r.open("")
		short, cancel := context.WithCancel(t.Context())
		results := make(chan boundary.Result, 2)
		go func() { results <- r.callContext(short, "c1", "slow", `{"a":1}`) }()
		<-r.bench.started
		go func() {
			results <- r.session.Dispatch(context.Background(), r.set, second, boundary.Call{ID: "c2", Name: "slow", Arguments: []byte(`{"a":2}`)})[0]
		}()
		<-r.bench.started
		cancel()
		failed(t, <-results, lifecycle.OutcomeUnknown, boundary.Unknown) // c1's caller left; the server goes on
		if _, err := r.reconcile("c1"); !errors.Is(err, remote.ErrUnknown) {
			t.Errorf("while it runs: %v, want unknown", err)
		}
		accepted, err := r.session.Cancel(t.Context(), r.run.ID(), name("c1"))
		if err != nil || !accepted {
			t.Errorf("cancel: %t, %v", accepted, err)
		}
		select {
		case got := <-results:
			t.Errorf("the sibling ended with %v", got)
		case <-time.After(100 * time.Millisecond):
		}
		close(r.bench.gate)
		ready(t, <-results, `"{\"done\":true}"`)
		if _, err := r.session.Cancel(t.Context(), r.run.ID(), name("unheard")); !errors.Is(err, remote.ErrNoInvocation) {
			t.Errorf("cancel of an unheard call: %v", err)
		}
	})
}

func TestR29_S117_late_result_keeps_its_identity(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{server: func(c *remote.ServerConfig) {
			for i := range c.Tools {
				if c.Tools[i].Name == "slow" {
					c.Tools[i].Timeout = 50 * time.Millisecond
				}
			}
		}})
		r.bench.quiet.Store(true) // the tool ignores the end of its context
		failed(t, r.call("c1", "slow", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		if got := r.view("c1").Server; got.State != remote.Unsettled {
			t.Errorf("receipt %v, want unknown", got)
		}
		before := r.view("c1")
		close(r.bench.gate)
		done := r.eventually("c1")
		if !done.Receipt.Late || done.Receipt.RequestID != before.RequestID || done.Text != `"{\"done\":true}"` || !done.Lifted {
			t.Errorf("reconciled: %v, %s", done, done.Text)
		}
		if after := r.view("c1"); after.Identity != before.Identity || after.EvidenceID != before.EvidenceID {
			t.Errorf("the identity changed: %+v", after)
		}
		run, call := r.sourceOf("c1")
		s, err := r.there.store.SettlementOf(t.Context(), run, call)
		if err != nil || s.Resolved == nil || s.Resolved.Verdict != canonical.Applied {
			t.Errorf("at the source: %+v, %v", s, err)
		}
		if r.bench.count("slow") != 1 {
			t.Errorf("entered %d times", r.bench.count("slow"))
		}
		r.free("c2")
	})
}

// eventually reconciles as soon as the other side knows.
func (r *rig) eventually(id string) remote.Reconciled {
	r.t.Helper()
	for {
		done, err := r.reconcile(id)
		if err == nil {
			return done
		}
		if !errors.Is(err, remote.ErrUnknown) && !errors.Is(err, canonical.ErrStillOpen) || r.t.Context().Err() != nil {
			r.t.Fatalf("reconcile %s: %v", id, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestR31_S118_closed_session(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		results := make(chan boundary.Result, 1)
		go func() { results <- r.callContext(context.Background(), "c1", "slow", `{}`) }()
		<-r.bench.started
		r.session.Close()
		r.session.Close()
		got := r.call("c2", "lookup", `{}`)
		if got.Outcome.Execution() != boundary.NotStarted || !errors.Is(got.Err, remote.ErrSessionClosed) {
			t.Errorf("a new call: %v", got.Err)
		}
		if heads, err := r.here.store.Heads(t.Context(), r.run.Key(), []canonical.CallName{name("c2")}); err != nil || heads[0].Exists() {
			t.Errorf("a refused call has a record: %v", err)
		}
		close(r.bench.gate)
		ready(t, <-results, `"{\"done\":true}"`)
		if r.record("c1").State != lifecycle.Ready {
			t.Error("the call under way was not recorded")
		}
		if done, err := r.reconcile("c1"); err != nil || !done.Reused {
			t.Errorf("a receipt after close: %v, %v", done, err)
		}
	})
}

func TestR12_R40_R41_S123_inspect_is_detached_and_asks_nobody(t *testing.T) {
	t.Parallel()
	var faulty *fakes.Faulty
	r := newRig(t, fakePlace, rigOptions{local2: func(s canonical.Store) canonical.Store { faulty = fakes.NewFaulty(s, "m"); return faulty },
		session: func(c *remote.SessionConfig) { c.Observer = func(remote.Event) { panic("observer") } },
		server:  func(c *remote.ServerConfig) { c.Observer = func(remote.Event) { panic("observer") } }})
	ready(t, r.call("c1", "pay", `{}`), `"{\"paid\":true}"`)
	r.loop.DropReplies(remote.MethodExecute, 1)
	failed(t, r.call("c2", "pay", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
	calls := func() (n int) {
		for _, m := range fakes.Methods() {
			n += faulty.Calls(m)
		}
		return n + len(r.frames)
	}
	before := calls()
	all := r.session.Inspect()
	if len(all) != 2 || len(r.session.Inspect(name("c2"))) != 1 || calls() != before {
		t.Errorf("%d invocations, %d calls by looking", len(all), calls()-before)
	}
	first := all[0]
	if first.State != remote.StateSettled || first.Server == nil || first.Submitted.IsZero() || first.Answered.IsZero() || first.Server.StartedAt == "" || all[1].Server != nil {
		t.Errorf("side by side: %+v", first)
	}
	all[0].Server.Code, all[0].Server.Content.SHA256 = "changed", "changed"
	if again := r.session.Inspect()[0]; again.Server.Code != "" || again.Server.Content.SHA256 == "changed" {
		t.Error("a change of the copy reached the session")
	}
	for _, one := range all {
		if text := fmt.Sprintf("%+v", one.Server); len(text) > 500 {
			t.Errorf("a receipt prints %d bytes", len(text))
		}
	}
}

func TestR42_S124_cost_is_external_and_unknown(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		ready(t, r.call("c1", "pay", `{}`), `"{\"paid\":true}"`)
		v := r.view("c1")
		if v.Accounting != "external_unknown" || v.Server.Accounting != "external_unknown" {
			t.Errorf("accounting %q and %q", v.Accounting, v.Server.Accounting)
		}
		for _, f := range r.frames {
			if f.dir == remotetest.Request {
				for _, word := range []string{"budget", "cost", "usage", r.run.Ticket().Reveal()} {
					if containsFold(f.text, word) {
						t.Errorf("%s carries %s", f.method, word)
					}
				}
			}
		}
		report, err := r.run.Facts(t.Context())
		if err != nil || report.Totals.Calls != 1 {
			t.Errorf("the run counts %+v, %v, want one call", report.Totals, err)
		}
	})
}

func TestR52_a_session_keeps_a_bounded_number_of_calls(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{server: func(c *remote.ServerConfig) { c.Tools = c.Tools[:1] }})
	for i := range remote.MaxInvocations + 5 {
		r.call(fmt.Sprintf("c%d", i), "lookup", fmt.Sprintf(`{"i":%d}`, i))
	}
	if n := len(r.session.Inspect()); n != remote.MaxInvocations {
		t.Errorf("the session keeps %d, want %d", n, remote.MaxInvocations)
	}
	if !reflect.DeepEqual(r.session.Inspect(name("c0")), []remote.Invocation(nil)) {
		t.Error("the oldest settled call did not make room")
	}
}
