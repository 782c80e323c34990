package storetest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/fakes"
)

var ctx = context.Background()

// good is the correct store that broken ones are made of, with the harness that
// shows it.
type good struct {
	*fakes.Store
	clock *fakes.Clock
	mu    sync.Mutex // for what a broken store remembers
}

func newGood() (*good, storetest.Harness) {
	g := &good{clock: fakes.NewClock()}
	g.Store = fakes.NewStore(g.clock)
	return g, storetest.Harness{
		Store: g.Store, Now: g.clock.Now, Advance: g.clock.Advance, Keys: g.keys, ScopeKeys: g.scopeKeys, Fingerprint: g.Fingerprint,
		SnapshotLedger: func(run canonical.RunKey) func() {
			snapshot, _ := g.SnapshotLedger(run)
			return func() { g.RestoreLedger(snapshot) }
		},
		PlantForeign:     func(id canonical.Identity) { g.SetForeign(id) },
		PlantNewer:       func(id canonical.Identity) { g.SetRecordVersion(id, canonical.SchemaVersion+1) },
		PlantNewerLedger: func(run canonical.RunKey) { g.SetLedgerVersion(run, canonical.SchemaVersion+1) },
		Corrupt:          func(id canonical.Identity) { g.Store.Corrupt(id) },
		RawReads:         g.RawReads,
	}
}

func (g *good) keys(run canonical.RunKey) []storetest.Key {
	var keys []storetest.Key
	for _, e := range g.Entries(run) {
		keys = append(keys, storetest.Key{Name: e.Name, Expires: e.Expires})
	}
	return keys
}

func (g *good) scopeKeys(scope canonical.Scope) []storetest.Key {
	var keys []storetest.Key
	for _, e := range g.ScopeEntries(scope) {
		keys = append(keys, storetest.Key{Name: e.Name, Expires: e.Expires})
	}
	return keys
}

// head is what the correct store has of a call, whatever the broken one says.
func (g *good) head(run canonical.RunKey, name canonical.CallName) canonical.Head {
	heads, err := g.Store.Heads(ctx, run, []canonical.CallName{name})
	if err != nil || len(heads) != 1 {
		return canonical.Head{}
	}
	return heads[0]
}

// locked does something with what a broken store remembers.
func (g *good) locked(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

// hooks is a store of which some methods were replaced; a nil hook is the
// correct one.
type hooks struct {
	canonical.Store
	openRun     func(canonical.Opening) (canonical.RunState, error)
	joinRun     func(canonical.RunKey, canonical.Token) (canonical.RunState, error)
	inspect     func(canonical.RunKey) (canonical.RunState, error)
	closeRun    func(canonical.Closing) (canonical.ClosedRun, error)
	admit       func(canonical.Admission) (canonical.Admitted, error)
	save        func(canonical.Saving) (canonical.Ended, error)
	complete    func(canonical.Ending) (canonical.Ended, error)
	outstanding func(canonical.RunKey) (canonical.Outstanding, error)
	sweep       func(canonical.Sweeping) ([]canonical.Swept, error)
	settle      func(canonical.Ending) (canonical.Ended, error)
	resolve     func(canonical.Resolution) error
	heads       func(canonical.RunKey, []canonical.CallName) ([]canonical.Head, error)
	head        func(*canonical.Head)     // changes every head that is read
	record      func(*canonical.Record)   // changes every record that is read
	state       func(*canonical.RunState) // changes every state that is told
	view        func(canonical.RunKey, canonical.CallName) (canonical.View, error)
	readRecord  func(canonical.RunKey, canonical.CallName) (canonical.Record, error)
	order       func(canonical.RunKey, int64, int) ([]canonical.Numbered, error)
	settlement  func(canonical.RunKey, canonical.CallName) (canonical.Settlement, error)
	find        func(canonical.RunKey, canonical.EvidenceID) (canonical.CallName, error)
	rawPart     func(canonical.RunKey, canonical.CallName, int64, int) (canonical.RawPart, error)
	listRuns    func(canonical.Scope, canonical.ListedRun, int) ([]canonical.ListedRun, error)
	remove      func(canonical.RunKey, canonical.CallName) error
	scopeUse    func(canonical.Scope) (canonical.Use, error)
	releaseRun  func(canonical.RunKey) error
}

func (h *hooks) told(s canonical.RunState, err error) (canonical.RunState, error) {
	if err == nil && h.state != nil {
		h.state(&s)
	}
	return s, err
}

func (h *hooks) OpenRun(ctx context.Context, o canonical.Opening) (canonical.RunState, error) {
	if h.openRun != nil {
		return h.told(h.openRun(o))
	}
	return h.told(h.Store.OpenRun(ctx, o))
}

func (h *hooks) JoinRun(ctx context.Context, run canonical.RunKey, token canonical.Token) (canonical.RunState, error) {
	if h.joinRun != nil {
		return h.told(h.joinRun(run, token))
	}
	return h.told(h.Store.JoinRun(ctx, run, token))
}

func (h *hooks) Inspect(ctx context.Context, run canonical.RunKey) (canonical.RunState, error) {
	if h.inspect != nil {
		return h.told(h.inspect(run))
	}
	return h.told(h.Store.Inspect(ctx, run))
}

func (h *hooks) CloseRun(ctx context.Context, c canonical.Closing) (canonical.ClosedRun, error) {
	if h.closeRun != nil {
		return h.closeRun(c)
	}
	return h.Store.CloseRun(ctx, c)
}

func (h *hooks) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	if h.admit != nil {
		return h.admit(a)
	}
	return h.Store.Admit(ctx, a)
}

func (h *hooks) Save(ctx context.Context, m canonical.Saving) (canonical.Ended, error) {
	if h.save != nil {
		return h.save(m)
	}
	return h.Store.Save(ctx, m)
}

func (h *hooks) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	if h.complete != nil {
		return h.complete(e)
	}
	return h.Store.Complete(ctx, e)
}

func (h *hooks) Outstanding(ctx context.Context, run canonical.RunKey) (canonical.Outstanding, error) {
	if h.outstanding != nil {
		return h.outstanding(run)
	}
	return h.Store.Outstanding(ctx, run)
}

func (h *hooks) Sweep(ctx context.Context, m canonical.Sweeping) ([]canonical.Swept, error) {
	if h.sweep != nil {
		return h.sweep(m)
	}
	return h.Store.Sweep(ctx, m)
}

func (h *hooks) Settle(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	if h.settle != nil {
		return h.settle(e)
	}
	return h.Store.Settle(ctx, e)
}

func (h *hooks) Resolve(ctx context.Context, m canonical.Resolution) error {
	if h.resolve != nil {
		return h.resolve(m)
	}
	return h.Store.Resolve(ctx, m)
}

func (h *hooks) Heads(ctx context.Context, run canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
	read := h.heads
	if read == nil {
		read = func(run canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
			return h.Store.Heads(ctx, run, names)
		}
	}
	heads, err := read(run, names)
	for i := range heads {
		if h.head != nil && heads[i].Exists() {
			h.head(&heads[i])
		}
	}
	return heads, err
}

func (h *hooks) View(ctx context.Context, run canonical.RunKey, name canonical.CallName) (canonical.View, error) {
	read := h.view
	if read == nil {
		read = func(run canonical.RunKey, name canonical.CallName) (canonical.View, error) {
			return h.Store.View(ctx, run, name)
		}
	}
	v, err := read(run, name)
	if err == nil && h.head != nil {
		h.head(&v.Head)
	}
	return v, err
}

func (h *hooks) Record(ctx context.Context, run canonical.RunKey, name canonical.CallName) (canonical.Record, error) {
	read := h.readRecord
	if read == nil {
		read = func(run canonical.RunKey, name canonical.CallName) (canonical.Record, error) {
			return h.Store.Record(ctx, run, name)
		}
	}
	r, err := read(run, name)
	if err == nil && h.head != nil {
		h.head(&r.Head)
	}
	if err == nil && h.record != nil {
		h.record(&r)
	}
	return r, err
}

func (h *hooks) Order(ctx context.Context, run canonical.RunKey, after int64, max int) ([]canonical.Numbered, error) {
	if h.order != nil {
		return h.order(run, after, max)
	}
	return h.Store.Order(ctx, run, after, max)
}

func (h *hooks) SettlementOf(ctx context.Context, run canonical.RunKey, name canonical.CallName) (canonical.Settlement, error) {
	if h.settlement != nil {
		return h.settlement(run, name)
	}
	return h.Store.SettlementOf(ctx, run, name)
}

func (h *hooks) FindEvidence(ctx context.Context, run canonical.RunKey, id canonical.EvidenceID) (canonical.CallName, error) {
	if h.find != nil {
		return h.find(run, id)
	}
	return h.Store.FindEvidence(ctx, run, id)
}

func (h *hooks) RawPart(ctx context.Context, run canonical.RunKey, name canonical.CallName, offset int64, max int) (canonical.RawPart, error) {
	if h.rawPart != nil {
		return h.rawPart(run, name, offset, max)
	}
	return h.Store.RawPart(ctx, run, name, offset, max)
}

func (h *hooks) ListRuns(ctx context.Context, scope canonical.Scope, after canonical.ListedRun, max int) ([]canonical.ListedRun, error) {
	if h.listRuns != nil {
		return h.listRuns(scope, after, max)
	}
	return h.Store.ListRuns(ctx, scope, after, max)
}

func (h *hooks) Delete(ctx context.Context, run canonical.RunKey, name canonical.CallName) error {
	if h.remove != nil {
		return h.remove(run, name)
	}
	return h.Store.Delete(ctx, run, name)
}

func (h *hooks) ScopeUse(ctx context.Context, scope canonical.Scope) (canonical.Use, error) {
	if h.scopeUse != nil {
		return h.scopeUse(scope)
	}
	return h.Store.ScopeUse(ctx, scope)
}

func (h *hooks) ReleaseRun(ctx context.Context, run canonical.RunKey) error {
	if h.releaseRun != nil {
		return h.releaseRun(run)
	}
	return h.Store.ReleaseRun(ctx, run)
}

// broken is a store with one fault.
type broken struct {
	clause string // the clause that must reject it
	fault  string
	make   func(*good, *hooks, *storetest.Harness)
}

// open makes a fresh broken store.
func (b broken) open() storetest.Harness {
	g, h := newGood()
	k := &hooks{Store: g.Store}
	h.Store = k
	b.make(g, k, &h)
	return h
}

func allBroken() []broken {
	return slices.Concat(brokenRuns(), brokenAdmissions(), brokenBudgets(), brokenEndings(), brokenBytes(), brokenEffects(), brokenReads(), brokenParts(), brokenLists(), brokenQuotas(), brokenBatches())
}

func TestSuite_rejects_broken_stores(t *testing.T) {
	t.Parallel()
	for _, b := range allBroken() {
		t.Run(b.clause+"_"+b.fault, func(t *testing.T) {
			t.Parallel()
			if failed := storetest.Check(b.open, b.clause); len(failed) == 0 {
				t.Errorf("%s does not reject a store in which %s", b.clause, b.fault)
			}
		})
	}
}

func TestSuite_every_clause_rejects_a_broken_store(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, b := range allBroken() {
		have[b.clause] = true
	}
	for _, id := range storetest.ClauseIDs() {
		if !have[id] {
			t.Errorf("no broken store shows that %s can fail", id)
		}
	}
}

func TestSuite_accepts_the_good_one(t *testing.T) {
	t.Parallel()
	for _, f := range storetest.Check(func() storetest.Harness { _, h := newGood(); return h }) {
		t.Errorf("%s: %s", f.Subtest, f.Message)
	}
}

// lasting moves a time by a day, as a life that was counted anew would be.
func lasting(t time.Time) time.Time { return t.Add(24 * time.Hour) }
