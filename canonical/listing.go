package canonical

import (
	"cmp"
	"time"
)

// MaxListedRuns bounds a page of ListRuns.
const MaxListedRuns = 1000

// ListedRun is one run in the list of its scope. It is also the place behind which
// the next page begins; the zero value is the place before the first run, and a run
// that has gone since still names its place.
type ListedRun struct {
	Run     RunID
	Expires time.Time // when it leaves the list: the end of its life, or up to a minute after it
}

// Compare orders runs as a list does, by the end of their life and then by id.
func (r ListedRun) Compare(other ListedRun) int {
	return cmp.Or(r.Expires.Compare(other.Expires), cmp.Compare(r.Run, other.Run))
}

// CheckListing checks what ListRuns was asked before anything is sent: max is 1 to
// MaxListedRuns.
func CheckListing(scope Scope, after ListedRun, max int) error {
	if err := scope.Validate(); err != nil {
		return err
	}
	if after.Run != "" {
		if _, err := ParseRunID(string(after.Run)); err != nil {
			return err
		}
	}
	if max < 1 || max > MaxListedRuns {
		return &ArgumentError{Op: "list runs", Field: "max", Reason: "out of range", Size: int64(max), Limit: MaxListedRuns}
	}
	return nil
}
