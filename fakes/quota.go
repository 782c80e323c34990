package fakes

import (
	"context"
	"time"

	"github.com/toolharness/harness/canonical"
)

// share is what a run has reserved of its scope's quota.
type share struct{ records, bytes int64 }

// use sums up what is reserved in a scope. The mutex is held.
func (s *Store) use(scope canonical.Scope, now time.Time) (use canonical.Use) {
	for _, r := range s.scope(scope, now) {
		if r.share != nil {
			use.Runs++
			use.Records += r.share.records
			use.Bytes += r.share.bytes
		}
	}
	return use
}

// mayReserve refuses the opening of a new run whose capacity does not fit.
func (s *Store) mayReserve(o canonical.Opening, now time.Time) error {
	if !o.Quota.Set() {
		return nil
	}
	use := s.use(o.Run.Scope, now)
	records, bytes := o.Quota.Limits()
	for _, n := range []struct{ wanted, limit int64 }{{use.Records + int64(o.Budget.Calls), records}, {use.Bytes + o.Budget.Bytes, bytes}} {
		if n.wanted > n.limit {
			no := refuse("open", canonical.CallName{}, canonical.ErrQuota)
			no.Wanted, no.Limit = n.wanted, n.limit
			return no
		}
	}
	return nil
}

// release gives back what a closed run has not used.
func (r *run) release() {
	if r.share != nil && r.ledger.closed {
		*r.share = share{records: r.ledger.lastSeq, bytes: r.ledger.reserved}
	}
}

// ScopeUse implements [canonical.Quotas].
func (s *Store) ScopeUse(ctx context.Context, scope canonical.Scope) (canonical.Use, error) {
	if err := scope.Validate(); err != nil {
		return canonical.Use{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.Use{}, err
	}
	defer leave()
	return s.use(scope, s.now()), nil
}

// ReleaseRun implements [canonical.Quotas].
func (s *Store) ReleaseRun(ctx context.Context, key canonical.RunKey) error {
	r, _, leave, err := s.living(ctx, "release", key)
	if err != nil {
		return err
	}
	defer leave()
	r.release()
	return nil
}
