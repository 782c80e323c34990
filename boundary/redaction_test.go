package boundary_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redact"
)

func TestRedactBeforeStore(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"S82_nothing_of_a_credential_is_stored", nothingStored},
		{"S85_a_policy_that_fails", policyFails},
		{"S57_a_result_that_gets_shorter", getsShorter},
		{"a_write_whose_result_is_withheld", writeWithheld},
		{"late_results", lateRedacted},
		{"arguments_without_a_view", argumentsWithoutAView},
	})
}

func TestRedactBeforeStoreConfig(t *testing.T) {
	t.Parallel()
	r := redactor(t, nil)
	for name, c := range map[string]boundary.Config{
		"capture without redaction": {CaptureBytes: 1},
		"negative":                  {CaptureBytes: -1, RedactBeforeStore: r},
		"too much":                  {CaptureBytes: boundary.MaxCaptureBytes + 1, RedactBeforeStore: r},
	} {
		c.Store, c.Authorizer = fakeBackend().start(t).Store, boundary.AllowAll{}
		if _, err := boundary.New(c); !isConfigError(err) || !strings.Contains(err.Error(), "CaptureBytes") {
			t.Errorf("%s: %v, want a *ConfigError that names CaptureBytes", name, err)
		}
	}
}

func redactor(t *testing.T, policy redact.Policy) *redact.Redactor {
	t.Helper()
	r, err := redact.New(redact.Config{Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func redacting(t *testing.T, d *deck, r *redact.Redactor) *bench {
	return newBench(t, d, setup{config: boundary.Config{RedactBeforeStore: r}, spec: anyBudget()})
}

const (
	password  = "hunter2-4711"
	loginArgs = `{"q":"x","password":"` + password + `"}`
)

// nothingStored: the tool gets its arguments as they are; record, agent result,
// reference and digests are those of the views, and the record names the policy.
func nothingStored(t *testing.T, d *deck) {
	r := redactor(t, nil)
	b := redacting(t, d, r)
	var got string
	tool := boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
		got = string(in.Arguments)
		_, err := io.WriteString(raw, `{"rows":1.0,"api_key":"`+password+`"}`)
		return err
	})
	for id, call := range map[string]func(boundary.Envelope) boundary.Result{
		"read": func(env boundary.Envelope) boundary.Result { return b.Invoke(t.Context(), b.run, env, reading(tool)) },
		"write": func(env boundary.Envelope) boundary.Result {
			env.ReadOnly = false
			return b.Invoke(t.Context(), b.run, env, writing(tool))
		},
	} {
		env := b.envelope(id)
		env.Input = []byte(loginArgs)
		result := call(env)
		const view = `{"rows":1.0,"api_key":"[REDACTED]"}`
		wantReady(t, result, "seen: "+view)
		if got != loginArgs {
			t.Errorf("the tool got %s, want %s", got, loginArgs)
		}
		record := b.record(id)
		if string(record.Raw.Bytes) != view || record.Raw.SHA256 != canonical.Body(view).SHA256() {
			t.Errorf("%s: raw %s, want %s with its digest", id, record.Raw.Bytes, view)
		}
		if want := `{"q":"x","password":"[REDACTED]"}`; string(record.Request) != want || record.RequestSHA256 != canonical.Body(want).SHA256() {
			t.Errorf("%s: request %s, want %s with its digest", id, record.Request, want)
		}
		if record.Redacted != r.Fingerprint() || record.Redacted == "" {
			t.Errorf("%s: the record names the policy %q, want %q", id, record.Redacted, r.Fingerprint())
		}
		if ref, ok := result.Outcome.Reference(); !ok || ref.SHA256 != record.Raw.SHA256 {
			t.Errorf("%s: reference %+v, want the digest of what is stored", id, ref)
		}
	}
}

// policyFails: the call ends, the result is lost and not shown, and whoever asks
// is told that the tool ran.
func policyFails(t *testing.T, d *deck) {
	for name, policy := range map[string]func() ([]byte, error){
		"error": func() ([]byte, error) { return nil, errors.New(password) },
		"panic": func() ([]byte, error) { panic(password) },
	} {
		b := redacting(t, d, redactor(t, onResults(policy)))
		tool := says(`{"secret":"` + password + `"}`)
		got := b.read("r", tool)
		wantFailed(t, got, lifecycle.ProjectionFailed, lifecycle.Completed)
		wantHidden(t, got, password)
		wantEntered(t, tool, 1)
		if record := b.record("r"); record.Raw.Present() || record.State != lifecycle.Error {
			t.Errorf("%s: the record is %s with %d bytes raw, want ERROR without", name, record.State, len(record.Raw.Bytes))
		}
		wantFailed(t, b.read("r", tool), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	}
}

// policyFunc is a host's policy for results alone.
type policyFunc func() ([]byte, error)

func onResults(f policyFunc) redact.Policy { return f }

// Version implements [redact.Policy].
func (policyFunc) Version() string { return "1" }

// Redact implements [redact.Policy].
func (f policyFunc) Redact(_ context.Context, kind redact.Kind, value []byte) ([]byte, error) {
	if kind != redact.Result {
		return value, nil
	}
	return f()
}

// getsShorter: what a tool may return before redaction is a bound of its own; what
// is stored keeps the store's.
func getsShorter(t *testing.T, d *deck) {
	limits := canonical.Limits{RawBytes: 1 << 10, AgentBytes: 1 << 10}
	b := newBench(t, d, setup{config: boundary.Config{RedactBeforeStore: redactor(t, nil), CaptureBytes: 16 << 10, Limits: limits}, spec: anyBudget()})
	long := strings.Repeat("x", 4<<10)
	wantReady(t, b.read("shrinks", says(`{"token":"`+long+`"}`)), `seen: {"token":"[REDACTED]"}`)
	wantFailed(t, b.read("stays", says(`{"text":"`+long+`"}`)), lifecycle.ResultTooLarge, lifecycle.Completed)
	wantFailed(t, b.read("over", says(`{"token":"`+long+long+long+long+`"}`)), lifecycle.ResultTooLarge, lifecycle.Completed)
	if record := b.record("stays"); record.Raw.Present() || record.Head.Raw.Size != int64(len(long)+len(`{"text":""}`)) {
		t.Errorf("raw of %d bytes, known to have %d; want none kept and the size known", len(record.Raw.Bytes), record.Head.Raw.Size)
	}
}

// writeWithheld: the tool handed over a result, so its effect is known, and raises
// no barrier.
func writeWithheld(t *testing.T, d *deck) {
	b := redacting(t, d, redactor(t, onResults(func() ([]byte, error) { return nil, errLost })))
	wantFailed(t, b.write("w", says("done")), lifecycle.ProjectionFailed, lifecycle.Completed)
	if open, err := b.run.Unresolved(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("unresolved %v, %v; want none", open, err)
	}
}

// lateRedacted: what comes too late goes to the host as its view.
func lateRedacted(t *testing.T, d *deck) {
	b := redacting(t, d, redactor(t, nil))
	tool := holds(t, `{"password":"`+password+`"}`)
	ctx, cancel := context.WithCancel(t.Context())
	result := b.async(ctx, b.envelope("c1"), reading(tool))
	<-tool.in
	cancel()
	<-result
	tool.release()
	if got := <-b.handed; string(got.Raw.Bytes) != `{"password":"[REDACTED]"}` {
		t.Errorf("the host was handed %s", got.Raw.Bytes)
	}
}

func argumentsWithoutAView(t *testing.T, d *deck) {
	b := redacting(t, d, redactor(t, onArguments{}))
	tool := says("ok")
	wantFailed(t, b.read("c1", tool), lifecycle.InvalidInput, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	b.noRecord("c1", 0)
}

// onArguments makes no view of arguments.
type onArguments struct{}

// Version implements [redact.Policy].
func (onArguments) Version() string { return "1" }

// Redact implements [redact.Policy].
func (onArguments) Redact(_ context.Context, kind redact.Kind, value []byte) ([]byte, error) {
	if kind == redact.Arguments {
		return nil, errLost
	}
	return value, nil
}
