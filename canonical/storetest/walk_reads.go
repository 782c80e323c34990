package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolharness/harness/canonical"
)

type headsMessage struct {
	run   canonical.RunKey
	names []canonical.CallName
}

func (m headsMessage) kind() string             { return "heads" }
func (m headsMessage) target() canonical.RunKey { return m.run }

func (m headsMessage) send(ctx context.Context, x *world) string {
	heads, err := x.h.Store.Heads(ctx, m.run, m.names)
	if err != nil {
		return answer(err)
	}
	text := "heads;"
	for _, h := range heads {
		text += "\n" + x.headText(h)
	}
	return text
}

func (m headsMessage) predict(w *model) string {
	text, r := "heads;", w.find(m.run)
	for _, name := range m.names {
		if c := w.call(r, name); c != nil {
			text += "\n" + c.headText()
		} else {
			text += "\nnone"
		}
	}
	return text
}

type viewMessage struct {
	run  canonical.RunKey
	name canonical.CallName
}

func (m viewMessage) kind() string             { return "view" }
func (m viewMessage) target() canonical.RunKey { return m.run }

func (m viewMessage) send(ctx context.Context, x *world) string {
	v, err := x.h.Store.View(ctx, m.run, m.name)
	if err != nil {
		return answer(err)
	}
	return "view; " + bodyText(v.Agent) + x.headText(v.Head)
}

func (m viewMessage) predict(w *model) string {
	c := w.call(w.find(m.run), m.name)
	if c == nil {
		return refusal(canonical.ErrMissing, "")
	}
	return "view; " + bodyText(c.agent) + c.headText()
}

// bodyText names a body by its digest, an absent one as such.
func bodyText(b canonical.Body) string {
	if b == nil {
		return "absent "
	}
	return b.SHA256() + " "
}

type recordMessage struct {
	run  canonical.RunKey
	name canonical.CallName
}

func (m recordMessage) kind() string             { return "record" }
func (m recordMessage) target() canonical.RunKey { return m.run }

func (m recordMessage) send(ctx context.Context, x *world) string {
	r, err := x.h.Store.Record(ctx, m.run, m.name)
	if err != nil {
		return answer(err)
	}
	return "record; " + bodyText(r.Request) + bodyText(r.Raw.Bytes) + bodyText(r.Agent) + x.headText(r.Head)
}

func (m recordMessage) predict(w *model) string {
	c := w.call(w.find(m.run), m.name)
	if c == nil {
		return refusal(canonical.ErrMissing, "")
	}
	return "record; " + bodyText(c.admission.Request) + bodyText(c.raw.Bytes) + bodyText(c.agent) + c.headText()
}

type orderMessage struct {
	run   canonical.RunKey
	after int64
	max   int
}

func (m orderMessage) kind() string             { return "order" }
func (m orderMessage) target() canonical.RunKey { return m.run }

func (m orderMessage) send(ctx context.Context, x *world) string {
	page, err := x.h.Store.Order(ctx, m.run, m.after, m.max)
	if err != nil {
		return answer(err)
	}
	var lines []string
	for _, n := range page {
		lines = append(lines, fmt.Sprint(n.Seq, " ", n.Call))
	}
	return "order; " + strings.Join(lines, ", ")
}

func (m orderMessage) predict(w *model) string {
	r := w.find(m.run)
	if r == nil {
		return refusal(canonical.ErrRunMissing, "")
	}
	var lines []string
	for i, name := range r.order {
		if seq := int64(i + 1); seq > m.after && len(lines) < m.max {
			lines = append(lines, fmt.Sprint(seq, " ", name))
		}
	}
	return "order; " + strings.Join(lines, ", ")
}

type outstandingMessage struct{ run canonical.RunKey }

func (m outstandingMessage) kind() string             { return "outstanding" }
func (m outstandingMessage) target() canonical.RunKey { return m.run }

func (m outstandingMessage) send(ctx context.Context, x *world) string {
	got, err := x.h.Store.Outstanding(ctx, m.run)
	if err != nil {
		return answer(err)
	}
	return outstandingText(x.at(got.Now), x.dueText(got.Open), x.dueText(got.Effects))
}

func outstandingText(now, open, effects string) string {
	return fmt.Sprintf("outstanding; now %s, open [%s], effects [%s]", now, open, effects)
}

func (m outstandingMessage) predict(w *model) string {
	r := w.find(m.run)
	if r == nil {
		return refusal(canonical.ErrRunMissing, "")
	}
	var open, effects []string
	for _, name := range w.openNames(r) {
		open = append(open, at(r.calls[name].due)+" "+name.String())
	}
	for name, due := range r.effects {
		text := "-"
		if due != 0 {
			text = at(due)
		}
		effects = append(effects, text+" "+name.String())
	}
	slices.Sort(open)
	slices.Sort(effects)
	return outstandingText(at(w.now), strings.Join(open, ", "), strings.Join(effects, ", "))
}

type settlementMessage struct {
	run  canonical.RunKey
	name canonical.CallName
}

func (m settlementMessage) kind() string             { return "settlement" }
func (m settlementMessage) target() canonical.RunKey { return m.run }

func (m settlementMessage) send(ctx context.Context, x *world) string {
	got, err := x.h.Store.SettlementOf(ctx, m.run, m.name)
	if err != nil {
		return answer(err)
	}
	late, verdict := "-", "-"
	if l := got.Late; l != nil {
		late = fmt.Sprintf("%+v %s %s%s", l.Verdict, l.Raw.SHA256, bodyText(l.Agent), x.at(l.At))
	}
	if got.Resolved != nil {
		verdict = fmt.Sprint(got.Resolved.Call, got.Resolved.Verdict, got.Resolved.Evidence)
	}
	return settlementText(late, verdict)
}

func settlementText(late, verdict string) string {
	word := "settlement"
	if late == "-" && verdict == "-" {
		word = "none"
	}
	return fmt.Sprintf("%s; late %s, verdict %s", word, late, verdict)
}

func (m settlementMessage) predict(w *model) string {
	late, verdict := "-", "-"
	if r := w.find(m.run); r != nil {
		if l := r.late[m.name]; l != nil {
			late = fmt.Sprintf("%+v %s %s%s", l.verdict, l.raw, bodyText(l.agent), at(l.at))
		}
		if v, ok := r.verdicts[m.name]; ok {
			verdict = fmt.Sprint(v.Call, v.Verdict, v.Evidence)
		}
	}
	return settlementText(late, verdict)
}
