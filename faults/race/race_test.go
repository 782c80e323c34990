package race_test

import (
	"context"
	"maps"
	"os"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/faults/race"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/internal/redistest"
)

func TestMain(m *testing.M) {
	workers.Main(map[string]workers.Role{race.RoleName: race.Work})
	goleak.VerifyTestMain(m)
}

// TestOne_wins is K20, K21 and K23 with 64 goroutines in 4 processes.
func TestOne_wins(t *testing.T) {
	rounds := 60
	if os.Getenv("FAULTS") == "full" {
		rounds = 1000
	}
	server := redistest.Server(t)
	track, err := race.Prepare(context.Background(), server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := track.End(context.Background()); err != nil {
			t.Errorf("ending the processes: %v", err)
		}
	})
	for _, contest := range []struct {
		race.Contest
		name, refusal string
	}{
		{race.SameID, "one_id", "DUPLICATE_TOOL_CALL"},
		{race.RunBudget, "last_call_of_a_run", "RUN_BUDGET_EXHAUSTED"},
		{race.ToolBudget, "last_call_of_a_tool", "TOOL_BUDGET_EXHAUSTED"},
		{race.Capacity, "last_bytes_of_a_run", "CAPACITY_EXHAUSTED"},
	} {
		t.Run(contest.name, func(t *testing.T) {
			for n := range rounds {
				f, err := track.Run(context.Background(), contest.Contest)
				if err != nil {
					t.Fatalf("round %d: %v", n, err)
				}
				want := map[string]int{"READY ran yes": 1, contest.refusal + " ran no": race.Callers - 1}
				if !maps.Equal(f.Told, want) || f.Entries != 1 {
					t.Fatalf("round %d: %v, %d entries; want %v, 1 entry", n, f.Told, f.Entries, want)
				}
				checkLedger(t, server.Client(), f)
			}
			t.Logf("%d rounds of %d callers: one winner in each", rounds, race.Callers)
		})
	}
}

// checkLedger compares what Redis has of a run with what was admitted.
func checkLedger(t *testing.T, client *redis.Client, f race.Finish) {
	t.Helper()
	ctx := context.Background()
	base := report.Base(f.Run)
	ledger, err := client.HGetAll(ctx, base+"run").Result()
	if err != nil {
		t.Fatal(err)
	}
	guards := 0
	for field := range ledger {
		if len(field) > 2 && field[:2] == "c:" {
			guards++
		}
	}
	got := map[string]string{
		"sq": ledger["sq"], "u:tool": ledger["u:tool"], "rs": ledger["rs"], "guards": strconv.Itoa(guards),
		"order": strconv.FormatInt(client.ZCard(ctx, base+"order").Val(), 10),
		"open":  strconv.FormatInt(client.ZCard(ctx, base+"open").Val(), 10),
	}
	n := strconv.Itoa(f.Admitted)
	want := map[string]string{"sq": n, "u:tool": n, "rs": strconv.FormatInt(f.Held, 10), "guards": n, "order": n, "open": "0"}
	if !maps.Equal(got, want) {
		t.Fatalf("ledger of %s = %v, want %v", f.Run.Run, got, want)
	}
}
