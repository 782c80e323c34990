package runprogress_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// oneHead is a store with a single record.
type oneHead struct{ head canonical.Head }

func (s oneHead) Inspect(context.Context, canonical.RunKey) (canonical.RunState, error) {
	return canonical.RunState{Phase: canonical.RunClosed, LastSeq: 1}, nil
}

func (s oneHead) Heads(context.Context, canonical.RunKey, []canonical.CallName) ([]canonical.Head, error) {
	return []canonical.Head{s.head}, nil
}

// FuzzProject feeds what a store may hold under our names: any bytes as facts,
// coverage, tool, state, status and code.
func FuzzProject(f *testing.F) {
	facts, err := evidence.EncodeFacts([]evidence.Fact{rows("Artist", "275"), evidence.NewFact(evidence.Subject{Kind: "k"}, "p", `a "b" \ c`)})
	if err != nil {
		f.Fatal(err)
	}
	coverage, err := evidence.EncodeCoverage(evidence.Searched("AC/DC", "docs").Between(time.Unix(0, 0), time.Unix(9, 0)))
	if err != nil {
		f.Fatal(err)
	}
	for _, status := range []string{"EVIDENCE_FOUND", "NO_EVIDENCE", "ERROR", ""} {
		for _, state := range []string{"READY", "ERROR", "PROJECTING", ""} {
			f.Add(facts, []byte(nil), "query", state, status, "")
			f.Add([]byte(nil), coverage, "query", state, status, "TOOL_TIMEOUT")
		}
	}
	f.Add([]byte(`[{"subject":{"kind":"a","id":"b\nc"},"predicate":"p","value":"v"}]`), coverage, "q\n2 x", "READY", "EVIDENCE_FOUND", "")
	for _, v := range vectors.JSONTestSuite(f) {
		f.Add(v.Bytes, v.Bytes, "query", "READY", "EVIDENCE_FOUND", "")
	}
	f.Fuzz(func(t *testing.T, facts, coverage []byte, tool, state, status, code string) {
		run := someRun()
		n := canonical.Numbered{Seq: 1, Call: call("call_a")}
		store := oneHead{canonical.Head{Version: canonical.SchemaVersion, Identity: canonical.Identity{RunKey: run, Call: n.Call}, Seq: 1,
			Tool: tool, State: lifecycle.State(state), Code: lifecycle.Code(code), Evidence: evidence.Status(status), Execution: lifecycle.Completed,
			Facts: facts, Coverage: coverage, Ended: time.Unix(1, 0)}}
		r, err := runprogress.Project(t.Context(), store, run, []canonical.Numbered{n})
		if err != nil {
			t.Fatalf("Project: %v", err)
		}
		checkText(t, r)
		observed := len(r.Facts) + len(r.Absences) + r.Totals.WithoutFacts
		if (observed > 0) == (len(r.Excluded) > 0) && r.Omitted == (runprogress.Omitted{}) {
			t.Errorf("%d observations and excluded %v, want one of them", observed, r.Excluded)
		}
		if len(r.Facts) > 0 && (state != "READY" || status != "EVIDENCE_FOUND") || len(r.Absences) > 0 && (state != "READY" || status != "NO_EVIDENCE") {
			t.Errorf("%s with %s gave %d facts and %d absences", state, status, len(r.Facts), len(r.Absences))
		}
		again, err := runprogress.Project(t.Context(), store, run, []canonical.Numbered{n, n})
		if err != nil || again.Text() != r.Text() {
			t.Errorf("the second report differs: %v", err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("Marshal: %v", err)
		}
	})
}
