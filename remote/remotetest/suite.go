package remotetest

import (
	"context"
	"testing"
	"time"

	"github.com/toolharness/harness/remote"
)

// Peer is a connected transport and what a clause needs to disturb it.
type Peer struct {
	Transport remote.Transport
	Caller    remote.Caller // whom the other end must be shown
	Secret    string        // the credential of the channel, which no error may have; empty: none

	Revoke    func() // the channel no longer proves the caller
	DropReply func() // the next answer is lost after the other end has made it
	Gone      func() // there is no peer any more
}

// Clause is one rule of the contract and its check.
type Clause struct {
	Number, Name string
	check        func(context.Context, Peer, *Recorder) error
}

// Check runs the clause on a transport that connect makes. An error says how the
// transport breaks it.
func (c Clause) Check(ctx context.Context, connect func(remote.Handler) Peer) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	r := newRecorder()
	return c.check(ctx, connect(r), r)
}

// checkLimit is how long one clause may take on a busy machine.
const checkLimit = time.Minute

// Clauses are the rules, in the order of the contract.
func Clauses() []Clause {
	return []Clause{
		{"N01", "unchanged_both_ways", unchanged},
		{"N02", "refusals_arrive", refusals},
		{"N03", "caller_of_every_call", callers},
		{"N04", "execute_at_most_once", atMostOnce},
		{"N05", "context_ends_the_waiting", contextEnds},
		{"N06", "lost_answers_are_errors", lostAnswers},
		{"N07", "answers_do_not_mix", concurrent},
		{"N08", "sizes", sizes},
		{"N09", "errors_hold_no_bodies", quietErrors},
		{"N10", "no_peer", noPeer},
		{"N11", "nothing_cached", notCached},
	}
}

// Run runs every clause as a subtest.
func Run(t *testing.T, connect func(*testing.T, remote.Handler) Peer) {
	t.Helper()
	for _, c := range Clauses() {
		t.Run(c.Number+"_"+c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Check(t.Context(), func(h remote.Handler) Peer { return connect(t, h) }); err != nil {
				t.Error(err)
			}
		})
	}
}
