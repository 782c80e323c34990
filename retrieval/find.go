package retrieval

import (
	"context"
	"errors"

	"github.com/toolharness/harness/canonical"
)

// How far Find looks without a run.
const (
	FindPages   = 10
	FindPerPage = 100 // runs
)

// Find looks an evidence id up. In its run that is one question. Without a run
// (empty) the living runs of the scope are asked one by one, by the end of their
// life, FindPages pages of FindPerPage at most; what was not found among them,
// while there are more, is [ErrLookupBudget] and never told as missing.
func (r *Reader) Find(ctx context.Context, run canonical.RunID, id canonical.EvidenceID) (Entry, error) {
	const op = "find"
	if err := canonical.CheckEvidenceID(op, id); err != nil {
		return Entry{}, of(op, err)
	}
	if run != "" {
		return r.findIn(ctx, op, run, id)
	}
	var after canonical.ListedRun
	for page := 0; page < FindPages; page++ {
		// One more than is looked at tells whether there are more.
		runs, err := r.store.ListRuns(ctx, r.scope, after, FindPerPage+1)
		if err != nil {
			return Entry{}, of(op, err)
		}
		for _, listed := range runs[:min(len(runs), FindPerPage)] {
			if err := ended(ctx, op); err != nil {
				return Entry{}, err
			}
			e, err := r.findIn(ctx, op, listed.Run, id)
			if err == nil || !isMissing(err) {
				return e, err
			}
			after = listed
		}
		if len(runs) <= FindPerPage {
			return Entry{}, fail(op, "", ErrMissing)
		}
	}
	return Entry{}, &Error{Op: op, Field: "id", Err: ErrLookupBudget, Got: FindPages * FindPerPage, Limit: FindPages * FindPerPage}
}

// findIn looks an id up in one run.
func (r *Reader) findIn(ctx context.Context, op string, run canonical.RunID, id canonical.EvidenceID) (Entry, error) {
	call, err := r.store.FindEvidence(ctx, r.key(run), id)
	if err != nil {
		return Entry{}, of(op, err)
	}
	head, err := r.head(ctx, op, run, call)
	if err != nil {
		return Entry{}, err
	}
	if head.EvidenceID != id {
		return Entry{}, &Error{Op: op, Err: ErrCorrupt, cause: errOtherID}
	}
	return entryOf(head), nil
}

var errOtherID = errors.New("record and ledger have different evidence ids")
