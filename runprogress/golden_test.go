package runprogress_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

var update = flag.Bool("update", false, "write the reports of testdata/runprogress anew")

// step is one line of a transcript's trace. What is not named stays out: a call
// without "end" stays open.
type step struct {
	Do   string `json:"do"`   // admit, end, delete, close, wait
	Call string `json:"call"` // "id" or "turn:id"
	Tool string `json:"tool"`

	End       lifecycle.State     `json:"end"`
	Evidence  evidence.Status     `json:"evidence"`
	Code      lifecycle.Code      `json:"code"`
	Execution lifecycle.Execution `json:"execution"`
	Facts     json.RawMessage     `json:"facts"`
	Coverage  json.RawMessage     `json:"coverage"`
	Raw       int                 `json:"raw"`   // bytes
	Agent     int                 `json:"agent"` // bytes
	Times     int                 `json:"times"` // of the facts, repeated
	Seconds   int                 `json:"seconds"`
}

// TestGolden replays each transcript and compares the report that another
// process would make with the one on file. With -update it writes the files;
// nothing else does.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(vectors.Dir(t, "runprogress"), "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d transcripts, %v; want at least one", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			was, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, trace := readTranscript(t, string(was))
			got := head + "-- trace --\n" + trace + reportOf(t, trace)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(was) {
				t.Errorf("got\n%s\nwant\n%s", got, was)
			}
		})
	}
}

// readTranscript splits off what a person wrote: a comment that says why the
// transcript is there, and the trace.
func readTranscript(t *testing.T, text string) (head, trace string) {
	t.Helper()
	head, rest, ok := strings.Cut(text, "-- trace --\n")
	if !ok || !strings.HasPrefix(head, "# ") {
		t.Fatal("a transcript is a comment, then a line \"-- trace --\" and the trace")
	}
	trace, _, _ = strings.Cut(rest, "-- text --\n")
	return head, trace
}

func reportOf(t *testing.T, trace string) string {
	t.Helper()
	b := newBench(t, fakeBackend().start(t))
	steps := 0
	for line := range strings.Lines(trace) {
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		var s step
		if err := decoder.Decode(&s); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		b.play(s)
		steps++
	}
	if steps == 0 {
		t.Fatal("the trace has no step")
	}
	r := b.elsewhere()
	checkText(t, r)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(encoded(t, r)), "", " "); err != nil {
		t.Fatal(err)
	}
	return "-- text --\n" + r.Text() + "-- json --\n" + pretty.String() + "\n"
}

func (b *bench) play(s step) {
	b.t.Helper()
	switch s.Do {
	case "admit":
		b.admit(s.Call, s.Tool)
	case "end":
		b.end(s.Call, s.ending(b.t))
	case "delete":
		if err := b.Delete(b.t.Context(), b.run, call(s.Call)); err != nil {
			b.t.Fatal(err)
		}
	case "close":
		b.close()
	case "wait":
		b.advance(time.Duration(s.Seconds) * time.Second)
	default:
		b.t.Fatalf("no such step: %q", s.Do)
	}
}

func (s step) ending(t *testing.T) canonical.Ending {
	t.Helper()
	e := canonical.Ending{
		Verdict:  lifecycle.Completion{State: s.End, Code: s.Code, Evidence: s.Evidence, Execution: s.Execution},
		Facts:    repeated(t, s.Facts, s.Times),
		Coverage: canonical.Body(s.Coverage),
	}
	if s.End == lifecycle.Ready {
		e.Verdict.Execution = lifecycle.Completed
		e.Agent = bytes.Repeat([]byte("a"), s.Agent)
		e.Raw = canonical.NewRaw(bytes.Repeat([]byte("r"), s.Raw))
	} else {
		e.Verdict.Evidence = evidence.Failed
	}
	return e
}

// repeated writes the facts of a list several times over, for the caps.
func repeated(t *testing.T, list json.RawMessage, times int) canonical.Body {
	t.Helper()
	if times == 0 {
		return canonical.Body(list)
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(string(list), "["), "]")
	return canonical.Body("[" + strings.Repeat(inner+",", times-1) + inner + "]")
}

// The package comment shows a report; it is the one of the Example, whose
// output is checked.
func TestDoc_shows_the_report_of_the_example(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(example), "// Output:\n")
	if !ok {
		t.Fatal("the example has no output")
	}
	lines := 0
	for line := range strings.Lines(rest) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "// ")
		if !ok {
			break
		}
		lines++
		if !strings.Contains(string(doc), "//\t"+text+"\n") {
			t.Errorf("doc.go lacks the line %q", text)
		}
	}
	if lines != 5 {
		t.Errorf("%d lines of output, want 5", lines)
	}
}

var _ runprogress.OrderedReader = canonical.Store(nil)
