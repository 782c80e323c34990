package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Reports from the field on effects that happened twice, or that nobody knew of.
func TestBugLog_effects(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"B29_committed_and_never_answered", committedNeverAnswered},
		{"B30_the_reply_of_a_service_is_lost", serviceReplyLost},
		{"B31_B40_B48_back_after_its_deadline", backAfterDeadline},
		{"B32_a_permission_is_used_up", permissionUsedUp},
		{"B34_success_is_stored_and_found_again", successIsStored},
		{"B37_a_repeated_failure_is_no_new_one", repeatedFailure},
		{"B41_cancelled_and_answered", cancelledAndAnswered},
		{"B42_no_body_is_entered_again", neverAgain},
		{"B43_nothing_starts_after_a_cancel", nothingAfterCancel},
		{"B49_what_may_be_tried_again", triedAgain},
		{"B95_an_owner_that_was_replaced", staleOwner},
		{"B100_a_used_id_stays_used", staysUsed},
	})
}

// ledger is a service that keeps what it was told, by idempotency key.
type ledger struct {
	mu      sync.Mutex
	entries map[string]int
	asked   int
}

func (l *ledger) commit(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if l.entries == nil {
		l.entries = map[string]int{}
	}
	l.entries[key]++
}

// wantOnce checks that the service was asked once, under key.
func (l *ledger) wantOnce(t *testing.T, key string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked != 1 || l.entries[key] != 1 {
		t.Errorf("the service was asked %d times, by keys %v; want once, by %s", l.asked, l.entries, key)
	}
}

// wantBarrier checks that nothing is let through until the effect is known.
func (b *bench) wantBarrier(id string) {
	b.t.Helper()
	tool := says("no")
	for _, write := range []bool{false, true} {
		env, action := b.call(id, write, tool)
		wantFailed(b.t, b.Invoke(b.t.Context(), b.run, env, action), lifecycle.UnresolvedEffect, lifecycle.NotStarted)
	}
	wantEntered(b.t, tool, 0)
}

func committedNeverAnswered(t *testing.T, d *deck) {
	b := newBench(t, d, setup{config: boundary.Config{Store: soonDue(d)}})
	service, open := &ledger{}, make(chan struct{})
	t.Cleanup(func() { close(open) })
	in := make(chan struct{})
	tool := &body{do: func(_ context.Context, in2 boundary.Input, _ io.Writer) error {
		service.commit(in2.OperationKey)
		close(in)
		<-open // the process is killed here
		return nil
	}}
	b.async(t.Context(), b.writeEnvelope("pay"), writing(tool))
	<-in
	other := b.joined(boundary.Config{})
	wantDuplicate(t, other.write("pay", tool), named("pay"), lifecycle.Projecting)
	other.sweep(lifecycle.OutcomeUnknown, lifecycle.Unknown)
	for range 3 { // without a receipt it stays unknown, however often it is asked
		wantDuplicate(t, other.write("pay", tool), named("pay"), lifecycle.Error)
		other.wantBarrier("next")
	}
	before := other.record("pay")
	service.wantOnce(t, before.OperationKey)
	if err := other.run.Resolve(t.Context(), named("pay"), canonical.Applied, "receipt 4711"); err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	wantSameRecord(t, other, "pay", before) // the record says what was known at its end
	if s := other.settlement("pay"); s.Resolved == nil || s.Resolved.Verdict != canonical.Applied || s.Resolved.Evidence != "receipt 4711" {
		t.Errorf("settlement %+v, want the receipt", s.Resolved)
	}
	wantDuplicate(t, other.write("pay", tool), named("pay"), lifecycle.Error)
	wantReady(t, other.read("next", says("ok")), "seen: ok")
	wantEntered(t, tool, 1)
	service.wantOnce(t, before.OperationKey)
}

func serviceReplyLost(t *testing.T, d *deck) {
	service := &ledger{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		service.commit(r.Header.Get("Idempotency-Key"))
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Errorf("Hijack: %v", err)
			return
		}
		_ = conn.Close() // committed, and no word of it
	}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tool := &body{do: func(ctx context.Context, in boundary.Input, _ io.Writer) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		request.Header.Set("Idempotency-Key", in.OperationKey)
		answer, err := client.Do(request)
		if err == nil {
			return answer.Body.Close()
		}
		return err
	}}
	b := newBench(t, d, setup{})
	wantFailed(t, b.write("send", tool), lifecycle.OutcomeUnknown, lifecycle.Unknown)
	wantDuplicate(t, b.write("send", tool), named("send"), lifecycle.Error)
	b.wantBarrier("next")
	wantEntered(t, tool, 1)
	rec := b.record("send")
	key := canonical.Identity{RunKey: b.run.Key(), Call: named("send")}.OperationKey([]byte(someArgs))
	if rec.OperationKey != key || rec.Code != lifecycle.OutcomeUnknown {
		t.Errorf("record %s with key %s, want OUTCOME_UNKNOWN with the key %s", rec.Code, rec.OperationKey, key)
	}
	service.wantOnce(t, key) // what a later question to the service is asked by
	if err := b.run.Resolve(t.Context(), named("send"), canonical.Applied, "found by "+key); err != nil {
		t.Errorf("Resolve: %v", err)
	}
	wantReady(t, b.read("next", says("ok")), "seen: ok")
	service.wantOnce(t, key)
}

// backAfterDeadline: one answer in time that says what is known; what comes later
// is the host's, whole, and changes nothing. Others do not wait for it.
func backAfterDeadline(t *testing.T, d *deck) {
	for _, write := range []bool{false, true} {
		code := lifecycle.ToolTimeout
		if write {
			code = lifecycle.OutcomeUnknown
		}
		b := newBench(t, d, setup{})
		tool := holds(t, "too late")
		env, action := b.call("slow", write, tool)
		action.Timeout = 20 * time.Millisecond
		result := b.async(t.Context(), env, action)
		<-tool.in
		if !write {
			wantReady(t, b.read("beside", says("ok")), "seen: ok")
		}
		wantFailed(t, <-result, code, lifecycle.Unknown)
		before := b.record("slow")
		for range 3 { // deadlines of the tool that go by while it still runs
			wantDuplicate(t, b.Invoke(t.Context(), b.run, env, action), named("slow"), lifecycle.Error)
			pass(t, action.Timeout)
		}
		if !write {
			wantReady(t, b.read("behind", says("ok")), "seen: ok")
		}
		tool.release()
		late := <-b.handed
		if late.Reason != boundary.Late || string(late.Raw.Bytes) != "too late" || late.Identity != before.Identity || late.Failed {
			t.Errorf("the host was handed %v, want the late result with its identity", late)
		}
		wantSameRecord(t, b, "slow", before)
		wantEntered(t, &tool.body, 1)
		if host, ok := errors.AsType[*boundary.Error](b.Settle(t.Context(), late)); !ok || host.Code != lifecycle.StoreConflict {
			t.Errorf("a late result was settled: %v", host)
		}
	}
}

// permissionUsedUp: a grant that a person gave is for one entry of one call. The
// process dies behind the effect; the next one still has the grant.
func permissionUsedUp(t *testing.T, d *deck) {
	var granted boundary.Grant
	first := boundary.AuthorizerFunc(func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		granted = q.Grant()
		return granted, nil
	})
	saved := boundary.AuthorizerFunc(func(context.Context, boundary.AuthorizationRequest) (boundary.Grant, error) { return granted, nil })
	tool := says("sent")
	b := newBench(t, d, setup{config: boundary.Config{Store: &mortal{Store: soonDue(d), atSave: true}, Authorizer: first}})
	if got := b.toolset(writeTool("mail", tool)).Dispatch(t.Context(), b.run, asked("m1", "mail")); !got[0].Outcome.IsError() {
		t.Fatalf("outcome %v, want that the result was not stored", got[0].Outcome)
	}
	other := b.joined(boundary.Config{Authorizer: saved})
	set := other.toolset(writeTool("mail", tool))
	wantDuplicate(t, set.Dispatch(t.Context(), other.run, asked("m1", "mail"))[0], named("m1"), lifecycle.Projecting)
	other.sweep(lifecycle.OutcomeUnknown, lifecycle.Unknown)
	wantDuplicate(t, set.Dispatch(t.Context(), other.run, asked("m1", "mail"))[0], named("m1"), lifecycle.Error)
	wantFailed(t, set.Dispatch(t.Context(), other.run, asked("m2", "mail"))[0], lifecycle.Unauthorized, lifecycle.NotStarted)
	wantEntered(t, tool, 1)
}

func successIsStored(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for _, write := range []bool{false, true} {
		id := fmt.Sprintf("c-%t", write)
		tool := says("done")
		env, action := b.call(id, write, tool)
		wantReady(t, b.Invoke(t.Context(), b.run, env, action), "seen: done")
		for _, p := range []*bench{b, b.joined(boundary.Config{})} {
			if rec := p.record(id); rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != "done" || string(rec.Agent) != "seen: done" {
				t.Errorf("%s: record %s, want READY with the result", id, rec.State)
			}
			wantDuplicate(t, p.Invoke(t.Context(), p.run, env, action), named(id), lifecycle.Ready)
			if o, err := p.run.Lookup(t.Context(), named(id)); err != nil || o.IsError() || o.Text() != "seen: done" || o.Execution() != lifecycle.Completed {
				t.Errorf("%s: lookup %v, %v, want the stored result", id, o, err)
			}
		}
		wantEntered(t, tool, 1)
	}
}

func repeatedFailure(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := fails(errors.New("backend is down"))
	failed := b.read("a", tool)
	wantFailed(t, failed, lifecycle.ToolExecutionFailed, lifecycle.Completed)
	first := b.record("a")
	for range 3 {
		again := b.read("a", tool)
		wantDuplicate(t, again, named("a"), lifecycle.Error)
		if again.Outcome.Text() == failed.Outcome.Text() || again.Outcome.Execution() == failed.Outcome.Execution() {
			t.Errorf("a repetition reads %s, which is what the failure itself read", again.Outcome.Text())
		}
		if o, err := b.run.Lookup(t.Context(), named("a")); err != nil || o.Text() != failed.Outcome.Text() {
			t.Errorf("lookup %v, %v, want the first failure", o, err)
		}
	}
	wantSameRecord(t, b, "a", first)
	if first.Ended.IsZero() || first.Ended.Before(first.Created) {
		t.Errorf("the first failure was at %v to %v, want its times", first.Created, first.Ended)
	}
	wantEntered(t, tool, 1)
}

func cancelledAndAnswered(t *testing.T, d *deck) {
	for _, c := range []struct {
		write, ignores bool
		code           lifecycle.Code
		x              lifecycle.Execution
	}{
		{false, false, lifecycle.Cancelled, lifecycle.Completed}, {false, true, lifecycle.Cancelled, lifecycle.Unknown},
		{true, false, lifecycle.OutcomeUnknown, lifecycle.Unknown}, {true, true, lifecycle.OutcomeUnknown, lifecycle.Unknown},
	} {
		b := newBench(t, d, setup{})
		tool := holds(t, "nobody wants this")
		if !c.ignores {
			tool.do = func(ctx context.Context, _ boundary.Input, _ io.Writer) error {
				close(tool.in)
				<-ctx.Done()
				return ctx.Err()
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		env, action := b.call("a", c.write, tool)
		result := b.async(ctx, env, action)
		<-tool.in
		cancel()
		select {
		case got := <-result:
			wantFailed(t, got, c.code, c.x)
		case <-time.After(canonical.DefaultLimits().ClosingTimeout):
			t.Fatalf("write %t, ignores %t: no answer within the closing timeout", c.write, c.ignores)
		}
		if rec := b.record("a"); rec.State != lifecycle.Error || rec.Code != c.code || rec.Execution != c.x {
			t.Errorf("record %s %s, ran: %s; want %s, ran: %s", rec.State, rec.Code, rec.Execution.Ran(), c.code, c.x.Ran())
		}
	}
}

// neverAgain: whether the tool says that it never began or nothing is known, the
// boundary does not enter it again; the two differ in what may come next.
func neverAgain(t *testing.T, d *deck) {
	for name, c := range map[string]struct {
		err   error
		write bool
		code  lifecycle.Code
		x     lifecycle.Execution
		next  bool
	}{
		"a refused session, read":    {boundary.NotApplied("", errors.New("session not found")), false, lifecycle.ToolExecutionFailed, lifecycle.Completed, true},
		"a refused session, write":   {boundary.NotApplied("", errors.New("session not found")), true, lifecycle.ToolExecutionFailed, lifecycle.Completed, true},
		"a closed connection, read":  {io.ErrUnexpectedEOF, false, lifecycle.ToolExecutionFailed, lifecycle.Completed, true},
		"a closed connection, write": {io.ErrUnexpectedEOF, true, lifecycle.OutcomeUnknown, lifecycle.Unknown, false},
		"a time-out of its own":      {context.DeadlineExceeded, true, lifecycle.OutcomeUnknown, lifecycle.Unknown, false},
		"a temporary error, it says": {fmt.Errorf("temporary: %w", http.ErrServerClosed), true, lifecycle.OutcomeUnknown, lifecycle.Unknown, false},
	} {
		b := newBench(t, d, setup{})
		tool := fails(c.err)
		env, action := b.call("a", c.write, tool)
		if got := b.Invoke(t.Context(), b.run, env, action); got.Outcome.Code() != c.code || got.Outcome.Execution() != c.x {
			t.Errorf("%s: outcome %v, want %s, ran: %s", name, got.Outcome, c.code, c.x.Ran())
		}
		wantEntered(t, tool, 1)
		if !c.next {
			b.wantBarrier("b")
			continue
		}
		env, action = b.call("b", c.write, says("ok")) // a new call, and the model's to ask for
		wantReady(t, b.Invoke(t.Context(), b.run, env, action), "seen: ok")
	}
}

func nothingAfterCancel(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	before := d.keys(t, b.run.Key())
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, stop := context.WithTimeout(t.Context(), -time.Second)
	defer stop()
	caused, because := context.WithCancelCause(t.Context())
	because(errors.New("the user pressed a key"))
	tool := says("no")
	for _, ctx := range []context.Context{cancelled, expired, caused} {
		for _, write := range []bool{false, true} {
			env, action := b.call("a", write, tool)
			host := wantFailed(t, b.Invoke(ctx, b.run, env, action), lifecycle.Cancelled, lifecycle.NotStarted)
			if !errors.Is(host, ctx.Err()) {
				t.Errorf("host error %v, want the context's in it", host)
			}
		}
	}
	wantEntered(t, tool, 0)
	b.noRecord("a", 0)
	if after := d.keys(t, b.run.Key()); len(after) != len(before) {
		t.Errorf("keys %v, want %v", after, before)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	leaves := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		leave() // the caller goes while the first of three runs
		_, err := io.WriteString(raw, "done")
		return err
	}}
	set := b.toolset(writeTool("first", leaves), writeTool("write", tool), readTool("read", tool))
	got := set.Dispatch(ctx, b.run, asked("1", "first"), asked("2", "write"), asked("3", "read"))
	wantReady(t, got[0], "seen: done")
	wantFailed(t, got[1], lifecycle.Cancelled, lifecycle.NotStarted)
	wantFailed(t, got[2], lifecycle.Cancelled, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	b.wantOrder(named("1"))
}

// triedAgain: a refusal has not used the id; what was admitted has.
func triedAgain(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 64, PerTool: 3}}})
	tool := says("ok")
	gone, leave := context.WithCancel(t.Context())
	leave()
	for i := range 3 {
		env := b.envelope(fmt.Sprintf("used-%d", i))
		env.Tool = "used-up"
		wantReady(t, b.Invoke(t.Context(), b.run, env, reading(tool)), "seen: ok")
	}
	for name, refused := range map[string]func(env boundary.Envelope) boundary.Result{
		"arguments": func(e boundary.Envelope) boundary.Result {
			e.Input = []byte("[")
			return b.Invoke(t.Context(), b.run, e, reading(tool))
		},
		"too_large": func(e boundary.Envelope) boundary.Result {
			e.Input = make([]byte, 1<<20)
			return b.Invoke(t.Context(), b.run, e, reading(tool))
		},
		"authorization": func(e boundary.Envelope) boundary.Result {
			e.Authorized = false
			return b.Invoke(t.Context(), b.run, e, reading(tool))
		},
		"tool":    func(e boundary.Envelope) boundary.Result { return b.Invoke(t.Context(), b.run, e, boundary.Action{}) },
		"context": func(e boundary.Envelope) boundary.Result { return b.Invoke(gone, b.run, e, reading(tool)) },
		"budget": func(e boundary.Envelope) boundary.Result {
			e.Tool = "used-up"
			return b.Invoke(t.Context(), b.run, e, reading(tool))
		},
	} {
		env := b.envelope(name)
		env.Tool = "tool-" + name
		if got := refused(env); got.Outcome.Execution() != lifecycle.NotStarted || !got.Outcome.IsError() {
			t.Errorf("%s: outcome %v, want a refusal", name, got.Outcome)
		}
		wantReady(t, b.Invoke(t.Context(), b.run, env, reading(tool)), "seen: ok")
	}
	for name, e := range map[string]boundary.Executor{
		"error": fails(errors.New("x")), "panic": ending(func() { panic("x") }), "large": says(strings.Repeat("x", 5<<20)), "timeout": waits(),
	} {
		env, action := b.envelope(name), reading(e)
		env.Tool, action.Timeout = "tool-"+name, time.Second
		if name == "timeout" {
			action.Timeout = 10 * time.Millisecond
		}
		if got := b.Invoke(t.Context(), b.run, env, action); got.Outcome.Execution() == lifecycle.NotStarted {
			t.Errorf("%s: outcome %v, want one of a call that ran", name, got.Outcome)
		}
		wantDuplicate(t, b.Invoke(t.Context(), b.run, env, reading(tool)), named(name), lifecycle.Error)
	}
}

// staleOwner: a claim is of one entry. The same process, principal, tool and
// bytes under another claim own nothing; nor does the first owner once its call
// was ended for it.
func staleOwner(t *testing.T, d *deck) {
	var claims []canonical.Claim
	store := soonDue(d)
	admit := store.admit
	store.admit = func(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
		claims = append(claims, a.Claim)
		return admit(ctx, a)
	}
	b := newBench(t, d, setup{config: boundary.Config{Store: store}, spec: boundary.RunSpec{Principal: canonical.Principal{User: "u", Agent: "worker-1"}}})
	other := b.joined(boundary.Config{})
	tool := holds(t, "from the stalled owner")
	result := b.async(t.Context(), b.writeEnvelope("a"), writing(tool))
	<-tool.in
	rec := b.record("a")
	ending := canonical.Ending{Run: b.run.Key(), Call: named("a"), Claim: canonical.Claim(strings.Repeat("f", 32)), Expires: rec.Expires,
		Verdict: lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown), Stage: canonical.StageExecute}
	attempts := func(claim canonical.Claim, raw string) {
		ending.Claim = claim
		_, save := d.Save(t.Context(), canonical.Saving{Run: ending.Run, Call: ending.Call, Claim: claim, Raw: canonical.NewRaw([]byte(raw)), Expires: rec.Expires})
		_, complete := d.Complete(t.Context(), ending)
		for verb, err := range map[string]error{"save": save, "complete": complete} {
			if !errors.Is(err, canonical.ErrConflict) {
				t.Errorf("%s under a stale claim: %v, want ErrConflict", verb, err)
			}
		}
	}
	attempts(ending.Claim, "from nobody") // while the owner lives
	if _, err := d.Settle(t.Context(), ending); !errors.Is(err, canonical.ErrConflict) {
		t.Errorf("settle under another claim: %v, want ErrConflict", err)
	}
	wantSameRecord(t, b, "a", rec)
	other.sweep(lifecycle.OutcomeUnknown, lifecycle.Unknown)
	swept := b.record("a")
	ending.Verdict = lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.Completed)
	attempts(claims[0], "from the stalled owner")
	tool.release()
	wantFailed(t, <-result, lifecycle.StoreConflict, lifecycle.Completed)
	wantSameRecord(t, b, "a", swept)
	if kept := b.taken(); len(kept) != 1 || kept[0].Reason != boundary.Conflicted || string(kept[0].Raw.Bytes) != "from the stalled owner" {
		t.Errorf("retained %v, want the stalled owner's result in its own hands", kept)
	}
	if _, err := d.CloseRun(t.Context(), canonical.Closing{Run: b.run.Key(), Token: canonical.Token(strings.Repeat("f", 32))}); !errors.Is(err, canonical.ErrRunTaken) {
		t.Errorf("close with another token: %v, want ErrRunTaken", err)
	}
}

// staysUsed: the guard of an id ends with its run and with nothing before.
func staysUsed(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("ok")
	wantReady(t, b.read("a", tool), "seen: ok")
	other := b.joined(boundary.Config{}) // will not know that the run was closed
	wantDuplicate(t, b.read("a", tool), named("a"), lifecycle.Ready)
	if err := d.Delete(t.Context(), b.run.Key(), named("a")); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	b.noRecord("a", 1)
	wantDuplicate(t, b.read("a", tool), named("a"), "")
	wantReady(t, b.read("b", tool), "seen: ok") // a task that is new is not held up
	if err := b.run.Close(t.Context()); err != nil {
		t.Fatalf("Close: %v", err)
	}
	wantDuplicate(t, other.read("a", tool), named("a"), "")
	wantDuplicate(t, other.read("b", tool), named("b"), lifecycle.Ready)
	wantFailed(t, other.read("c", tool), lifecycle.RunInactive, lifecycle.NotStarted)
	wantEntered(t, tool, 2)
}
