package localstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/localstore"
)

// TestHidden: what a damaged key hides of a run is missed, where the run knows that
// it should be there.
func TestHidden(t *testing.T) {
	t.Parallel()
	ctx, run := context.Background(), runKey("run")
	for name, c := range map[string]struct {
		prefix string
		ask    func(s *localstore.Store) error
	}{
		"ledger":  {"l", func(s *localstore.Store) error { _, err := s.Inspect(ctx, run); return err }},
		"effects": {"f", func(s *localstore.Store) error { _, err := s.Outstanding(ctx, run); return err }},
		"open":    {"p:", func(s *localstore.Store) error { _, err := s.Outstanding(ctx, run); return err }},
		"order":   {"o:", func(s *localstore.Store) error { _, err := s.Order(ctx, run, 0, 100); return err }},
		"record": {"r:", func(s *localstore.Store) error {
			_, err := s.Record(ctx, run, canonical.CallName{ID: "a"})
			return err
		}},
		"barrier": {"f", func(s *localstore.Store) error {
			_, err := s.Admit(ctx, admission("run", fmt.Sprint("next-", s.Commits()), fakes.Epoch()))
			return err
		}},
		"bodies": {localstore.KeyBodies, func(s *localstore.Store) error { _, err := s.Inspect(ctx, run); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := fakes.NewClock()
			p := &probes{t: t, s: open(t, file(t), clock.Now), clock: clock}
			work(t, p.s, "run", map[string][]byte{"a": []byte("raw")})
			a := admission("run", "open", clock.Now())
			_, err := p.s.Admit(ctx, a)
			must(t, err)
			if err := c.ask(p.s); err != nil && !errors.Is(err, canonical.ErrUnresolvedEffect) {
				t.Fatalf("before it was hidden: %v", err)
			}
			p.change(run, func(b *bolt.Bucket) error {
				key, value := b.Cursor().Seek([]byte(c.prefix))
				if value == nil {
					return b.DeleteBucket(key)
				}
				return errors.Join(b.Put(append([]byte("x"), key...), value), b.Delete(key))
			})
			is(t, "the answer", c.ask(p.s), canonical.ErrCorrupt)
		})
	}
}

// TestPages_that_do_not_fit: a page that cannot be read is an error, the store takes
// no more messages, and the file is let go.
func TestPages_that_do_not_fit(t *testing.T) {
	t.Parallel()
	path, ctx := file(t), context.Background()
	s, err := localstore.Open(path, nil)
	must(t, err)
	work(t, s, "run", map[string][]byte{"a": make([]byte, 100_000)})
	is(t, "a panic below a read", s.Panicking(), localstore.ErrDamaged)
	_, err = s.Inspect(ctx, runKey("run"))
	is(t, "Inspect behind it", err, localstore.ErrBroken)
	_, err = s.OpenRun(ctx, opening("next"))
	is(t, "OpenRun behind it", err, localstore.ErrBroken)
	must(t, s.Close())
	s = open(t, path, nil)
	holds(t, s, "run", map[string][]byte{"a": make([]byte, 100_000)})
}

// TestTrouble_of_one: a message that cannot be written takes nobody else's with it.
func TestTrouble_of_one(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, file(t), nil), context.Background()
	trouble := errors.New("trouble")
	release := s.HoldWriter()
	failed, fine := make(chan error), make(chan error)
	go func() { failed <- s.Failing(trouble) }()
	go func() { _, err := s.OpenRun(ctx, opening("run")); fine <- err }()
	s.AwaitQueue(2)
	release()
	is(t, "the message that cannot be written", <-failed, trouble)
	must(t, <-fine)
	_, err := s.Inspect(ctx, runKey("run"))
	must(t, err)
	if s.Left() {
		t.Error("half of the message that failed is there")
	}
}
