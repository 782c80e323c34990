package canonical

import (
	"fmt"
	"strings"
	"time"
)

// Unlimited switches a budget off. It must be written out: zero means default.
const Unlimited = -1

// Limits bound one call and its record. Zero fields take the defaults named
// beside them; [Limits.WithDefaults] fills and checks them all at once. Sizes
// are in bytes, times at least one millisecond.
type Limits struct {
	RecordTTL        time.Duration // life of a record from its admission; 24 h
	RequestBytes     int64         // 64 KiB; at most MaxRequestBytes
	RawBytes         int64         // 4 MiB
	AgentBytes       int64         // what a model may get of one call; 16 KiB
	FactsBytes       int64         // facts and coverage together, as stored; 8 KiB
	RecordBytes      int64         // all of the above and RecordOverhead; 5 MiB
	ToolTimeout      time.Duration // 30 s; a tool may have a shorter or longer one of its own
	ProjectorTimeout time.Duration // 2 s
	ClosingTimeout   time.Duration // for the writes that end a call after its caller has gone; 3 s
}

// RecordOverhead is the room that a record needs beside its bodies, in bytes.
const RecordOverhead = 8 << 10

// DueMargin is added to a call's own limits before it counts as abandoned.
const DueMargin = 5 * time.Second

// MaxLimitTime bounds every time of Limits, and MaxBudgetBytes every size, so that
// sums of them are exact.
const MaxLimitTime = 10 * 365 * 24 * time.Hour

// DefaultLimits are the values that zero fields take.
func DefaultLimits() Limits {
	return Limits{
		RecordTTL: 24 * time.Hour, RequestBytes: 64 << 10, RawBytes: 4 << 20, AgentBytes: 16 << 10,
		FactsBytes: 8 << 10, RecordBytes: 5 << 20, ToolTimeout: 30 * time.Second,
		ProjectorTimeout: 2 * time.Second, ClosingTimeout: 3 * time.Second,
	}
}

// WithDefaults fills zero fields and reports every contradiction at once, as a
// [*LimitsError].
func (l Limits) WithDefaults() (Limits, error) {
	d := DefaultLimits()
	fill(&l.RecordTTL, d.RecordTTL)
	fill(&l.RequestBytes, d.RequestBytes)
	fill(&l.RawBytes, d.RawBytes)
	fill(&l.AgentBytes, d.AgentBytes)
	fill(&l.FactsBytes, d.FactsBytes)
	fill(&l.RecordBytes, d.RecordBytes)
	fill(&l.ToolTimeout, d.ToolTimeout)
	fill(&l.ProjectorTimeout, d.ProjectorTimeout)
	fill(&l.ClosingTimeout, d.ClosingTimeout)
	if problems := l.problems(); len(problems) > 0 {
		return l, &LimitsError{Problems: problems}
	}
	return l, nil
}

// Closing is the time that the end of a call may take after its tool: projecting
// and the closing writes.
func (l Limits) Closing() time.Duration { return l.ProjectorTimeout + l.ClosingTimeout }

// MaxDuration is the longest run that these limits allow: every record of a run
// must outlive it.
func (l Limits) MaxDuration() time.Duration { return l.RecordTTL - l.Closing() }

// Reserve is the capacity that admission sets aside for one call, in bytes.
func (l Limits) Reserve(request int) int64 {
	return int64(request) + l.RawBytes + l.AgentBytes + l.FactsBytes
}

// problems lists everything that is wrong. Sums are taken of clamped values, so
// that none overflows and each contradiction is told whatever else is wrong.
func (l Limits) problems() []string { return append(l.timeProblems(), l.sizeProblems()...) }

func (l Limits) timeProblems() (p []string) {
	for _, t := range []struct {
		name  string
		value time.Duration
	}{{"RecordTTL", l.RecordTTL}, {"ToolTimeout", l.ToolTimeout}, {"ProjectorTimeout", l.ProjectorTimeout}, {"ClosingTimeout", l.ClosingTimeout}} {
		switch {
		case t.value < time.Millisecond:
			p = append(p, fmt.Sprintf("%s is %v, at least 1ms is needed", t.name, t.value))
		case t.value > MaxLimitTime:
			p = append(p, fmt.Sprintf("%s is %v, at most %v is allowed", t.name, t.value, MaxLimitTime))
		}
	}
	need := DueMargin
	for _, part := range []time.Duration{l.ToolTimeout, l.ProjectorTimeout, l.ClosingTimeout} {
		need += min(max(part, 0), MaxLimitTime)
	}
	if l.RecordTTL < need {
		p = append(p, fmt.Sprintf("RecordTTL is %v, a call alone may take %v", l.RecordTTL, need))
	}
	return p
}

func (l Limits) sizeProblems() (p []string) {
	for _, s := range []struct {
		name        string
		value, most int64
	}{{"RequestBytes", l.RequestBytes, MaxRequestBytes}, {"RawBytes", l.RawBytes, MaxBudgetBytes}, {"AgentBytes", l.AgentBytes, MaxBudgetBytes},
		{"FactsBytes", l.FactsBytes, MaxBudgetBytes}, {"RecordBytes", l.RecordBytes, MaxBudgetBytes}} {
		switch {
		case s.value < 1:
			p = append(p, fmt.Sprintf("%s is %d, at least 1 is needed", s.name, s.value))
		case s.value > s.most:
			p = append(p, fmt.Sprintf("%s is %d, at most %d is allowed", s.name, s.value, s.most))
		}
	}
	need := int64(RecordOverhead)
	for _, part := range []int64{l.RequestBytes, l.RawBytes, l.AgentBytes, l.FactsBytes} {
		need += min(max(part, 0), MaxBudgetBytes)
	}
	if l.RecordBytes < need {
		p = append(p, fmt.Sprintf("RecordBytes is %d, the other limits need %d", l.RecordBytes, need))
	}
	return p
}

func fill[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

// LimitsError lists everything that is wrong with a set of limits.
type LimitsError struct{ Problems []string }

// Error lists every problem with its numbers on one line.
func (e *LimitsError) Error() string { return "canonical: limits: " + strings.Join(e.Problems, "; ") }

// Budget bounds a run. Zero fields take the defaults beside them; [Unlimited]
// must be written out.
type Budget struct {
	Calls   int   // admitted calls, whatever becomes of them; 16
	PerTool int   // admitted calls of one tool; 8
	Bytes   int64 // room reserved for open calls and used by ended ones; (Calls+1) x RecordBytes
}

// WithDefaults fills zero fields; negative values other than Unlimited are a
// [*LimitsError].
func (b Budget) WithDefaults(l Limits) (Budget, error) {
	fill(&b.Calls, 16)
	fill(&b.PerTool, 8)
	if b.Bytes == 0 {
		b.Bytes = Unlimited
		if b.Calls > 0 {
			b.Bytes = MaxBudgetBytes
			// One more than there are calls, so that the call that is too many is
			// told so, and not that there is no room.
			if record := max(l.RecordBytes, 1); int64(b.Calls) < MaxBudgetBytes/record-1 {
				b.Bytes = (int64(b.Calls) + 1) * record
			}
		}
	}
	if b.Calls < Unlimited || b.PerTool < Unlimited || b.Bytes < Unlimited {
		return b, &LimitsError{Problems: []string{"a budget is negative and not Unlimited"}}
	}
	return b, nil
}
