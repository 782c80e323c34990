package storetest_test

import (
	"context"
	"errors"
	"slices"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
)

// batching is a store whose batches were replaced; a nil hook is the correct one.
type batching struct {
	*hooks
	good  *good
	admit func(context.Context, []canonical.Admission) []canonical.AdmitAnswer
	end   func(context.Context, []canonical.Ending) []canonical.EndAnswer
}

func (b *batching) AdmitBatch(ctx context.Context, m []canonical.Admission) []canonical.AdmitAnswer {
	if b.admit != nil {
		return b.admit(ctx, m)
	}
	return b.good.AdmitBatch(ctx, m)
}

func (b *batching) CompleteBatch(ctx context.Context, m []canonical.Ending) []canonical.EndAnswer {
	if b.end != nil {
		return b.end(ctx, m)
	}
	return b.good.CompleteBatch(ctx, m)
}

func withBatches(change func(*good, *batching)) func(*good, *hooks, *storetest.Harness) {
	return func(g *good, k *hooks, h *storetest.Harness) {
		b := &batching{hooks: k, good: g}
		change(g, b)
		h.Store = b
	}
}

var errTogether = errors.New("one of the batch failed")

func brokenBatches() []broken {
	return []broken{
		{"K45", "admissions are answered in another order", withBatches(func(g *good, b *batching) {
			b.admit = func(ctx context.Context, m []canonical.Admission) []canonical.AdmitAnswer {
				answers := g.AdmitBatch(ctx, m)
				slices.Reverse(answers)
				return answers
			}
		})},
		{"K45", "admissions are made in another order", withBatches(func(g *good, b *batching) {
			b.admit = func(ctx context.Context, m []canonical.Admission) []canonical.AdmitAnswer {
				m = slices.Clone(m)
				slices.Reverse(m)
				answers := g.AdmitBatch(ctx, m)
				slices.Reverse(answers)
				return answers
			}
		})},
		{"K45", "endings are answered in another order", withBatches(func(g *good, b *batching) {
			b.end = func(ctx context.Context, m []canonical.Ending) []canonical.EndAnswer {
				answers := g.CompleteBatch(ctx, m)
				slices.Reverse(answers)
				return answers
			}
		})},
		{"K45", "refused messages get no answer", withBatches(func(g *good, b *batching) {
			b.end = func(ctx context.Context, m []canonical.Ending) []canonical.EndAnswer {
				return slices.DeleteFunc(g.CompleteBatch(ctx, m), func(a canonical.EndAnswer) bool { return a.Err != nil })
			}
		})},
		{"K45", "large bodies of a batch lose their end", withBatches(func(g *good, b *batching) {
			b.end = func(ctx context.Context, m []canonical.Ending) []canonical.EndAnswer {
				m = slices.Clone(m)
				for i := range m {
					if n := len(m[i].Raw.Bytes); n > 1<<20 {
						m[i].Raw = canonical.NewRaw(m[i].Raw.Bytes[:1<<20])
					}
				}
				return g.CompleteBatch(ctx, m)
			}
		})},
		{"K45", "a repeat is not told in a batch", withBatches(func(g *good, b *batching) {
			b.end = func(ctx context.Context, m []canonical.Ending) []canonical.EndAnswer {
				answers := g.CompleteBatch(ctx, m)
				for i := range answers {
					answers[i].Ended.Repeat = false
				}
				return answers
			}
		})},
		{"K46", "one malformed admission fails its batch", withBatches(func(g *good, b *batching) {
			b.admit = func(ctx context.Context, m []canonical.Admission) []canonical.AdmitAnswer {
				answers := make([]canonical.AdmitAnswer, len(m))
				for i := range m {
					if err := m[i].Validate(); err != nil {
						for j := range answers {
							answers[j].Err = err
						}
						return answers
					}
				}
				return g.AdmitBatch(ctx, m)
			}
		})},
		{"K46", "endings behind a refused one are not sent", withBatches(func(g *good, b *batching) {
			b.end = func(ctx context.Context, m []canonical.Ending) []canonical.EndAnswer {
				answers := make([]canonical.EndAnswer, len(m))
				stopped := false
				for i := range m {
					if stopped {
						answers[i].Err = errTogether
						continue
					}
					answers[i].Ended, answers[i].Err = g.Complete(ctx, m[i])
					stopped = answers[i].Err != nil
				}
				return answers
			}
		})},
		{"K46", "a batch goes to the run of its first message", withBatches(func(g *good, b *batching) {
			b.admit = func(ctx context.Context, m []canonical.Admission) []canonical.AdmitAnswer {
				m = slices.Clone(m)
				for i := range m {
					m[i].Run = m[0].Run
				}
				return g.AdmitBatch(ctx, m)
			}
		})},
		{"K46", "a batch that was not sent is told as a no", withBatches(func(g *good, b *batching) {
			b.admit = func(ctx context.Context, m []canonical.Admission) []canonical.AdmitAnswer {
				answers := g.AdmitBatch(ctx, m)
				for i := range answers {
					if ctx.Err() != nil {
						answers[i].Err = &canonical.RefusedError{Op: "admit", Err: canonical.ErrTooLate}
					}
				}
				return answers
			}
		})},
	}
}
