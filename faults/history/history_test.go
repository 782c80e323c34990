package history_test

import (
	"os"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"github.com/toolharness/harness/faults/history"
	"github.com/toolharness/harness/faults/internal/cuts"
	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/internal/redistest"
)

func TestMain(m *testing.M) {
	workers.Main(map[string]workers.Role{"client": history.Work})
	goleak.VerifyTestMain(m)
}

// odds make about one delivery in twenty-five fail.
var odds = cuts.Odds{LoseRequest: 0.01, CutRequest: 0.01, LoseReply: 0.02}

// checkLimit is for one history; most take milliseconds.
const checkLimit = time.Minute

func conduct(t *testing.T, odds cuts.Odds, broken *history.Broken) *history.Conductor {
	t.Helper()
	server := redistest.Server(t)
	c, err := history.Conduct("client", server.Addr(), odds, broken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.End(); err != nil {
			t.Errorf("ending the workers: %v", err)
		}
	})
	return c
}

// TestStore_is_linearizable: K23, K38, K52 and every other clause of the model, in
// histories of 10 clients in 5 processes and 200 operations, with lost requests,
// lost replies, cut requests and dropped scripts.
func TestStore_is_linearizable(t *testing.T) {
	histories := 50
	if os.Getenv("FAULTS") == "full" {
		histories = 500
	}
	c := conduct(t, odds, nil)
	var total totals
	for seed := range histories {
		report, err := c.Make(uint64(seed))
		if err != nil {
			t.Fatal(err)
		}
		total.add(report)
		start := time.Now()
		result := history.Check(report.Operations, checkLimit)
		total.slowest = max(total.slowest, time.Since(start))
		if result != porcupine.Ok {
			t.Fatalf("history %d: %s; want %s\n%s", seed, result, porcupine.Ok, history.Explain(report.Operations, checkLimit))
		}
	}
	total.print(t, histories)
}
