package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// event is the part of a line of go test -json that is used here; see go doc
// test2json for the rest.
type event struct {
	Action  string
	Package string
	Test    string // empty: about the package
	Output  string
}

// readEvents calls each for every event of the stream. A line that is not an
// event is an error: a stream that was cut or mixed with something else must
// not count as evidence.
func readEvents(in io.Reader, each func(event)) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 {
			var e event
			if err := json.Unmarshal(text, &e); err != nil {
				return fmt.Errorf("line %d is no event of go test -json: %w", n, err)
			}
			each(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// verdict is how a test or a package ended.
type verdict int

const (
	unfinished verdict = iota // announced and never heard of again
	skipped
	passed
	failed
)

// testID names a test of one package.
type testID struct{ pkg, name string }

// results is what a stream says happened.
type results struct {
	tests     map[testID]verdict
	inherited map[testID]bool // tests with a failed subtest
	packages  map[string]verdict
	lines     []string // go test's own line on each package: "ok  \tpkg\t0.1s"
}

func newResults() *results {
	return &results{tests: map[testID]verdict{}, inherited: map[testID]bool{}, packages: map[string]verdict{}}
}

// add takes one event. Where a test ran more than once (-count), one failure
// outweighs every pass.
func (r *results) add(e event) {
	if e.Action == "output" && e.Test == "" {
		if line := strings.TrimRight(e.Output, "\n"); isPackageLine(line) {
			r.lines = append(r.lines, line)
		}
	}
	v, known := verdictOf(e.Action)
	if !known || e.Package == "" {
		return
	}
	if e.Test == "" {
		r.packages[e.Package] = worse(r.packages[e.Package], v)
		return
	}
	id := testID{e.Package, e.Test}
	r.tests[id] = worse(r.tests[id], v)
	if up, ok := parent(id); ok && v == failed {
		r.inherited[up] = true
	}
}

func verdictOf(action string) (verdict, bool) {
	switch action {
	case "start", "run":
		return unfinished, true
	case "skip":
		return skipped, true
	case "pass":
		return passed, true
	case "fail":
		return failed, true
	}
	return unfinished, false
}

// worse keeps a failure over whatever a later repetition says; otherwise the
// last word counts.
func worse(before, now verdict) verdict {
	if before == failed {
		return failed
	}
	if now == unfinished {
		return before
	}
	return now
}

func isPackageLine(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t")
}

// problems lists what alone makes the run worthless, whatever the table says.
func (r *results) problems() []string {
	var out []string
	if len(r.tests) == 0 {
		out = append(out, "no test ran")
	}
	for pkg, v := range r.packages {
		switch v {
		case failed:
			out = append(out, "failed: "+pkg)
		case unfinished:
			out = append(out, "never finished: "+pkg)
		}
	}
	for _, name := range r.ended(failed) {
		out = append(out, "failed: "+name)
	}
	for _, name := range r.ended(unfinished) {
		out = append(out, "never finished: "+name)
	}
	return sorted(out)
}

// ended lists the tests that ended that way, parents too, as go test counts.
func (r *results) ended(v verdict) []string {
	var out []string
	for id, got := range r.tests {
		if got == v {
			out = append(out, id.pkg+" "+id.name)
		}
	}
	return sorted(out)
}
