package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const table = "testdata/scenarios.md"

func TestRun_on_saved_events(t *testing.T) {
	t.Parallel()
	missing := "NOT SHOWN P01 on redis"
	for _, c := range []struct {
		events string
		exit   int
		want   []string
	}{
		{"good", 0, []string{"P01       fake 1, embedded 1, redis 1", "and 1 more", "4 of 4 shown"}},
		{"fail", 1, []string{missing, "PROBLEM failed: example.com/sample TestAdmit/redis/P01_reply_lost", "3 of 4 shown"}},
		{"skip", 1, []string{missing, "NOT SHOWN P10 on -", "(1 skipped)", "2 of 4 shown"}},
		{"nostore", 1, []string{missing, "redis MISSING"}},
		{"parent", 1, []string{missing, "PROBLEM failed: example.com/sample TestAdmit/redis"}},
	} {
		t.Run(c.events, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			exit := run([]string{"-doc", table, "-events", "testdata/" + c.events + ".jsonl"}, &out, &errs)
			if exit != c.exit {
				t.Errorf("exit %d, want %d; stderr %q", exit, c.exit, errs.String())
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestRun_packages_repeats_go_test(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	exit := run([]string{"-doc", table, "-packages", "-events", "testdata/skip.jsonl"}, &out, &errs)
	if exit != 0 || !strings.Contains(out.String(), "ok  \texample.com/sample") {
		t.Errorf("exit %d, output:\n%s%s", exit, out.String(), errs.String())
	}
	for _, want := range []string{"2 skipped", "SKIPPED example.com/sample TestAdmit/redis/P01_reply_lost"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	if exit := run([]string{"-doc", table, "-packages", "-events", "testdata/fail.jsonl"}, &out, &errs); exit != 1 {
		t.Errorf("exit %d for a failed stream, want 1", exit)
	}
}

func TestRun_cannot_look(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.md")
	if err := os.WriteFile(empty, []byte("# nothing\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"no table":        {"-doc", "testdata/none.md", "-events", "testdata/good.jsonl"},
		"table of none":   {"-doc", empty, "-events", "testdata/good.jsonl"},
		"no events":       {"-doc", table, "-events", "testdata/none.jsonl"},
		"not events":      {"-doc", table, "-events", table},
		"unknown flag":    {"-nonsense"},
		"save saved":      {"-doc", table, "-events", "testdata/good.jsonl", "-save", "x"},
		"flags for saved": {"-doc", table, "-events", "testdata/good.jsonl", "--", "-race"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			if exit := run(args, &out, &errs); exit != 2 || errs.Len() == 0 {
				t.Errorf("exit %d, stderr %q, want 2 and a reason", exit, errs.String())
			}
		})
	}
}

// TestRun_runs_the_tests runs the sample module for real, in its own folder.
func TestRun_runs_the_tests(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	t.Chdir("testdata/sample")
	saved := filepath.Join(t.TempDir(), "events.jsonl")
	doc := filepath.Join(here, table)
	for _, c := range []struct {
		mode string
		exit int
		want string
	}{
		{"good", 0, "ok  \texample.com/sample"},
		{"fail", 1, "a record too many"},
		{"parent", 1, "noticed after the subtest passed"},
	} {
		t.Setenv("SAMPLE", c.mode)
		var out, errs strings.Builder
		exit := run([]string{"-doc", doc, "-save", saved, "--", "-count=1"}, &out, &errs)
		if exit != c.exit || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit %d, want %d and %q in:\n%s%s", c.mode, exit, c.exit, c.want, out.String(), errs.String())
		}
		for _, noise := range []string{"P09_in_the_log", "=== RUN"} {
			if strings.Contains(out.String(), noise) {
				t.Errorf("%s: %q was printed:\n%s", c.mode, noise, out.String())
			}
		}
		var again strings.Builder
		if got := run([]string{"-doc", doc, "-events", saved}, &again, &errs); got != c.exit {
			t.Errorf("%s: exit %d on the saved events, %d on the run", c.mode, got, c.exit)
		}
	}
	var out, errs strings.Builder
	if exit := run([]string{"-doc", doc, "--", "-no-such-flag"}, &out, &errs); exit == 0 {
		t.Errorf("exit 0 with a flag go test does not know:\n%s%s", out.String(), errs.String())
	}
}
