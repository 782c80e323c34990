package localstore

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/toolharness/harness/canonical"
)

// share is what stands of a run in the list of its scope: what it has reserved of
// the scope's quota, where it was opened under one.
type share struct {
	Held    bool  `json:"held,omitempty"`
	Records int64 `json:"records,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
}

func shareOf(o canonical.Opening) share {
	if !o.Quota.Set() {
		return share{}
	}
	return share{Held: true, Records: int64(o.Budget.Calls), Bytes: o.Budget.Bytes}
}

// placeOf is the key of a run in the list of its scope.
func placeOf(scope canonical.Scope, expires int64, run canonical.RunID) string {
	return scope.Digest() + number(expires) + string(run)
}

func (r *run) place() string { return placeOf(r.key.Scope, r.ledger.Expires, r.key.Run) }

// keepShare lists the run in its scope.
func (r *run) keepShare(s share) {
	text, err := json.Marshal(s)
	r.t.fail(err)
	r.t.put(r.t.bucket(bucketScopes), r.place(), seal(bucketScopes, r.place(), text))
}

// share reads what the run has reserved. The error is exactly ErrCorrupt.
func (r *run) share() (share, error) {
	return readShare(r.place(), r.t.bucket(bucketScopes).Get([]byte(r.place())))
}

func readShare(key string, sealed []byte) (s share, err error) {
	text, err := unseal(bucketScopes, key, sealed)
	if err != nil || json.Unmarshal(text, &s) != nil {
		return share{}, canonical.ErrCorrupt
	}
	return s, nil
}

// release gives back what a closed run has not used.
func (r *run) release(was share) {
	if !was.Held || !r.ledger.Closed {
		return
	}
	if left := (share{Held: true, Records: r.ledger.LastSeq, Bytes: r.ledger.Reserved}); left != was {
		r.keepShare(left)
	}
}

// eachRun calls do for the living runs of a scope from a moment on, in order,
// until do answers false. The error is exactly ErrCorrupt.
func (t *tx) eachRun(scope canonical.Scope, from time.Time, do func(canonical.ListedRun, share) (more bool)) error {
	if alive := t.now.Add(time.Millisecond); from.Before(alive) {
		from = alive
	}
	prefix := []byte(scope.Digest())
	c := t.bucket(bucketScopes).Cursor()
	for k, v := c.Seek([]byte(placeOf(scope, from.UnixMilli(), ""))); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		s, err := readShare(string(k), v)
		expires, id, ok := numberOf(string(k[len(prefix):]))
		if err != nil || !ok {
			return canonical.ErrCorrupt
		}
		if !do(canonical.ListedRun{Run: canonical.RunID(id), Expires: moment(expires)}, s) {
			return nil
		}
	}
	return nil
}

// ListRuns implements [canonical.Reader].
func (s *Store) ListRuns(ctx context.Context, scope canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
	const op = "list runs"
	if err := prepared(ctx, op, func() error { return canonical.CheckListing(scope, after, most) }); err != nil {
		return nil, err
	}
	var list []canonical.ListedRun
	err := s.view(ctx, op, func(t *tx) error {
		err := t.eachRun(scope, after.Expires, func(run canonical.ListedRun, _ share) bool {
			if run.Compare(after) > 0 {
				list = append(list, run)
			}
			return len(list) < most
		})
		if err != nil {
			return refuse(op, canonical.CallName{}, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// use sums up what is reserved in a scope. It looks at every living run of it.
func (t *tx) use(scope canonical.Scope) (use canonical.Use, err error) {
	err = t.eachRun(scope, time.Time{}, func(_ canonical.ListedRun, s share) bool {
		if s.Held {
			use.Runs++
			use.Records += s.Records
			use.Bytes += s.Bytes
		}
		return true
	})
	return use, err
}

// mayReserve refuses the opening of a new run whose capacity does not fit.
func (t *tx) mayReserve(o canonical.Opening) error {
	if !o.Quota.Set() {
		return nil
	}
	use, err := t.use(o.Run.Scope)
	if err != nil {
		return refuse("open", canonical.CallName{}, err)
	}
	records, bytes := o.Quota.Limits()
	for _, n := range []struct{ wanted, limit int64 }{{use.Records + int64(o.Budget.Calls), records}, {use.Bytes + o.Budget.Bytes, bytes}} {
		if n.wanted > n.limit {
			return &canonical.RefusedError{Op: "open", Err: canonical.ErrQuota, Wanted: n.wanted, Limit: n.limit}
		}
	}
	return nil
}

// ScopeUse implements [canonical.Quotas]. It looks at every living run of the
// scope.
func (s *Store) ScopeUse(ctx context.Context, scope canonical.Scope) (canonical.Use, error) {
	const op = "scope use"
	if err := prepared(ctx, op, scope.Validate); err != nil {
		return canonical.Use{}, err
	}
	var use canonical.Use
	err := s.view(ctx, op, func(t *tx) (err error) {
		if use, err = t.use(scope); err != nil {
			return refuse(op, canonical.CallName{}, err)
		}
		return nil
	})
	if err != nil {
		return canonical.Use{}, err
	}
	return use, nil
}

// ReleaseRun implements [canonical.Quotas]. One transaction, where there is
// something to give back.
func (s *Store) ReleaseRun(ctx context.Context, key canonical.RunKey) error {
	const op = "release"
	if err := prepared(ctx, op, key.Validate); err != nil {
		return err
	}
	return s.write(ctx, op, func(t *tx) error {
		r, err := t.ledgered(op, key, canonical.CallName{}, canonical.ErrRunMissing)
		if err != nil {
			return err
		}
		share, err := r.share()
		if err != nil {
			return refuse(op, canonical.CallName{}, err)
		}
		r.release(share)
		return nil
	})
}
