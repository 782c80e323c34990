package soak

import (
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/report"
)

// whole is a run with one READY call and one open one, with nothing wrong.
func whole() *seen {
	return &seen{
		ledger: map[string]string{"sq": "2", "rs": "30", "ex": "900", "u:one": "1", "u:two": "1", "c::a": "1", "c::b": "2"},
		sets:   map[string][]string{"order": {":a", ":b"}, "open": {":b"}, "effects": nil},
		records: map[string]map[string]string{
			":a": {"st": "READY", "rs": "10", "ex": "500"},
			":b": {"st": "PROJECTING", "rs": "20", "ex": "510"},
		},
		expires: map[string]int64{"run": 900, "order": 900, "open": 900, "effects": -2, "call::a": 500, "call::b": 510},
	}
}

func TestSeen_wrong(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*seen)
		want  int
	}{
		{"whole", func(*seen) {}, 0},
		{"a record is gone", func(s *seen) { s.records[":a"] = map[string]string{"rs": "10"} }, 1},
		{"open and not listed", func(s *seen) { s.sets["open"] = nil }, 1},
		{"ended and listed", func(s *seen) { s.sets["open"] = []string{":a", ":b"} }, 1},
		{"a body without a name", func(s *seen) { s.records[":a"]["unnamed"] = "raw:x" }, 1},
		{"a record without expiry", func(s *seen) { s.expires["call::a"] = -1 }, 1},
		{"a record that lives longer", func(s *seen) { s.expires["call::b"] = 600 }, 1},
		{"a set without expiry", func(s *seen) { s.expires["open"] = -1 }, 1},
		{"a ledger that lives longer", func(s *seen) { s.expires["run"] = 901 }, 1},
		{"an admission too many", func(s *seen) { s.ledger["sq"] = "3" }, 1},
		{"a unit lost", func(s *seen) { s.ledger["u:one"] = "0" }, 1},
		{"an order that lacks one", func(s *seen) { s.sets["order"] = []string{":a"} }, 1},
		{"bytes that nobody holds", func(s *seen) { s.ledger["rs"] = "31" }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := whole()
			tt.spoil(s)
			if got := s.wrong(); len(got) != tt.want {
				t.Errorf("wrong() = %q, want %d", got, tt.want)
			}
		})
	}
}

func TestCall_against(t *testing.T) {
	sum := report.Digest((&call{size: 8}).raw())
	ready := map[string]string{"st": "READY", "rd": sum, "xe": "completed"}
	for _, tt := range []struct {
		name    string
		told    string
		ran     string
		entries int64
		settled bool
		record  map[string]string
		fine    bool
	}{
		{"ready", "READY", "yes", 1, false, ready, true},
		{"refused", "STORE_UNAVAILABLE", "no", 0, false, nil, true},
		{"refused, and closed later", "STORE_UNAVAILABLE", "no", 0, false, map[string]string{"st": "ERROR", "xe": "not_started"}, true},
		{"settled", "RESULT_NOT_STORED", "yes", 1, true, ready, true},
		{"entered twice", "READY", "yes", 2, false, ready, false},
		{"a false duplicate", "DUPLICATE_TOOL_CALL", "no", 0, false, nil, false},
		{"not run, they said", "STORE_UNAVAILABLE", "no", 1, false, ready, false},
		{"run, they said", "RESULT_NOT_STORED", "yes", 0, true, nil, false},
		{"entered, and no record", "OUTCOME_UNKNOWN", "unknown", 1, false, nil, false},
		{"told READY, and not ready", "READY", "yes", 1, false, map[string]string{"st": "ERROR", "xe": "completed"}, false},
		{"ready by nobody", "STORE_UNAVAILABLE", "no", 0, false, ready, false},
		{"ready, and nobody settled it", "RESULT_NOT_STORED", "yes", 1, false, ready, false},
		{"other bytes", "READY", "yes", 1, false, map[string]string{"st": "READY", "rd": "x"}, false},
		{"not started, and entered", "OUTCOME_UNKNOWN", "unknown", 1, false, map[string]string{"st": "ERROR", "xe": "not_started"}, false},
		{"settled into nothing", "RESULT_NOT_STORED", "yes", 1, true, map[string]string{"st": "ERROR", "xe": "completed"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &call{name: canonical.CallName{ID: "a"}, size: 8, told: tt.told, ran: tt.ran, settled: tt.settled}
			c.entries.Store(tt.entries)
			if got := c.against(tt.record); (got == "") != tt.fine {
				t.Errorf("against = %q, fine: %t", got, tt.fine)
			}
		})
	}
}

func TestSampler_levels(t *testing.T) {
	for _, tt := range []struct {
		name   string
		heap   func(second int) float64
		rising bool
	}{
		{"level", func(int) float64 { return 50 << 20 }, false},
		{"level after a while", func(s int) float64 { return float64(min(s, 100)) * (1 << 20) }, false},
		{"rising all the time", func(s int) float64 { return float64(s) * (1 << 20) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &sampler{}
			for second := range 300 {
				s.samples = append(s.samples, sample{values: [len(measures)]float64{tt.heap(second)}})
			}
			if got := s.levels()[0]; got.Rising != tt.rising {
				t.Errorf("%v, want rising %t", got, tt.rising)
			}
		})
	}
}
