package runprogress

import (
	"errors"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// verdict is what one record may contribute. An empty reason means READY.
type verdict struct {
	reason   Reason
	facts    []evidence.Fact   // with EVIDENCE_FOUND
	coverage evidence.Coverage // with NO_EVIDENCE
}

// believed reports whether the record could be read and is the one asked for.
func (v verdict) believed() bool {
	return v.reason == "" || v.reason == Failed || v.reason == Projecting
}

// judge decides on the record that the store has for n in run. It trusts nothing
// that it can check: a field that contradicts another makes the record corrupt,
// since half of it could then be somebody else's.
func judge(run canonical.RunKey, n canonical.Numbered, h canonical.Head) verdict {
	switch {
	case h.Identity != canonical.Identity{RunKey: run, Call: n.Call}:
		return verdict{reason: Missing} // the zero head too
	case errors.Is(h.Fault, canonical.ErrNewerVersion), h.Fault == nil && h.Version > canonical.SchemaVersion:
		return verdict{reason: NewerVersion}
	case h.Fault != nil:
		return verdict{reason: Corrupt}
	case !h.Exists():
		return verdict{reason: Missing}
	case h.Version < oldestVersion, h.Seq != n.Seq, canonical.CheckToolName(h.Tool) != nil:
		return verdict{reason: Corrupt}
	case h.State == lifecycle.Projecting:
		return verdict{reason: Projecting}
	}
	return judgeEnded(h)
}

// oldestVersion is the lowest that this code reads; there is no version 0.
const oldestVersion = max(1, canonical.SchemaVersion-1)

func judgeEnded(h canonical.Head) verdict {
	ending := lifecycle.Completion{State: h.State, Code: h.Code, Evidence: h.Evidence, Execution: h.Execution}
	if ending.Validate() != nil || h.Raw.Size < 0 || h.AgentSize < 0 || h.Ended.IsZero() || h.Ended.UTC().Year() > 9999 {
		return verdict{reason: Corrupt}
	}
	if h.State == lifecycle.Error {
		return verdict{reason: Failed}
	}
	facts, err := evidence.DecodeFacts(h.Facts)
	if err != nil {
		return verdict{reason: Corrupt}
	}
	coverage, err := evidence.DecodeCoverage(h.Coverage)
	if err != nil {
		return verdict{reason: Corrupt}
	}
	if h.Evidence == evidence.None && (len(facts) > 0 || coverage.ValidateAbsence() != nil) {
		return verdict{reason: Corrupt} // an absence with facts, or without a place that was searched
	}
	return verdict{facts: facts, coverage: coverage}
}
