package records

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/retrieval"
)

// RunList is a page of the runs of a scope, by the end of their life.
type RunList struct {
	Scope canonical.Scope `json:"scope"`
	Runs  []Run           `json:"runs"`
	Next  string          `json:"next,omitempty"` // where the page behind begins; empty at the end
}

// Run is what a list tells of a run.
type Run struct {
	ID            canonical.RunID     `json:"run_id"`
	Phase         canonical.Phase     `json:"phase,omitempty"`
	Calls         int64               `json:"calls"`          // admitted
	ReservedBytes int64               `json:"reserved_bytes"` // of the run's capacity, in use
	Principal     canonical.Principal `json:"principal,omitzero"`
	Continues     []canonical.RunID   `json:"continues,omitempty"`
	Deadline      time.Time           `json:"deadline,omitzero"`
	Expires       time.Time           `json:"expires"`
	Fault         string              `json:"fault,omitempty"` // why the run cannot be read; then only id and expires stand beside it
}

// Runs lists the living runs of the scope. A page may be short and have one behind it: a run that has gone since it was
// listed is passed over.
func (r *Reader) Runs(ctx context.Context, at Place) (RunList, error) {
	limit, after, err := at.runs()
	if err != nil {
		return RunList{}, r.told(err, "scope")
	}
	listed, err := r.store.ListRuns(ctx, r.scope, after, limit+1) // one more tells whether there are more
	if err != nil {
		return RunList{}, r.told(unavailable(err), "scope")
	}
	list := RunList{Scope: r.scope, Runs: []Run{}}
	for i, one := range listed {
		if i == limit {
			list.Next = cursorOf(listed[i-1])
			break
		}
		run, err := r.run(ctx, one)
		switch {
		case errors.Is(err, canonical.ErrRunMissing):
		case err != nil:
			return RunList{}, r.told(unavailable(err), "run")
		default:
			list.Runs = append(list.Runs, run)
		}
	}
	return list, nil
}

func (r *Reader) run(ctx context.Context, listed canonical.ListedRun) (Run, error) {
	state, err := r.store.Inspect(ctx, r.key(listed.Run))
	if errors.Is(err, canonical.ErrNewerVersion) || errors.Is(err, canonical.ErrForeign) || errors.Is(err, canonical.ErrCorrupt) {
		return Run{ID: listed.Run, Expires: listed.Expires.UTC(), Fault: faultOf(err)}, nil
	}
	if err != nil {
		return Run{}, err
	}
	return Run{
		ID: listed.Run, Phase: state.Phase, Calls: state.LastSeq, ReservedBytes: state.Reserved, Principal: state.Principal,
		Continues: state.Continues, Deadline: state.Deadline.UTC(), Expires: state.Expires.UTC(),
	}, nil
}

// unavailable marks trouble of a store that was asked without package retrieval, as that would.
func unavailable(err error) error {
	if errors.As(err, new(*canonical.RefusedError)) {
		return err
	}
	return &troubleError{err}
}

type troubleError struct{ cause error }

func (*troubleError) Error() string     { return retrieval.ErrUnavailable.Error() }
func (e *troubleError) Unwrap() []error { return []error{retrieval.ErrUnavailable, e.cause} }

// CursorError means that a cursor is not one of the list of runs.
type CursorError struct{}

// Error repeats nothing of the cursor.
func (*CursorError) Error() string { return "after: " + retrieval.ErrCursor.Error() }

// Unwrap is the reason as package retrieval gives it for its own lists.
func (*CursorError) Unwrap() error { return retrieval.ErrCursor }

func (p Place) runs() (limit int, after canonical.ListedRun, err error) {
	if limit = p.Limit; limit == 0 {
		limit = retrieval.DefaultPage
	}
	if limit < 1 || limit > retrieval.MaxPage {
		return 0, after, &retrieval.Error{Op: "list", Field: "limit", Err: retrieval.ErrArgument, Got: int64(limit), Limit: retrieval.MaxPage}
	}
	after, err = parseCursor(p.After)
	return limit, after, err
}

// cursorVersion stands first in every cursor of the list of runs.
const cursorVersion = "r1"

// cursorOf writes a place between two runs. It is a place in the order of all lists, so it needs no scope.
func cursorOf(run canonical.ListedRun) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s/%d/%s", cursorVersion, run.Expires.UnixMilli(), run.Run))
}

func parseCursor(text string) (canonical.ListedRun, error) {
	if text == "" {
		return canonical.ListedRun{}, nil
	}
	plain, err := base64.RawURLEncoding.Strict().DecodeString(text)
	fields := strings.Split(string(plain), "/")
	if err != nil || len(fields) != 3 || fields[0] != cursorVersion {
		return canonical.ListedRun{}, &CursorError{}
	}
	expires, errExpires := strconv.ParseInt(fields[1], 10, 64)
	run, errRun := canonical.ParseRunID(fields[2])
	listed := canonical.ListedRun{Run: run, Expires: time.UnixMilli(expires).UTC()}
	if errExpires != nil || errRun != nil || cursorOf(listed) != text {
		return canonical.ListedRun{}, &CursorError{}
	}
	return listed, nil
}
