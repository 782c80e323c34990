package localstore

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

// AdmitBatch implements [canonical.Batcher]. One transaction, and so one wait for
// the disk, for each 256 messages.
func (s *Store) AdmitBatch(ctx context.Context, messages []canonical.Admission) []canonical.AdmitAnswer {
	answers := make([]canonical.AdmitAnswer, len(messages))
	errs := s.batch(ctx, "admit", len(messages), func(i int) (func(*tx) error, error) {
		if err := messages[i].Validate(); err != nil {
			return nil, err
		}
		a := admission{Admission: messages[i], request: cut(messages[i].Request, "")}
		return func(t *tx) (err error) {
			answers[i].Admitted, err = t.admit(a)
			return err
		}, nil
	})
	for i, err := range errs {
		if answers[i].Err = err; err != nil {
			answers[i].Admitted = canonical.Admitted{}
		}
	}
	return answers
}

// CompleteBatch implements [canonical.Batcher], as AdmitBatch does.
func (s *Store) CompleteBatch(ctx context.Context, messages []canonical.Ending) []canonical.EndAnswer {
	return s.end(ctx, "complete", messages, func(_ *run, rec *record, _ ending) (canonical.Ended, error) {
		return canonical.Ended{}, standing("complete", rec, canonical.ErrConflict)
	})
}

// batch prepares n messages and writes those that are well formed together. What
// it answers are the messages' own errors, in their order.
func (s *Store) batch(ctx context.Context, op string, n int, prepare func(i int) (func(*tx) error, error)) []error {
	errs := make([]error, n)
	jobs := make([]*job, n)
	var queued []*job
	for i := range n {
		do, err := prepare(i)
		if err == nil {
			err = prepared(ctx, op)
		}
		if err != nil {
			errs[i] = err
			continue
		}
		jobs[i] = newJob(ctx, do)
		queued = append(queued, jobs[i])
	}
	s.submit(queued...)
	for i, j := range jobs {
		if j != nil {
			errs[i] = answer(op, j.err)
		}
	}
	return errs
}
