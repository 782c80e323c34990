package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Outstanding implements [canonical.Effects]. One trip, and another where calls
// are open, since one whose record has expired is not.
func (s *Store) Outstanding(ctx context.Context, run canonical.RunKey) (canonical.Outstanding, error) {
	if err := run.Validate(); err != nil {
		return canonical.Outstanding{}, err
	}
	k := s.keys(run)
	var seen ledgerView
	var open, effects *redis.ZSliceCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		seen = viewLedger(ctx, p, k.ledger())
		open = p.ZRangeWithScores(ctx, k.open(), 0, -1)
		effects = p.ZRangeWithScores(ctx, k.effects(), 0, -1)
		return nil
	})
	now, err := seen.read(ctx, s, "outstanding", err)
	if err != nil {
		return canonical.Outstanding{}, err
	}
	out := canonical.Outstanding{Now: now}
	if out.Open, err = s.due(ctx, "outstanding", k.open(), open); err != nil {
		return canonical.Outstanding{}, err
	}
	if out.Effects, err = s.due(ctx, "outstanding", k.effects(), effects); err != nil {
		return canonical.Outstanding{}, err
	}
	if out.Open, err = s.stillOpen(ctx, k, out.Open); err != nil {
		return canonical.Outstanding{}, trouble(ctx, "outstanding", err)
	}
	return out, nil
}

// due reads the members of a set of names by due time.
func (s *Store) due(ctx context.Context, op, key string, cmd *redis.ZSliceCmd) ([]canonical.OpenCall, error) {
	if err := cmd.Err(); err != nil {
		return nil, s.explainSet(ctx, op, key, err)
	}
	var calls []canonical.OpenCall
	for _, z := range cmd.Val() {
		text, _ := z.Member.(string)
		name, err := canonical.ParseCallName(text)
		if err != nil {
			return nil, refused(op, canonical.CallName{}, canonical.ErrCorrupt)
		}
		call := canonical.OpenCall{Call: name}
		if z.Score > 0 {
			call.Due = time.UnixMilli(int64(z.Score)).UTC()
		}
		calls = append(calls, call)
	}
	return calls, nil
}

func (s *Store) stillOpen(ctx context.Context, k runKeys, calls []canonical.OpenCall) ([]canonical.OpenCall, error) {
	names := make([]canonical.CallName, len(calls))
	for i, call := range calls {
		names[i] = call.Call
	}
	there, err := s.living(ctx, k, names)
	if err != nil {
		return nil, err
	}
	var out []canonical.OpenCall
	for _, call := range calls {
		if len(there) > 0 && there[0] == call.Call {
			out, there = append(out, call), there[1:]
		}
	}
	return out, nil
}

// Sweep implements [canonical.Effects]. Two trips: what is due, then one script
// a call in one pipeline. Each script decides anew. A record that cannot be read
// is the error; the others are swept and answered all the same.
func (s *Store) Sweep(ctx context.Context, m canonical.Sweeping) ([]canonical.Swept, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	k := s.keys(m.Run)
	var seen ledgerView
	var open *redis.ZSliceCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		seen = viewLedger(ctx, p, k.ledger())
		open = p.ZRangeWithScores(ctx, k.open(), 0, int64(m.Max)-1)
		return nil
	})
	now, err := seen.read(ctx, s, "sweep", err)
	if err != nil {
		return nil, err
	}
	calls, err := s.due(ctx, "sweep", k.open(), open)
	if err != nil {
		return nil, err
	}
	var overdue []canonical.CallName
	for _, call := range calls {
		if now.After(call.Due.Add(m.Grace)) {
			overdue = append(overdue, call.Call)
		}
	}
	return s.sweep(ctx, k, m.Grace, overdue)
}

// sweep ends the calls, as far as each script agrees.
func (s *Store) sweep(ctx context.Context, k runKeys, grace time.Duration, calls []canonical.CallName) ([]canonical.Swept, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	meta, err := sweptEnd()
	if err != nil {
		return nil, trouble(ctx, "sweep", err)
	}
	messages := make([]message, len(calls))
	for i, call := range calls {
		messages[i] = message{
			keys: []string{k.ledger(), k.record(call), k.open(), k.effects()},
			args: []any{version(), call.String(), grace.Milliseconds(), meta},
		}
	}
	var swept []canonical.Swept
	for i, got := range s.runAll(ctx, s.lua.sweep, messages) {
		if got.err != nil {
			return nil, trouble(ctx, "sweep", got.err)
		}
		switch r := got.reply; r.word {
		case "swept":
			swept = append(swept, canonical.Swept{Call: calls[i], Code: lifecycle.Code(r.fields[0]), Execution: lifecycle.Execution(r.fields[1])})
		case "early", "ended": // somebody else was here in between
		default: // one record that cannot be read must not keep the others open
			err = common("sweep", calls[i], r)
		}
	}
	return swept, err
}

// explainSet is explain for a sorted set.
func (s *Store) explainSet(ctx context.Context, op, key string, err error) error {
	if !answered(err) {
		return trouble(ctx, op, err)
	}
	kind, asked := s.client.Type(ctx, key).Result()
	if asked == nil && kind != "zset" && kind != "none" {
		return refused(op, canonical.CallName{}, canonical.ErrForeign)
	}
	return trouble(ctx, op, err)
}
