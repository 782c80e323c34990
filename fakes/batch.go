package fakes

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

// AdmitBatch implements [canonical.Batcher].
func (s *Store) AdmitBatch(ctx context.Context, messages []canonical.Admission) []canonical.AdmitAnswer {
	answers := make([]canonical.AdmitAnswer, len(messages))
	for i, m := range messages {
		answers[i].Admitted, answers[i].Err = s.Admit(ctx, m)
	}
	return answers
}

// CompleteBatch implements [canonical.Batcher].
func (s *Store) CompleteBatch(ctx context.Context, messages []canonical.Ending) []canonical.EndAnswer {
	answers := make([]canonical.EndAnswer, len(messages))
	for i, m := range messages {
		answers[i].Ended, answers[i].Err = s.Complete(ctx, m)
	}
	return answers
}
