package main

import (
	"slices"
	"strings"
	"testing"
)

func sampleRows() []row {
	return []row{
		{"T01", "one", []string{anyStore}},
		{"T02", "two", []string{anyStore}},
		{"P01", "reply lost", []string{"fake", "embedded", "redis"}},
		{"P09", "only in a comment, a log line, and a name without underscore", []string{anyStore}},
		{"P10", "parts", []string{anyStore}},
	}
}

func TestJudge_recorded_streams(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"good":    "P09:-",
		"fail":    "P01:redis P09:-",
		"skip":    "P01:redis P09:- P10:-",
		"nostore": "P01:redis P09:-",
		"parent":  "P01:redis P09:-",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := load(t, recorded(t, name))
			if err != nil {
				t.Fatal(err)
			}
			found, strangers := judge(sampleRows(), r)
			var missing []string
			for _, f := range found {
				for _, s := range f.missing() {
					missing = append(missing, f.number+":"+s)
				}
			}
			if got := strings.Join(missing, " "); got != want {
				t.Errorf("missing %q, want %q", got, want)
			}
			if len(strangers) != 0 {
				t.Errorf("strangers %q, want none", strangers)
			}
		})
	}
}

func TestJudge_counts_skips_and_reports_numbers_without_a_row(t *testing.T) {
	t.Parallel()
	r, err := load(t, recorded(t, "skip"))
	if err != nil {
		t.Fatal(err)
	}
	found, strangers := judge(sampleRows()[2:3], r)
	if found[0].skipped != 1 {
		t.Errorf("%d skipped tests of P01, want 1", found[0].skipped)
	}
	if want := []string{"P10", "T01", "T02"}; !slices.Equal(strangers, want) {
		t.Errorf("strangers %q, want %q", strangers, want)
	}
}

func TestNumbersOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"TestAdmit/fake/P01_reply_lost":  "P01",
		"TestP01_reply_lost":             "P01",
		"TestT01_T02_one_call":           "T01 T02",
		"TestT01_T02_one/T02_again":      "T01 T02",
		"TestT114_zero_counts":           "T114",
		"FuzzT11_objects/seed#0":         "T11",
		"TestAdmit/P01_a#01":             "P01",
		"TestAdmit/P01":                  "",
		"TestAdmit/reply_lost_P01_":      "",
		"TestAdmit/P1_x":                 "",
		"TestAdmit/P0123_x":              "",
		"TestAdmit/TestP01_x":            "",
		"TestAdmit/p01_x":                "",
		"BenchmarkP01_x":                 "",
		"TestAdmit/P01_P02x":             "P01",
		"TestAdmit/C13_created_before/x": "C13",
	} {
		if got := strings.Join(numbersOf(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestStoresOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"TestAdmit/redis/P01_x":       "redis",
		"TestAdmit/P01_x/embedded":    "embedded",
		"TestAdmit/P01_x/fake#01":     "fake",
		"TestWalk/fake/redis":         "fake redis",
		"TestAdmit/redis_down/P01_x":  "",
		"TestRedis/P01_x":             "",
		"TestAdmit/-/P01_x":           "",
		"TestAdmit/P01_fake_redis/in": "",
	} {
		if got := strings.Join(storesOf(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
