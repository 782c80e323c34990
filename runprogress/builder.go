package runprogress

import (
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// builder adds records to a report, in order of admission, and keeps the caps.
type builder struct {
	run    canonical.RunKey
	report Report
	room   int   // bytes left for observations
	met    bound // the cap that ended the observations, once one did
	seen   int64 // sequences that were looked at, each once
	last   int64 // highest of them
	open   int64 // lowest sequence in state PROJECTING; 0: none
	unsure bool  // a record could not be read, so it may be open
}

// bound is the cap of the whole report that was met first.
type bound int

const (
	noBound bound = iota
	overRun
	overSize
)

func newBuilder(state canonical.RunState, run canonical.RunKey, after int64) *builder {
	return &builder{run: run, room: MaxBytes - gapBytes, report: Report{
		Run: run.Run, Phase: state.Phase, After: after,
		Facts: []Fact{}, Absences: []Absence{}, Excluded: []Exclusion{},
		Totals: Totals{Admitted: state.LastSeq},
	}}
}

func (b *builder) add(n canonical.Numbered, h canonical.Head) {
	v := judge(b.run, n, h)
	call := Call{Seq: n.Seq, Turn: n.Call.Turn, ToolCallID: n.Call.ID}
	if v.believed() {
		call.Tool = h.Tool
	}
	b.count(call, v, h)
	switch {
	case v.reason != "":
		b.exclude(call, v.reason, h)
	case h.Evidence == evidence.None:
		b.addAbsence(Absence{Call: call, Coverage: v.coverage, ObservedAt: h.Ended.UTC()}, len(h.Coverage))
	default:
		b.addFacts(call, v.facts, h)
	}
}

func (b *builder) count(call Call, v verdict, h canonical.Head) {
	t := &b.report.Totals
	t.Calls++
	if call.Seq > b.last {
		b.seen, b.last = b.seen+1, call.Seq
	}
	if !v.believed() || v.reason == Projecting {
		return // an open call has no sizes yet
	}
	t.RawBytes += h.Raw.Size
	if h.Raw.Size > 0 && (t.Largest == nil || h.Raw.Size > t.Largest.RawBytes) {
		t.Largest = &Largest{Call: call, RawBytes: h.Raw.Size}
	}
	if v.reason == Failed {
		return
	}
	t.Ready++
	t.ProjectedBytes += h.AgentSize
	if h.Evidence == evidence.Found && len(v.facts) == 0 {
		t.WithoutFacts++
	}
}

func (b *builder) exclude(call Call, reason Reason, h canonical.Head) {
	x := Exclusion{Call: call, Reason: reason}
	switch reason {
	case Failed:
		x.Code, x.Execution = h.Code, h.Execution
	case Projecting:
		if b.open == 0 {
			b.open = call.Seq
		}
	case Corrupt, NewerVersion:
		b.unsure = true
	}
	if len(b.report.Excluded) == MaxExclusions {
		b.report.Omitted.Exclusions++
		return
	}
	b.report.Excluded = append(b.report.Excluded, x)
}

func (b *builder) addFacts(call Call, facts []evidence.Fact, h canonical.Head) {
	o := &b.report.Omitted
	if over := len(facts) - MaxFactsPerCall; over > 0 {
		o.FactsOverCall += over
		facts = facts[:MaxFactsPerCall]
	}
	for _, f := range facts {
		fact := Fact{Call: call, Fact: f, ObservedAt: h.Ended.UTC()}
		switch b.take(len(fact.line()) + 1) {
		case overRun:
			o.FactsOverRun++
		case overSize:
			o.FactsOverSize++
		default:
			b.report.Facts = append(b.report.Facts, fact)
		}
	}
}

// addAbsence charges the larger of the line and the stored coverage, so that
// the coverage in the report is bounded too and not only its sentence.
func (b *builder) addAbsence(a Absence, stored int) {
	if b.take(max(len(a.line())+1, stored)) != noBound {
		b.report.Omitted.Absences++
		return
	}
	b.report.Absences = append(b.report.Absences, a)
}

// take takes room for one observation, or tells the cap that was met.
func (b *builder) take(size int) bound {
	switch {
	case b.met != noBound:
	case len(b.report.Facts)+len(b.report.Absences) == MaxObservations:
		b.met = overRun
	case size > b.room:
		b.met = overSize
	default:
		b.room -= size
	}
	return b.met
}

// finish returns the report, with its Complete decided.
func (b *builder) finish() Report {
	r := b.report
	// Admissions may have followed the look at the run, or its ledger was put
	// back: what was seen counts as admitted in both cases.
	r.Totals.Admitted = max(r.Totals.Admitted, b.last)
	r.Complete = r.Phase == canonical.RunClosed && b.open == 0 && !b.unsure &&
		r.After+b.seen == r.Totals.Admitted
	return r
}
