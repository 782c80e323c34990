package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolharness/harness/canonical"
)

// anyRun is a run of a scope, for messages about the scope as a whole.
func anyRun(scope canonical.Scope) canonical.RunKey {
	return canonical.RunKey{Scope: scope, Run: "run-1"}
}

// use sums up what the living runs of a scope have reserved.
func (m *model) use(scope canonical.Scope) (use canonical.Use) {
	for key := range m.runs {
		if r := m.find(key); r != nil && key.Scope == scope && r.share != nil {
			use.Runs++
			use.Records += r.share.Records
			use.Bytes += r.share.Bytes
		}
	}
	return use
}

// share is what a new run reserves; false where there is no room for it.
func (m *model) share(o canonical.Opening) (*canonical.Use, bool) {
	if !o.Quota.Set() {
		return nil, true
	}
	use := m.use(o.Run.Scope)
	records, bytes := o.Quota.Limits()
	own := &canonical.Use{Records: int64(o.Budget.Calls), Bytes: o.Budget.Bytes}
	return own, use.Records+own.Records <= records && use.Bytes+own.Bytes <= bytes
}

// release gives back what a closed run has not used.
func (r *modelRun) release() {
	if r.share != nil && r.closed {
		r.share.Records, r.share.Bytes = int64(len(r.order)), r.reserved
	}
}

type useMessage struct{ scope canonical.Scope }

func (m useMessage) kind() string             { return "use" }
func (m useMessage) target() canonical.RunKey { return anyRun(m.scope) }

func (m useMessage) send(ctx context.Context, x *world) string {
	use, err := x.h.Store.ScopeUse(ctx, m.scope)
	if err != nil {
		return answer(err)
	}
	return useText(use)
}

func useText(use canonical.Use) string {
	if use == (canonical.Use{}) {
		return "nothing"
	}
	return fmt.Sprintf("use; %d runs, %d records, %d bytes", use.Runs, use.Records, use.Bytes)
}

func (m useMessage) predict(w *model) string { return useText(w.use(m.scope)) }

type releaseMessage struct{ run canonical.RunKey }

func (m releaseMessage) kind() string             { return "release" }
func (m releaseMessage) target() canonical.RunKey { return m.run }

func (m releaseMessage) send(ctx context.Context, x *world) string {
	return answer(x.h.Store.ReleaseRun(ctx, m.run))
}

func (m releaseMessage) predict(w *model) string {
	r := w.find(m.run)
	if r == nil {
		return refusal(canonical.ErrRunMissing, "")
	}
	r.release()
	return "done"
}

// listMessage reads all pages of a scope's list.
type listMessage struct {
	scope canonical.Scope
	max   int
}

func (m listMessage) kind() string             { return "list" }
func (m listMessage) target() canonical.RunKey { return anyRun(m.scope) }

func (m listMessage) send(ctx context.Context, x *world) string {
	var lines []string
	for last := (canonical.ListedRun{}); len(lines) < 100; {
		page, err := x.h.Store.ListRuns(ctx, m.scope, last, m.max)
		if err != nil {
			return answer(err)
		}
		if len(page) == 0 {
			break
		}
		for _, run := range page {
			if run.Compare(last) <= 0 {
				x.fail("%v comes behind %v", run, last)
			}
			lines, last = append(lines, string(run.Run)+" "+x.at(run.Expires)), run
		}
	}
	return listText(lines)
}

// listText sorts: where runs end within the same minutes, stores may differ.
func listText(lines []string) string {
	slices.Sort(lines)
	return "list; " + strings.Join(lines, ", ")
}

func (m listMessage) predict(w *model) string {
	var lines []string
	for key := range w.runs {
		if r := w.find(key); r != nil && key.Scope == m.scope {
			lines = append(lines, string(key.Run)+" "+at(r.expires))
		}
	}
	return listText(lines)
}

type findMessage struct {
	run canonical.RunKey
	id  canonical.EvidenceID
}

func (m findMessage) kind() string             { return "find" }
func (m findMessage) target() canonical.RunKey { return m.run }

func (m findMessage) send(ctx context.Context, x *world) string {
	name, err := x.h.Store.FindEvidence(ctx, m.run, m.id)
	if err != nil {
		return answer(err)
	}
	return "found; " + name.String()
}

func (m findMessage) predict(w *model) string {
	r := w.find(m.run)
	if r == nil {
		return refusal(canonical.ErrRunMissing, "")
	}
	if name, ok := r.evidence[m.id]; ok {
		return "found; " + name.String()
	}
	return refusal(canonical.ErrMissing, "")
}

// partMessage reads some bytes of a raw result, in as many parts as the store
// likes.
type partMessage struct {
	run    canonical.RunKey
	name   canonical.CallName
	offset int64
	max    int
}

func (m partMessage) kind() string             { return "part" }
func (m partMessage) target() canonical.RunKey { return m.run }

func (m partMessage) send(ctx context.Context, x *world) string {
	got := []byte{}
	for len(got) < m.max {
		part, err := x.h.Store.RawPart(ctx, m.run, m.name, m.offset+int64(len(got)), m.max-len(got))
		if isArgument(err) {
			return "beyond"
		}
		if err != nil {
			return answer(err)
		}
		if len(part.Bytes) == 0 {
			break
		}
		got = append(got, part.Bytes...)
	}
	return "part; " + bodyText(got)
}

func (m partMessage) predict(w *model) string {
	c := w.call(w.find(m.run), m.name)
	if c == nil || !c.raw.Present() {
		return refusal(canonical.ErrMissing, "")
	}
	size := int64(len(c.raw.Bytes))
	if m.offset > size {
		return "beyond"
	}
	return "part; " + bodyText(c.raw.Bytes[m.offset:min(size, m.offset+int64(m.max))])
}

// checkScopeKeys is P27 for what is kept of a scope as a whole: nothing without an
// expiry, and nothing when no run of it lives.
func (x *world) checkScopeKeys(scope canonical.Scope, m *model) {
	if x.h.ScopeKeys == nil {
		return
	}
	lives := false
	for key := range m.runs {
		lives = lives || key.Scope == scope && m.find(key) != nil
	}
	for _, k := range x.h.ScopeKeys(scope) {
		if k.Immortal {
			x.fail("P27: %q has no expiry", k.Name)
		}
		if !lives {
			x.fail("%q is left of a scope whose runs are over", k.Name)
		}
	}
}
