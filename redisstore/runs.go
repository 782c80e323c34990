package redisstore

import (
	"context"
	"crypto/subtle"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
)

// ledgerMargin is how long a ledger outlives the last record that can be
// admitted, so that no record is ever without its guard.
const ledgerMargin = time.Minute

// OpenRun implements [canonical.Runs]. One trip, and now and then one more to
// look at the server's eviction policy; two under a quota, and a third for a run
// that turns out to be there without a reservation. The run is listed in its scope
// with the same trip.
func (s *Store) OpenRun(ctx context.Context, o canonical.Opening) (canonical.RunState, error) {
	if err := o.Validate(); err != nil {
		return canonical.RunState{}, err
	}
	if err := s.refuseEviction(ctx); err != nil {
		return canonical.RunState{}, err
	}
	meta, err := encodeParameters(o)
	if err != nil {
		return canonical.RunState{}, trouble(ctx, "open", err)
	}
	parameters := canonical.Body(meta).SHA256()
	open := message{keys: []string{s.keys(o.Run).ledger()}, args: []any{
		version(), o.Token.Digest(), parameters,
		o.Duration.Milliseconds(), o.Limits.RecordTTL.Milliseconds(), ledgerMargin.Milliseconds(),
		o.Budget.Calls, o.Budget.PerTool, o.Budget.Bytes, meta,
	}}
	if o.Quota.Set() {
		return s.openReserved(ctx, o, open, parameters)
	}
	state, _, err := s.openListed(ctx, o, with(open, ""))
	return state, err
}

// openAnswer reads what the script open answered: the run, and the mark of the
// reservation that it was opened under.
func (s *Store) openAnswer(ctx context.Context, run canonical.RunKey, got delivered) (state canonical.RunState, under string, err error) {
	if got.err != nil {
		return canonical.RunState{}, "", trouble(ctx, "open", got.err)
	}
	switch r := got.reply; r.word {
	case "opened", "stored":
		var n numbers
		now := n.time(r.fields[0])
		last := len(r.fields) - 1
		state, err := decodeLedger(run, now, r.fields[1:last])
		if err != nil || n.bad {
			return canonical.RunState{}, r.fields[last], refused("open", canonical.CallName{}, canonical.ErrCorrupt)
		}
		return state, r.fields[last], nil
	case "taken":
		return canonical.RunState{}, "", refused("open", canonical.CallName{}, canonical.ErrRunTaken)
	case "conflict":
		return canonical.RunState{}, "", refused("open", canonical.CallName{}, canonical.ErrRunConflict)
	default:
		return canonical.RunState{}, "", common("open", canonical.CallName{}, r)
	}
}

// JoinRun implements [canonical.Runs]. One trip.
func (s *Store) JoinRun(ctx context.Context, run canonical.RunKey, token canonical.Token) (canonical.RunState, error) {
	return s.look(ctx, "join", run, func(digest string) bool {
		return subtle.ConstantTimeCompare([]byte(digest), []byte(token.Digest())) == 1
	})
}

// Inspect implements [canonical.Runs]. One trip.
func (s *Store) Inspect(ctx context.Context, run canonical.RunKey) (canonical.RunState, error) {
	return s.look(ctx, "inspect", run, func(string) bool { return true })
}

func (s *Store) look(ctx context.Context, op string, run canonical.RunKey, mine func(digest string) bool) (canonical.RunState, error) {
	if err := run.Validate(); err != nil {
		return canonical.RunState{}, err
	}
	var seen ledgerView
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		seen = viewLedger(ctx, p, s.keys(run).ledger())
		return nil
	})
	now, err := seen.read(ctx, s, op, err)
	if err != nil {
		return canonical.RunState{}, err
	}
	if !mine(seen.values["tk"]) {
		return canonical.RunState{}, refused(op, canonical.CallName{}, canonical.ErrRunTaken)
	}
	list := make([]string, len(ledgerFields))
	for i, name := range ledgerFields {
		list[i] = seen.values[name]
	}
	state, err := decodeLedger(run, now, list)
	if err != nil {
		return canonical.RunState{}, refused(op, canonical.CallName{}, err)
	}
	return state, nil
}

// CloseRun implements [canonical.Runs]. One trip, another where the run has a
// reservation to give back, and another where calls are open, since one whose
// record has expired is not. What c has seen is not sent:
// a closed run admits nothing, whether it lost writes or not.
func (s *Store) CloseRun(ctx context.Context, c canonical.Closing) (canonical.ClosedRun, error) {
	if err := c.Run.Validate(); err != nil {
		return canonical.ClosedRun{}, err
	}
	k := s.keys(c.Run)
	r, err := s.run(ctx, s.lua.close, message{
		keys: []string{k.ledger(), k.open(), k.effects()},
		args: []any{version(), c.Token.Digest()},
	})
	if err != nil {
		return canonical.ClosedRun{}, trouble(ctx, "close", err)
	}
	switch r.word {
	case "closed":
		if err := s.giveBack(ctx, c.Run, r); err != nil {
			return canonical.ClosedRun{}, err
		}
		return s.closed(ctx, k, r)
	case "missing":
		return canonical.ClosedRun{}, refused("close", canonical.CallName{}, canonical.ErrRunMissing)
	case "taken":
		return canonical.ClosedRun{}, refused("close", canonical.CallName{}, canonical.ErrRunTaken)
	default:
		return canonical.ClosedRun{}, common("close", canonical.CallName{}, r)
	}
}

// giveBack brings the reservation of a closed run, if it has one, down to what
// the run holds.
func (s *Store) giveBack(ctx context.Context, run canonical.RunKey, r reply) error {
	mark := r.fields[3]
	if mark == "" {
		return nil
	}
	var n numbers
	h := holding{records: n.int(r.fields[0]), bytes: n.int(r.fields[2]), seen: n.time(r.fields[4])}
	if n.bad {
		return refused("close", canonical.CallName{}, canonical.ErrCorrupt)
	}
	return s.release(ctx, "close", run, mark, h)
}

func (s *Store) closed(ctx context.Context, k runKeys, r reply) (canonical.ClosedRun, error) {
	var n numbers
	last, count := n.int(r.fields[0]), n.int(r.fields[1])
	members := r.fields[5:]
	if n.bad || count < 0 || count > int64(len(members)) {
		return canonical.ClosedRun{}, trouble(ctx, "close", &ReplyError{Script: "close", Reason: "counts do not fit"})
	}
	names, err := parseNames(members)
	if err != nil {
		return canonical.ClosedRun{}, refused("close", canonical.CallName{}, err)
	}
	open, err := s.living(ctx, k, names[:count])
	if err != nil {
		return canonical.ClosedRun{}, trouble(ctx, "close", err)
	}
	return canonical.ClosedRun{LastSeq: last, Open: open, Unresolved: names[count:]}, nil
}

// living drops the calls whose record is gone.
func (s *Store) living(ctx context.Context, k runKeys, calls []canonical.CallName) ([]canonical.CallName, error) {
	if len(calls) == 0 {
		return calls, nil
	}
	states := make([]*redis.SliceCmd, len(calls))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, call := range calls {
			states[i] = p.HMGet(ctx, k.record(call), "st")
		}
		return nil
	})
	if err != nil && !answered(err) {
		return nil, err
	}
	var there []canonical.CallName
	for i, cmd := range states {
		if values := cmd.Val(); cmd.Err() == nil && len(values) == 1 && values[0] != nil {
			there = append(there, calls[i])
		}
	}
	return there, nil
}

// parseNames reads members of the run's sets.
func parseNames(members []string) ([]canonical.CallName, error) {
	var names []canonical.CallName
	for _, text := range members {
		name, err := canonical.ParseCallName(text)
		if err != nil {
			return nil, canonical.ErrCorrupt
		}
		names = append(names, name)
	}
	return names, nil
}

// ledgerView is the part of a reading pipeline that looks at the ledger. The
// server's time is the ledger's expiry less what is left of its life: TIME,
// which has no key, would ask any node of a cluster.
type ledgerView struct {
	key    string
	fields *redis.SliceCmd
	left   *redis.DurationCmd
	values hash
}

func ledgerViewFields() []string { return append([]string{"v", "tk"}, ledgerFields[:]...) }

func viewLedger(ctx context.Context, p redis.Pipeliner, key string) ledgerView {
	return ledgerView{key: key, fields: p.HMGet(ctx, key, ledgerViewFields()...), left: p.PTTL(ctx, key)}
}

// read gives the server's time, or why there is no ledger to read. err is what
// the pipeline answered.
func (v *ledgerView) read(ctx context.Context, s *Store, op string, err error) (time.Time, error) {
	none := canonical.CallName{}
	if err != nil && !answered(err) {
		return time.Time{}, trouble(ctx, op, err)
	}
	if err := v.fields.Err(); err != nil {
		return time.Time{}, s.explain(ctx, op, none, v.key, err)
	}
	v.values = present(ledgerViewFields(), v.fields.Val())
	if _, there := v.values["st"]; !there || v.left.Val() == -2 {
		return time.Time{}, refused(op, none, canonical.ErrRunMissing)
	}
	if err := v.left.Err(); err != nil {
		return time.Time{}, trouble(ctx, op, err)
	}
	var n numbers
	if newerLedger(v.values["v"]) {
		return time.Time{}, refused(op, none, canonical.ErrNewerVersion)
	}
	expires := n.time(v.values["ex"])
	if n.bad || v.left.Val() < 0 {
		return time.Time{}, refused(op, none, canonical.ErrCorrupt)
	}
	return expires.Add(-v.left.Val()), nil
}

// explain tells a key of a foreign type from trouble, by asking for the type
// and not by the words of the error.
func (s *Store) explain(ctx context.Context, op string, call canonical.CallName, key string, err error) error {
	if !answered(err) {
		return trouble(ctx, op, err)
	}
	kind, asked := s.client.Type(ctx, key).Result()
	if asked == nil && kind != "hash" && kind != "none" {
		return refused(op, call, canonical.ErrForeign)
	}
	return trouble(ctx, op, err)
}
