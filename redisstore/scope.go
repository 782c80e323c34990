package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
)

// listSlack is how much longer than its ledger a run stays in the list of its
// scope. The ledger's expiry is chosen in another slot, on a cluster by another
// clock, a moment later.
const listSlack = time.Second

// lifeOf is how long a run of this opening stays in the list, from now on.
func lifeOf(o canonical.Opening) time.Duration {
	return o.Duration.Truncate(time.Millisecond) + o.Limits.RecordTTL.Truncate(time.Millisecond) + ledgerMargin + listSlack
}

// sent is one script on its way.
type sent struct {
	script  *script
	message message
}

// runEach sends scripts in one pipeline, which a cluster client splits by node and
// waits for once. They are judged alone; those that a server did not know go again
// with their text.
func (s *Store) runEach(ctx context.Context, all ...sent) []delivered {
	out := make([]delivered, len(all))
	todo := make([]int, len(all))
	for i := range todo {
		todo[i] = i
	}
	for _, whole := range []bool{false, true} {
		if len(todo) == 0 {
			break
		}
		cmds := make([]*redis.Cmd, len(todo))
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for j, i := range todo {
				cmds[j] = all[i].script.by(ctx, p, whole, all[i].message)
			}
			return nil
		})
		var unknown []int
		for j, i := range todo {
			if unknownScript(cmds[j].Err()) && !whole {
				unknown = append(unknown, i)
				continue
			}
			out[i].reply, out[i].err = all[i].script.reply(cmds[j])
			if cmds[j].Err() == nil && cmds[j].Val() == nil { // nothing was sent
				out[i].err = errors.Join(err, errNotSent)
			}
		}
		todo = unknown
	}
	return out
}

// enlistment is the message that writes a run into the list of its scope, at a
// place that does not lie before least.
func (s *Store) enlistment(o canonical.Opening, least time.Time) sent {
	at := int64(0)
	if !least.IsZero() {
		at = least.UnixMilli()
	}
	return sent{s.lua.enlist, message{
		keys: []string{s.scope(o.Run.Scope).runs()},
		args: []any{string(o.Run.Run), lifeOf(o).Milliseconds(), at},
	}}
}

// enlisted reads where a run stands in the list.
func enlisted(got delivered) (time.Time, error) {
	if got.err != nil {
		return time.Time{}, got.err
	}
	if got.reply.word == "foreign" {
		return time.Time{}, canonical.ErrForeign
	}
	var n numbers
	at := n.time(got.reply.fields[0])
	if n.bad {
		return time.Time{}, &ReplyError{Script: "enlist", Reason: "not a time"}
	}
	return at, nil
}

// openListed opens a run and writes it into the list of its scope, in one trip.
// Where the list turns out to lose the run before its life is over, because
// clocks differ or because an earlier opening came to nothing, a second trip puts
// that right. under is the mark of the reservation under which the run was opened,
// also where the list is to blame for an error.
func (s *Store) openListed(ctx context.Context, o canonical.Opening, open message) (state canonical.RunState, under string, err error) {
	got := s.runEach(ctx, s.enlistment(o, time.Time{}), sent{s.lua.open, open})
	state, under, err = s.openAnswer(ctx, o.Run, got[1])
	if err != nil {
		return canonical.RunState{}, under, err
	}
	at, err := enlisted(got[0])
	if err == nil && at.Before(state.Expires) {
		_, err = enlisted(s.runEach(ctx, s.enlistment(o, state.Expires))[0])
	}
	switch {
	case errors.Is(err, canonical.ErrForeign):
		return canonical.RunState{}, under, refused("open", canonical.CallName{}, canonical.ErrForeign)
	case err != nil:
		return canonical.RunState{}, under, trouble(ctx, "open", err)
	default:
		return state, under, nil
	}
}
