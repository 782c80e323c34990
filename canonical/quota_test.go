package canonical_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
)

func TestOpening_quota(t *testing.T) {
	t.Parallel()
	type o = canonical.Opening
	under := func() o {
		m := opening()
		m.Quota = canonical.Quota{Records: 100, Bytes: 1 << 30}
		return m
	}
	refusals(t, under, []refusal[o]{
		{"no quota and no limit", func(m *o) {
			m.Quota, m.Budget = canonical.Quota{}, canonical.Budget{Calls: -1, PerTool: -1, Bytes: -1}
		}, taken},
		{"records alone", func(m *o) { m.Quota.Bytes = 0 }, taken},
		{"bytes alone", func(m *o) { m.Quota.Records = 0 }, taken},
		{"less than no records", func(m *o) { m.Quota.Records = -1 }, "quota.records"},
		{"less than no bytes", func(m *o) { m.Quota.Bytes = -1 }, "quota.bytes"},
		{"records at the limit", func(m *o) { m.Quota.Records = canonical.MaxQuota }, taken},
		{"records over the limit", func(m *o) { m.Quota.Records = canonical.MaxQuota + 1 }, "quota.records"},
		{"bytes over the limit", func(m *o) { m.Quota.Bytes = canonical.MaxQuota + 1 }, "quota.bytes"},
		{"calls without limit", func(m *o) { m.Budget.Calls = canonical.Unlimited }, "budget.calls"},
		{"bytes without limit", func(m *o) { m.Quota.Bytes, m.Budget.Bytes = 0, canonical.Unlimited }, "budget.bytes"},
		{"calls of a tool without limit", func(m *o) { m.Budget.PerTool = canonical.Unlimited }, taken},
	})
	if records, bytes := (canonical.Quota{Bytes: 7}).Limits(); records != canonical.MaxQuota || bytes != 7 {
		t.Errorf("limits %d, %d; want %d, 7", records, bytes, int64(canonical.MaxQuota))
	}
}

func TestCheckListing(t *testing.T) {
	t.Parallel()
	scope := someCall().Scope
	for name, c := range map[string]struct {
		scope canonical.Scope
		after canonical.ListedRun
		max   int
		field string
	}{
		"the first page":            {scope, canonical.ListedRun{}, 1, taken},
		"the largest page":          {scope, canonical.ListedRun{Run: "r1", Expires: time.Unix(1, 0)}, canonical.MaxListedRuns, taken},
		"no scope":                  {canonical.Scope{}, canonical.ListedRun{}, 1, "scope"},
		"an empty page":             {scope, canonical.ListedRun{}, 0, "max"},
		"a page over the limit":     {scope, canonical.ListedRun{}, canonical.MaxListedRuns + 1, "max"},
		"behind what cannot be one": {scope, canonical.ListedRun{Run: marker + "{"}, 1, "run_id"},
	} {
		err := canonical.CheckListing(c.scope, c.after, c.max)
		if got := badField(err); got != c.field || err != nil && strings.Contains(err.Error(), marker) {
			t.Errorf("%s: %v names %q, want %q", name, err, got, c.field)
		}
	}
}

func TestListedRun_order(t *testing.T) {
	t.Parallel()
	at := func(id canonical.RunID, seconds int64) canonical.ListedRun {
		return canonical.ListedRun{Run: id, Expires: time.Unix(seconds, 0)}
	}
	order := []canonical.ListedRun{{}, at("", 1), at("Z", 1), at("a", 1), at("a.b", 1), at("A", 2)}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); got < 0 != (i < j) || got == 0 != (i == j) {
				t.Errorf("%v to %v = %d, places %d and %d", a, b, got, i, j)
			}
		}
	}
	elsewhere := canonical.ListedRun{Run: "a", Expires: time.Unix(1, 0).In(time.FixedZone("elsewhere", 3600))}
	if elsewhere.Compare(at("a", 1)) != 0 {
		t.Error("the same instant in another zone is another place")
	}
}

func TestRawInfo_part(t *testing.T) {
	t.Parallel()
	raw := canonical.RawInfo{Stored: true, Size: 100}
	for _, c := range []struct {
		offset int64
		max    int
		end    int64 // -1: refused
	}{
		{0, 1, 1}, {0, 100, 100}, {0, 101, 100}, {99, 1, 100}, {99, 1 << 30, 100}, {100, 1, 100}, {50, 10, 60},
		{101, 1, -1}, {-1, 1, -1}, {0, 0, -1}, {0, -1, -1}, {1 << 62, 1 << 62, -1},
	} {
		end, err := raw.Part(c.offset, c.max)
		_, argument := errors.AsType[*canonical.ArgumentError](err)
		if c.end < 0 != argument || c.end >= 0 && end != c.end {
			t.Errorf("%d bytes from %d on end at %d, %v; want %d", c.max, c.offset, end, err, c.end)
		}
	}
	if end, err := (canonical.RawInfo{Stored: true}).Part(0, 1); end != 0 || err != nil {
		t.Errorf("an empty raw result ends at %d, %v", end, err)
	}
}

func TestCheckEvidenceID(t *testing.T) {
	t.Parallel()
	for id, want := range map[canonical.EvidenceID]string{
		"0192f0c1-2f3b-7a5e-9c5d-3d6f1f2a4b5c": taken, "": "evidence_id", marker + " ": "evidence_id",
		canonical.EvidenceID(strings.Repeat("x", 129)): "evidence_id",
	} {
		if err := canonical.CheckEvidenceID("find", id); badField(err) != want {
			t.Errorf("an id of %d bytes: %v, want %s", len(id), err, want)
		}
	}
}
