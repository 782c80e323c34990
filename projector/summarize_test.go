package projector_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/projectortest"
)

// lineCount is an inner projector: it counts lines, refuses what begins with
// "error", and finds nothing in "none".
var lineCount = projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
	p := projector.Projection{Status: evidence.Found, Coverage: evidence.Searched("lines", "the raw text")}
	switch text := string(in.Raw); {
	case text == "none":
		p.Status, p.Result = evidence.None, []byte(`{"lines":0}`)
	case text == "" || strings.HasPrefix(text, "error"):
		return projector.Projection{}, errors.New("no lines")
	default:
		n := strings.Count(text, "\n") + 1
		p.Result = fmt.Appendf(nil, `{"lines":%d}`, n)
		p.Facts = []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "text", ID: "raw"}, "lines", fmt.Sprint(n))}
	}
	if over := len(p.Result) - in.Limits.AgentBytes; over > 0 && in.Limits.AgentBytes > 0 {
		return projector.Projection{}, fmt.Errorf("%d bytes over the limit", over)
	}
	return p, nil
})

// saying is a summarizer with one answer.
func saying(text string) projector.SummaryFunc {
	return func(context.Context, projector.Input) (string, error) { return text, nil }
}

func summarized(t *testing.T, fn projector.SummaryFunc, raw string, limit int) (projector.Projection, error) {
	t.Helper()
	in := projector.Input{Raw: []byte(raw), Request: []byte(`{}`), Limits: projector.Limits{AgentBytes: limit}}
	return projector.Drive(t.Context(), projector.Summarize(fn, 10, lineCount), in, projector.Options{Timeout: time.Minute})
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw, want string
		status    evidence.Status
	}{
		"below_the_threshold": {"123456789", `{"lines":1}`, evidence.Found},
		"at_the_threshold":    {"1234\n67890", `{"summary":"两行 \"x\"\n","summary_of_bytes":10}`, evidence.Found},
		"absence":             {"none", `{"lines":0}`, evidence.None},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := summarized(t, saying("两行 \"x\"\n"), c.raw, 0)
			if err != nil || string(p.Result) != c.want || p.Status != c.status {
				t.Errorf("%s %s, %v; want %s %s", p.Status, p.Result, err, c.status, c.want)
			}
			if !p.Coverage.Complete || len(p.Facts) != map[evidence.Status]int{evidence.Found: 1}[c.status] {
				t.Errorf("coverage %+v, facts %+v; want those of the inner projector", p.Coverage, p.Facts)
			}
		})
	}
	t.Run("long_absence_is_not_summarized", func(t *testing.T) {
		none := projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Status: evidence.None, Result: []byte("nothing"), Coverage: evidence.Searched("x", "y")}, nil
		})
		p, err := projector.Drive(t.Context(), projector.Summarize(saying("found everything"), 0, none), projector.Input{Raw: make([]byte, 100)}, projector.Options{})
		if err != nil || string(p.Result) != "nothing" {
			t.Errorf("%s, %v; want the inner result", p.Result, err)
		}
	})
}

// Nothing falls back to raw or to the inner result.
func TestSummarizeIsStrict(t *testing.T) {
	t.Parallel()
	const raw = "SECRET raw data of a tool"
	broken := errors.New("SECRET model is down")
	for name, c := range map[string]struct {
		fn    projector.SummaryFunc
		limit int
		kind  projector.Kind
	}{
		"empty":           {saying(""), 0, projector.Failed},
		"white_space":     {saying(" \n\u3000"), 0, projector.Failed},
		"only_controls":   {saying("\x00\u200b\u202e"), 0, projector.Failed},
		"no_utf8":         {saying("a\xff"), 0, projector.Failed},
		"larger":          {saying(strings.Repeat("x", 101)), 100, projector.TooLarge},
		"larger_in_frame": {saying(strings.Repeat("x", 80)), 100, projector.TooLarge},
		"larger_escaped":  {saying(strings.Repeat("\n", 20) + strings.Repeat("x", 20) + strings.Repeat("\"", 20)), 100, projector.TooLarge},
		"failing":         {func(context.Context, projector.Input) (string, error) { return "half", broken }, 0, projector.Failed},
		"panicking":       {func(context.Context, projector.Input) (string, error) { panic("SECRET") }, 0, projector.Panicked},
		"nil":             {nil, 0, projector.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := summarized(t, c.fn, raw, c.limit)
			e, ok := errors.AsType[*projector.Error](err)
			if !ok || e.Kind != c.kind || p.Result != nil || strings.Contains(fmt.Sprintf("%v %+v", err, p), "SECRET") {
				t.Errorf("%q, %v; want an error of kind %s and nothing else", p.Result, err, c.kind)
			}
		})
	}
	if _, err := summarized(t, saying(strings.Repeat("x", 63)), raw, 100); err != nil {
		t.Errorf("a summary that just fits its frame: %v", err)
	}
	if _, err := projector.Drive(t.Context(), projector.Summarize(saying("x"), 0, nil), projector.Input{}, projector.Options{}); err == nil {
		t.Error("no inner projector, and no error")
	}
}

// A verdict that the driver would refuse is not rescued by a summary, and fn is
// not asked.
func TestSummarizeNeedsAValidInner(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]projector.Projector{
		"failing": projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{}, errors.New("x")
		}),
		"no_status": projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: []byte("x")}, nil
		}),
		"no_result": projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Status: evidence.Found}, nil
		}),
		"bad_fact": projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Status: evidence.Found, Result: []byte("x"), Facts: []evidence.Fact{{}}}, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			fn := func(context.Context, projector.Input) (string, error) { asked = true; return "all is well", nil }
			p, err := projector.Drive(t.Context(), projector.Summarize(fn, 0, inner), projector.Input{Raw: []byte("raw")}, projector.Options{})
			if err == nil || asked {
				t.Errorf("%s, %v, asked %v; want an error without asking", p.Result, err, asked)
			}
		})
	}
}

func TestSummarizeHandsOutCopies(t *testing.T) {
	t.Parallel()
	raw, request := []byte("raw data of a tool"), []byte(`{"a":1}`)
	fn := func(_ context.Context, in projector.Input) (string, error) {
		if string(in.Raw) != "raw data of a tool" || string(in.Request) != `{"a":1}` || in.Tool != "t" || in.Limits.AgentBytes != projector.DefaultAgentBytes {
			return "", fmt.Errorf("got %+v", in)
		}
		clear(in.Raw)
		clear(in.Request)
		return "short", nil
	}
	p, err := projector.Summarize(fn, 0, lineCount).Project(t.Context(), projector.Input{Tool: "t", Raw: raw, Request: request})
	if err != nil || string(p.Result) != `{"summary":"short","summary_of_bytes":18}` {
		t.Fatalf("%s, %v", p.Result, err)
	}
	if string(raw) != "raw data of a tool" || string(request) != `{"a":1}` {
		t.Errorf("raw is %q, request %q; want both as they were", raw, request)
	}
}

func TestSummarizeTime(t *testing.T) {
	t.Parallel()
	t.Run("fn_blocks", func(t *testing.T) {
		leave := make(chan struct{})
		defer close(leave)
		blocked := func(context.Context, projector.Input) (string, error) { <-leave; return "late", nil }
		in := projector.Input{Raw: []byte("raw data of a tool")}
		_, err := projector.Drive(t.Context(), projector.Summarize(blocked, 0, lineCount), in, projector.Options{Timeout: time.Millisecond})
		if e, ok := errors.AsType[*projector.Error](err); !ok || e.Kind != projector.TimedOut {
			t.Errorf("Drive = %v, want %s", err, projector.TimedOut)
		}
	})
	t.Run("answer_after_the_end", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		late := func(context.Context, projector.Input) (string, error) { cancel(); return "late", nil }
		p, err := projector.Summarize(late, 0, lineCount).Project(ctx, projector.Input{Raw: []byte("raw")})
		if !errors.Is(err, context.Canceled) || p.Result != nil {
			t.Errorf("%q, %v; want %v", p.Result, err, context.Canceled)
		}
	})
}

func TestSummarizeContract(t *testing.T) {
	t.Parallel()
	fn := func(ctx context.Context, in projector.Input) (string, error) {
		return fmt.Sprintf("%d lines 行\u202e", bytes.Count(in.Raw, []byte("\n"))+1), ctx.Err()
	}
	projectortest.Run(t, projector.Summarize(fn, 40, lineCount),
		projectortest.Case{Name: "long", Raw: []byte(strings.Repeat("a line 漢字\n", 90)), Want: evidence.Found},
		projectortest.Case{Name: "short", Raw: []byte("a line"), Want: evidence.Found},
		projectortest.Case{Name: "none", Raw: []byte("none"), Want: evidence.None},
		projectortest.Case{Name: "outage", Raw: []byte("error: " + strings.Repeat("x", 90)), Want: evidence.Failed},
	)
}

// FuzzSummarize: whatever a summarizer says, the result is one JSON object inside
// the limit that holds exactly it, or an error.
func FuzzSummarize(f *testing.F) {
	f.Fuzz(func(t *testing.T, summary string, limit uint16) {
		p, err := summarized(t, saying(summary), "raw data of a tool", int(limit))
		if err != nil {
			if e, ok := errors.AsType[*projector.Error](err); !ok || e.Kind != projector.Failed && e.Kind != projector.TooLarge {
				t.Errorf("%q: %v", summary, err)
			}
			return
		}
		var shown map[string]any
		if err := json.Unmarshal(p.Result, &shown); err != nil || shown["summary"] != summary || len(shown) != 2 {
			t.Errorf("%q became %s (%v)", summary, p.Result, err)
		}
		if limit > 0 && len(p.Result) > int(limit) {
			t.Errorf("%d bytes, limit %d", len(p.Result), limit)
		}
	})
}

// A summary of what is long; what is short is shown by the inner projector.
func ExampleSummarize() {
	shorten := func(_ context.Context, in projector.Input) (string, error) {
		first, _, _ := strings.Cut(string(in.Raw), "\n")
		return "begins with: " + first, nil
	}
	p := projector.Summarize(shorten, 20, lineCount)
	for _, raw := range []string{"one\ntwo", "first of many\nsecond\nthird\nfourth"} {
		out, err := projector.Drive(context.Background(), p, projector.Input{Raw: []byte(raw)}, projector.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %s %s\n", out.Status, out.Result, out.Facts[0].Value)
	}
	// Output:
	// EVIDENCE_FOUND {"lines":2} 2
	// EVIDENCE_FOUND {"summary":"begins with: first of many","summary_of_bytes":33} 4
}
