package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

type openMessage struct{ canonical.Opening }

func (m openMessage) kind() string             { return "open" }
func (m openMessage) target() canonical.RunKey { return m.Run }

func (m openMessage) send(ctx context.Context, x *world) string {
	got, err := x.h.Store.OpenRun(ctx, m.Opening)
	if err != nil {
		return answer(err)
	}
	return x.stateText(got)
}

func (m openMessage) predict(w *model) string {
	r := w.find(m.Run)
	if r == nil {
		share, fits := w.share(m.Opening)
		if !fits {
			return refusal(canonical.ErrQuota, "")
		}
		w.lives++
		r = &modelRun{
			life: w.lives, opening: m.Opening, deadline: w.now + m.Duration, expires: w.now + m.Duration + m.Limits.RecordTTL,
			perTool: map[string]int{}, calls: map[canonical.CallName]*modelCall{}, effects: map[canonical.CallName]time.Duration{},
			late: map[canonical.CallName]*modelLate{}, verdicts: map[canonical.CallName]canonical.Resolution{},
			evidence: map[canonical.EvidenceID]canonical.CallName{}, share: share,
		}
		w.runs[m.Run] = r
		return w.stateText(r)
	}
	was := r.opening
	switch {
	case m.Token != was.Token:
		return refusal(canonical.ErrRunTaken, "")
	case m.Duration != was.Duration || m.Budget != was.Budget || m.Limits != was.Limits || m.Principal != was.Principal || !slices.Equal(m.Continues, was.Continues):
		return refusal(canonical.ErrRunConflict, "")
	}
	return w.stateText(r)
}

type joinMessage struct {
	run   canonical.RunKey
	token canonical.Token
}

func (m joinMessage) kind() string             { return "join" }
func (m joinMessage) target() canonical.RunKey { return m.run }

func (m joinMessage) send(ctx context.Context, x *world) string {
	got, err := x.h.Store.JoinRun(ctx, m.run, m.token)
	if err != nil {
		return answer(err)
	}
	return x.stateText(got)
}

func (m joinMessage) predict(w *model) string {
	r := w.find(m.run)
	switch {
	case r == nil:
		return refusal(canonical.ErrRunMissing, "")
	case m.token != r.opening.Token:
		return refusal(canonical.ErrRunTaken, "")
	}
	return w.stateText(r)
}

type inspectMessage struct{ run canonical.RunKey }

func (m inspectMessage) kind() string             { return "inspect" }
func (m inspectMessage) target() canonical.RunKey { return m.run }

func (m inspectMessage) send(ctx context.Context, x *world) string {
	got, err := x.h.Store.Inspect(ctx, m.run)
	if err != nil {
		return answer(err)
	}
	return x.stateText(got)
}

func (m inspectMessage) predict(w *model) string {
	if r := w.find(m.run); r != nil {
		return w.stateText(r)
	}
	return refusal(canonical.ErrRunMissing, "")
}

type closeMessage struct{ canonical.Closing }

func (m closeMessage) kind() string             { return "close" }
func (m closeMessage) target() canonical.RunKey { return m.Run }

func (m closeMessage) send(ctx context.Context, x *world) string {
	got, err := x.h.Store.CloseRun(ctx, m.Closing)
	if err != nil {
		return answer(err)
	}
	return closedText(got.LastSeq, got.Open, got.Unresolved)
}

func closedText(seq int64, open, unresolved []canonical.CallName) string {
	return fmt.Sprintf("closed; sequence %d, open [%s], unresolved [%s]", seq, namesText(open), namesText(unresolved))
}

func (m closeMessage) predict(w *model) string {
	r := w.find(m.Run)
	switch {
	case r == nil:
		return refusal(canonical.ErrRunMissing, "")
	case m.Token != r.opening.Token:
		return refusal(canonical.ErrRunTaken, "")
	}
	r.notice(m.Seen)
	r.closed = true
	r.release()
	var unresolved []canonical.CallName
	for name := range r.effects {
		unresolved = append(unresolved, name)
	}
	return closedText(int64(len(r.order)), w.openNames(r), unresolved)
}

// openNames lists the calls that are PROJECTING.
func (m *model) openNames(r *modelRun) []canonical.CallName {
	var open []canonical.CallName
	for _, name := range r.order {
		if c := m.call(r, name); c != nil && c.state == lifecycle.Projecting {
			open = append(open, name)
		}
	}
	return open
}
