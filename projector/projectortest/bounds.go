package projectortest

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// roomy is the size of a result from which a projector must be able to say
// something in three quarters of it. A smaller one may be all frame.
const roomy = 2048

// bounded: under smaller limits the answer is smaller and says that something is
// missing, or it is an error.
func (s *suite) bounded(r reporter) {
	r.Helper()
	for _, c := range s.cases {
		full := s.call(context.Background(), c.in())
		if full.err != nil || full.fault != "" {
			continue // the verdict check tells
		}
		if !s.agentBounds(r, c, full.projection) || !s.factsBounds(r, c, full.projection) {
			return
		}
	}
}

func (s *suite) agentBounds(r reporter, c Case, full projector.Projection) bool {
	r.Helper()
	whole := len(full.Result)
	for _, limit := range ladder(whole) {
		in := c.in()
		in.Limits.AgentBytes = limit
		a := s.call(context.Background(), in)
		switch {
		case a.fault != "":
			r.Errorf("%s: with a limit of %d bytes for the agent result the projector %s", c.Name, limit, a.fault)
			return false
		case a.err != nil && whole >= roomy && limit >= whole*3/4:
			r.Errorf("%s: a result of %d bytes cannot be given in %d: %v", c.Name, whole, limit, a.err)
			return false
		case a.err == nil && a.projection.Status != full.Status:
			r.Errorf("%s: with a limit of %d bytes the status is %s, without %s", c.Name, limit, a.projection.Status, full.Status)
			return false
		case a.err == nil && !bytes.Equal(a.projection.Result, full.Result) && !statesCut(a.projection.Result):
			r.Errorf("%s: the result for %d bytes leaves something out and does not say so: %.300s", c.Name, limit, a.projection.Result)
			return false
		}
	}
	return true
}

func (s *suite) factsBounds(r reporter, c Case, full projector.Projection) bool {
	r.Helper()
	for _, limit := range ladder(len(stored(full))) {
		if limit < leastFacts {
			continue
		}
		in := c.in()
		in.Limits.FactsBytes = limit
		if a := s.call(context.Background(), in); a.fault != "" {
			r.Errorf("%s: with a limit of %d bytes for facts and coverage the projector %s", c.Name, limit, a.fault)
			return false
		}
	}
	return true
}

// leastFacts is the smallest limit for facts and coverage that is tried, in
// bytes. A projector whose coverage has one short line need not count below it:
// the driver refuses what is over, and no host has use for less.
const leastFacts = 256

// ladder goes down from size to one byte.
func ladder(size int) []int {
	limits := []int{}
	for _, limit := range []int{size, size - 1, size * 7 / 8, size * 3 / 4, size / 2, size / 3, size / 4, 512, 256, 128, 100, 64, 32, 3, 1} {
		if limit > 0 && limit <= size {
			limits = append(limits, limit)
		}
	}
	return limits
}

// statesCut looks for the ways in which a result can say that it is not all: a
// clip mark, "omitted" above zero or "truncated" in a JSON object, one of these
// words in text.
func statesCut(result []byte) bool {
	if bytes.Contains(result, []byte(evidence.ClipMark)) {
		return true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(result, &object) == nil {
		omitted := string(object["omitted"])
		return omitted != "" && omitted != "0" && omitted != "null" || string(object["truncated"]) == "true"
	}
	text := strings.ToLower(string(result))
	return !json.Valid(result) && (strings.Contains(text, "omitted") || strings.Contains(text, "truncated"))
}
