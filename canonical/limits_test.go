package canonical_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
)

// problems returns what is said to be wrong with a set of limits.
func problems(t *testing.T, l canonical.Limits) []string {
	t.Helper()
	_, err := l.WithDefaults()
	if err == nil {
		return nil
	}
	bad, ok := errors.AsType[*canonical.LimitsError](err)
	if !ok {
		t.Fatalf("%+v: %v, want a limits error", l, err)
	}
	for _, p := range bad.Problems {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q lacks %q", err, p)
		}
	}
	return bad.Problems
}

func TestLimits_defaults(t *testing.T) {
	t.Parallel()
	got, err := canonical.Limits{}.WithDefaults()
	if err != nil || got != canonical.DefaultLimits() {
		t.Errorf("%+v, %v, want the defaults", got, err)
	}
	want := canonical.Limits{RecordTTL: 24 * time.Hour, RequestBytes: 64 << 10, RawBytes: 4 << 20, AgentBytes: 16 << 10, FactsBytes: 8 << 10,
		RecordBytes: 5 << 20, ToolTimeout: 30 * time.Second, ProjectorTimeout: 2 * time.Second, ClosingTimeout: 3 * time.Second}
	if got != want {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
	set := canonical.Limits{RecordTTL: time.Hour, RequestBytes: 1, RawBytes: 2, AgentBytes: 3, FactsBytes: 4,
		RecordBytes: 1 << 20, ToolTimeout: time.Second, ProjectorTimeout: time.Millisecond, ClosingTimeout: 5 * time.Millisecond}
	if kept, err := set.WithDefaults(); err != nil || kept != set {
		t.Errorf("%+v, %v, want what was set", kept, err)
	}
	if set.Closing() != 6*time.Millisecond || set.MaxDuration() != time.Hour-6*time.Millisecond || set.Reserve(100) != 109 {
		t.Errorf("closing %v, longest run %v, reserve %d", set.Closing(), set.MaxDuration(), set.Reserve(100))
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	t.Run("T44_life_of_a_record", func(t *testing.T) {
		t.Parallel()
		call := 30*time.Second + 5*time.Second + canonical.DueMargin
		for ttl, want := range map[time.Duration]string{
			-1: "at least 1ms", -time.Hour: "at least 1ms", 1: "at least 1ms", time.Millisecond - 1: "at least 1ms",
			time.Millisecond: "a call alone", time.Second: "a call alone", call - 1: "a call alone", call: "", call + 1: "", 24 * time.Hour: "",
			canonical.MaxLimitTime: "", canonical.MaxLimitTime + 1: "at most", math.MaxInt64: "at most",
		} {
			got := strings.Join(problems(t, canonical.Limits{RecordTTL: ttl}), "; ")
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("a life of %v: %q, want %q", ttl, got, want)
			}
		}
		// Zero means the default in a configuration; a store is given no zero.
		o := opening()
		o.Limits.RecordTTL = 0
		if _, ok := errors.AsType[*canonical.LimitsError](o.Validate()); !ok {
			t.Errorf("an opening with a life of zero: %v", o.Validate())
		}
		a := admission()
		a.TTL = 0
		if bad, ok := errors.AsType[*canonical.ArgumentError](a.Validate()); !ok || bad.Field != "ttl" {
			t.Errorf("an admission with a life of zero: %v", a.Validate())
		}
	})
	t.Run("T51_more_raw_than_a_record_holds", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			raw, record int64
			good        bool
		}{
			{4 << 20, 5 << 20, true}, {6 << 20, 5 << 20, false}, {5 << 20, 5 << 20, false},
			{1000, 1000 + 64<<10 + 16<<10 + 8<<10 + canonical.RecordOverhead, true}, {1000, 999 + 64<<10 + 16<<10 + 8<<10 + canonical.RecordOverhead, false},
			{math.MaxInt64, 5 << 20, false}, {math.MaxInt64, math.MaxInt64, false}, {math.MaxInt64 - 90<<10, 5 << 20, false},
		} {
			got := problems(t, canonical.Limits{RawBytes: c.raw, RecordBytes: c.record})
			if (len(got) == 0) != c.good {
				t.Errorf("raw %d in a record of %d: %q, want good %v", c.raw, c.record, got, c.good)
			}
		}
	})
	t.Run("T51_every_contradiction_at_once", func(t *testing.T) {
		t.Parallel()
		got := problems(t, canonical.Limits{RecordTTL: -1, RequestBytes: -1, RawBytes: -2, AgentBytes: -3, FactsBytes: -4, RecordBytes: -5,
			ToolTimeout: 1, ProjectorTimeout: -1, ClosingTimeout: -2})
		for _, field := range []string{"RecordTTL", "ToolTimeout", "ProjectorTimeout", "ClosingTimeout", "RequestBytes", "RawBytes", "AgentBytes", "FactsBytes", "RecordBytes"} {
			if !strings.Contains(strings.Join(got, "\n"), field+" is ") {
				t.Errorf("%q lacks %s", got, field)
			}
		}
		if len(got) != 11 { // nine fields, and both sums
			t.Errorf("%d problems, want 11: %q", len(got), got)
		}
	})
	t.Run("T51_sums_cannot_overflow", func(t *testing.T) {
		t.Parallel()
		huge := int64(math.MaxInt64)
		got := problems(t, canonical.Limits{RequestBytes: huge, RawBytes: huge, AgentBytes: huge, FactsBytes: huge,
			ToolTimeout: math.MaxInt64, ProjectorTimeout: math.MaxInt64, ClosingTimeout: math.MaxInt64})
		if len(got) != 9 { // seven fields, and both sums
			t.Errorf("%d problems, want 9: %q", len(got), got)
		}
	})
	t.Run("T50_no_request_limit_above_the_protocol", func(t *testing.T) {
		t.Parallel()
		if got := problems(t, canonical.Limits{RequestBytes: canonical.MaxRequestBytes}); len(got) != 0 {
			t.Errorf("at the bound: %q", got)
		}
		if got := problems(t, canonical.Limits{RequestBytes: canonical.MaxRequestBytes + 1}); len(got) != 1 || !strings.Contains(got[0], "at most 262144") {
			t.Errorf("above it: %q", got)
		}
	})
}

func TestBudget_defaults(t *testing.T) {
	t.Parallel()
	limits := canonical.DefaultLimits()
	for _, c := range []struct {
		given, want canonical.Budget
	}{
		{canonical.Budget{}, canonical.Budget{Calls: 16, PerTool: 8, Bytes: 17 * 5 << 20}},
		{canonical.Budget{Calls: 1, PerTool: 2, Bytes: 3}, canonical.Budget{Calls: 1, PerTool: 2, Bytes: 3}},
		{canonical.Budget{Calls: canonical.Unlimited}, canonical.Budget{Calls: canonical.Unlimited, PerTool: 8, Bytes: canonical.Unlimited}},
		{canonical.Budget{Calls: 2, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}, canonical.Budget{Calls: 2, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}},
		{canonical.Budget{Calls: canonical.MaxBudgetCalls}, canonical.Budget{Calls: canonical.MaxBudgetCalls, PerTool: 8, Bytes: canonical.MaxBudgetBytes}},
	} {
		got, err := c.given.WithDefaults(limits)
		if err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v, want %+v", c.given, got, err, c.want)
		}
		o := opening()
		o.Budget = got
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: a store refuses the filled budget: %v", c.given, err)
		}
	}
	for _, bad := range []canonical.Budget{{Calls: -2}, {PerTool: -2}, {Bytes: -2}, {Calls: math.MinInt}} {
		if _, err := bad.WithDefaults(limits); err == nil {
			t.Errorf("%+v was taken", bad)
		} else if _, ok := errors.AsType[*canonical.LimitsError](err); !ok {
			t.Errorf("%+v: %v, want a limits error", bad, err)
		}
	}
	if _, err := (canonical.Budget{Calls: math.MaxInt}).WithDefaults(canonical.Limits{}); err != nil {
		t.Errorf("a huge budget without limits: %v", fmt.Sprint(err))
	}
}
