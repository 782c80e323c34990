package boundary

import (
	"context"
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Attempts of one message to the store, and the first pause between them. The
// pauses grow fourfold. Every message may be delivered twice (see
// canonical.Store), so the only question is how long to try.
const (
	attempts   = 4
	firstPause = 5 * time.Millisecond
)

// retry sends one message until the store answers, "no" included, or ctx or the
// attempts run out.
func (b *ToolBoundary) retry(ctx context.Context, send func(context.Context) error) error {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		err := send(ctx)
		if err == nil || answered(err) || attempt == attempts || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause *= 4
	}
}

// answered reports whether err is the store's answer, or ours about the message,
// rather than trouble on the way.
func answered(err error) bool {
	var (
		refused *canonical.RefusedError
		verdict *lifecycle.CompletionError
	)
	return errors.As(err, &refused) || errors.As(err, &verdict) || badInput(err)
}

// badInput reports whether err is about what the host asked for: it was refused
// before anything was sent.
func badInput(err error) bool {
	var (
		argument *canonical.ArgumentError
		name     *canonical.NameError
		limits   *canonical.LimitsError
	)
	return errors.As(err, &argument) || errors.As(err, &name) || errors.As(err, &limits)
}

// detached is a context of its own for a write that must not end with its
// caller: the caller's values, not its cancellation.
func detached(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
