package fakes

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

// OpenRun implements [canonical.Runs].
func (f *Faulty) OpenRun(ctx context.Context, o canonical.Opening) (canonical.RunState, error) {
	return through(ctx, f, MethodOpenRun, func() (canonical.RunState, error) { return f.inner.OpenRun(ctx, o) })
}

// JoinRun implements [canonical.Runs].
func (f *Faulty) JoinRun(ctx context.Context, run canonical.RunKey, token canonical.Token) (canonical.RunState, error) {
	return through(ctx, f, MethodJoinRun, func() (canonical.RunState, error) { return f.inner.JoinRun(ctx, run, token) })
}

// Inspect implements [canonical.Runs].
func (f *Faulty) Inspect(ctx context.Context, run canonical.RunKey) (canonical.RunState, error) {
	return through(ctx, f, MethodInspect, func() (canonical.RunState, error) { return f.inner.Inspect(ctx, run) })
}

// CloseRun implements [canonical.Runs].
func (f *Faulty) CloseRun(ctx context.Context, c canonical.Closing) (canonical.ClosedRun, error) {
	return through(ctx, f, MethodCloseRun, func() (canonical.ClosedRun, error) { return f.inner.CloseRun(ctx, c) })
}

// Admit implements [canonical.Calls].
func (f *Faulty) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	return through(ctx, f, MethodAdmit, func() (canonical.Admitted, error) { return f.inner.Admit(ctx, a) })
}

// Save implements [canonical.Calls].
func (f *Faulty) Save(ctx context.Context, m canonical.Saving) (canonical.Ended, error) {
	return through(ctx, f, MethodSave, func() (canonical.Ended, error) { return f.inner.Save(ctx, m) })
}

// Complete implements [canonical.Calls].
func (f *Faulty) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	return through(ctx, f, MethodComplete, func() (canonical.Ended, error) { return f.inner.Complete(ctx, e) })
}

// Outstanding implements [canonical.Effects].
func (f *Faulty) Outstanding(ctx context.Context, run canonical.RunKey) (canonical.Outstanding, error) {
	return through(ctx, f, MethodOutstanding, func() (canonical.Outstanding, error) { return f.inner.Outstanding(ctx, run) })
}

// Sweep implements [canonical.Effects].
func (f *Faulty) Sweep(ctx context.Context, m canonical.Sweeping) ([]canonical.Swept, error) {
	return through(ctx, f, MethodSweep, func() ([]canonical.Swept, error) { return f.inner.Sweep(ctx, m) })
}

// Settle implements [canonical.Effects].
func (f *Faulty) Settle(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	return through(ctx, f, MethodSettle, func() (canonical.Ended, error) { return f.inner.Settle(ctx, e) })
}

// Resolve implements [canonical.Effects].
func (f *Faulty) Resolve(ctx context.Context, m canonical.Resolution) error {
	return nothing(ctx, f, MethodResolve, func() error { return f.inner.Resolve(ctx, m) })
}

// Heads implements [canonical.Reader].
func (f *Faulty) Heads(ctx context.Context, run canonical.RunKey, calls []canonical.CallName) ([]canonical.Head, error) {
	return through(ctx, f, MethodHeads, func() ([]canonical.Head, error) { return f.inner.Heads(ctx, run, calls) })
}

// View implements [canonical.Reader].
func (f *Faulty) View(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.View, error) {
	return through(ctx, f, MethodView, func() (canonical.View, error) { return f.inner.View(ctx, run, call) })
}

// Record implements [canonical.Reader].
func (f *Faulty) Record(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.Record, error) {
	return through(ctx, f, MethodRecord, func() (canonical.Record, error) { return f.inner.Record(ctx, run, call) })
}

// Order implements [canonical.Reader].
func (f *Faulty) Order(ctx context.Context, run canonical.RunKey, after int64, max int) ([]canonical.Numbered, error) {
	return through(ctx, f, MethodOrder, func() ([]canonical.Numbered, error) { return f.inner.Order(ctx, run, after, max) })
}

// SettlementOf implements [canonical.Reader].
func (f *Faulty) SettlementOf(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.Settlement, error) {
	return through(ctx, f, MethodSettlementOf, func() (canonical.Settlement, error) { return f.inner.SettlementOf(ctx, run, call) })
}

// FindEvidence implements [canonical.Reader].
func (f *Faulty) FindEvidence(ctx context.Context, run canonical.RunKey, id canonical.EvidenceID) (canonical.CallName, error) {
	return through(ctx, f, MethodFindEvidence, func() (canonical.CallName, error) { return f.inner.FindEvidence(ctx, run, id) })
}

// RawPart implements [canonical.Reader].
func (f *Faulty) RawPart(ctx context.Context, run canonical.RunKey, call canonical.CallName, offset int64, max int) (canonical.RawPart, error) {
	return through(ctx, f, MethodRawPart, func() (canonical.RawPart, error) { return f.inner.RawPart(ctx, run, call, offset, max) })
}

// ListRuns implements [canonical.Reader].
func (f *Faulty) ListRuns(ctx context.Context, scope canonical.Scope, after canonical.ListedRun, max int) ([]canonical.ListedRun, error) {
	return through(ctx, f, MethodListRuns, func() ([]canonical.ListedRun, error) { return f.inner.ListRuns(ctx, scope, after, max) })
}

// Delete implements [canonical.Remover].
func (f *Faulty) Delete(ctx context.Context, run canonical.RunKey, call canonical.CallName) error {
	return nothing(ctx, f, MethodDelete, func() error { return f.inner.Delete(ctx, run, call) })
}

// ScopeUse implements [canonical.Quotas].
func (f *Faulty) ScopeUse(ctx context.Context, scope canonical.Scope) (canonical.Use, error) {
	return through(ctx, f, MethodScopeUse, func() (canonical.Use, error) { return f.inner.ScopeUse(ctx, scope) })
}

// ReleaseRun implements [canonical.Quotas].
func (f *Faulty) ReleaseRun(ctx context.Context, run canonical.RunKey) error {
	return nothing(ctx, f, MethodReleaseRun, func() error { return f.inner.ReleaseRun(ctx, run) })
}
