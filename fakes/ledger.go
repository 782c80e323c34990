package fakes

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/toolharness/harness/canonical"
)

// ledger is what a run is judged by: its parameters, counters, and the guard of
// every name that was ever admitted.
type ledger struct {
	opening  canonical.Opening // without the token
	token    string            // digest
	version  int
	deadline time.Time
	expires  time.Time
	closed   bool
	damaged  bool
	lastSeq  int64
	tools    map[string]int
	seen     map[canonical.CallName]int64
	evidence map[canonical.EvidenceID]canonical.CallName
	reserved int64
}

func (l ledger) clone() ledger {
	l.tools, l.seen, l.evidence = maps.Clone(l.tools), maps.Clone(l.seen), maps.Clone(l.evidence)
	return l
}

// notice marks the run when a message knows of an admission that the ledger
// does not (K08).
func (l *ledger) notice(seen int64) {
	if seen > l.lastSeq {
		l.damaged = true
	}
}

// readable refuses a ledger that this version must not touch (K25).
func (l *ledger) readable(op string) error {
	if l.version > canonical.SchemaVersion {
		return refuse(op, canonical.CallName{}, canonical.ErrNewerVersion)
	}
	return nil
}

func (l *ledger) phase() canonical.Phase {
	switch {
	case l.closed:
		return canonical.RunClosed
	case l.damaged:
		return canonical.RunDamaged
	default:
		return canonical.RunOpen
	}
}

func (l *ledger) state(now time.Time) canonical.RunState {
	o := l.opening
	return canonical.RunState{
		Run: o.Run, Phase: l.phase(), Principal: o.Principal, Budget: o.Budget, Limits: o.Limits,
		Continues: slices.Clone(o.Continues),
		Now:       now, Left: l.deadline.Sub(now), Deadline: l.deadline, Expires: l.expires,
		LastSeq: l.lastSeq, Reserved: l.reserved,
	}
}

// OpenRun implements [canonical.Runs].
func (s *Store) OpenRun(ctx context.Context, o canonical.Opening) (canonical.RunState, error) {
	if err := o.Validate(); err != nil {
		return canonical.RunState{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.RunState{}, err
	}
	defer leave()
	now := s.now()
	if r := s.find(o.Run, now); r != nil {
		return r.ledger.reopen(o, now)
	}
	if err := s.mayReserve(o, now); err != nil {
		return canonical.RunState{}, err
	}
	r := newRun(o, now)
	s.runs[o.Run] = r
	return r.ledger.state(now), nil
}

// reopen answers an opening of a run that is there.
func (l *ledger) reopen(o canonical.Opening, now time.Time) (canonical.RunState, error) {
	if err := l.readable("open"); err != nil {
		return canonical.RunState{}, err
	}
	if o.Token.Digest() != l.token {
		return canonical.RunState{}, refuse("open", canonical.CallName{}, canonical.ErrRunTaken)
	}
	was := l.opening
	same := o.Principal == was.Principal && o.Duration == was.Duration && o.Budget == was.Budget &&
		o.Limits == was.Limits && slices.Equal(o.Continues, was.Continues)
	if !same {
		return canonical.RunState{}, refuse("open", canonical.CallName{}, canonical.ErrRunConflict)
	}
	return l.state(now), nil
}

// newRun sets every expiry of the run. No later message changes one. The ledger
// outlives the last record that can be admitted before the deadline.
func newRun(o canonical.Opening, now time.Time) *run {
	token := o.Token.Digest()
	o.Token = ""
	o.Continues = slices.Clone(o.Continues)
	var reserved *share
	if o.Quota.Set() {
		reserved = &share{records: int64(o.Budget.Calls), bytes: o.Budget.Bytes}
	}
	deadline := now.Add(o.Duration.Truncate(time.Millisecond))
	return &run{
		ledger: ledger{
			opening: o, token: token, version: canonical.SchemaVersion,
			deadline: deadline, expires: deadline.Add(o.Limits.RecordTTL.Truncate(time.Millisecond)),
			tools: map[string]int{}, seen: map[canonical.CallName]int64{}, evidence: map[canonical.EvidenceID]canonical.CallName{},
		},
		records: map[canonical.CallName]*record{},
		open:    map[canonical.CallName]time.Time{},
		effects: map[canonical.CallName]time.Time{},
		settled: map[canonical.CallName]*settlement{},
		foreign: map[canonical.CallName]bool{},
		share:   reserved,
	}
}

// JoinRun implements [canonical.Runs].
func (s *Store) JoinRun(ctx context.Context, key canonical.RunKey, token canonical.Token) (canonical.RunState, error) {
	return s.look(ctx, "join", key, func(l *ledger) bool { return token.Digest() == l.token })
}

// Inspect implements [canonical.Runs].
func (s *Store) Inspect(ctx context.Context, key canonical.RunKey) (canonical.RunState, error) {
	return s.look(ctx, "inspect", key, func(*ledger) bool { return true })
}

func (s *Store) look(ctx context.Context, op string, key canonical.RunKey, mine func(*ledger) bool) (canonical.RunState, error) {
	if err := key.Validate(); err != nil {
		return canonical.RunState{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.RunState{}, err
	}
	defer leave()
	now := s.now()
	r := s.find(key, now)
	if r == nil {
		return canonical.RunState{}, refuse(op, canonical.CallName{}, canonical.ErrRunMissing)
	}
	if err := r.ledger.readable(op); err != nil {
		return canonical.RunState{}, err
	}
	if !mine(&r.ledger) {
		return canonical.RunState{}, refuse(op, canonical.CallName{}, canonical.ErrRunTaken)
	}
	return r.ledger.state(now), nil
}

// CloseRun implements [canonical.Runs].
func (s *Store) CloseRun(ctx context.Context, c canonical.Closing) (canonical.ClosedRun, error) {
	if err := c.Run.Validate(); err != nil {
		return canonical.ClosedRun{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.ClosedRun{}, err
	}
	defer leave()
	r := s.find(c.Run, s.now())
	if r == nil {
		return canonical.ClosedRun{}, refuse("close", canonical.CallName{}, canonical.ErrRunMissing)
	}
	if err := r.ledger.readable("close"); err != nil {
		return canonical.ClosedRun{}, err
	}
	if c.Token.Digest() != r.ledger.token {
		return canonical.ClosedRun{}, refuse("close", canonical.CallName{}, canonical.ErrRunTaken)
	}
	r.ledger.notice(c.Seen)
	r.ledger.closed = true
	r.release()
	return canonical.ClosedRun{LastSeq: r.ledger.lastSeq, Open: names(r.openCalls()), Unresolved: names(byDue(r.effects))}, nil
}
