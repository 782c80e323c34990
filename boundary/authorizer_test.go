package boundary_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// authorizing grants everything, and says when it was asked.
func authorizing(asked func()) boundary.AuthorizerFunc {
	return func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		asked()
		return q.Grant(), nil
	}
}

func TestAuthorizer(t *testing.T) {
	onFake(t, []scenario{
		{"P36_a_grant_covers_exactly_what_was_asked", grantFits},
		{"P36_a_grant_of_another_call_or_run_covers_nothing", grantReused},
		{"asked_once_about_everything", askedOnce},
		{"sees_a_copy", authorizerCopy},
		{"not_asked_when_an_earlier_check_fails", notAsked},
		{"told_before_what_is_checked_later", deniedFirst},
		{"its_no_is_the_hosts_to_read", denialCause},
		{"an_authorized_envelope_is_not_asked_about", envelopeAuthorized},
		{"time_that_passes_while_it_thinks_counts", thinkingTime},
	})
}

// authorized makes a bench whose authorizer is f, and a toolset with one tool.
func authorized(t *testing.T, d *deck, f boundary.AuthorizerFunc, e boundary.Executor) (*bench, *boundary.Toolset) {
	t.Helper()
	b := newBench(t, d, setup{config: boundary.Config{Authorizer: f}, spec: boundary.RunSpec{Principal: canonical.Principal{User: "u"}}})
	return b, b.toolset(readTool("tool", e), writeTool("write", e))
}

func grantFits(t *testing.T, d *deck) {
	other := sha256.Sum256([]byte(`{"q":"y"}`))
	change := func(f func(*boundary.Grant)) func(boundary.Grant) boundary.Grant {
		return func(g boundary.Grant) boundary.Grant { f(&g); return g }
	}
	var alter func(boundary.Grant) boundary.Grant
	tool := says("1")
	b, set := authorized(t, d, func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		return alter(q.Grant()), nil
	}, tool)
	for name, alteration := range map[string]func(boundary.Grant) boundary.Grant{
		"zero":              func(boundary.Grant) boundary.Grant { return boundary.Grant{} },
		"other bytes":       change(func(g *boundary.Grant) { g.SHA256 = hex.EncodeToString(other[:]) }),
		"no digest":         change(func(g *boundary.Grant) { g.SHA256 = "" }),
		"upper case digest": change(func(g *boundary.Grant) { g.SHA256 = strings.ToUpper(g.SHA256) }),
		"other call":        change(func(g *boundary.Grant) { g.Identity.Call.ID = "c2" }),
		"other turn":        change(func(g *boundary.Grant) { g.Identity.Call.Turn = "2" }),
		"other run":         change(func(g *boundary.Grant) { g.Identity.Run = "r2" }),
		"other tenant":      change(func(g *boundary.Grant) { g.Identity.Scope.Tenant = "x" }),
		"other tool":        change(func(g *boundary.Grant) { g.Tool = "write" }),
	} {
		alter = alteration
		before := b.storeCalls()
		got := set.Dispatch(t.Context(), b.run, asked("c1", "tool"))[0]
		if got.Outcome.Code() != lifecycle.Unauthorized {
			t.Errorf("%s: %v, want UNAUTHORIZED", name, got.Outcome)
		}
		if calls := b.storeCalls() - before; calls != 0 {
			t.Errorf("%s: %d messages to the store", name, calls)
		}
	}
	wantEntered(t, tool, 0)
	alter = func(g boundary.Grant) boundary.Grant { return g }
	wantReady(t, set.Dispatch(t.Context(), b.run, asked("c1", "tool"))[0], "seen: 1")
}

func grantReused(t *testing.T, d *deck) {
	var kept boundary.Grant
	tool := says("1")
	b, set := authorized(t, d, func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		if kept == (boundary.Grant{}) {
			kept = q.Grant()
		}
		return kept, nil
	}, tool)
	wantReady(t, set.Dispatch(t.Context(), b.run, asked("c1", "tool"))[0], "seen: 1")
	wantFailed(t, set.Dispatch(t.Context(), b.run, asked("c2", "tool"))[0], lifecycle.Unauthorized, lifecycle.NotStarted)
	again := asked("c1", "tool")
	again.Turn = "2"
	wantFailed(t, set.Dispatch(t.Context(), b.run, again)[0], lifecycle.Unauthorized, lifecycle.NotStarted)
	other := b.open(boundary.RunSpec{})
	wantFailed(t, set.Dispatch(t.Context(), other, asked("c1", "tool"))[0], lifecycle.Unauthorized, lifecycle.NotStarted)
	wantEntered(t, tool, 1)
}

func askedOnce(t *testing.T, d *deck) {
	var got []boundary.AuthorizationRequest
	var left time.Duration
	b, set := authorized(t, d, func(ctx context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		deadline, _ := ctx.Deadline()
		got, left = append(got, q), time.Until(deadline)
		return q.Grant(), nil
	}, says("1"))
	call := boundary.Call{ID: "c1", Turn: "t1", Name: "write", Arguments: []byte(" {\"q\":1e0}\n")}
	wantReady(t, set.Dispatch(t.Context(), b.run, call)[0], "seen: 1")
	if len(got) != 1 {
		t.Fatalf("asked %d times, want once", len(got))
	}
	sum := sha256.Sum256(call.Arguments)
	q := got[0]
	if q.Identity != (canonical.Identity{RunKey: b.run.Key(), Call: inTurn("t1", "c1")}) || q.Principal.User != "u" ||
		q.Tool != "write" || q.Effect != canonical.EffectWrite || string(q.Arguments) != string(call.Arguments) ||
		q.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("asked %+v with %q, want the call, its principal, tool, effect and exact bytes", q, []byte(q.Arguments))
	}
	if left <= 0 || left > 30*time.Second {
		t.Errorf("it had %v to answer, want at most 30s", left)
	}
	set.Dispatch(t.Context(), b.run, call) // the store says that this is a duplicate; the question comes before
	if len(got) != 2 {
		t.Errorf("asked %d times about two calls", len(got))
	}
}

func authorizerCopy(t *testing.T, d *deck) {
	var kept canonical.Body
	ran := ""
	tool := &body{}
	tool.do = func(ctx context.Context, in boundary.Input, _ io.Writer) error {
		clear(kept) // long after the answer
		ran = string(in.Arguments)
		clear(in.Arguments)
		return nil
	}
	b, set := authorized(t, d, func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		clear(q.Arguments)
		kept = q.Arguments
		return q.Grant(), nil
	}, tool)
	call := asked("c1", "tool")
	wantReady(t, set.Dispatch(t.Context(), b.run, call)[0], "seen: ")
	if ran != someArgs || string(b.record("c1").Request) != someArgs || string(call.Arguments) != someArgs {
		t.Errorf("ran with %q, stored %q, the caller has %q; want %q everywhere", ran, []byte(b.record("c1").Request), call.Arguments, someArgs)
	}
}

func notAsked(t *testing.T, d *deck) {
	times := 0
	b := newBench(t, d, setup{config: boundary.Config{Authorizer: authorizing(func() { times++ })}})
	schema := readTool("schema", says("1"))
	schema.Schema = []byte(`{"required":["none"]}`)
	set := b.toolset(readTool("tool", says("1")), schema,
		readTool("own", checking{says("1"), func([]byte) error { return errors.New("no") }}))
	with := func(id, name, arguments string) boundary.Call {
		return boundary.Call{ID: canonical.ToolCallID(id), Name: name, Arguments: []byte(arguments)}
	}
	for code, calls := range map[lifecycle.Code][]boundary.Call{
		lifecycle.InvalidToolCallID: {with("", "tool", someArgs), with("a b", "tool", someArgs), {ID: "c", Turn: ":", Name: "tool", Arguments: []byte(someArgs)}},
		lifecycle.RequestTooLarge:   {with("c", "tool", `{"q":"`+strings.Repeat("x", 64<<10)+`"}`)},
		lifecycle.InvalidInput:      {with("c", "tool", `[]`), with("c", "tool", ``), with("c", "schema", someArgs), with("c", "own", someArgs)},
		lifecycle.UnknownTool:       {with("c", "none", someArgs), with("c", "", someArgs)},
	} {
		for _, r := range set.Dispatch(t.Context(), b.run, calls...) {
			wantFailed(t, r, code, lifecycle.NotStarted)
		}
	}
	if times != 0 {
		t.Errorf("asked %d times about calls that an earlier check refuses", times)
	}
	wantReady(t, set.Dispatch(t.Context(), b.run, with("c", "tool", someArgs))[0], "seen: 1")
	if times != 1 {
		t.Errorf("asked %d times about one call, want once", times)
	}
}

// deniedFirst: of a denial and something that is checked later the denial is told.
func deniedFirst(t *testing.T, d *deck) {
	grants := false
	b := process(t, d, boundary.Config{Authorizer: boundary.AuthorizerFunc(func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		if grants {
			return q.Grant(), nil
		}
		return boundary.Grant{}, nil
	})})
	b.run = b.open(boundary.RunSpec{})
	set := b.toolset(readTool("tool", says("1")), writeTool("write", says("1")))
	late, closed := b.open(boundary.RunSpec{MaxDuration: time.Minute}), b.open(boundary.RunSpec{})
	d.advance(t, 2*time.Minute)
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i, c := range []struct {
		ctx  context.Context
		run  *boundary.Run
		tool string
		then lifecycle.Code
	}{
		{t.Context(), b.run, "write", lifecycle.NotReadOnly},
		{t.Context(), closed, "tool", lifecycle.RunInactive},
		{t.Context(), late, "tool", lifecycle.RunDeadlineExceeded},
		{gone, b.run, "tool", lifecycle.Cancelled},
	} {
		call := asked(fmt.Sprintf("c%d", i), c.tool)
		grants = false
		wantFailed(t, set.Dispatch(c.ctx, c.run, call)[0], lifecycle.Unauthorized, lifecycle.NotStarted)
		grants = true
		wantFailed(t, set.Dispatch(c.ctx, c.run, call)[0], c.then, lifecycle.NotStarted)
	}
}

// policyError is an error of a host's own.
type policyError struct{ rule string }

func (e *policyError) Error() string { return "policy: " + e.rule }

func denialCause(t *testing.T, d *deck) {
	var answer func() error
	b, set := authorized(t, d, func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		return q.Grant(), answer() // a grant beside an error is none
	}, says("1"))
	ask := func(f func() error) error {
		answer = f
		got := set.Dispatch(t.Context(), b.run, asked("c1", "tool"))[0]
		wantFailed(t, got, lifecycle.Unauthorized, lifecycle.NotStarted)
		return got.Err
	}
	err := ask(func() error { return &policyError{"only on weekdays"} })
	var policy *policyError
	if !errors.As(err, &policy) || policy.rule != "only on weekdays" || strings.Contains(err.Error(), "weekdays") {
		t.Errorf("error %v, want the cause in reach and not in the text", err)
	}
	plain := errors.New("no")
	if err := ask(func() error { return plain }); !errors.Is(err, plain) || errors.Unwrap(errors.Unwrap(err)) != plain {
		t.Errorf("error %v does not lead to its cause", err)
	}
	ask(func() error { panic(marker) })
	ask(func() error { runtime.Goexit(); return nil })
	answer = func() error { return nil }
	wantReady(t, set.Dispatch(t.Context(), b.run, asked("c1", "tool"))[0], "seen: 1")
}

func envelopeAuthorized(t *testing.T, d *deck) {
	times := 0
	b := newBench(t, d, setup{config: boundary.Config{Authorizer: authorizing(func() { times++ })}})
	wantReady(t, b.read("c1", says("1")), "seen: 1")
	env := b.envelope("c2")
	env.Authorized = false
	wantFailed(t, b.Invoke(t.Context(), b.run, env, reading(says("1"))), lifecycle.Unauthorized, lifecycle.NotStarted)
	if times != 0 {
		t.Errorf("asked %d times about envelopes; the host has answered already", times)
	}
}

func thinkingTime(t *testing.T, d *deck) {
	var think func()
	tool := says("1")
	b, set := authorized(t, d, func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		think()
		return q.Grant(), nil
	}, tool)
	think = func() { d.advance(t, 16*time.Minute) }
	wantFailed(t, set.Dispatch(t.Context(), b.run, asked("c1", "tool"))[0], lifecycle.RunDeadlineExceeded, lifecycle.NotStarted)
	b.run = b.open(boundary.RunSpec{})
	think = func() { _ = b.run.Close(context.Background()) }
	wantFailed(t, set.Dispatch(t.Context(), b.run, asked("c1", "tool"))[0], lifecycle.RunInactive, lifecycle.NotStarted)
	b.run = b.open(boundary.RunSpec{})
	think = func() { _ = b.Shutdown(context.Background()) }
	wantFailed(t, set.Dispatch(t.Context(), b.run, asked("c1", "tool"))[0], lifecycle.RunInactive, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
}

// An authorizer that does not answer holds a call no longer than its limit, and
// its late grant is nobody's.
func TestAuthorizer_that_does_not_answer(t *testing.T) {
	t.Parallel()
	const grace = 50 * time.Millisecond
	for _, c := range []struct {
		name   string
		obeys  bool          // its context
		leaves time.Duration // the caller; zero: stays
		want   time.Duration // until the refusal
		cause  error
	}{
		{"obeys_its_limit", true, 0, 30 * time.Second, context.DeadlineExceeded},
		{"ignores_its_limit", false, 0, 30*time.Second + grace, context.DeadlineExceeded},
		{"obeys_the_caller", true, time.Second, time.Second, context.Canceled},
		{"ignores_the_caller", false, time.Second, time.Second + grace, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tool := says("1")
				b, set := authorized(t, fakeBackend().start(t), func(ctx context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
					if c.obeys {
						<-ctx.Done()
						return boundary.Grant{}, ctx.Err()
					}
					time.Sleep(time.Hour) // in the bubble's time
					return q.Grant(), nil
				}, tool)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.leaves > 0 {
					time.AfterFunc(c.leaves, cancel)
				}
				start := time.Now()
				got := set.Dispatch(ctx, b.run, asked("c1", "tool"))[0]
				wantFailed(t, got, lifecycle.Unauthorized, lifecycle.NotStarted)
				if took := time.Since(start); took != c.want {
					t.Errorf("refused after %v, want %v", took, c.want)
				}
				if !errors.Is(got.Err, c.cause) {
					t.Errorf("error %v, want it to be %v", got.Err, c.cause)
				}
				time.Sleep(2 * time.Hour) // the grant has come
				synctest.Wait()
				wantEntered(t, tool, 0)
				b.noRecord("c1", 0)
			})
		})
	}
}
