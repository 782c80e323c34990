package localstore

import (
	"context"
	"errors"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// groupSize is how many messages one transaction takes at most.
const groupSize = 256

// job is one message on its way into the file. What it does must be decided before
// its first write, and it may be done twice where the first time came to nothing.
type job struct {
	ctx   context.Context
	do    func(*tx) error
	err   error // valid when done
	taken bool  // by the one who writes; guarded by Store.mu
	done  chan struct{}
}

// write carries out one message and returns when it is on the disk.
func (s *Store) write(ctx context.Context, op string, do func(*tx) error) error {
	j := newJob(ctx, do)
	s.submit(j)
	return answer(op, j.err)
}

func newJob(ctx context.Context, do func(*tx) error) *job {
	return &job{ctx: ctx, do: do, done: make(chan struct{})}
}

// submit queues messages, which share a transaction with whoever else waits, and
// returns when all are done. Whoever gets to write writes for all.
func (s *Store) submit(jobs ...*job) {
	s.mu.Lock()
	s.queue = append(s.queue, jobs...)
	s.mu.Unlock()
	for _, j := range jobs {
		for !s.await(j) {
		}
	}
}

// await reports whether the job is done. A job that nobody has begun leaves with
// its context; one that is being written is waited for, since its bytes are read.
func (s *Store) await(j *job) bool {
	select {
	case <-j.done:
		return true
	case <-j.ctx.Done():
		if !s.withdraw(j) {
			<-j.done
		}
		return true
	case s.writer <- struct{}{}:
		s.lead()
		<-s.writer
		return false
	}
}

// withdraw takes a job off the queue, unless it was taken.
func (s *Store) withdraw(j *job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.taken {
		return false
	}
	for i, other := range s.queue {
		if other == j {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			break
		}
	}
	j.err = j.ctx.Err()
	return true
}

// lead writes what is queued, or as much as one transaction takes. The caller
// holds the writer's place.
func (s *Store) lead() {
	s.mu.Lock()
	group := s.queue[:min(len(s.queue), groupSize)]
	s.queue = append([]*job(nil), s.queue[len(group):]...)
	for _, j := range group {
		j.taken = true
	}
	s.mu.Unlock()
	s.carryOut(group)
	for _, j := range group {
		close(j.done)
	}
}

// carryOut writes a group, and where one of it cannot be written, each alone.
func (s *Store) carryOut(group []*job) {
	if len(group) == 0 {
		return
	}
	err := s.usable()
	if err == nil {
		err = s.transact(group, nil)
	}
	if err == nil {
		return
	}
	for _, j := range group {
		j.err = err
		if again := s.usable(); len(group) > 1 && again == nil {
			if err := s.transact([]*job{j}, nil); err != nil {
				j.err = err
			}
		}
	}
}

// transact runs jobs, and then last, in one transaction and commits it, where
// anything was written. An error means that nothing was, or that the store is
// broken; the jobs' own errors are answers.
func (s *Store) transact(group []*job, last func(*tx) error) (err error) {
	defer faulting()()
	btx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	defer s.rescue(&err, btx)
	t := &tx{s: s, bolt: btx, now: s.clock.now()}
	for _, j := range group {
		if j.err = j.do(t); !isAnswer(j.err) {
			t.fail(j.err)
		}
		if t.err != nil {
			break
		}
	}
	if last != nil && t.err == nil {
		t.fail(last(t))
	}
	if t.dirty && t.err == nil {
		t.expire(expiredEach, runsEach)
		t.tick()
	}
	if t.err != nil || !t.dirty {
		return errors.Join(t.err, btx.Rollback())
	}
	s.commits.Lock()
	defer s.commits.Unlock()
	if err := btx.Commit(); err != nil {
		s.fail()
		return errors.Join(ErrBroken, err)
	}
	return nil
}

// view runs do on what is on the disk. One who comes while a commit is under way
// waits for it: what it writes can be seen before it is safe.
func (s *Store) view(ctx context.Context, op string, do func(*tx) error) error {
	return answer(op, s.look(ctx, do))
}

func (s *Store) look(ctx context.Context, do func(*tx) error) (err error) {
	defer faulting()()
	if err := ctx.Err(); err != nil {
		return err
	}
	btx, err := s.begin()
	if err != nil {
		return err
	}
	defer s.rescue(&err, btx)
	err = do(&tx{s: s, bolt: btx, now: s.clock.now()})
	if ended := btx.Rollback(); err == nil {
		err = ended
	}
	return err
}

func (s *Store) begin() (*bolt.Tx, error) {
	s.commits.RLock()
	defer s.commits.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	return s.db.Begin(false)
}

// rescue turns the panic of a transaction on damaged pages into an error, and
// takes no message from then on. It is deferred.
func (s *Store) rescue(err *error, btx *bolt.Tx) {
	cause := recover()
	if cause == nil {
		return
	}
	s.fail()
	*err = &FileError{Path: s.path, Err: ErrDamaged}
	defer func() {
		if recover() != nil { // ending it met the same page; its locks are never given back
			s.stuck.Store(true)
		}
	}()
	_ = btx.Rollback()
}

// faulting makes a page that cannot be read a panic of this goroutine and not the
// end of the process. The caller defers what it returns.
func faulting() (restore func()) {
	was := debug.SetPanicOnFault(true)
	return func() { debug.SetPanicOnFault(was) }
}
