package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func load(t *testing.T, text string) (*results, error) {
	t.Helper()
	r := newResults()
	return r, readEvents(strings.NewReader(text), r.add)
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadEvents_good_stream(t *testing.T) {
	t.Parallel()
	r, err := load(t, recorded(t, "good"))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.problems(); len(got) != 0 {
		t.Errorf("problems %q, want none", got)
	}
	if got, want := len(r.ended(passed)), 11; got != want {
		t.Errorf("%d passed, want %d", got, want)
	}
	if len(r.lines) != 1 || !strings.HasPrefix(r.lines[0], "ok  \texample.com/sample\t") {
		t.Errorf("package lines %q, want the one of go test", r.lines)
	}
}

func TestReadEvents_refuses_what_is_no_event(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"FAIL example.com/x\n", recorded(t, "good") + "{\"Action\":\"pa", "[]\n"} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), "is no event") {
			t.Errorf("error %v for a stream that ends in %q, want one", err, text[max(0, len(text)-20):])
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(recorded(t, "good"), "\n")
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":   {"", []string{"no test ran"}},
		"no tests":  {`{"Action":"start","Package":"p"}` + "\n" + `{"Action":"skip","Package":"p"}`, []string{"no test ran"}},
		"cut":       {strings.Join(lines[:4], ""), []string{"never finished: example.com/sample", "never finished: example.com/sample TestAdmit", "never finished: example.com/sample TestAdmit/fake"}},
		"no build":  {`{"ImportPath":"p","Action":"build-fail"}` + "\n" + `{"Action":"fail","Package":"p","FailedBuild":"p"}`, []string{"failed: p", "no test ran"}},
		"test fail": {recorded(t, "fail"), []string{"failed: example.com/sample", "failed: example.com/sample TestAdmit", "failed: example.com/sample TestAdmit/redis", "failed: example.com/sample TestAdmit/redis/P01_reply_lost"}},
		"skip":      {recorded(t, "skip"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := load(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.problems(); !slices.Equal(got, c.want) {
				t.Errorf("problems %q, want %q", got, c.want)
			}
		})
	}
}

// With -count a test ends several times; one failure is enough.
func TestResults_a_failure_outweighs_a_later_pass(t *testing.T) {
	t.Parallel()
	r := newResults()
	for _, action := range []string{"run", "fail", "run", "pass"} {
		r.add(event{Action: action, Package: "p", Test: "TestX"})
	}
	if got := r.tests[testID{"p", "TestX"}]; got != failed {
		t.Errorf("verdict %d, want failed", got)
	}
}
