package redisstore_test

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/toolharness/harness/canonical"
)

// shifted is a store whose callers live in a time that is ahead of the server's.
// The suite moves time by hours, and a real server's clock does not move: shift
// moves the stored times back instead, and this store adds the difference to
// every time that is answered and takes it from every time that is sent.
type shifted struct {
	canonical.Store
	ahead atomic.Int64 // nanoseconds, whole milliseconds
}

func (s *shifted) offset() time.Duration { return time.Duration(s.ahead.Load()) }

func (s *shifted) out(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(s.offset())
}

func (s *shifted) in(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-s.offset())
}

func (s *shifted) run(r canonical.RunState, err error) (canonical.RunState, error) {
	r.Now, r.Deadline, r.Expires = s.out(r.Now), s.out(r.Deadline), s.out(r.Expires)
	return r, err
}

func (s *shifted) OpenRun(ctx context.Context, o canonical.Opening) (canonical.RunState, error) {
	return s.run(s.Store.OpenRun(ctx, o))
}

func (s *shifted) JoinRun(ctx context.Context, run canonical.RunKey, token canonical.Token) (canonical.RunState, error) {
	return s.run(s.Store.JoinRun(ctx, run, token))
}

func (s *shifted) Inspect(ctx context.Context, run canonical.RunKey) (canonical.RunState, error) {
	return s.run(s.Store.Inspect(ctx, run))
}

func (s *shifted) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	a.NotAfter = s.in(a.NotAfter)
	got, err := s.Store.Admit(ctx, a)
	got.Now, got.Due, got.Expires = s.out(got.Now), s.out(got.Due), s.out(got.Expires)
	return got, err
}

// AdmitBatch implements [canonical.Batcher].
func (s *shifted) AdmitBatch(ctx context.Context, messages []canonical.Admission) []canonical.AdmitAnswer {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].NotAfter = s.in(messages[i].NotAfter)
	}
	answers := s.Store.(canonical.Batcher).AdmitBatch(ctx, messages)
	for i := range answers {
		a := &answers[i].Admitted
		a.Now, a.Due, a.Expires = s.out(a.Now), s.out(a.Due), s.out(a.Expires)
	}
	return answers
}

// CompleteBatch implements [canonical.Batcher].
func (s *shifted) CompleteBatch(ctx context.Context, messages []canonical.Ending) []canonical.EndAnswer {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].Expires = s.in(messages[i].Expires)
	}
	return s.Store.(canonical.Batcher).CompleteBatch(ctx, messages)
}

func (s *shifted) Save(ctx context.Context, m canonical.Saving) (canonical.Ended, error) {
	m.Expires = s.in(m.Expires)
	return s.Store.Save(ctx, m)
}

func (s *shifted) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	e.Expires = s.in(e.Expires)
	return s.Store.Complete(ctx, e)
}

func (s *shifted) Settle(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	e.Expires = s.in(e.Expires)
	return s.Store.Settle(ctx, e)
}

func (s *shifted) Outstanding(ctx context.Context, run canonical.RunKey) (canonical.Outstanding, error) {
	got, err := s.Store.Outstanding(ctx, run)
	got.Now = s.out(got.Now)
	for _, list := range [][]canonical.OpenCall{got.Open, got.Effects} {
		for i := range list {
			list[i].Due = s.out(list[i].Due)
		}
	}
	return got, err
}

func (s *shifted) ListRuns(ctx context.Context, scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
	after.Expires = s.in(after.Expires)
	list, err := s.Store.ListRuns(ctx, scope, after, most)
	for i := range list {
		list[i].Expires = s.out(list[i].Expires)
	}
	return list, err
}

func (s *shifted) head(h canonical.Head) canonical.Head {
	h.Created, h.Due, h.Ended, h.Expires = s.out(h.Created), s.out(h.Due), s.out(h.Ended), s.out(h.Expires)
	return h
}

func (s *shifted) Heads(ctx context.Context, run canonical.RunKey, calls []canonical.CallName) ([]canonical.Head, error) {
	heads, err := s.Store.Heads(ctx, run, calls)
	for i := range heads {
		heads[i] = s.head(heads[i])
	}
	return heads, err
}

func (s *shifted) View(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.View, error) {
	v, err := s.Store.View(ctx, run, call)
	v.Head = s.head(v.Head)
	return v, err
}

func (s *shifted) Record(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.Record, error) {
	r, err := s.Store.Record(ctx, run, call)
	r.Head = s.head(r.Head)
	return r, err
}

func (s *shifted) SettlementOf(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.Settlement, error) {
	got, err := s.Store.SettlementOf(ctx, run, call)
	got.Expires = s.out(got.Expires)
	if got.Late != nil {
		got.Late.At = s.out(got.Late.At)
	}
	return got, err
}
