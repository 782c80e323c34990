package inject

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolharness/harness/faults/checker"
	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/faults/proxy"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/internal/redistest"
)

func TestMain(m *testing.M) {
	workers.Main(Roles())
	goleak.VerifyTestMain(m)
}

// run takes a section through the checker.
func run(t *testing.T, section func(Selection) report.Section, s Selection) *checker.Result {
	t.Helper()
	dir := t.TempDir()
	lines, entries := filepath.Join(dir, "report"), filepath.Join(dir, "entries")
	file, err := os.Create(lines)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	check := checker.New(lines, entries)
	bench := &report.Bench{Lines: report.NewWriter(file), Entries: entries, Dir: dir, Seed: 42, Audit: check.Audit, Logf: t.Logf}
	if err := section(s).Run(t.Context(), bench); err != nil {
		t.Fatal(err)
	}
	result, err := check.Finish()
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := result.Print(&table); err != nil {
		t.Fatal(err)
	}
	if !result.OK() {
		t.Errorf("the table:\n%s", table.String())
	}
	return result
}

func TestWire_strikes_and_nothing_is_lost(t *testing.T) {
	redistest.Server(t) // skips where there is no redis-server
	before := runtime.NumGoroutine()
	result := run(t, Wire, Selection{Each: 1, Lanes: 4, Only: regexp.MustCompile(` (admit|complete multi|attach pieces|settle) (before|after|in request|in reply)$`)})
	// ten ways to spoil a message, and the control
	if rows := result.Rows(); len(rows) != 11 {
		t.Errorf("%d rows, want 11: %+v", len(rows), rows)
	}
	for _, row := range result.Rows() {
		if row.Injected == 0 && row.Fault != "nothing (control)" {
			t.Errorf("%s was not injected", row.Fault)
		}
	}
	for range 100 { // what is on its way out
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines are left of %d", now, before)
	}
}

func TestServer_P10_P11_P16_P19_P47(t *testing.T) {
	redistest.Server(t) // skips where there is no redis-server
	result := run(t, Server, Selection{Each: 1, Only: regexp.MustCompile(`P10|P11|P16|P19|maxmemory reached complete|restart with AOF admit after`)})
	want := map[string]bool{
		"NOSCRIPT, client dies, record expires (P10)": false, "record expires": false, "ledger put back (P16)": false,
		"killed inside a write (P19)": false, "maxmemory reached": false, "restart with AOF": false,
	}
	for _, row := range result.Rows() {
		if row.Injected > 0 && row.Places > 0 {
			want[row.Fault] = true
		}
	}
	for fault, done := range want {
		if !done {
			t.Errorf("%s was not injected", fault)
		}
	}
}

// Each script is struck at each place in each way.
func TestWireFaults_leave_no_place_out(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, w := range wireFaults() {
		have[w.script+" "+string(w.place)+" "+string(w.kind)] = true
	}
	for _, script := range []string{"open", "admit", "save", "complete", "close", "settle", "resolve", "sweep", "delete", "attach"} {
		for _, place := range []proxy.Place{proxy.Before, proxy.InRequest, proxy.After, proxy.InReply} {
			for _, kind := range []proxy.Kind{proxy.Cut, proxy.Slow, proxy.HalfOpen} {
				if at := script + " " + string(place) + " " + string(kind); !have[at] {
					t.Errorf("%s is missing", at)
				}
			}
		}
	}
}

// A script that the store gains is struck as well, or this fails.
func TestWireFaults_leave_no_script_out(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../redisstore/lua/*.lua")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scripts of the store: %v", len(files), err)
	}
	struck := map[string]bool{}
	for _, w := range wireFaults() {
		struck[w.script] = true
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".lua"); !struck[name] {
			t.Errorf("no injection strikes %s", name)
		}
	}
}

func TestCombinations_are_told_apart(t *testing.T) {
	t.Parallel()
	seen, seeds := map[report.Combination]bool{}, map[uint64]bool{}
	note := func(at report.Combination) {
		if seen[at] {
			t.Errorf("two faults are called %+v", at)
		}
		seen[at] = true
		for i := range 300 {
			seed := seedOf(1, at, i)
			if seeds[seed] {
				t.Errorf("a seed is used twice: %+v", at)
			}
			seeds[seed] = true
		}
	}
	for _, w := range wireFaults() {
		note(w.combination())
	}
	for _, f := range families() {
		for _, fault := range f.faults {
			note(fault.at)
		}
	}
}
