package projector_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

const secret = "hunter2-SECRET"

func returns(p projector.Projection, err error) projector.Projector {
	return projector.Func(func(context.Context, projector.Input) (projector.Projection, error) { return p, err })
}

func found() projector.Projection {
	return projector.Projection{Result: []byte(`{"a":1}`), Status: evidence.Found}
}

func none() projector.Projection {
	return projector.Projection{Result: []byte(`{"a":[]}`), Status: evidence.None, Coverage: evidence.Searched("x", "index docs")}
}

func drive(t *testing.T, p projector.Projector) (projector.Projection, error) {
	t.Helper()
	return projector.Drive(t.Context(), p, projector.Input{Tool: "t", Request: []byte(`{}`), Raw: []byte(secret)}, projector.Options{})
}

// wantError checks kind and field, that nothing came with the error, and that no
// way of printing it shows raw data.
func wantError(t *testing.T, p projector.Projection, err error, kind projector.Kind, field string) *projector.Error {
	t.Helper()
	e, ok := errors.AsType[*projector.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error of kind %s", err, kind)
	}
	if e.Kind != kind || e.Field != field {
		t.Errorf("error is %s %q, want %s %q", e.Kind, e.Field, kind, field)
	}
	if !reflect.DeepEqual(p, projector.Projection{}) {
		t.Errorf("a projection came with the error: %+v", p)
	}
	if text := fmt.Sprintf("%v|%+v|%#v|%s|%q", e, e, e, e, e); strings.Contains(text, secret) || strings.Contains(text, "goroutine") {
		t.Errorf("the error shows raw data or a stack: %s", text)
	}
	return e
}

func TestDriveReturnsWhatWasProjected(t *testing.T) {
	t.Parallel()
	want := found()
	want.Coverage = evidence.Searched("x", "index docs").Between(time.Unix(0, 0), time.Unix(60, 0))
	want.Facts = []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "doc", ID: "1"}, "score", "0.5")}
	got, err := drive(t, returns(want, nil))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Drive = %+v, %v; want %+v", got, err, want)
	}
}

func TestDriveInput(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	in := projector.Input{Tool: "search", Request: []byte(`{"q":1}`), Raw: []byte("raw"), Limits: projector.Limits{AgentBytes: 99}, Now: now}
	var seen projector.Input
	var deadline bool
	_, err := projector.Drive(t.Context(), projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
		seen = in
		_, deadline = ctx.Deadline()
		return found(), nil
	}), in, projector.Options{})
	in.Limits.FactsBytes = projector.DefaultFactsBytes
	if err != nil || !reflect.DeepEqual(seen, in) || !deadline {
		t.Errorf("the projector saw %+v (deadline %v, %v), want %+v with defaults filled in", seen, deadline, err, in)
	}
}

func TestDriveBadInput(t *testing.T) {
	t.Parallel()
	good := returns(found(), nil)
	var noContext context.Context
	for field, c := range map[string]struct {
		ctx context.Context
		p   projector.Projector
		in  projector.Input
		o   projector.Options
	}{
		"context":            {noContext, good, projector.Input{}, projector.Options{}},
		"projector":          {t.Context(), nil, projector.Input{}, projector.Options{}},
		"options.timeout":    {t.Context(), good, projector.Input{}, projector.Options{Timeout: -1}},
		"limits.agent_bytes": {t.Context(), good, projector.Input{Limits: projector.Limits{AgentBytes: -1}}, projector.Options{}},
		"limits.facts_bytes": {t.Context(), good, projector.Input{Limits: projector.Limits{FactsBytes: -1}}, projector.Options{}},
	} {
		t.Run(field, func(t *testing.T) {
			p, err := projector.Drive(c.ctx, c.p, c.in, c.o)
			wantError(t, p, err, projector.Invalid, field)
		})
	}
}

type panicky struct{}

func (*panicky) Error() string { return secret }
func (p *panicky) Unwrap() error {
	panic(secret) // as a nil pointer in an error does
}

func TestT30_driver_survives_failing_projectors(t *testing.T) {
	t.Parallel()
	cause := errors.New("cannot parse " + secret)
	t.Run("returns_an_error", func(t *testing.T) {
		p, err := drive(t, returns(found(), cause))
		wantError(t, p, err, projector.Failed, "")
		if !errors.Is(err, cause) {
			t.Error("the cause cannot be reached")
		}
	})
	for name, f := range map[string]projector.Func{
		"panics":               func(context.Context, projector.Input) (projector.Projection, error) { panic(secret) },
		"panics_with_an_error": func(context.Context, projector.Input) (projector.Projection, error) { panic(cause) },
		"ends_its_goroutine": func(context.Context, projector.Input) (projector.Projection, error) {
			runtime.Goexit()
			return found(), nil
		},
		"is_nil":                nil,
		"error_panics_in_chain": func(context.Context, projector.Input) (projector.Projection, error) { return found(), &panicky{} },
		"nil_pointer_reference": func(_ context.Context, in projector.Input) (projector.Projection, error) {
			var p *projector.Projection
			return *p, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := drive(t, f)
			wantError(t, p, err, projector.Panicked, "")
			if errors.Unwrap(err) != nil {
				t.Errorf("the panic is kept as a cause: %v", errors.Unwrap(err))
			}
		})
	}
}

func TestT31_statuses_that_are_none(t *testing.T) {
	t.Parallel()
	for _, status := range []evidence.Status{"", "ERROR", "FOUND", "no_evidence", "evidence_found", " NO_EVIDENCE", "NO_EVIDENCE\n", "READY"} {
		projection := none()
		projection.Status = status
		p, err := drive(t, returns(projection, nil))
		wantError(t, p, err, projector.InvalidStatus, projector.FieldStatus)
	}
}

func TestT32_nothing_to_show_is_not_evidence(t *testing.T) {
	t.Parallel()
	for _, projection := range []projector.Projection{found(), none()} {
		for _, result := range [][]byte{nil, {}, []byte(" \n\t"), []byte("\xff\xfe")} {
			projection.Result = result
			p, err := drive(t, returns(projection, nil))
			wantError(t, p, err, projector.Invalid, projector.FieldResult)
		}
	}
}

func TestT33_absence_keeps_its_scope(t *testing.T) {
	t.Parallel()
	want := none()
	want.Coverage = evidence.Coverage{
		LookedFor: "error 42", Checked: []string{"topic a", "topic b"}, Unchecked: []string{"topic c"},
		Uncovered: []evidence.Gap{{What: "before May", Reason: "retention"}}, Filters: []string{"level=ERROR"},
		Window: &evidence.Window{From: time.Unix(0, 0).UTC(), To: time.Unix(60, 0).UTC()}, Complete: true, SameOnRetry: true, TryInstead: "topic d",
	}
	calls := 0
	got, err := drive(t, projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
		calls++
		return want, nil
	}))
	if err != nil || !reflect.DeepEqual(got, want) || calls != 1 {
		t.Errorf("Drive = %+v, %v after %d calls; want %+v after one", got, err, calls, want)
	}
}

func TestT34_absence_without_scope(t *testing.T) {
	t.Parallel()
	fact := evidence.NewFact(evidence.Subject{Kind: "k", ID: "1"}, "p", "v")
	for field, change := range map[string]func(*projector.Projection){
		"coverage":           func(p *projector.Projection) { p.Coverage = evidence.Coverage{} },
		"coverage.complete":  func(p *projector.Projection) { p.Coverage.Complete = false },
		"coverage.checked":   func(p *projector.Projection) { p.Coverage.Checked = nil },
		"coverage.filters":   func(p *projector.Projection) { p.Coverage.Filters = []string{"a\nb"} },
		projector.FieldFacts: func(p *projector.Projection) { p.Facts = []evidence.Fact{fact} },
	} {
		t.Run(field, func(t *testing.T) {
			projection := none()
			change(&projection)
			p, err := drive(t, returns(projection, nil))
			wantError(t, p, err, projector.InvalidStatus, field)
		})
	}
}

func TestInvalidFactsAndCoverage(t *testing.T) {
	t.Parallel()
	good := evidence.NewFact(evidence.Subject{Kind: "k", ID: "1"}, "p", "v")
	bad := good
	bad.Value = "line\nfeed " + secret
	for field, change := range map[string]func(*projector.Projection){
		"facts[1].value":        func(p *projector.Projection) { p.Facts = []evidence.Fact{good, bad} },
		"facts[0].subject.kind": func(p *projector.Projection) { p.Facts = []evidence.Fact{{}} },
		"coverage.looked_for":   func(p *projector.Projection) { p.Coverage = evidence.Searched("\x00", "x") },
		"coverage.checked":      func(p *projector.Projection) { p.Coverage = evidence.Searched("x") },
	} {
		t.Run(field, func(t *testing.T) {
			projection := found()
			change(&projection)
			p, err := drive(t, returns(projection, nil))
			e := wantError(t, p, err, projector.Invalid, field)
			if _, ok := errors.AsType[*evidence.Error](e); !ok {
				t.Errorf("the rule that is broken cannot be reached from %v", e)
			}
		})
	}
}

func TestT40_copies_are_private(t *testing.T) {
	t.Parallel()
	raw, request := []byte("raw bytes"), []byte(`{"q":1}`)
	kept := found()
	kept.Coverage = evidence.Searched("x", "place")
	kept.Coverage.Unchecked, kept.Coverage.Filters = []string{"u"}, []string{"f"}
	kept.Coverage.Uncovered = []evidence.Gap{{What: "w", Reason: "r"}}
	kept.Coverage = kept.Coverage.Between(time.Unix(0, 0), time.Unix(1, 0))
	kept.Facts = []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "k", ID: "1"}, "p", "v")}
	got, err := projector.Drive(t.Context(), projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		clear(in.Raw)
		clear(in.Request)
		_ = append(in.Raw[:0], "other"...)
		return kept, nil
	}), projector.Input{Raw: raw, Request: request}, projector.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != "raw bytes" || string(request) != `{"q":1}` {
		t.Errorf("the caller's bytes became %q and %q", raw, request)
	}
	before := fmt.Sprintf("%s %v %v", got.Result, got.Facts, got.Coverage.Sentence(500))
	clear(kept.Result)
	kept.Facts[0].Value = "changed"
	kept.Coverage.Checked[0], kept.Coverage.Unchecked[0], kept.Coverage.Filters[0] = "changed", "changed", "changed"
	kept.Coverage.Uncovered[0].What = "changed"
	kept.Coverage.Window.From = time.Unix(9, 0)
	after := fmt.Sprintf("%s %v %v", got.Result, got.Facts, got.Coverage.Sentence(500))
	if before != after || got.Coverage.Uncovered[0].What != "w" {
		t.Errorf("the projector changed what was returned:\n%s\n%s", before, after)
	}
}

// The raw bytes themselves may be the result; they come back as a copy.
func TestT40_result_that_is_the_raw(t *testing.T) {
	t.Parallel()
	raw := []byte("text")
	got, err := projector.Drive(t.Context(), projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		return projector.Projection{Result: in.Raw, Status: evidence.Found}, nil
	}), projector.Input{Raw: raw}, projector.Options{})
	if err != nil || string(got.Result) != "text" {
		t.Fatalf("Drive = %q, %v", got.Result, err)
	}
	clear(got.Result)
	if string(raw) != "text" {
		t.Errorf("the caller's raw became %q", raw)
	}
}

func TestT48_agent_result_at_its_limit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ limit, size int }{{100, 99}, {100, 100}, {100, 101}, {0, projector.DefaultAgentBytes}, {0, projector.DefaultAgentBytes + 1}} {
		projection := projector.Projection{Result: bytes.Repeat([]byte("é"), c.size)[:c.size/2*2], Status: evidence.Found}
		projection.Result = append(projection.Result, bytes.Repeat([]byte("x"), c.size%2)...) // bytes count, not runes
		limit := c.limit
		if limit == 0 {
			limit = projector.DefaultAgentBytes
		}
		p, err := projector.Drive(t.Context(), returns(projection, nil), projector.Input{Limits: projector.Limits{AgentBytes: c.limit}}, projector.Options{})
		if c.size <= limit {
			if err != nil || len(p.Result) != c.size {
				t.Errorf("%d bytes, limit %d: %v, want success", c.size, limit, err)
			}
			continue
		}
		e := wantError(t, p, err, projector.TooLarge, projector.FieldResult)
		if e.Size != int64(c.size) || e.Limit != int64(limit) {
			t.Errorf("sizes %d, %d in the error, want %d, %d", e.Size, e.Limit, c.size, limit)
		}
	}
}

func TestFactsAndCoverageShareALimit(t *testing.T) {
	t.Parallel()
	projection := found()
	projection.Coverage = evidence.Searched("x", "place")
	projection.Facts = []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "k", ID: "1"}, "p", strings.Repeat("v", 100))}
	coverage, _ := evidence.EncodeCoverage(projection.Coverage)
	facts, _ := evidence.EncodeFacts(projection.Facts)
	size := len(coverage) + len(facts)
	for _, limit := range []int{size + 1, size, size - 1} {
		p, err := projector.Drive(t.Context(), returns(projection, nil), projector.Input{Limits: projector.Limits{FactsBytes: limit}}, projector.Options{})
		if limit >= size {
			if err != nil {
				t.Errorf("%d bytes, limit %d: %v", size, limit, err)
			}
			continue
		}
		e := wantError(t, p, err, projector.TooLarge, projector.FieldFacts)
		if e.Size != int64(size) || e.Limit != int64(limit) {
			t.Errorf("sizes %d, %d in the error, want %d, %d", e.Size, e.Limit, size, limit)
		}
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ option, want time.Duration }{{0, projector.DefaultTimeout}, {5 * time.Second, 5 * time.Second}} {
		t.Run(c.want.String(), func(t *testing.T) {
			t.Run("ignored_by_the_projector", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					start := time.Now()
					p, err := projector.Drive(t.Context(), projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
						<-release
						return found(), nil
					}), projector.Input{}, projector.Options{Timeout: c.option})
					wantError(t, p, err, projector.TimedOut, "")
					if got := time.Since(start); got != c.want || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("left behind after %v with %v, want %v", got, errors.Unwrap(err), c.want)
					}
					close(release) // the late answer finds nobody and its goroutine ends
				})
			})
			t.Run("obeyed_by_the_projector", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, err := projector.Drive(t.Context(), projector.Func(func(ctx context.Context, _ projector.Input) (projector.Projection, error) {
						<-ctx.Done()
						return found(), fmt.Errorf("%s: %w", secret, ctx.Err())
					}), projector.Input{}, projector.Options{Timeout: c.option})
					wantError(t, p, err, projector.TimedOut, "")
				})
			})
		})
	}
}

func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	entered := 0
	count := projector.Func(func(context.Context, projector.Input) (projector.Projection, error) { entered++; return found(), nil })
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p, err := projector.Drive(ctx, count, projector.Input{}, projector.Options{})
		wantError(t, p, err, projector.Cancelled, "")
		if entered != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("entered %d times, %v; want not at all, context.Canceled", entered, err)
		}
	})
	t.Run("meanwhile", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := projector.Drive(ctx, projector.Func(func(ctx context.Context, _ projector.Input) (projector.Projection, error) {
			cancel()
			<-ctx.Done()
			return found(), ctx.Err()
		}), projector.Input{}, projector.Options{})
		wantError(t, p, err, projector.Cancelled, "")
	})
	t.Run("deadline_of_the_caller", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			p, err := projector.Drive(ctx, projector.Func(func(ctx context.Context, _ projector.Input) (projector.Projection, error) {
				<-ctx.Done()
				return found(), ctx.Err()
			}), projector.Input{}, projector.Options{})
			wantError(t, p, err, projector.TimedOut, "")
			if got := time.Since(start); got != time.Second {
				t.Errorf("ended after %v, want the caller's 1s", got)
			}
		})
	})
}

// A deadline of the projector's own making is its failure, not the driver's.
func TestForeignDeadlineIsAFailure(t *testing.T) {
	t.Parallel()
	p, err := drive(t, returns(found(), context.DeadlineExceeded))
	wantError(t, p, err, projector.Failed, "")
}

func TestCoded(t *testing.T) {
	t.Parallel()
	cause := errors.New(secret)
	for _, c := range []struct{ code, want string }{
		{"INDEX_STALE", "INDEX_STALE"}, {"A", "A"}, {"A" + strings.Repeat("B", 63), "A" + strings.Repeat("B", 63)},
		{"", ""}, {"lower", ""}, {"1A", ""}, {"A B", ""}, {"A\n", ""}, {"A" + strings.Repeat("B", 64), ""}, {secret, ""},
	} {
		coded := projector.Coded(c.code, cause)
		p, err := drive(t, returns(found(), fmt.Errorf("wrapped: %w", coded)))
		e := wantError(t, p, err, projector.Failed, "")
		if e.Code != c.want || !errors.Is(err, cause) {
			t.Errorf("Coded(%q) gives code %q, want %q with its cause", c.code, e.Code, c.want)
		}
		if text := fmt.Sprintf("%v %+v %#v", coded, coded, coded); strings.Contains(text, secret) {
			t.Errorf("the coded error shows its cause: %s", text)
		}
	}
	p, err := drive(t, returns(found(), projector.Coded("NO_CAUSE", nil)))
	if e := wantError(t, p, err, projector.Failed, ""); e.Code != "NO_CAUSE" {
		t.Errorf("code %q, want NO_CAUSE", e.Code)
	}
}

// A projector cannot speak through the driver's own error type.
func TestForgedError(t *testing.T) {
	t.Parallel()
	for _, forged := range []*projector.Error{
		{Kind: projector.Panicked, Field: secret, Code: secret}, {Kind: projector.Kind(secret)}, {Kind: projector.InvalidStatus, Field: secret},
	} {
		p, err := drive(t, returns(found(), forged))
		wantError(t, p, err, projector.Failed, "")
	}
	p, err := drive(t, returns(found(), &projector.Error{Kind: projector.TooLarge, Field: secret, Size: 2, Limit: 1}))
	wantError(t, p, err, projector.TooLarge, projector.FieldResult)
}

func TestDriveInParallel(t *testing.T) {
	t.Parallel()
	p := projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		return projector.Projection{Result: in.Raw, Status: evidence.Found}, nil
	})
	raw := []byte("shared")
	errs := make(chan error)
	for range 50 {
		go func() {
			got, err := projector.Drive(t.Context(), p, projector.Input{Raw: raw}, projector.Options{})
			if err == nil && string(got.Result) != "shared" {
				err = fmt.Errorf("got %q", got.Result)
			}
			errs <- err
		}()
	}
	for range 50 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
