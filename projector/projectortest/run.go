package projectortest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// Case is one raw result that the projector under test must judge.
type Case struct {
	Name    string
	Raw     []byte
	Request []byte           // arguments of the call; {} where nil
	Tool    string           // "tool" where empty
	Now     time.Time        // zero: a fixed time
	Limits  projector.Limits // zero fields: the defaults of package projector

	// Want is evidence.Found or evidence.None, or evidence.Failed where the
	// projector must return an error.
	Want evidence.Status
}

// Run checks p, each property in a subtest of its own. Without a case that is
// found it fails: such a suite would check next to nothing.
func Run(t *testing.T, p projector.Projector, cases ...Case) {
	t.Helper()
	s, err := newSuite(p, cases)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range checks() {
		t.Run(check.name, func(t *testing.T) { check.run(s, t) })
	}
}

// reporter is what a check needs of *testing.T, so that the suite itself can be
// tested with projectors that must fail it.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// check reports its first failure only.
type check struct {
	name string
	run  func(*suite, reporter)
}

func checks() []check {
	return []check{
		{"verdict", (*suite).verdict},
		{"pure", (*suite).pure},
		{"input", (*suite).input},
		{"bounded", (*suite).bounded},
		{"cancellation", (*suite).cancellation},
		{"hostile", (*suite).hostile},
		{"absence", (*suite).absence},
		{"text", (*suite).text},
		{"digits", (*suite).digits},
	}
}

// patience is how long one projection may take. It is generous, since the
// machine may be busy; a projector that blocks is not saved by it.
const patience = 30 * time.Second

type suite struct {
	p        projector.Projector
	cases    []Case
	patience time.Duration
	acting   []byte // the first result with a control character, for the text check
	stuck    bool   // one call never returned; waiting for more helps nobody
}

func newSuite(p projector.Projector, cases []Case) (*suite, error) {
	s := &suite{p: p, patience: patience}
	if p == nil {
		return nil, fmt.Errorf("projectortest: no projector")
	}
	found := false
	for i, c := range cases {
		if !c.Want.Valid() {
			return nil, fmt.Errorf("projectortest: case %d (%s) wants no status", i, c.Name)
		}
		found = found || c.Want == evidence.Found
		s.cases = append(s.cases, c.filled(i))
	}
	if !found {
		return nil, fmt.Errorf("projectortest: no case wants %s", evidence.Found)
	}
	return s, nil
}

func (c Case) filled(i int) Case {
	if c.Name == "" {
		c.Name = fmt.Sprintf("case %d", i)
	}
	if c.Request == nil {
		c.Request = []byte("{}")
	}
	if c.Tool == "" {
		c.Tool = "tool"
	}
	if c.Now.IsZero() {
		c.Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	if c.Limits.AgentBytes == 0 {
		c.Limits.AgentBytes = projector.DefaultAgentBytes
	}
	if c.Limits.FactsBytes == 0 {
		c.Limits.FactsBytes = projector.DefaultFactsBytes
	}
	return c
}

// in is a fresh input: nothing in it is shared with another call.
func (c Case) in() projector.Input {
	return projector.Input{Tool: c.Tool, Request: bytes.Clone(c.Request), Raw: bytes.Clone(c.Raw), Limits: c.Limits, Now: c.Now}
}

// answer is what came of one call: a projection, or the projector's error, or a
// fault, which is a breach of the contract whatever the input was.
type answer struct {
	projection projector.Projection
	err        error
	fault      string
}

// call runs the projector as the driver does, but on in itself and without
// hiding what went wrong.
func (s *suite) call(ctx context.Context, in projector.Input) answer {
	if s.stuck {
		return answer{fault: "an earlier call never returned"}
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{fault: "ended its goroutine"}
		defer func() {
			if v := recover(); v != nil {
				a = answer{fault: fmt.Sprintf("panicked: %v", v)}
			}
			done <- a
		}()
		projection, err := s.p.Project(ctx, in)
		a = answer{projection: projection, err: err}
	}()
	timer := time.NewTimer(s.patience)
	defer timer.Stop()
	select {
	case a := <-done:
		return s.judged(a, in.Limits)
	case <-timer.C:
		s.stuck = true
		return answer{fault: fmt.Sprintf("did not return within %v", s.patience)}
	}
}

func (s *suite) judged(a answer, limits projector.Limits) answer {
	if a.err != nil || a.fault != "" {
		return a
	}
	if err := a.projection.Validate(limits); err != nil {
		a.fault = "returned what the driver refuses: " + err.Error()
		return a
	}
	if s.acting == nil && bytes.IndexFunc(a.projection.Result, acts) >= 0 {
		s.acting = a.projection.Result
	}
	return a
}

// same reports whether two answers are the same to the last byte.
func same(a, b answer) bool {
	if (a.err == nil) != (b.err == nil) || a.fault != b.fault {
		return false
	}
	return a.projection.Status == b.projection.Status && bytes.Equal(a.projection.Result, b.projection.Result) &&
		bytes.Equal(stored(a.projection), stored(b.projection))
}

// stored is the stored form of facts and coverage.
func stored(p projector.Projection) []byte {
	facts, _ := evidence.EncodeFacts(p.Facts) // both were validated
	coverage, _ := evidence.EncodeCoverage(p.Coverage)
	return append(append(facts, '\n'), coverage...)
}
