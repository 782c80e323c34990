package boundary

import (
	"context"
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// Lookup gives the stored answer of a call again, byte for byte. It never runs
// anything and costs nothing of a budget. While the call is open the error wraps
// canonical.ErrStillOpen and the outcome says that nothing is known; a call
// without a record is canonical.ErrMissing, with RECORD_EXPIRED.
func (r *Run) Lookup(ctx context.Context, call canonical.CallName) (Outcome, error) {
	id := canonical.Identity{RunKey: r.key, Call: call}
	if err := call.Validate(); err != nil {
		return Outcome{}, &Error{Code: lifecycle.InvalidToolCallID, Op: "look up", Identity: canonical.Identity{RunKey: r.key}, Execution: Unknown, cause: err}
	}
	view, err := r.boundary.store.View(ctx, r.key, call)
	if err != nil {
		return Outcome{}, &Error{Code: recordCode(err), Op: "look up", Identity: id, Execution: Unknown, cause: err}
	}
	if view.State == lifecycle.Projecting {
		open := &canonical.RefusedError{Op: "look up", Call: call, Err: canonical.ErrStillOpen, First: view.State}
		return Outcome{}, &Error{Code: lifecycle.OutcomeUnknown, Op: "look up", Identity: id, Execution: Unknown, cause: open}
	}
	return r.boundary.outcomeOf(view), nil
}

// Facts states what was observed in the run, from its records alone: bounded,
// in the order of admission. A store that cannot be read is an error, never an
// empty report.
func (r *Run) Facts(ctx context.Context) (runprogress.Report, error) {
	report, err := r.project(ctx)
	if err != nil {
		code, _ := codeOf(err)
		return runprogress.Report{}, &Error{Code: code, Op: "project the run", Identity: canonical.Identity{RunKey: r.key}, Execution: Unknown, cause: err}
	}
	return report, nil
}

// project uses the tracker where every call of the run went through this
// process, and the store's own order otherwise. Both give the same report.
func (r *Run) project(ctx context.Context) (runprogress.Report, error) {
	r.mu.Lock()
	shared := r.shared
	r.mu.Unlock()
	if shared {
		return runprogress.FromStore(ctx, r.boundary.store, r.key)
	}
	return runprogress.Project(ctx, r.boundary.store, r.key, r.tracker.Calls())
}

// Outstanding is what the run waits for: every open call and every effect that
// is not known, with due times.
func (r *Run) Outstanding(ctx context.Context) (canonical.Outstanding, error) {
	out, err := r.boundary.store.Outstanding(ctx, r.key)
	if err != nil {
		code, _ := codeOf(err)
		return canonical.Outstanding{}, &Error{Code: code, Op: "list what is open", Identity: canonical.Identity{RunKey: r.key}, Execution: Unknown, cause: err}
	}
	return out, nil
}

// Unresolved names the calls that nobody seems to end any more: effects whose
// outcome is unknown, and open calls past their due time. Ask before the next
// model call. Effects among them refuse every further call of the run.
func (r *Run) Unresolved(ctx context.Context) ([]canonical.Identity, error) {
	out, err := r.Outstanding(ctx)
	if err != nil {
		return nil, err
	}
	var list []canonical.Identity
	seen := map[canonical.CallName]bool{}
	for _, open := range append(out.Effects, out.Open...) {
		if !seen[open.Call] && !open.Due.After(out.Now) {
			seen[open.Call] = true
			list = append(list, canonical.Identity{RunKey: r.key, Call: open.Call})
		}
	}
	return list, nil
}

// DefaultGrace is how far past its due time a call must be before Sweep ends it.
const DefaultGrace = time.Minute

// Sweep ends calls that nobody will end: those past their due time by grace,
// plus any downtime of the store that the caller knows of. Zero means
// [DefaultGrace]. An owner that still lives and ends its call first wins.
func (r *Run) Sweep(ctx context.Context, grace time.Duration) ([]canonical.Swept, error) {
	if grace == 0 {
		grace = DefaultGrace
	}
	swept, err := r.boundary.store.Sweep(ctx, canonical.Sweeping{Run: r.key, Grace: grace, Max: canonical.MaxSweep})
	if err != nil {
		return swept, r.boundary.runError("sweep", r.key, err)
	}
	return swept, nil
}

// Resolve records the host's verdict on a call whose outcome is unknown, with
// what the verdict rests on, and takes its effect off the barrier. The record
// itself stays as it is. The same verdict again is fine, another one is
// STORE_CONFLICT; a call that is still open canonical.ErrStillOpen.
func (r *Run) Resolve(ctx context.Context, call canonical.CallName, verdict canonical.EffectVerdict, grounds string) error {
	if err := call.Validate(); err != nil {
		return &Error{Code: recordCode(err), Op: "resolve", Identity: canonical.Identity{RunKey: r.key}, Execution: Unknown, cause: err}
	}
	err := r.boundary.retry(ctx, func(ctx context.Context) error {
		return r.boundary.store.Resolve(ctx, canonical.Resolution{Run: r.key, Call: call, Verdict: verdict, Evidence: grounds})
	})
	if err != nil {
		return &Error{Code: recordCode(err), Op: "resolve", Identity: canonical.Identity{RunKey: r.key, Call: call}, Execution: Unknown, cause: err}
	}
	return nil
}

// recordCode judges the store's answer about one record.
func recordCode(err error) lifecycle.Code {
	switch {
	case errors.Is(err, canonical.ErrMissing):
		return lifecycle.RecordExpired
	case errors.Is(err, canonical.ErrStillOpen):
		return lifecycle.OutcomeUnknown
	case errors.Is(err, canonical.ErrConflict):
		return lifecycle.StoreConflict
	case badInput(err):
		return lifecycle.InvalidInput
	}
	code, _ := codeOf(err)
	return code
}
