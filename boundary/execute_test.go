package boundary_test

import (
	"context"
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
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

func TestExecute(t *testing.T) {
	onFake(t, []scenario{
		{"T28_what_a_failing_tool_says", failingToolSays},
		{"T29_panics_of_a_tool", toolPanics},
		{"T38_a_tool_that_ignores_its_deadline", ignoresDeadline},
		{"T52_P41_a_read_without_end", readWithoutEnd},
		{"P21_a_write_that_does_not_end_well", writeEndsBadly},
		{"P39_a_read_returns_late", lateRead},
		{"P39_a_write_returns_late", lateWrite},
		{"P39_a_late_body_panics", latePanic},
		{"P40_codes_of_tools", codesOfTools},
		{"P41_one_byte_over_the_limit", oneByteOver},
		{"P41_a_write_over_the_limit", writeOverLimit},
		{"whose_time_was_up", whoseTimeWasUp},
		{"the_callers_context_ends", callersContextEnds},
		{"a_context_that_ends_and_a_result_all_the_same", resultAllTheSame},
		{"a_body_that_writes_after_it_returned", writesAfterReturn},
		{"a_result_without_bytes", noBytes},
	})
}

func failingToolSays(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	const secret = "postgres://root:hunter2@10.0.0.7/prod"
	cause := fmt.Errorf("open /etc/shadow: dial %s: %w", secret, io.ErrUnexpectedEOF)
	tool := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		_, _ = io.WriteString(raw, "half a result with "+secret) // what was written before an error is dropped
		return cause
	}}
	got := b.read("a", tool)
	failed := wantFailed(t, got, lifecycle.ToolExecutionFailed, lifecycle.Completed)
	for _, text := range []string{"hunter2", "10.0.0.7", "/etc/shadow", "unexpected EOF"} {
		wantHidden(t, got, text)
	}
	if !errors.Is(failed, io.ErrUnexpectedEOF) || errors.Unwrap(failed).Error() != cause.Error() {
		t.Errorf("error %v, want the tool's own within reach of the host", failed)
	}
	if rec := b.record("a"); rec.State != lifecycle.Error || rec.Code != lifecycle.ToolExecutionFailed || rec.Raw.Present() || rec.Raw.Size != 0 {
		t.Errorf("record %s %s, raw %v, want ERROR TOOL_EXECUTION_FAILED and none", rec.State, rec.Code, rec.Raw)
	}
}

// ending is a body that does not return.
func ending(how func()) *body {
	return &body{do: func(context.Context, boundary.Input, io.Writer) error { how(); return nil }}
}

func toolPanics(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	var none map[string]int
	for name, how := range map[string]func(){
		"text":    func() { panic("s3cr3t") },
		"error":   func() { panic(errors.New("s3cr3t")) },
		"nil":     func() { panic(nil) },
		"runtime": func() { none["s3cr3t"] = 1 },
		"goexit":  runtime.Goexit,
	} {
		tool := ending(how)
		got := b.read(name, tool)
		wantFailed(t, got, lifecycle.ToolExecutionFailed, lifecycle.Completed)
		for _, text := range []string{"s3cr3t", "goroutine", "panic", ".go:"} {
			wantHidden(t, got, text)
		}
		wantEntered(t, tool, 1)
		if rec := b.record(name); rec.State != lifecycle.Error || rec.Code != lifecycle.ToolExecutionFailed {
			t.Errorf("%s: record %s %s, want ERROR TOOL_EXECUTION_FAILED", name, rec.State, rec.Code)
		}
	}
	wantReady(t, b.read("after", says("ok")), "seen: ok")
}

const grace = 100 * time.Millisecond // within which an outcome follows a deadline

func ignoresDeadline(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, d, setup{})
		tool := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			time.Sleep(32 * time.Second) // the bubble's time
			_, err := io.WriteString(raw, "late")
			return err
		}}
		start := time.Now()
		wantFailed(t, b.read("a", tool), lifecycle.ToolTimeout, lifecycle.Unknown)
		limit := canonical.DefaultLimits().ToolTimeout
		if took := time.Since(start); took < limit || took > limit+grace {
			t.Errorf("the outcome came after %v, want %v", took, limit)
		}
		before := b.record("a")
		if late := <-b.handed; late.Reason != boundary.Late || string(late.Raw.Bytes) != "late" {
			t.Errorf("handed %v, want the late result", late)
		}
		wantSameRecord(t, b, "a", before)
	})
}

func wantSameRecord(t *testing.T, b *bench, id string, before canonical.Record) {
	t.Helper()
	after := b.record(id)
	if fmt.Sprintf("%+v", after.Head) != fmt.Sprintf("%+v", before.Head) || string(after.Raw.Bytes) != string(before.Raw.Bytes) || string(after.Agent) != string(before.Agent) {
		t.Errorf("record changed from %+v to %+v", before.Head, after.Head)
	}
}

// endless is a body that looks neither at its context nor at the writer's errors
// and returns when the test says so.
func endless(accepted *int64, done <-chan struct{}) *body {
	chunk := []byte(strings.Repeat("0123456789abcdef", 4096))
	return &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		for range 1000 { // 64 MB
			n, _ := raw.Write(chunk)
			*accepted += int64(n)
		}
		<-done
		n, _ := raw.Write(chunk)
		*accepted += int64(n)
		return nil
	}}
}

func readWithoutEnd(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	limit := canonical.DefaultLimits().RawBytes
	const chunk = 64 << 10

	// One that looks at its context, or at the error of a write, ends at once.
	obeying := &body{do: func(ctx context.Context, _ boundary.Input, raw io.Writer) error {
		n, err := io.Copy(raw, &zeros{ctx})
		if n > limit {
			t.Errorf("%d bytes were taken, want at most %d", n, limit)
		}
		if !errors.Is(err, boundary.ErrRawLimit) {
			t.Errorf("copying ended with %v, want ErrRawLimit", err)
		}
		if !errors.Is(context.Cause(ctx), boundary.ErrRawLimit) {
			t.Errorf("the context's cause is %v, want ErrRawLimit", context.Cause(ctx))
		}
		return err
	}}
	wantFailed(t, b.read("obeys", obeying), lifecycle.ResultTooLarge, lifecycle.Completed)

	// One that looks at nothing is left behind, and still costs no memory.
	stop := make(chan struct{})
	var accepted int64
	stubborn := endless(&accepted, stop)
	wantFailed(t, b.read("stubborn", stubborn), lifecycle.ResultTooLarge, lifecycle.Completed)
	close(stop)
	late := <-b.handed
	if accepted > limit || late.Raw.Present() || !late.Raw.AtLeast {
		t.Errorf("%d bytes were taken, late raw %+v, want at most %d and no bytes", accepted, late.Raw, limit)
	}
	for _, id := range []string{"obeys", "stubborn"} {
		rec := b.record(id)
		if rec.Raw.Present() || !rec.Raw.AtLeast || rec.Raw.Size <= limit || rec.Raw.Size > limit+chunk || len(rec.Raw.SHA256) != 64 {
			t.Errorf("%s: raw %+v, want a size just over %d, a digest and no bytes", id, rec.Raw, limit)
		}
	}
}

// zeros reads as zeros until its context ends.
type zeros struct{ ctx context.Context }

func (z *zeros) Read(p []byte) (int, error) {
	if z.ctx.Err() != nil {
		return 0, io.ErrClosedPipe // io.Copy should have stopped at the write
	}
	clear(p)
	return len(p), nil
}

func writeEndsBadly(t *testing.T, d *deck) {
	codes := map[lifecycle.Code]string{"NO_STOCK": "There is none left."}
	applied := errors.New("maybe")
	for name, c := range map[string]struct {
		body *body
		code lifecycle.Code
		ran  lifecycle.Execution
	}{
		"error":                      {fails(applied), lifecycle.OutcomeUnknown, lifecycle.Unknown},
		"a registered code alone":    {fails(boundary.Coded("NO_STOCK", applied)), lifecycle.OutcomeUnknown, lifecycle.Unknown},
		"panic":                      {ending(func() { panic("s3cr3t") }), lifecycle.OutcomeUnknown, lifecycle.Unknown},
		"goexit":                     {ending(runtime.Goexit), lifecycle.OutcomeUnknown, lifecycle.Unknown},
		"time":                       {waits(), lifecycle.OutcomeUnknown, lifecycle.Unknown},
		"not applied":                {fails(boundary.NotApplied("", applied)), lifecycle.ToolExecutionFailed, lifecycle.Completed},
		"not applied, registered":    {fails(fmt.Errorf("ordering: %w", boundary.NotApplied("NO_STOCK", applied))), "NO_STOCK", lifecycle.Completed},
		"not applied, not known":     {fails(boundary.NotApplied("NO_SUCH", applied)), lifecycle.ToolExecutionFailed, lifecycle.Completed},
		"not applied, after its end": {waitsThen(boundary.NotApplied("NO_STOCK", applied)), "NO_STOCK", lifecycle.Completed},
	} {
		for _, effect := range []canonical.Effect{canonical.EffectWrite, canonical.EffectUnknown} {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, d, setup{config: boundary.Config{Codes: codes}})
				action := writing(c.body)
				action.Effect = effect
				t.Log(name, effect)
				wantFailed(t, b.Invoke(t.Context(), b.run, b.writeEnvelope("a"), action), c.code, c.ran)
				if rec := b.record("a"); rec.Code != c.code || rec.Execution != c.ran || rec.Raw.Present() {
					t.Errorf("record %s %s, want %s %s", rec.Code, rec.Execution, c.code, c.ran)
				}
				next := b.read("b", says("ok"))
				if c.ran == lifecycle.Unknown {
					wantFailed(t, next, lifecycle.UnresolvedEffect, lifecycle.NotStarted)
				} else {
					wantReady(t, next, "seen: ok")
				}
			})
		}
	}
}

// waits is a body that returns when its context ends.
func waits() *body { return waitsThen(nil) }

// waitsThen returns err then, or the context's own without one.
func waitsThen(err error) *body {
	return &body{do: func(ctx context.Context, _ boundary.Input, raw io.Writer) error {
		_, _ = io.WriteString(raw, "part")
		<-ctx.Done()
		if err == nil {
			return ctx.Err()
		}
		return err
	}}
}

// leftBehind invokes a body that ignores its deadline, and checks the outcome.
func leftBehind(t *testing.T, b *bench, tool *held, env boundary.Envelope, action boundary.Action, code lifecycle.Code) {
	t.Helper()
	result := b.async(t.Context(), env, action)
	<-tool.in
	failed := wantFailed(t, <-result, code, lifecycle.Unknown)
	if !failed.Stored {
		t.Error("the ending is not stored")
	}
	if len(b.taken()) != 0 {
		t.Errorf("handed %v before the body returned", b.taken())
	}
}

// short is an action whose time is up at once.
func short(a boundary.Action) boundary.Action {
	a.Timeout = time.Millisecond
	return a
}

func lateRead(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := holds(t, "late bytes")
	leftBehind(t, b, tool, b.envelope("a"), short(reading(tool)), lifecycle.ToolTimeout)
	before := b.record("a")
	wantReady(t, b.read("b", says("ok")), "seen: ok") // a read raises no barrier
	tool.release()
	late := <-b.handed
	if late.Reason != boundary.Late || late.Failed || string(late.Raw.Bytes) != "late bytes" || late.Raw.SHA256 != late.Raw.Bytes.SHA256() {
		t.Errorf("handed %+v, want the late bytes", late)
	}
	if want := (canonical.Identity{RunKey: b.run.Key(), Call: named("a")}); late.Identity != want || late.Seq != 1 || late.Tool != someTool {
		t.Errorf("handed with %+v, want the call's identity", late)
	}
	wantSameRecord(t, b, "a", before)
	err := b.Settle(t.Context(), late)
	if host, ok := errors.AsType[*boundary.Error](err); !ok || host.Code != lifecycle.StoreConflict {
		t.Errorf("settling a late result: %v, want STORE_CONFLICT", err)
	}
	wantSameRecord(t, b, "a", before)
	wantEntered(t, &tool.body, 1)
}

func lateWrite(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := holds(t, "order 17 placed")
	leftBehind(t, b, tool, b.writeEnvelope("w"), short(writing(tool)), lifecycle.OutcomeUnknown)
	before := b.record("w")
	wantFailed(t, b.read("a", says("no")), lifecycle.UnresolvedEffect, lifecycle.NotStarted)
	tool.release()
	if late := <-b.handed; string(late.Raw.Bytes) != "order 17 placed" || late.Reason != boundary.Late {
		t.Errorf("handed %+v, want the late result", late)
	}
	wantSameRecord(t, b, "w", before)
	wantFailed(t, b.read("a", says("no")), lifecycle.UnresolvedEffect, lifecycle.NotStarted) // the return alone settles nothing
	if list, err := b.run.Unresolved(t.Context()); err != nil || len(list) != 1 || list[0].Call != named("w") {
		t.Errorf("unresolved %v, %v, want the write", list, err)
	}
	if err := b.run.Resolve(t.Context(), named("w"), canonical.Applied, "order 17 in the shop"); err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	wantReady(t, b.read("a", says("yes")), "seen: yes")
	wantSameRecord(t, b, "w", before)
	if s := b.settlement("w"); s.Resolved == nil || s.Resolved.Verdict != canonical.Applied || s.Late != nil {
		t.Errorf("settlement %+v, want the verdict", s)
	}
}

func latePanic(t *testing.T, d *deck) {
	for name, how := range map[string]func(){"panic": func() { panic("s3cr3t") }, "goexit": runtime.Goexit} {
		b := newBench(t, d, setup{})
		tool := holds(t, "unused")
		entered := tool.do
		tool.do = func(ctx context.Context, in boundary.Input, _ io.Writer) error {
			_ = entered(ctx, in, io.Discard)
			how()
			return nil
		}
		leftBehind(t, b, tool, b.envelope("a"), short(reading(tool)), lifecycle.ToolTimeout)
		tool.release()
		if late := <-b.handed; !late.Failed || late.Raw.Size != 0 || late.Reason != boundary.Late {
			t.Errorf("%s: handed %+v, want a late failure", name, late)
		}
	}
}

func codesOfTools(t *testing.T, d *deck) {
	b := newBench(t, d, setup{
		config: boundary.Config{Codes: map[lifecycle.Code]string{"NO_STOCK": "There is none left."}},
		spec:   boundary.RunSpec{Budget: canonical.Budget{PerTool: 16}},
	})
	cause := errors.New("s3cr3t")
	var typedNil *boundary.ToolError
	for id, c := range map[string]struct {
		err  error
		code lifecycle.Code
	}{
		"registered":     {boundary.Coded("NO_STOCK", cause), "NO_STOCK"},
		"wrapped":        {fmt.Errorf("ordering: %w", boundary.Coded("NO_STOCK", cause)), "NO_STOCK"},
		"joined":         {errors.Join(cause, boundary.Coded("NO_STOCK", nil)), "NO_STOCK"},
		"not_registered": {boundary.Coded("SOLD_OUT", cause), lifecycle.ToolExecutionFailed},
		"built_in":       {boundary.Coded(lifecycle.Unauthorized, cause), lifecycle.ToolExecutionFailed},
		"malformed":      {boundary.Coded("no stock: s3cr3t", cause), lifecycle.ToolExecutionFailed},
		"empty":          {boundary.Coded("", cause), lifecycle.ToolExecutionFailed},
		"typed_nil":      {typedNil, lifecycle.ToolExecutionFailed},
		"panics_in_as":   {viciousError{}, lifecycle.ToolExecutionFailed},
	} {
		got := b.read(id, fails(c.err))
		wantFailed(t, got, c.code, lifecycle.Completed)
		wantHidden(t, got, "s3cr3t")
		if c.code == "NO_STOCK" {
			want := `{"error":{"code":"NO_STOCK","message":"There is none left.","ran":"yes"}}`
			if got.Outcome.Text() != want {
				t.Errorf("text %s, want %s", got.Outcome.Text(), want)
			}
		}
		if rec := b.record(id); rec.Code != c.code {
			t.Errorf("%s: record has %s, want %s", id, rec.Code, c.code)
		}
		if o, err := b.run.Lookup(t.Context(), named(id)); err != nil || o.Text() != got.Outcome.Text() {
			t.Errorf("%s: lookup %s, %v, want the same text", id, o.Text(), err)
		}
	}
}

// viciousError panics when it is looked into.
type viciousError struct{}

func (viciousError) Error() string          { panic("s3cr3t") }
func (viciousError) As(any) bool            { panic("s3cr3t") }
func (viciousError) Is(error) bool          { panic("s3cr3t") }
func (viciousError) Unwrap() error          { panic("s3cr3t") }
func (viciousError) Format(fmt.State, rune) { panic("s3cr3t") }

// oneByteOver: the tool ignores the writer's error and returns success.
func oneByteOver(t *testing.T, d *deck) {
	b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{RawBytes: 8}}})
	shown := fakes.NewProjector(fakes.Found("never"))
	for id, e := range map[string]*body{
		"at_once":   says("123456789"),
		"in_pieces": {do: func(_ context.Context, _ boundary.Input, raw io.Writer) error { return inPieces(raw, "123456789") }},
		"unmoved": {do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			_ = inPieces(raw, "123456789")
			return nil
		}},
	} {
		got := b.Invoke(t.Context(), b.run, b.envelope(id), boundary.Action{Executor: e, Projector: shown})
		wantFailed(t, got, lifecycle.ResultTooLarge, lifecycle.Completed)
		rec := b.record(id)
		if rec.Raw.Present() || rec.Raw.Size != 9 || rec.Raw.SHA256 != canonical.Body("123456789").SHA256() || !rec.Raw.AtLeast {
			t.Errorf("%s: raw %+v, want size 9, its digest and no bytes", id, rec.Raw)
		}
	}
	if shown.Entries() != 0 {
		t.Errorf("projector entered %d times, want 0", shown.Entries())
	}
}

func inPieces(w io.Writer, text string) error {
	for i := range len(text) {
		if _, err := io.WriteString(w, text[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// writeOverLimit: a write is not stopped in the middle. If it says that it is
// done it is done; if it gave up, nobody knows.
func writeOverLimit(t *testing.T, d *deck) {
	for name, c := range map[string]struct {
		err  error
		code lifecycle.Code
		ran  lifecycle.Execution
	}{
		"done":     {nil, lifecycle.ResultTooLarge, lifecycle.Completed},
		"gave up":  {boundary.ErrRawLimit, lifecycle.OutcomeUnknown, lifecycle.Unknown},
		"harmless": {boundary.NotApplied("", boundary.ErrRawLimit), lifecycle.ToolExecutionFailed, lifecycle.Completed},
	} {
		b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{RawBytes: 8}}})
		tool := &body{do: func(ctx context.Context, _ boundary.Input, raw io.Writer) error {
			if err := inPieces(raw, "123456789"); !errors.Is(err, boundary.ErrRawLimit) || ctx.Err() != nil {
				t.Errorf("%s: writing ended with %v, context %v, want ErrRawLimit and a living context", name, err, ctx.Err())
			}
			return c.err
		}}
		wantFailed(t, b.write("w", tool), c.code, c.ran)
		if n := b.faulty.Calls(fakes.MethodSave); n != 0 {
			t.Errorf("%s: %d saves, want none: there is nothing to save", name, n)
		}
	}
}

func whoseTimeWasUp(t *testing.T, d *deck) {
	cause := func(ctx context.Context) string { return context.Cause(ctx).Error() }
	for name, c := range map[string]struct {
		duration, tool, caller time.Duration
		took                   time.Duration
		cause                  string
	}{
		"the run's":    {10 * time.Second, 20 * time.Second, time.Hour, 10 * time.Second, "boundary: the run's deadline has passed"},
		"the tool's":   {time.Minute, 20 * time.Second, time.Hour, 20 * time.Second, "boundary: the tool's timeout has passed"},
		"the limit's":  {time.Minute, 0, time.Hour, 30 * time.Second, "boundary: the tool's timeout has passed"},
		"the caller's": {time.Minute, 20 * time.Second, 5 * time.Second, 5 * time.Second, "the host's own reason"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, d, setup{config: boundary.Config{Now: time.Now}, spec: boundary.RunSpec{MaxDuration: c.duration}})
			said := ""
			tool := &body{do: func(ctx context.Context, _ boundary.Input, _ io.Writer) error {
				<-ctx.Done()
				said = cause(ctx)
				return ctx.Err()
			}}
			action := reading(tool)
			action.Timeout = c.tool
			ctx, cancel := context.WithTimeoutCause(t.Context(), c.caller, errors.New("the host's own reason"))
			defer cancel()
			start := time.Now()
			wantFailed(t, b.Invoke(ctx, b.run, b.envelope("a"), action), lifecycle.ToolTimeout, lifecycle.Completed)
			if took := time.Since(start); took != c.took || said != c.cause {
				t.Errorf("%s: %v, %q, want %v, %q", name, took, said, c.took, c.cause)
			}
		})
	}
}

func callersContextEnds(t *testing.T, d *deck) {
	for name, c := range map[string]struct {
		write   bool
		ignores bool
		code    lifecycle.Code
		ran     lifecycle.Execution
	}{
		"read, obeys":    {false, false, lifecycle.Cancelled, lifecycle.Completed},
		"read, ignores":  {false, true, lifecycle.Cancelled, lifecycle.Unknown},
		"write, obeys":   {true, false, lifecycle.OutcomeUnknown, lifecycle.Unknown},
		"write, ignores": {true, true, lifecycle.OutcomeUnknown, lifecycle.Unknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, d, setup{})
			in, out := make(chan struct{}), make(chan struct{})
			defer close(out)
			tool := &body{do: func(ctx context.Context, _ boundary.Input, _ io.Writer) error {
				close(in)
				if c.ignores {
					<-out
				}
				<-ctx.Done()
				return ctx.Err()
			}}
			ctx, leave := context.WithCancel(t.Context())
			env, action := b.envelope("a"), reading(tool)
			if c.write {
				env, action = b.writeEnvelope("a"), writing(tool)
			}
			result := b.async(ctx, env, action)
			<-in
			leave()
			t.Log(name)
			wantFailed(t, <-result, c.code, c.ran)
			if rec := b.record("a"); rec.State != lifecycle.Error || rec.Code != c.code || rec.Execution != c.ran {
				t.Errorf("record %s %s %s, want it ended, though the caller has gone", rec.State, rec.Code, rec.Execution)
			}
		})
	}
}

// resultAllTheSame: the caller has gone, the tool hands over its result in time;
// that is evidence, whoever waits for it.
func resultAllTheSame(t *testing.T, d *deck) {
	for id, action := range map[string]boundary.Action{"read": reading(nil), "write": writing(nil)} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, d, setup{})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			action.Executor = &body{do: func(ctx context.Context, _ boundary.Input, raw io.Writer) error {
				leave()
				<-ctx.Done()
				_, err := io.WriteString(raw, "found it")
				return err
			}}
			env := b.envelope(id)
			env.ReadOnly = id == "read"
			wantReady(t, b.Invoke(ctx, b.run, env, action), "seen: found it")
			if rec := b.record(id); rec.State != lifecycle.Ready {
				t.Errorf("record %s, want READY", rec.State)
			}
		})
	}
}

// writesAfterReturn: a goroutine of the tool goes on writing after Execute has
// returned. What is stored is what was there at some moment, whole and true.
func writesAfterReturn(t *testing.T, d *deck) {
	const limit = 4 << 10
	b := newBench(t, d, setup{config: boundary.Config{Limits: canonical.Limits{RawBytes: limit}}, spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 64, PerTool: 64}}})
	for i := range 32 {
		stopped := make(chan struct{})
		tool := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			_, _ = io.WriteString(raw, "begin ")
			go func() {
				defer close(stopped)
				for range 500 {
					_, _ = io.WriteString(raw, "0123456789")
				}
			}()
			return nil
		}}
		id := fmt.Sprintf("call_%d", i)
		got := b.read(id, tool)
		<-stopped
		rec := b.record(id) // verified by the store: bytes match their digest
		if got.Err != nil {
			wantFailed(t, got, lifecycle.ResultTooLarge, lifecycle.Completed)
			continue
		}
		raw := string(rec.Raw.Bytes)
		if rest, ok := strings.CutPrefix(raw, "begin "); !ok || strings.Trim(rest, "0123456789") != "" || int64(len(raw)) != rec.Raw.Size || len(raw) > limit {
			t.Errorf("raw %q of size %d, want what was written so far", raw, rec.Raw.Size)
		}
	}
}

func noBytes(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for _, invoke := range []func(string, boundary.Executor) boundary.Result{b.read, b.write} {
		id := fmt.Sprintf("call_%d", b.state().LastSeq)
		got := invoke(id, says(""))
		wantReady(t, got, "seen: ")
		rec := b.record(id)
		if !rec.Raw.Present() || rec.Raw.Size != 0 {
			t.Errorf("raw %+v, want an empty result that is there", rec.Raw)
		}
		wantReference(t, got.Outcome, rec)
	}
}
