package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

type admitMessage struct {
	canonical.Admission
	notAfter time.Duration
}

func (m admitMessage) kind() string             { return "admit" }
func (m admitMessage) target() canonical.RunKey { return m.Run }

func (m admitMessage) send(ctx context.Context, x *world) string {
	a := m.Admission
	a.NotAfter = x.time(m.notAfter)
	got, err := x.h.Store.Admit(ctx, a)
	if err != nil {
		return answer(err)
	}
	x.expires[canonical.Identity{RunKey: a.Run, Call: a.Call}] = got.Expires
	return admittedText(got.Own, got.State, got.Code, got.Seq, string(got.EvidenceID), x.at(got.Due), x.at(got.Expires), at(got.Left))
}

func admittedText(own bool, state lifecycle.State, code lifecycle.Code, seq int64, id, due, expires, left string) string {
	word := "created"
	if own {
		word = "own"
	}
	return fmt.Sprintf("%s; %s %s, sequence %d, id %s, due %s, expires %s, left %s", word, state, code, seq, id, due, expires, left)
}

func (m admitMessage) predict(w *model) string {
	r := w.find(m.Run)
	if r == nil {
		return refusal(canonical.ErrRunMissing, "")
	}
	c := w.call(r, m.Call)
	own := c != nil && c.admission.Claim == m.Claim
	if !own && r.seen(m.Call) {
		first := ""
		if c != nil {
			first = string(c.state)
		}
		return refusal(canonical.ErrDuplicate, first)
	}
	if !own {
		if no := w.whyNot(r, m); no != nil {
			return refusal(no, "")
		}
		c = w.admit(r, m)
	}
	return admittedText(own, c.state, c.verdict.Code, c.seq, string(c.admission.EvidenceID), at(c.due), at(c.expires), at(r.deadline-w.now))
}

type saveMessage struct{ canonical.Saving }

func (m saveMessage) kind() string             { return "save" }
func (m saveMessage) target() canonical.RunKey { return m.Run }

func (m saveMessage) send(ctx context.Context, x *world) string {
	s := m.Saving
	s.Expires = x.expiryOf(canonical.Identity{RunKey: s.Run, Call: s.Call})
	got, err := x.h.Store.Save(ctx, s)
	return endedText(got, err)
}

func endedText(got canonical.Ended, err error) string {
	switch {
	case err != nil:
		return answer(err)
	case got.Repeat:
		return "repeat"
	default:
		return "stored"
	}
}

func (m saveMessage) predict(w *model) string {
	r, c, no := w.holder(m.Run, m.Call, m.Claim)
	if no != "" {
		return no
	}
	r.notice(m.Seen)
	switch {
	case c.raw.Present() && c.raw.SHA256 == m.Raw.SHA256:
		return "repeat"
	case c.raw.Present() || c.state != lifecycle.Projecting:
		return refusal(canonical.ErrConflict, string(c.state))
	}
	c.raw = m.Raw
	delete(r.effects, m.Call)
	return "stored"
}

// holder is the record of a message, if there is one and the claim fits.
func (m *model) holder(run canonical.RunKey, name canonical.CallName, claim canonical.Claim) (*modelRun, *modelCall, string) {
	r := m.find(run)
	c := m.call(r, name)
	switch {
	case c == nil:
		return nil, nil, refusal(canonical.ErrMissing, "")
	case c.admission.Claim != claim:
		return nil, nil, refusal(canonical.ErrConflict, string(c.state))
	}
	return r, c, ""
}

// endMessage is complete, or settle where late is set.
type endMessage struct {
	canonical.Ending
	late bool
}

func (m endMessage) kind() string {
	if m.late {
		return "settle"
	}
	return "complete"
}

func (m endMessage) target() canonical.RunKey { return m.Run }

func (m endMessage) send(ctx context.Context, x *world) string {
	e := m.Ending
	e.Expires = x.expiryOf(canonical.Identity{RunKey: e.Run, Call: e.Call})
	if m.late {
		got, err := x.h.Store.Settle(ctx, e)
		return endedText(got, err)
	}
	got, err := x.h.Store.Complete(ctx, e)
	return endedText(got, err)
}

func (m endMessage) predict(w *model) string {
	r, c, no := w.holder(m.Run, m.Call, m.Claim)
	if no != "" {
		return no
	}
	r.notice(m.Seen)
	conflict := refusal(canonical.ErrConflict, string(c.state))
	digest := m.Digest()
	switch {
	case c.digest == digest:
		return "repeat"
	case m.late && c.swept:
		return w.settle(r, c, m, conflict)
	case c.state != lifecycle.Projecting:
		return conflict
	case c.raw.Present() && m.Raw.SHA256 != c.raw.SHA256, !c.raw.Present() && m.RawSaved:
		return conflict
	}
	if !c.raw.Present() {
		c.raw = m.Raw
	}
	c.digest, c.agent, c.facts, c.coverage = digest, m.Agent, m.Facts, m.Coverage
	w.end(r, c, m.Verdict, m.Stage)
	return "stored"
}

func (m *model) settle(r *modelRun, c *modelCall, e endMessage, conflict string) string {
	digest := e.Digest()
	switch late := r.late[e.Call]; {
	case late == nil:
		if e.RawSaved && c.raw.SHA256 != e.Raw.SHA256 {
			return conflict
		}
		r.late[e.Call] = &modelLate{digest: digest, verdict: e.Verdict, raw: e.Raw.SHA256, agent: e.Agent, at: m.now}
		return "stored"
	case late.digest == digest:
		return "repeat"
	default:
		return conflict
	}
}
