package retrieval

import (
	"context"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// Limits of a list.
const (
	DefaultPage = 20
	MaxPage     = 100

	lookPage = 100  // calls that are read at once
	maxLook  = 1000 // calls that are looked at for one page
	maxRuns  = 100  // runs that are looked at for one page
)

// Filter says which calls are wanted. Zero fields mean all.
type Filter struct {
	Run    canonical.RunID
	Tool   string
	Status evidence.Status
	State  lifecycle.State

	reading bool // calls of the reading tools, too
}

// Entry is what a list tells of a call: no request, no result, no facts.
type Entry struct {
	Run        canonical.RunID
	Call       canonical.CallName
	Seq        int64 // place in its run, from 1
	EvidenceID canonical.EvidenceID

	Tool      string
	Effect    canonical.Effect
	State     lifecycle.State
	Code      lifecycle.Code
	Status    evidence.Status // empty while the call is open
	Execution lifecycle.Execution

	HasResult    bool // a raw result is kept; an empty one and null are results
	ResultBytes  int64
	RequestBytes int64
	AgentBytes   int64

	// Redacted names the policy that all bodies went through before they were
	// stored; empty: they are as they came.
	Redacted string

	Created, Ended, Expires time.Time

	// Fault says why the record cannot be read: ErrCorrupt or ErrVersion. Then only
	// Run, Call and Seq stand beside it. Such an entry passes every filter on what
	// could not be read.
	Fault error

	// After is the cursor behind this entry, for callers who use only a part of a
	// page.
	After string

	reference evidence.Reference
}

// Reference names the kept result; false when there is none.
func (e Entry) Reference() (evidence.Reference, bool) { return e.reference, e.reference.Version != 0 }

// Page is a part of a list.
type Page struct {
	Entries []Entry

	// Next is the cursor of the page behind; empty at the end. A page may be short,
	// or empty, and have one: what is looked at for one page is bounded.
	Next string
}

// List gives a page of metadata: runs by the end of their life, then by id; the
// calls of a run in the order of admission, open and unreadable ones included,
// deleted and expired ones not. after is empty or the cursor of an earlier page
// with the same filter. limit is 1 to MaxPage; zero means DefaultPage.
//
// A call that was admitted, and a run that was opened, between two pages appears
// where it belongs and moves nobody else. Calls of a run that the list has passed
// are not seen any more.
func (r *Reader) List(ctx context.Context, f Filter, after string, limit int) (Page, error) {
	const op = "list"
	if limit == 0 {
		limit = DefaultPage
	}
	if limit < 1 || limit > MaxPage {
		return Page{}, outside(op, "limit", int64(limit), MaxPage)
	}
	if err := f.check(op); err != nil {
		return Page{}, err
	}
	l := lister{Reader: r, op: op, filter: f, limit: limit, look: maxLook, runs: maxRuns, bound: r.bound(f)}
	at, err := readCursor(op, after, l.bound)
	if err != nil {
		return Page{}, err
	}
	if f.Run != "" {
		return l.one(ctx, at)
	}
	return l.all(ctx, at)
}

func (f Filter) check(op string) error {
	if f.Run != "" {
		if _, err := canonical.ParseRunID(string(f.Run)); err != nil {
			return of(op, err)
		}
	}
	if f.Tool != "" {
		if err := canonical.CheckToolName(f.Tool); err != nil {
			return of(op, err)
		}
	}
	switch {
	case f.Status != "" && !f.Status.Valid():
		return fail(op, "status", ErrArgument)
	case f.State != "" && !f.State.Valid():
		return fail(op, "state", ErrArgument)
	}
	return nil
}

// bound ties cursors to scope and filter.
func (r *Reader) bound(f Filter) string {
	return binding(r.scope.Tenant, r.scope.Owner, r.scope.Namespace, string(f.Run), f.Tool, string(f.Status), string(f.State))
}

// lister makes one page.
type lister struct {
	*Reader
	op     string
	filter Filter
	limit  int
	look   int // calls that may still be looked at
	runs   int // runs that may still be looked at
	bound  string
	page   Page
	ahead  []canonical.ListedRun // runs behind the place, as they were listed
}

// one lists one run.
func (l *lister) one(ctx context.Context, at place) (Page, error) {
	at.run = l.filter.Run
	done, err := l.calls(ctx, &at)
	if err != nil {
		return Page{}, err
	}
	if !done {
		l.page.Next = at.cursor(l.bound)
	}
	return l.page, nil
}

// all lists the runs of the scope. A run that has gone is passed over.
func (l *lister) all(ctx context.Context, at place) (Page, error) {
	for {
		if at.run != "" {
			done, err := l.calls(ctx, &at)
			if err != nil && !isMissing(err) {
				return Page{}, err
			}
			if err == nil && !done || l.runs <= 0 || l.look <= 0 {
				l.page.Next = at.cursor(l.bound)
				return l.page, nil
			}
		}
		next, err := l.next(ctx, at)
		switch {
		case err != nil:
			return Page{}, err
		case next == nil:
			return l.page, nil
		}
		if len(l.page.Entries) == l.limit {
			l.page.Next = at.cursor(l.bound)
			return l.page, nil
		}
		at, l.ahead = place{run: next.Run, expires: next.Expires}, l.ahead[1:]
		l.runs--
	}
}

// next is the run behind at, or nil.
func (l *lister) next(ctx context.Context, at place) (*canonical.ListedRun, error) {
	if len(l.ahead) == 0 {
		var err error
		if l.ahead, err = l.store.ListRuns(ctx, l.scope, canonical.ListedRun{Run: at.run, Expires: at.expires}, maxRuns); err != nil {
			return nil, of(l.op, err)
		}
	}
	if len(l.ahead) == 0 {
		return nil, nil
	}
	return &l.ahead[0], nil
}

// calls adds the calls of one run behind at, and moves it. done: the run has no
// more.
func (l *lister) calls(ctx context.Context, at *place) (done bool, err error) {
	for len(l.page.Entries) < l.limit && l.look > 0 {
		want := min(lookPage, l.look)
		numbered, err := l.store.Order(ctx, l.key(at.run), at.seq, want)
		if err != nil {
			return false, of(l.op, err)
		}
		if err := l.add(ctx, at, numbered); err != nil {
			return false, err
		}
		if len(numbered) < want && (len(numbered) == 0 || at.seq == numbered[len(numbered)-1].Seq) {
			return true, nil
		}
	}
	rest, err := l.store.Order(ctx, l.key(at.run), at.seq, 1)
	return len(rest) == 0, of(l.op, err)
}

// add adds the entries that the filter wants, until the page is full.
func (l *lister) add(ctx context.Context, at *place, numbered []canonical.Numbered) error {
	if len(numbered) == 0 {
		return nil
	}
	names := make([]canonical.CallName, len(numbered))
	for i, n := range numbered {
		names[i] = n.Call
	}
	heads, err := l.store.Heads(ctx, l.key(at.run), names)
	if err != nil {
		return of(l.op, err)
	}
	for i, head := range heads {
		if len(l.page.Entries) == l.limit {
			return nil
		}
		at.seq = numbered[i].Seq
		l.look--
		if l.filter.wants(head) {
			e := entryOf(head)
			e.Seq, e.After = at.seq, at.cursor(l.bound)
			l.page.Entries = append(l.page.Entries, e)
		}
	}
	return nil
}

func (f Filter) wants(h canonical.Head) bool {
	if h.Fault != nil {
		return true
	}
	return h.Exists() && (f.reading || !Reserved(h.Tool)) && (f.Tool == "" || f.Tool == h.Tool) &&
		(f.Status == "" || f.Status == h.Evidence) && (f.State == "" || f.State == h.State)
}

func entryOf(h canonical.Head) Entry {
	e := Entry{Run: h.Identity.Run, Call: h.Identity.Call}
	if h.Fault != nil {
		e.Fault = of("list", h.Fault)
		return e
	}
	e = Entry{
		Run: h.Identity.Run, Call: h.Identity.Call, Seq: h.Seq, EvidenceID: h.EvidenceID,
		Tool: h.Tool, Effect: h.Effect, State: h.State, Code: h.Code, Status: h.Evidence, Execution: h.Execution,
		HasResult: h.Raw.Stored, ResultBytes: h.Raw.Size, RequestBytes: h.RequestSize, AgentBytes: h.AgentSize, Redacted: h.Redacted,
		Created: h.Created, Ended: h.Ended, Expires: h.Expires,
	}
	e.reference, _ = h.Reference()
	return e
}
