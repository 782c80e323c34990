package redact_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/redact"
)

// policy is a function as a Policy.
type policy func(context.Context, redact.Kind, []byte) ([]byte, error)

func (policy) Version() string { return "test/1" }

func (p policy) Redact(ctx context.Context, kind redact.Kind, value []byte) ([]byte, error) {
	return p(ctx, kind, value)
}

// versioned is a policy that changes nothing.
type versioned string

func (v versioned) Version() string { return string(v) }

func (versioned) Redact(_ context.Context, _ redact.Kind, value []byte) ([]byte, error) {
	return value, nil
}

func TestE91_a_policy_stands_between_two_passes(t *testing.T) {
	t.Parallel()
	var saw string
	r := redactor(t, redact.Config{
		Rules: []redact.Finder{word("aba")},
		Policy: policy(func(_ context.Context, kind redact.Kind, value []byte) ([]byte, error) {
			saw = kind.String() + " " + string(value)
			return []byte(`{"card":"****","password":"put back","note":"aba"}`), nil
		}),
	})
	v, err := r.Redact(context.Background(), redact.Arguments, []byte(`{"card":"4111","password":"s3cret","note":"aba"}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `arguments {"card":"4111","password":"[REDACTED]","note":"[REDACTED]"}`; saw != want {
		t.Errorf("the policy saw %s, want %s", saw, want)
	}
	if want := `{"card":"****","password":"[REDACTED]","note":"[REDACTED]"}`; string(v.Text) != want || v.Replaced != 4 {
		t.Errorf("%d in %s, want 4 in %s", v.Replaced, v.Text, want)
	}
}

func TestS85_E92_a_policy_that_fails_withholds_the_value(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]policy{
		"error":        func(context.Context, redact.Kind, []byte) ([]byte, error) { return []byte("1"), errors.New("s3cret") },
		"panic":        func(context.Context, redact.Kind, []byte) ([]byte, error) { panic("s3cret") },
		"goexit":       func(context.Context, redact.Kind, []byte) ([]byte, error) { runtime.Goexit(); return nil, nil },
		"not JSON":     func(context.Context, redact.Kind, []byte) ([]byte, error) { return []byte(`{"a":s3cret`), nil },
		"nothing":      func(context.Context, redact.Kind, []byte) ([]byte, error) { return nil, nil },
		"not UTF-8":    func(context.Context, redact.Kind, []byte) ([]byte, error) { return []byte("\"\xff\""), nil },
		"too large":    func(context.Context, redact.Kind, []byte) ([]byte, error) { return make([]byte, 1001), nil },
		"too deep now": func(context.Context, redact.Kind, []byte) ([]byte, error) { return []byte(strings.Repeat("[", 9)), nil },
	} {
		r := redactor(t, redact.Config{Policy: p, Limits: redact.Limits{Bytes: 1000, Depth: 8}})
		v, err := r.Redact(context.Background(), redact.Result, []byte(`{"a":"s3cret"}`))
		if !errors.Is(err, redact.ErrPolicy) || v.Text != nil {
			t.Errorf("%s: %q, %v, want %v", name, v.Text, err, redact.ErrPolicy)
		}
		if told := fmt.Sprintf("%v %+v %q", err, errors.Unwrap(err), err.Error()); strings.Contains(told, "s3cret") {
			t.Errorf("%s: the error tells the value: %s", name, told)
		}
	}
}

func TestE92_rules_that_fail_withhold_the_value(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]finder{
		"panic":  func(string) []redact.Span { panic("s3cret") },
		"beyond": func(text string) []redact.Span { return []redact.Span{{0, len(text) + 1}} },
		"before": func(string) []redact.Span { return []redact.Span{{-1, 1}} },
		"turned": func(string) []redact.Span { return []redact.Span{{2, 1}} },
	} {
		v, err := redactor(t, redact.Config{Rules: []redact.Finder{f}}).Redact(context.Background(), redact.Result, []byte("a s3cret"))
		if !errors.Is(err, redact.ErrRules) || v.Text != nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %q, %v, want %v", name, v.Text, err, redact.ErrRules)
		}
	}
	// A rule that finds something new in whatever was replaced never comes to rest.
	grows := finder(func(text string) []redact.Span { return []redact.Span{{0, 1}} })
	if v, err := redactor(t, redact.Config{Rules: []redact.Finder{grows}}).Redact(context.Background(), redact.Result, []byte("ab")); !errors.Is(err, redact.ErrUnstable) || v.Text != nil {
		t.Errorf("%q, %v, want %v", v.Text, err, redact.ErrUnstable)
	}
}

// finder is a function as a Finder.
type finder func(string) []redact.Span

func (finder) Name() string { return "finder" }

func (f finder) Find(text string) []redact.Span { return f(text) }

func TestS85_E92_a_policy_that_hangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		obedient := redactor(t, redact.Config{Policy: policy(func(ctx context.Context, _ redact.Kind, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})})
		start := time.Now()
		v, err := obedient.Redact(context.Background(), redact.Result, []byte(`{"a":1}`))
		if took := time.Since(start); !errors.Is(err, redact.ErrPolicy) || v.Text != nil || took != 2*time.Second {
			t.Errorf("%q, %v after %v, want %v after 2s", v.Text, err, took, redact.ErrPolicy)
		}
		synctest.Wait() // the bubble ends only when no goroutine is left in it
	})
}

func TestS85_E92_a_policy_that_ignores_its_deadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var heeds atomic.Bool
		release := make(chan struct{})
		r := redactor(t, redact.Config{
			Limits: redact.Limits{Policy: time.Second},
			Policy: policy(func(_ context.Context, _ redact.Kind, value []byte) ([]byte, error) {
				calls.Add(1)
				if !heeds.Load() {
					<-release
				}
				return value, nil
			}),
		})
		for n := range 12 {
			start := time.Now()
			_, err := r.Redact(context.Background(), redact.Result, []byte(`{"a":1}`))
			waited := time.Second
			if n >= 8 {
				waited = 0
			}
			if took := time.Since(start); !errors.Is(err, redact.ErrPolicy) || took != waited {
				t.Errorf("call %d: %v after %v, want %v after %v", n, err, took, redact.ErrPolicy, waited)
			}
		}
		if got := calls.Load(); got != 8 {
			t.Errorf("the policy was called %d times, want 8", got)
		}
		heeds.Store(true)
		close(release)
		synctest.Wait()
		if got := view(t, r, `{"a":1}`); got != `{"a":1}` {
			t.Errorf("after the policy returned: %s", got)
		}
	})
}

func TestE92_a_cancelled_context_calls_no_policy(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := redactor(t, redact.Config{Policy: policy(func(context.Context, redact.Kind, []byte) ([]byte, error) {
		t.Error("the policy was called")
		return nil, nil
	})})
	_, err := r.Redact(ctx, redact.Result, []byte("1"))
	var e *redact.Error
	if !errors.As(err, &e) || !errors.Is(e.Cause(), context.Canceled) {
		t.Errorf("%v, want the end of the context as its cause", err)
	}
}
