package soak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/internal/cuts"
)

// LevelTime is how long a soak must last for its memory to be judged: ledgers go
// after 90 seconds, so only then the second third is level.
const LevelTime = 150 * time.Second

// Report is what a soak saw.
type Report struct {
	Took     time.Duration
	Calls    int64
	Entries  int64 // of tool bodies
	Runs     int
	Told     map[string]int // READY or the code
	Faults   cuts.Total
	Levels   []Level
	Swept    int      // calls that were left open and ended by a sweep
	Keys     int      // at the end, all with an expiry
	Problems []string // whatever was not as it should be
}

// Judged reports whether the soak was long enough for its memory to be judged.
func (r *Report) Judged() bool { return r.Took >= LevelTime }

// String is the whole as a table.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls in %d runs, %v; %d tool bodies entered; %d left open and swept; %d keys at the end\n",
		r.Calls, r.Runs, r.Took.Round(time.Second), r.Entries, r.Swept, r.Keys)
	fmt.Fprintf(&b, "faults on the wire: %d requests lost, %d cut, %d replies lost\n", r.Faults.LostRequests, r.Faults.CutRequests, r.Faults.LostReplies)
	for _, told := range slices.Sorted(maps.Keys(r.Told)) {
		fmt.Fprintf(&b, "  %8d  %s\n", r.Told[told], told)
	}
	fmt.Fprintf(&b, "%-26s %10s %10s %10s\n", "mean of each third", "first", "second", "last")
	for _, l := range r.Levels {
		fmt.Fprintln(&b, l)
	}
	for _, text := range r.Problems {
		fmt.Fprintf(&b, "FAILED: %s\n", text)
	}
	return b.String()
}

func (s *soak) report(samples *sampler) *Report {
	r := &Report{
		Took: time.Since(samples.start), Calls: s.made.Load(), Entries: s.entered.Load(), Runs: s.runs, Told: s.told, Levels: samples.levels(),
	}
	for _, c := range s.cutters {
		t := c.Total()
		r.Faults.LostRequests += t.LostRequests
		r.Faults.CutRequests += t.CutRequests
		r.Faults.LostReplies += t.LostReplies
	}
	return r
}

// finish is the audit of the whole: what was left open is swept, entries are
// recounted, every key is looked at.
func (s *soak) finish(ctx context.Context, r *Report) error {
	if err := s.sweepLeft(ctx, r); err != nil {
		return err
	}
	if err := s.recount(r); err != nil {
		return err
	}
	if err := s.lookAtKeys(ctx, r); err != nil {
		return err
	}
	if r.Judged() {
		for _, l := range r.Levels {
			if l.Rising {
				s.found("does not level off: %v", l)
			}
		}
	}
	r.Problems = s.problems
	return nil
}

// sweepLeft ends what no process will end. Runs whose ledger is gone had nothing
// left.
func (s *soak) sweepLeft(ctx context.Context, r *Report) error {
	if len(s.open) == 0 {
		return nil
	}
	l := limits()
	time.Sleep(l.ToolTimeout + l.Closing() + canonical.DueMargin + 200*time.Millisecond) // a server's clock cannot be moved
	for _, run := range s.open {
		swept, err := s.store.Sweep(ctx, canonical.Sweeping{Run: run, Grace: time.Millisecond, Max: canonical.MaxSweep})
		if err != nil && !gone(err) {
			return err
		}
		r.Swept += len(swept)
		left, err := s.store.Outstanding(ctx, run)
		if err != nil && !gone(err) {
			return err
		}
		if len(left.Open) > 0 {
			s.found("%s: %d calls are open after a sweep", run.Run, len(left.Open))
		}
	}
	return nil
}

// recount reads the file of entries.
func (s *soak) recount(r *Report) error {
	file, err := os.Open(s.Entries)
	if err != nil {
		return err
	}
	defer file.Close()
	seen := map[string]bool{}
	total := int64(0)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		total++
		if seen[lines.Text()] {
			s.found("entered twice: %s", lines.Text())
		}
		seen[lines.Text()] = true
	}
	if total != r.Entries {
		s.found("the file has %d entries, the tools counted %d", total, r.Entries)
	}
	return lines.Err()
}

// lookAtKeys looks at everything that Redis still has.
func (s *soak) lookAtKeys(ctx context.Context, r *Report) error {
	seen := map[string]bool{}
	ledgers := 0
	for cursor := uint64(0); ; {
		keys, next, err := s.outside.Scan(ctx, cursor, "*", 1000).Result()
		if err != nil {
			return err
		}
		for _, key := range keys {
			if seen[key] {
				continue // SCAN may answer a key twice
			}
			seen[key] = true
			at, err := s.outside.PTTL(ctx, key).Result()
			if err != nil {
				return err
			}
			if at == -1 { // as go-redis gives it, in nanoseconds
				s.found("a key without expiry: %s", key)
			}
			if strings.HasSuffix(key, "}:run") {
				ledgers++
			}
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	r.Keys = len(seen)
	if ledgers == 0 && r.Took < time.Minute {
		s.found("no run is left in Redis: the audit has seen nothing")
	}
	return nil
}

// gone reports that a run's life is over.
func gone(err error) bool { return errors.Is(err, canonical.ErrRunMissing) }
