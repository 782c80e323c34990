package soak

import (
	"context"
	"fmt"
	"time"
)

// small faults come this often.
const (
	flushEvery = 700 * time.Millisecond
	cutEvery   = 1900 * time.Millisecond
)

// disturb drops scripts and connections by the clock, and ends the server by the
// number of calls, so that a short soak has as many restarts as a long one.
func (s *soak) disturb(ctx context.Context) error {
	flush, cut, look := time.NewTicker(flushEvery), time.NewTicker(cutEvery), time.NewTicker(50*time.Millisecond)
	defer flush.Stop()
	defer cut.Stop()
	defer look.Stop()
	for next := 1; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-flush.C:
			_ = s.outside.ScriptFlush(ctx).Err() // one that fails is one fault less
		case <-cut.C:
			_ = s.outside.Do(ctx, "client", "kill", "type", "normal", "skipme", "yes").Err()
		case <-look.C:
			if s.made.Load() < int64(next*s.Calls/(s.Ends+1)) {
				continue
			}
			end := s.Restart
			if next%2 == 0 {
				end = s.Crash
			}
			if err := end(); err != nil {
				return fmt.Errorf("soak: ending the server: %w", err)
			}
			next++
		}
	}
}
