package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

type sweepMessage struct{ canonical.Sweeping }

func (m sweepMessage) kind() string             { return "sweep" }
func (m sweepMessage) target() canonical.RunKey { return m.Run }

func (m sweepMessage) send(ctx context.Context, x *world) string {
	got, err := x.h.Store.Sweep(ctx, m.Sweeping)
	if err != nil {
		return answer(err)
	}
	var lines []string
	for _, s := range got {
		lines = append(lines, sweptText(s.Call, s.Code, s.Execution))
	}
	return sweptList(lines)
}

func sweptText(name canonical.CallName, code lifecycle.Code, x lifecycle.Execution) string {
	return fmt.Sprintf("%s %s %s", name, code, x)
}

func sweptList(lines []string) string {
	if len(lines) == 0 {
		return "none"
	}
	slices.Sort(lines)
	return "swept; " + strings.Join(lines, ", ")
}

func (m sweepMessage) predict(w *model) string {
	r := w.find(m.Run)
	if r == nil {
		return refusal(canonical.ErrRunMissing, "")
	}
	var lines []string
	for _, name := range w.overdue(r, m.Grace) {
		if len(lines) == m.Max {
			break
		}
		c := r.calls[name]
		v := lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown)
		switch {
		case c.raw.Present():
			v = lifecycle.Fail(lifecycle.ProjectionFailed, lifecycle.Completed)
		case c.admission.Effect == canonical.EffectRead:
			v = lifecycle.Fail(lifecycle.Orphaned, lifecycle.Unknown)
		}
		c.swept = true
		w.end(r, c, v, canonical.StageSweep)
		lines = append(lines, sweptText(name, v.Code, v.Execution))
	}
	return sweptList(lines)
}

// overdue lists the open calls past due and grace, earliest first.
func (m *model) overdue(r *modelRun, grace time.Duration) []canonical.CallName {
	late := slices.DeleteFunc(m.openNames(r), func(name canonical.CallName) bool { return m.now <= r.calls[name].due+grace })
	slices.SortStableFunc(late, func(a, b canonical.CallName) int { return int(r.calls[a].due - r.calls[b].due) })
	return late
}

type resolveMessage struct{ canonical.Resolution }

func (m resolveMessage) kind() string             { return "resolve" }
func (m resolveMessage) target() canonical.RunKey { return m.Run }

func (m resolveMessage) send(ctx context.Context, x *world) string {
	return answer(x.h.Store.Resolve(ctx, m.Resolution))
}

func (m resolveMessage) predict(w *model) string {
	r := w.find(m.Run)
	c := w.call(r, m.Call)
	switch {
	case c == nil:
		return refusal(canonical.ErrMissing, "")
	case c.state == lifecycle.Projecting:
		return refusal(canonical.ErrStillOpen, string(c.state))
	case c.verdict.Execution != lifecycle.Unknown:
		return refusal(canonical.ErrConflict, string(c.state))
	}
	if before, ok := r.verdicts[m.Call]; ok && before != m.Resolution {
		return refusal(canonical.ErrConflict, string(c.state))
	}
	r.verdicts[m.Call] = m.Resolution
	delete(r.effects, m.Call)
	return "done"
}

type deleteMessage struct {
	run  canonical.RunKey
	name canonical.CallName
}

func (m deleteMessage) kind() string             { return "delete" }
func (m deleteMessage) target() canonical.RunKey { return m.run }

func (m deleteMessage) send(ctx context.Context, x *world) string {
	return answer(x.h.Store.Delete(ctx, m.run, m.name))
}

func (m deleteMessage) predict(w *model) string {
	r := w.find(m.run)
	c := w.call(r, m.name)
	if c == nil {
		return "done"
	}
	if c.state == lifecycle.Projecting {
		return refusal(canonical.ErrStillOpen, string(c.state))
	}
	if _, waits := r.effects[m.name]; waits {
		return refusal(canonical.ErrUnresolvedEffect, string(c.state))
	}
	r.reserved -= c.held()
	delete(r.calls, m.name)
	delete(r.late, m.name) // a late result has bodies; a verdict has none and stays
	return "done"
}
