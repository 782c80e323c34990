package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
)

// A reservation is marked with the opening that made it, token and parameters
// together. Two openings of one run hold one each until the ledger says whose run
// it is; the other gives its own back, and cannot give back what is not its own.
const (
	markDigits = 16  // of the digest over both
	noRoom     = "-" // in place of a mark: look for the run, and do not open one
)

// listName is the member under which a reservation stands.
func listName(run canonical.RunID, mark string) string { return string(run) + ":" + mark }

// prunings bounds how often reserve is sent again because too many reservations
// were over; each time a thousand of them go.
const prunings = 10_000

// openReserved opens a run under its scope's quota: the reservation first, then
// list and ledger. Where there is no room the ledger is looked for all the same,
// since a run that is there needs none.
func (s *Store) openReserved(ctx context.Context, o canonical.Opening, open message, parameters string) (canonical.RunState, error) {
	mark := canonical.Body(o.Token.Digest() + ":" + parameters).SHA256()[:markDigits]
	full, err := s.reserve(ctx, o, mark)
	if err != nil {
		return canonical.RunState{}, err
	}
	if full != nil {
		return s.lookFor(ctx, o, open, full)
	}
	state, under, err := s.openListed(ctx, o, with(open, mark))
	var no *canonical.RefusedError
	if under == mark || err != nil && !errors.As(err, &no) || errors.Is(err, canonical.ErrNewerVersion) {
		return state, err // ours, or not known whose
	}
	if gave := s.release(ctx, "open", o.Run, mark, holding{records: -1}); gave != nil {
		return canonical.RunState{}, gave
	}
	return state, err
}

// with is an opening under a reservation.
func with(open message, mark string) message {
	open.args = append(open.args[:len(open.args):len(open.args)], mark)
	return open
}

// reserve sets the capacity of a run aside. full is the refusal where there is no
// room.
func (s *Store) reserve(ctx context.Context, o canonical.Opening, mark string) (full, err error) {
	const op = "open"
	none := canonical.CallName{}
	k := s.scope(o.Run.Scope)
	records, bytes := o.Quota.Limits()
	m := message{keys: []string{k.held(), k.quota()}, args: []any{
		listName(o.Run.Run, mark), o.Budget.Calls, o.Budget.Bytes, lifeOf(o).Milliseconds(), records, bytes}}
	for range prunings {
		r, err := s.run(ctx, s.lua.reserve, m)
		if err != nil {
			return nil, trouble(ctx, op, err)
		}
		switch r.word {
		case "reserved", "held":
			return nil, nil
		case "more":
		case "full":
			var n numbers
			no := refused(op, none, canonical.ErrQuota)
			if no.Wanted, no.Limit = n.int(r.fields[0]), n.int(r.fields[1]); n.bad {
				return nil, refused(op, none, canonical.ErrCorrupt)
			}
			return no, nil
		default:
			return nil, common(op, none, r)
		}
	}
	return nil, trouble(ctx, op, errPruning)
}

var errPruning = errors.New("reservations that are over did not come to an end")

// lookFor answers an opening for which there is no room.
func (s *Store) lookFor(ctx context.Context, o canonical.Opening, open message, full error) (canonical.RunState, error) {
	r, err := s.run(ctx, s.lua.open, with(open, noRoom))
	if err == nil && r.word == "absent" {
		return canonical.RunState{}, full
	}
	state, _, err := s.openAnswer(ctx, o.Run, delivered{r, err})
	return state, err
}

// holding is what a run holds of its reservation, and when it was seen to.
type holding struct {
	records, bytes int64
	seen           time.Time
}

// release brings a reservation down to what its run holds.
func (s *Store) release(ctx context.Context, op string, run canonical.RunKey, mark string, h holding) error {
	k := s.scope(run.Scope)
	seen := int64(0)
	if !h.seen.IsZero() {
		seen = h.seen.UnixMilli()
	}
	r, err := s.run(ctx, s.lua.release, message{
		keys: []string{k.held(), k.quota()},
		args: []any{listName(run.Run, mark), h.records, h.bytes, seen},
	})
	switch {
	case err != nil:
		return trouble(ctx, op, err)
	case r.word == "foreign":
		return refused(op, canonical.CallName{}, canonical.ErrForeign)
	default: // kept, gone with its time, or told by somebody who looked later
		return nil
	}
}

// ReleaseRun implements [canonical.Quotas]. Two trips, one where there is nothing
// to give back.
func (s *Store) ReleaseRun(ctx context.Context, run canonical.RunKey) error {
	const op = "release"
	if err := run.Validate(); err != nil {
		return err
	}
	var seen ledgerView
	var under *redis.SliceCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		seen = viewLedger(ctx, p, s.keys(run).ledger())
		under = p.HMGet(ctx, s.keys(run).ledger(), "qm")
		return nil
	})
	now, err := seen.read(ctx, s, op, err)
	if err != nil {
		return err
	}
	mark := present([]string{"qm"}, under.Val())["qm"]
	if mark == "" || canonical.Phase(seen.values["st"]) != canonical.RunClosed {
		return nil
	}
	var n numbers
	h := holding{records: n.int(seen.values["sq"]), bytes: n.int(seen.values["rs"]), seen: now}
	if n.bad {
		return refused(op, canonical.CallName{}, canonical.ErrCorrupt)
	}
	return s.release(ctx, op, run, mark, h)
}

// ScopeUse implements [canonical.Quotas]. One trip.
func (s *Store) ScopeUse(ctx context.Context, scope canonical.Scope) (canonical.Use, error) {
	const op = "scope use"
	if err := scope.Validate(); err != nil {
		return canonical.Use{}, err
	}
	k := s.scope(scope)
	r, err := s.run(ctx, s.lua.use, message{keys: []string{k.held(), k.quota()}})
	if err != nil {
		return canonical.Use{}, trouble(ctx, op, err)
	}
	if r.word != "use" {
		return canonical.Use{}, common(op, canonical.CallName{}, r)
	}
	var n numbers
	runs, bad := strconv.Atoi(r.fields[0])
	use := canonical.Use{Runs: runs, Records: n.int(r.fields[1]), Bytes: n.int(r.fields[2])}
	if n.bad || bad != nil {
		return canonical.Use{}, refused(op, canonical.CallName{}, canonical.ErrCorrupt)
	}
	return use, nil
}
