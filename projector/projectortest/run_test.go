package projectortest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// recorder collects failures that would end the test of a real projector.
type recorder struct{ failures []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestSuiteRejects(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, b := range broken(release) {
		t.Run(name, func(t *testing.T) {
			s, err := newSuite(b.p, searchCases())
			if err != nil {
				t.Fatal(err)
			}
			s.patience = 2 * time.Second
			for _, check := range checks() {
				if check.name != b.check {
					continue
				}
				var r recorder
				check.run(s, &r)
				if len(r.failures) != 1 {
					t.Fatalf("check %s reported %q, want one failure", b.check, r.failures)
				}
				t.Log(r.failures[0])
				return
			}
			t.Fatalf("there is no check %s", b.check)
		})
	}
}

// Every check rejects somebody: a check that no broken projector trips over may
// check nothing.
func TestEveryCheckRejectsSomebody(t *testing.T) {
	rejects := map[string]bool{}
	for _, b := range broken(nil) {
		rejects[b.check] = true
	}
	for _, check := range checks() {
		if !rejects[check.name] {
			t.Errorf("no broken projector is aimed at the check %s", check.name)
		}
	}
}

func TestSuiteAccepts(t *testing.T) {
	Run(t, projector.Func(search), searchCases()...)
}

// Odd but correct: prose instead of JSON, refuses to work when cancelled, cuts
// by lines, uses the clock it was given.
func TestSuiteAcceptsProse(t *testing.T) {
	prose := projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
		a, err := parse(in.Raw)
		if err != nil || ctx.Err() != nil || len(a.Hits) == 0 {
			return projector.Projection{}, fmt.Errorf("no answer: %w", context.Cause(ctx))
		}
		text := fmt.Sprintf("%d hits at %s\n", len(a.Hits), in.Now.Format(time.RFC3339))
		for i, hit := range a.Hits {
			line := evidence.Line(hit.ID+" "+hit.Score.String()+" "+hit.Text, 80) + "\n"
			note := fmt.Sprintf("%d omitted\n", len(a.Hits)-i)
			if len(text)+len(line)+len(note) > in.Limits.AgentBytes {
				text += note
				break
			}
			text += line
		}
		if len(text) > in.Limits.AgentBytes {
			return projector.Projection{}, fmt.Errorf("no room")
		}
		return projector.Projection{Result: []byte(text), Status: evidence.Found}, nil
	})
	cases := searchCases()[:2]
	Run(t, prose, cases...)
}

// Odd but correct: raw data is lines of text, where a line that looks like an
// error object is a line, and an absence is proved by a last line.
func TestSuiteAcceptsLines(t *testing.T) {
	lines := projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		body, ended := strings.CutSuffix(string(in.Raw), "END OF LOG\n")
		if !ended {
			return projector.Projection{}, fmt.Errorf("the log was cut")
		}
		list := projector.NewList(in.Limits.AgentBytes)
		for line := range strings.Lines(body) {
			list.Add(evidence.Line(line, 200))
		}
		p := projector.Projection{Result: list.JSON(), Status: evidence.Found, Coverage: evidence.Searched("", "log")}
		if body == "" {
			p.Status = evidence.None
		}
		if in.Limits.FactsBytes < 100 {
			return projector.Projection{}, fmt.Errorf("no room for the coverage")
		}
		return p, list.Err()
	})
	Run(t, lines,
		Case{Name: "lines", Raw: []byte("{\"error\":\"a line\"}\nsecond\nEND OF LOG\n"), Want: evidence.Found},
		Case{Name: "none", Raw: []byte("END OF LOG\n"), Want: evidence.None},
	)
}

func TestBadCases(t *testing.T) {
	good := projector.Func(search)
	for name, c := range map[string]struct {
		p     projector.Projector
		cases []Case
	}{
		"no projector":  {nil, searchCases()},
		"no cases":      {good, nil},
		"nothing found": {good, searchCases()[2:]},
		"no status":     {good, []Case{{Name: "x", Raw: []byte("{}")}}},
		"wrong status":  {good, []Case{{Name: "x", Raw: []byte("{}"), Want: "FOUND"}}},
	} {
		if _, err := newSuite(c.p, c.cases); err == nil {
			t.Errorf("%s: the suite starts, want a refusal", name)
		}
	}
}

const childVariable = "PROJECTORTEST_CHILD"

// TestChild is the test of a broken projector that TestRunFails starts; on its
// own it is the test of a correct one.
func TestChild(t *testing.T) {
	p := projector.Projector(projector.Func(search))
	switch os.Getenv(childVariable) {
	case "":
	case "no cases":
		Run(t, p)
		return
	default:
		p = broken(nil)[os.Getenv(childVariable)].p
	}
	Run(t, p, searchCases()...)
}

// Run itself fails the test it is called from, in the subtest of the check.
func TestRunFails(t *testing.T) {
	for name, want := range map[string]string{
		"cuts silently":         "--- FAIL: TestChild/bounded",
		"clears the raw":        "--- FAIL: TestChild/input",
		"unreadable as absence": "--- FAIL: TestChild/absence",
		"no cases":              "no case wants EVIDENCE_FOUND",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.v")
			child.Env = append(os.Environ(), childVariable+"="+name)
			out, err := child.CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("the test of a broken projector ended with %v, want a failure with %q\n%s", err, want, out)
			}
		})
	}
}

func TestStatesCut(t *testing.T) {
	for result, want := range map[string]bool{
		`{"omitted":3}`: true, `{"omitted":0}`: false, `{"omitted":null}`: false, `{"items":[]}`: false, `{"truncated":true}`: true,
		`{"truncated":false}`: false, `{"a":"b…"}`: true, `{"a":"omitted"}`: false, "3 lines omitted": true, "all of it": false, `["omitted"]`: false,
	} {
		if got := statesCut([]byte(result)); got != want {
			t.Errorf("statesCut(%s) = %v, want %v", result, got, want)
		}
	}
}

func TestNumbersIn(t *testing.T) {
	got := numbersIn([]byte(`{"a":[1.10,{"b":-9007199254740993}],"c":"12","d":1E5}`))
	if want := "1.10 -9007199254740993 1E5"; strings.Join(got, " ") != want {
		t.Errorf("numbersIn = %q, want %s", got, want)
	}
	for number, want := range map[string]int{"0.000123": 3, "9007199254740993": 16, "-1.50e300": 3, "0": 0} {
		if got := significant(number); got != want {
			t.Errorf("significant(%s) = %d, want %d", number, got, want)
		}
	}
	if json.Valid([]byte("exactly 2")) || len(numbersIn([]byte("exactly 2"))) != 0 {
		t.Error("prose has numbers")
	}
}

// The inputs tried are the same on every run, and prefixes are true cuts.
func TestHostileRaw(t *testing.T) {
	raw := []byte("{\"hits\":[1,2,3]} \n")
	count := 0
	first := map[string]bool{}
	for what, input := range hostileRaw(raw, true) {
		first[what+string(input)] = true
		count++
	}
	for what, input := range hostileRaw(raw, true) {
		if !first[what+string(input)] {
			t.Fatalf("a second run tries another %s input", what)
		}
	}
	if count < 100 {
		t.Errorf("%d hostile inputs, want at least 100", count)
	}
	for cut := range prefixes(raw) {
		if json.Valid(cut) {
			t.Errorf("%q is no cut", cut)
		}
	}
}
