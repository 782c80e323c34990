package soak_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/toolharness/harness/faults/soak"
	"github.com/toolharness/harness/internal/redistest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	goleak.VerifyTestMain(m)
}

// silent keeps the client from writing a line for every connection that is
// refused while the server is away.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// setting is a number that make soak may set.
func setting(t *testing.T, name string, fallback int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s = %q, want a number above 0", name, text)
	}
	return n
}

// outage is how long a server that was killed stays away: longer than the writes
// that end a call may take.
const outage = 2 * time.Second

func TestSoak(t *testing.T) {
	server := redistest.Server(t, "--appendonly", "yes", "--appendfsync", "always")
	c := soak.Config{
		Addr: server.Addr(), Entries: filepath.Join(t.TempDir(), "entries"),
		Calls: setting(t, "SOAK_CALLS", 1500), Ends: 4,
		Restart: func() error { server.Restart(); return nil },
		Crash: func() error {
			server.Kill()
			time.Sleep(outage) // the calls that are under way shall not outlive it
			server.Start()
			return nil
		},
	}
	if os.Getenv("SOAK_RATE") != "" {
		c.Rate = setting(t, "SOAK_RATE", 0)
		c.Ends = 10
	}
	report, err := soak.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", report)
	if len(report.Problems) > 0 {
		t.Errorf("%d problems, want none", len(report.Problems))
	}
	if report.Calls != int64(c.Calls) || report.Told["READY"]*10 < c.Calls*8 {
		t.Errorf("%d calls, %d of them READY; want %d, and most of them READY", report.Calls, report.Told["READY"], c.Calls)
	}
}
