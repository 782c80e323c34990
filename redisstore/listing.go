package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
)

// ListRuns implements [canonical.Reader]. Two trips, more only where many of the
// listed runs have no ledger any more: entries of the list, then which of them
// live.
func (s *Store) ListRuns(ctx context.Context, scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
	const op = "list runs"
	if err := canonical.CheckListing(scope, after, most); err != nil {
		return nil, err
	}
	at := listPlace{after: after}
	var out []canonical.ListedRun
	for len(out) < most {
		page, end, err := s.listPage(ctx, op, scope, &at, most)
		if err != nil {
			return nil, err
		}
		living, err := s.withLedger(ctx, scope, page)
		if err != nil {
			return nil, trouble(ctx, op, err)
		}
		out = append(out, living...)
		if end {
			break
		}
	}
	return out[:min(len(out), most)], nil
}

// listPlace is where a reader stands in a list: behind an entry, and behind some
// more that end in the same millisecond where these fill whole pages.
type listPlace struct {
	after canonical.ListedRun
	equal int64
}

// listPage reads the entries behind a place, moves the place behind them, and
// reports whether they were the last. Runs that are over and still listed are
// skipped at once: the server's time is the list's expiry, which is the end of the
// last life in it, less what is left of that.
func (s *Store) listPage(ctx context.Context, op string, scope canonical.Scope, at *listPlace, most int) (page []canonical.ListedRun, end bool, err error) {
	key := s.scope(scope).runs()
	count := int64(most) + 1 // the place itself may be among them
	var list, last *redis.ZSliceCmd
	var left *redis.DurationCmd
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		list = p.ZRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{Min: at.min(), Max: "+inf", Offset: at.equal, Count: count})
		last = p.ZRangeWithScores(ctx, key, -1, -1)
		left = p.PTTL(ctx, key)
		return nil
	})
	if err != nil && !answered(err) {
		return nil, false, trouble(ctx, op, err)
	}
	if err := list.Err(); err != nil {
		return nil, false, s.explainSet(ctx, op, key, err)
	}
	found := list.Val()
	for _, z := range found {
		id, _ := z.Member.(string)
		run := canonical.ListedRun{Run: canonical.RunID(id), Expires: time.UnixMilli(int64(z.Score)).UTC()}
		if run.Compare(at.after) > 0 {
			page = append(page, run)
		}
	}
	switch {
	case len(page) > 0:
		*at = listPlace{after: page[len(page)-1]}
	default:
		at.equal += int64(len(found))
	}
	if ends := last.Val(); len(ends) == 1 && left.Val() > 0 {
		now := time.UnixMilli(int64(ends[0].Score)).UTC().Add(-left.Val())
		if at.after.Expires.Before(now) {
			*at = listPlace{after: canonical.ListedRun{Expires: now}}
		}
	}
	return page, int64(len(found)) < count, nil
}

// min is the score from which to read.
func (at listPlace) min() string {
	if at.after.Expires.IsZero() {
		return "-inf"
	}
	return strconv.FormatInt(at.after.Expires.UnixMilli(), 10)
}

// withLedger keeps the runs of which there is a ledger. One without is over, or
// was never opened.
func (s *Store) withLedger(ctx context.Context, scope canonical.Scope, runs []canonical.ListedRun) ([]canonical.ListedRun, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	states := make([]*redis.SliceCmd, len(runs))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, run := range runs {
			states[i] = p.HMGet(ctx, s.keys(canonical.RunKey{Scope: scope, Run: run.Run}).ledger(), "st")
		}
		return nil
	})
	if err != nil && !answered(err) {
		return nil, err
	}
	var living []canonical.ListedRun
	for i, cmd := range states {
		if err := cmd.Err(); err != nil && !answered(err) {
			return nil, err
		}
		if values := cmd.Val(); len(values) == 1 && values[0] != nil {
			living = append(living, runs[i])
		}
	}
	return living, nil
}
