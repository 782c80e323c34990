package storetest_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

// odd is a correct store that is built like no other: it keeps one list of
// everything that was ever accepted, of all runs, and answers each question by
// reading it from the start. It answers in another time zone, wraps its
// refusals, keeps runs longer than it must, claims to have synced, and lets
// others in between the parts of a list.
type odd struct {
	clock  *fakes.Clock
	margin time.Duration // how much longer than it must a run is kept
	mu     sync.Mutex
	log    []event
}

// event is one accepted message, with the time of its acceptance.
type event struct {
	at   time.Time
	run  canonical.RunKey
	call canonical.CallName
	what any // an Opening, Admission, ...; verdict of a sweep
}

type (
	closed   struct{}
	damaged  struct{}
	released struct{}
	deleted  struct{}
	swept    lifecycle.Completion
	settled  canonical.Ending
)

// oddRun is what reading the list gives for one run.
type oddRun struct {
	opening           canonical.Opening
	opened            time.Time
	isClosed, isLost  bool
	order             []canonical.CallName
	calls             map[canonical.CallName]*oddCall
	late              map[canonical.CallName]event
	verdicts          map[canonical.CallName]canonical.Resolution
	reserved          int64
	share             canonical.Use // what it has reserved of its scope's quota, if anything
	now               time.Time
	deadline, expires time.Time
}

type oddCall struct {
	a                  canonical.Admission
	seq                int64
	born, ended        time.Time
	raw                canonical.Raw
	verdict            lifecycle.Completion
	ending             canonical.Ending
	bySweep, isDeleted bool
	stage              canonical.Stage
}

func (c *oddCall) state() lifecycle.State {
	if c.verdict.State == "" {
		return lifecycle.Projecting
	}
	return c.verdict.State
}

func (c *oddCall) expires() time.Time { return c.born.Add(c.a.TTL) }

func (c *oddCall) due(r *oddRun) time.Time {
	return c.born.Add(min(c.a.Timeout, r.deadline.Sub(c.born)) + c.a.Closing)
}

func (c *oddCall) held() int64 {
	return int64(len(c.a.Request) + len(c.raw.Bytes) + len(c.ending.Agent) + len(c.ending.Facts) + len(c.ending.Coverage))
}

// pending reports whether the call's effect is waited for, and until when.
func (c *oddCall) pending(r *oddRun) (time.Time, bool) {
	_, resolved := r.verdicts[c.a.Call]
	switch {
	case c.a.Effect.Read() || c.raw.Present() && c.state() == lifecycle.Projecting:
		return time.Time{}, false
	case c.state() == lifecycle.Projecting:
		return c.due(r), true
	default:
		return time.Time{}, c.verdict.Execution == lifecycle.Unknown && !resolved
	}
}

// read goes through the list; nil when the run's life is over or never began.
func (s *odd) read(key canonical.RunKey) *oddRun {
	now := s.clock.Now().Truncate(time.Millisecond)
	var r *oddRun
	for _, e := range s.log {
		if e.run != key {
			continue
		}
		if o, ok := e.what.(canonical.Opening); ok { // a new life; the one before is over
			r = &oddRun{opening: o, opened: e.at, calls: map[canonical.CallName]*oddCall{}, late: map[canonical.CallName]event{}, verdicts: map[canonical.CallName]canonical.Resolution{}}
			r.deadline = e.at.Add(o.Duration)
			if o.Quota != (canonical.Quota{}) {
				r.share = canonical.Use{Runs: 1, Records: int64(o.Budget.Calls), Bytes: o.Budget.Bytes}
			}
			r.expires = r.deadline.Add(o.Limits.RecordTTL + s.margin)
			continue
		}
		r.apply(e)
	}
	if r == nil || !now.Before(r.expires) {
		return nil
	}
	r.now = now
	return r
}

func (r *oddRun) apply(e event) {
	c := r.calls[e.call]
	switch m := e.what.(type) {
	case closed:
		r.isClosed = true
	case damaged:
		r.isLost = true
	case released:
		if r.share.Runs > 0 {
			r.share.Records, r.share.Bytes = int64(len(r.order)), r.reserved
		}
	case canonical.Admission:
		r.order = append(r.order, e.call)
		r.calls[e.call] = &oddCall{a: m, born: e.at, seq: int64(len(r.order))}
		r.reserved += m.Reserve
	case canonical.Saving:
		c.raw = m.Raw
	case canonical.Ending:
		if !c.raw.Present() {
			c.raw = m.Raw
		}
		c.ending, c.stage = m, m.Stage
		r.finish(c, m.Verdict, e.at)
	case swept:
		c.bySweep, c.stage = true, canonical.StageSweep
		r.finish(c, lifecycle.Completion(m), e.at)
	case settled:
		r.late[e.call] = e
	case canonical.Resolution:
		r.verdicts[e.call] = m
	case deleted:
		r.reserved -= c.held()
		c.isDeleted = true
		delete(r.late, e.call)
	}
}

func (r *oddRun) finish(c *oddCall, v lifecycle.Completion, at time.Time) {
	c.verdict, c.ended = v, at
	r.reserved += c.held() - c.a.Reserve
}

// there is the record of a name, if it has one now.
func (r *oddRun) there(name canonical.CallName) *oddCall {
	if r == nil {
		return nil
	}
	if c := r.calls[name]; c != nil && !c.isDeleted && r.now.Before(c.expires()) {
		return c
	}
	return nil
}

func (s *odd) note(r *oddRun, call canonical.CallName, what any) {
	s.log = append(s.log, event{r.now, r.opening.Run, call, what})
}

func (s *odd) enter(ctx context.Context) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

func no(sentinel error, first lifecycle.State) error {
	return fmt.Errorf("odd store: %w", &canonical.RefusedError{Op: "odd", Err: sentinel, First: first})
}

const synced = "fsync"

func elsewhere(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.In(time.FixedZone("elsewhere", 5*3600+45*60))
}

func (r *oddRun) state() canonical.RunState {
	phase := canonical.RunOpen
	if r.isLost {
		phase = canonical.RunDamaged
	}
	if r.isClosed {
		phase = canonical.RunClosed
	}
	o := r.opening
	return canonical.RunState{
		Run: o.Run, Phase: phase, Principal: o.Principal, Budget: o.Budget, Limits: o.Limits, Continues: slices.Clone(o.Continues),
		Now: elsewhere(r.now), Left: r.deadline.Sub(r.now), Deadline: elsewhere(r.deadline), Expires: elsewhere(r.expires), LastSeq: int64(len(r.order)), Reserved: r.reserved,
	}
}

// notice marks a run that has lost something.
func (s *odd) notice(r *oddRun, seen int64) {
	if seen > int64(len(r.order)) && !r.isLost {
		r.isLost = true
		s.note(r, canonical.CallName{}, damaged{})
	}
}

func (s *odd) OpenRun(ctx context.Context, o canonical.Opening) (canonical.RunState, error) {
	if err := o.Validate(); err != nil {
		return canonical.RunState{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.RunState{}, err
	}
	defer leave()
	o.Continues = slices.Clone(o.Continues)
	r := s.read(o.Run)
	if r == nil && !s.fits(o) {
		return canonical.RunState{}, s.noQuota(o)
	}
	if r == nil {
		s.log = append(s.log, event{at: s.clock.Now().Truncate(time.Millisecond), run: o.Run, what: o})
		return s.read(o.Run).state(), nil
	}
	if o.Token != r.opening.Token {
		return canonical.RunState{}, no(canonical.ErrRunTaken, "")
	}
	o.Quota = r.opening.Quota
	if fmt.Sprintf("%+v", o) != fmt.Sprintf("%+v", r.opening) {
		return canonical.RunState{}, no(canonical.ErrRunConflict, "")
	}
	return r.state(), nil
}

// with finds the run for a method that needs one.
func (s *odd) with(ctx context.Context, key canonical.RunKey, do func(*oddRun) error) error {
	if err := key.Validate(); err != nil {
		return err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r := s.read(key)
	if r == nil {
		return no(canonical.ErrRunMissing, "")
	}
	return do(r)
}

func (s *odd) JoinRun(ctx context.Context, key canonical.RunKey, token canonical.Token) (state canonical.RunState, err error) {
	err = s.with(ctx, key, func(r *oddRun) error {
		if token != r.opening.Token {
			return no(canonical.ErrRunTaken, "")
		}
		state = r.state()
		return nil
	})
	return state, err
}

func (s *odd) Inspect(ctx context.Context, key canonical.RunKey) (state canonical.RunState, err error) {
	err = s.with(ctx, key, func(r *oddRun) error { state = r.state(); return nil })
	return state, err
}

func (s *odd) CloseRun(ctx context.Context, c canonical.Closing) (out canonical.ClosedRun, err error) {
	err = s.with(ctx, c.Run, func(r *oddRun) error {
		if c.Token != r.opening.Token {
			return no(canonical.ErrRunTaken, "")
		}
		s.notice(r, c.Seen)
		if !r.isClosed {
			s.note(r, canonical.CallName{}, closed{})
		}
		s.note(s.read(c.Run), canonical.CallName{}, released{})
		open, effects := r.waiting()
		out.LastSeq = int64(len(r.order))
		for _, c := range open {
			out.Open = append(out.Open, c.Call)
		}
		for _, c := range effects {
			out.Unresolved = append(out.Unresolved, c.Call)
		}
		return nil
	})
	return out, err
}

// waiting lists open calls and effects, in order of due time.
func (r *oddRun) waiting() (open, effects []canonical.OpenCall) {
	for _, name := range r.order {
		c := r.calls[name]
		if c == r.there(name) && c.state() == lifecycle.Projecting {
			open = append(open, canonical.OpenCall{Call: name, Due: elsewhere(c.due(r))})
		}
		if due, waits := c.pending(r); waits {
			effects = append(effects, canonical.OpenCall{Call: name, Due: elsewhere(due)})
		}
	}
	byDue := func(a, b canonical.OpenCall) int { return a.Due.Compare(b.Due) }
	slices.SortStableFunc(open, byDue)
	slices.SortStableFunc(effects, byDue)
	return open, effects
}

func (s *odd) Outstanding(ctx context.Context, key canonical.RunKey) (out canonical.Outstanding, err error) {
	err = s.with(ctx, key, func(r *oddRun) error {
		out.Now = elsewhere(r.now)
		out.Open, out.Effects = r.waiting()
		return nil
	})
	return out, err
}

func (s *odd) Order(ctx context.Context, key canonical.RunKey, after int64, most int) (page []canonical.Numbered, err error) {
	err = s.with(ctx, key, func(r *oddRun) error {
		for i := len(r.order) - 1; i >= 0; i-- { // from the end, and sorted afterwards
			page = append(page, canonical.Numbered{Seq: int64(i + 1), Call: r.order[i]})
		}
		slices.SortFunc(page, func(a, b canonical.Numbered) int { return cmp.Compare(a.Seq, b.Seq) })
		page = slices.DeleteFunc(page, func(n canonical.Numbered) bool { return n.Seq <= after })
		page = page[:min(len(page), most)]
		return nil
	})
	return page, err
}

// keys is one name for each living run: the list, as far as it is about it.
func (s *odd) keys(key canonical.RunKey) []storetest.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.read(key)
	if r == nil {
		return nil
	}
	return []storetest.Key{{Name: "list", Expires: elsewhere(r.expires)}}
}

func (s *odd) fingerprint(key canonical.RunKey) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.log {
		if e.run == key {
			n++
		}
	}
	return fmt.Sprint(n, " accepted messages")
}

func newOdd(margin time.Duration) storetest.Harness {
	s := &odd{clock: fakes.NewClock(), margin: margin}
	return storetest.Harness{Store: s, Now: s.clock.Now, Advance: s.clock.Advance, Keys: s.keys, Fingerprint: s.fingerprint}
}

func TestSuite_accepts_an_odd_store(t *testing.T) {
	t.Parallel()
	for _, f := range storetest.Check(func() storetest.Harness { return newOdd(time.Hour) }) {
		t.Errorf("%s: %s", f.Subtest, f.Message)
	}
}
