package kill_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolharness/harness/faults/checker"
	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/faults/kill"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/internal/redistest"
)

func TestMain(m *testing.M) {
	workers.Main(map[string]workers.Role{kill.RoleName: kill.Work, kill.FrozenRole: kill.WorkFrozen})
	goleak.VerifyTestMain(m)
}

func full() bool { return os.Getenv("FAULTS") == "full" }

// newBench is a report in a folder of its own. finish has the checker print the
// table, and fails the test unless everything in it is as it should be.
func newBench(t *testing.T) (b *report.Bench, finish func()) {
	t.Helper()
	dir := t.TempDir()
	lines, entries := filepath.Join(dir, "report.jsonl"), filepath.Join(dir, "entries")
	file, err := os.Create(lines)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	check := checker.New(lines, entries)
	b = &report.Bench{
		Lines: report.NewWriter(file), Entries: entries, Dir: dir, Seed: 1, Full: full(), Audit: check.Audit, Logf: t.Logf,
	}
	return b, func() {
		t.Helper()
		result, err := check.Finish()
		if err != nil {
			t.Fatal(err)
		}
		var table strings.Builder
		if err := result.Print(&table); err != nil {
			t.Fatal(err)
		}
		t.Logf("\n%s", table.String())
		if !result.OK() {
			t.Errorf("%d failures, want none", len(result.Failures()))
		}
		if missed := result.NotTested(); len(missed) > 0 {
			t.Errorf("not tested: %q, want nothing", missed)
		}
	}
}

// startServer starts a redis-server with an append-only file.
func startServer(t *testing.T) *redistest.Process {
	t.Helper()
	return redistest.Server(t, "--appendonly", "yes", "--appendfsync", "everysec")
}

// TestKill kills processes in all phases of a call: P13, P19, P22, P23, P24, P43,
// P45.
func TestKill(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	b, finish := newBench(t)
	kills := 100
	if full() {
		kills = 2000
	}
	histogram, err := kill.Campaign{
		Addr: server.Addr(), Kills: kills,
		Restart: func() error { server.Restart(); return nil },
	}.Run(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	if histogram.Total() != kills {
		t.Errorf("%d kills, want %d", histogram.Total(), kills)
	}
	finish()
}

// TestFrozen lets an owner that was stopped past the due time of its calls go on
// while somebody sweeps: K38, K52, K53, P25.
func TestFrozen(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	b, finish := newBench(t)
	calls := 24
	if full() {
		calls = 200
	}
	outcome, err := kill.Frozen{Addr: server.Addr(), Calls: calls}.Run(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.ByOwner+outcome.BySweep != calls || outcome.Settled != outcome.BySweep {
		t.Errorf("outcome = %+v, want %d calls in all, and each that was swept settled", outcome, calls)
	}
	t.Logf("%+v", outcome)
	if err := b.Audit(context.Background(), server.Addr()); err != nil {
		t.Fatal(err)
	}
	finish()
}
