package storetest_test

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

// sum is what the runs of a scope have reserved, read off the list.
func (s *odd) sum(scope canonical.Scope) (use canonical.Use) {
	seen := map[canonical.RunKey]bool{}
	for _, e := range s.log {
		if e.run.Scope != scope || seen[e.run] {
			continue
		}
		seen[e.run] = true
		if r := s.read(e.run); r != nil {
			use.Runs += r.share.Runs
			use.Records += r.share.Records
			use.Bytes += r.share.Bytes
		}
	}
	return use
}

func (s *odd) fits(o canonical.Opening) bool { return s.noQuota(o) == nil }

// noQuota is why the run of an opening does not fit.
func (s *odd) noQuota(o canonical.Opening) error {
	if o.Quota == (canonical.Quota{}) {
		return nil
	}
	use := s.sum(o.Run.Scope)
	records, bytes := use.Records+int64(o.Budget.Calls), use.Bytes+o.Budget.Bytes
	switch {
	case o.Quota.Records != 0 && records > o.Quota.Records:
		return &canonical.RefusedError{Op: "odd", Err: canonical.ErrQuota, Wanted: records, Limit: o.Quota.Records}
	case o.Quota.Bytes != 0 && bytes > o.Quota.Bytes:
		return &canonical.RefusedError{Op: "odd", Err: canonical.ErrQuota, Wanted: bytes, Limit: o.Quota.Bytes}
	}
	return nil
}

func (s *odd) ScopeUse(ctx context.Context, scope canonical.Scope) (canonical.Use, error) {
	if err := scope.Validate(); err != nil {
		return canonical.Use{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.Use{}, err
	}
	defer leave()
	return s.sum(scope), nil
}

func (s *odd) ReleaseRun(ctx context.Context, key canonical.RunKey) error {
	return s.with(ctx, key, func(r *oddRun) error {
		if r.isClosed {
			s.note(r, canonical.CallName{}, released{})
		}
		return nil
	})
}
