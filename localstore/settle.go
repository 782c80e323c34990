package localstore

import (
	"context"
	"encoding/json"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// settlement is what became known after a record's end. It has bodies of its own,
// since it outlives the record.
type settlement struct {
	Late     *late     `json:"late,omitempty"`
	Resolved *resolved `json:"resolved,omitempty"`
}

type late struct {
	Outcome   string              `json:"outcome"` // digest, by which a repeated message is recognized
	State     lifecycle.State     `json:"state"`
	Code      lifecycle.Code      `json:"code,omitempty"`
	Evidence  evidence.Status     `json:"evidence"`
	Execution lifecycle.Execution `json:"execution"`
	Raw       *descriptor         `json:"raw,omitempty"`
	Agent     *descriptor         `json:"agent,omitempty"`
	At        int64               `json:"at_ms"`
}

type resolved struct {
	Verdict  canonical.EffectVerdict `json:"verdict"`
	Evidence string                  `json:"evidence"`
}

// settlement reads what is settled of a call; there is false where nothing is. The
// error is exactly one of the package's sentinels.
func (r *run) settlement(call canonical.CallName) (set settlement, there bool, err error) {
	value, err := r.get(prefixLate + call.String())
	if err != nil || value == nil {
		return settlement{}, false, err
	}
	if json.Unmarshal(value, &set) != nil {
		return settlement{}, false, canonical.ErrCorrupt
	}
	return set, true, nil
}

func (r *run) keepSettlement(call canonical.CallName, set settlement) {
	r.store(prefixLate+call.String(), set)
}

// Settle implements [canonical.Effects]. One transaction.
func (s *Store) Settle(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	got := s.end(ctx, "settle", []canonical.Ending{e}, (*run).settle)[0]
	return got.Ended, got.Err
}

// settle appends the result of a call that was swept.
func (r *run) settle(rec *record, e ending) (canonical.Ended, error) {
	const op = "settle"
	digest := ""
	if rec.Raw != nil {
		digest = rec.Raw.SHA256
	}
	if !rec.Swept || e.RawSaved && digest != e.Raw.SHA256 {
		return canonical.Ended{}, standing(op, rec, canonical.ErrConflict)
	}
	set, _, fault := r.settlement(e.Call)
	switch {
	case fault != nil:
		return canonical.Ended{}, refuse(op, e.Call, fault)
	case set.Late != nil && set.Late.Outcome != e.outcome:
		return canonical.Ended{}, standing(op, rec, canonical.ErrConflict)
	case set.Late != nil:
		return canonical.Ended{Repeat: true, Pieces: e.sent(), Strength: Strength}, nil
	}
	raw := e.raw
	if e.RawSaved && rec.Raw != nil {
		if raw, fault = r.copyOf(*rec.Raw); fault != nil {
			return canonical.Ended{}, standing(op, rec, fault)
		}
	}
	set.Late = &late{
		Outcome: e.outcome, State: e.Verdict.State, Code: e.Verdict.Code, Evidence: e.Verdict.Evidence, Execution: e.Verdict.Execution,
		Raw: r.keepBody(raw), Agent: r.keepBody(e.agent), At: r.t.now.UnixMilli(),
	}
	r.keepSettlement(e.Call, set)
	return canonical.Ended{Pieces: e.sent(), Strength: Strength}, nil
}

// copyOf reads a raw result again, to keep it once more.
func (r *run) copyOf(d descriptor) (*body, error) {
	if d.Absent {
		return &body{desc: d}, nil
	}
	whole, err := r.readBody(d)
	if err != nil {
		return nil, err
	}
	b := cut(whole, d.SHA256)
	b.desc.AtLeast = d.AtLeast
	return &b, nil
}

// Resolve implements [canonical.Effects]. One transaction.
func (s *Store) Resolve(ctx context.Context, m canonical.Resolution) error {
	if err := prepared(ctx, "resolve", m.Validate); err != nil {
		return err
	}
	return s.write(ctx, "resolve", func(t *tx) error { return t.resolve(m) })
}

func (t *tx) resolve(m canonical.Resolution) error {
	const op = "resolve"
	r, err := t.ledgered(op, m.Run, m.Call, canonical.ErrMissing)
	if err != nil {
		return err
	}
	rec, fault := r.record(m.Call)
	switch {
	case fault != nil:
		return refuse(op, m.Call, fault)
	case rec == nil:
		return refuse(op, m.Call, canonical.ErrMissing)
	case rec.State == lifecycle.Projecting:
		return standing(op, rec, canonical.ErrStillOpen)
	case rec.Execution != lifecycle.Unknown:
		return standing(op, rec, canonical.ErrConflict)
	}
	set, _, fault := r.settlement(m.Call)
	effects, other := r.effects()
	if fault != nil || other != nil {
		return refuse(op, m.Call, canonical.ErrCorrupt)
	}
	word := resolved{Verdict: m.Verdict, Evidence: m.Evidence}
	if set.Resolved != nil && *set.Resolved != word {
		return standing(op, rec, canonical.ErrConflict)
	}
	if set.Resolved == nil {
		set.Resolved = &word
		r.keepSettlement(m.Call, set)
	}
	if waits(effects, m.Call) >= 0 {
		r.keepEffects(without(effects, m.Call))
	}
	return nil
}

// SettlementOf implements [canonical.Reader].
func (s *Store) SettlementOf(ctx context.Context, key canonical.RunKey, call canonical.CallName) (canonical.Settlement, error) {
	const op = "settlement"
	if err := prepared(ctx, op, key.Validate, call.Validate); err != nil {
		return canonical.Settlement{}, err
	}
	out := canonical.Settlement{Identity: canonical.Identity{RunKey: key, Call: call}}
	err := s.view(ctx, op, func(t *tx) error {
		r, fault := t.find(key)
		if r == nil && fault == nil {
			return nil
		}
		if fault == nil {
			fault = r.fault
		}
		if fault == nil {
			fault = r.tell(&out)
		}
		if fault != nil {
			return refuse(op, call, fault)
		}
		return nil
	})
	if err != nil {
		return canonical.Settlement{}, err
	}
	return out, nil
}

// tell reads a settlement with its bodies.
func (r *run) tell(out *canonical.Settlement) error {
	set, there, err := r.settlement(out.Identity.Call)
	if err != nil || !there {
		return err
	}
	out.Expires = moment(r.ledger.Expires)
	if w := set.Resolved; w != nil {
		out.Resolved = &canonical.Resolution{Run: out.Identity.RunKey, Call: out.Identity.Call, Verdict: w.Verdict, Evidence: w.Evidence}
	}
	l := set.Late
	if l == nil {
		return nil
	}
	out.Late = &canonical.LateResult{
		Verdict: lifecycle.Completion{State: l.State, Code: l.Code, Evidence: l.Evidence, Execution: l.Execution}, At: moment(l.At),
	}
	if out.Late.Raw, err = r.rawOf(l.Raw); err != nil {
		return err
	}
	if l.Agent != nil {
		out.Late.Agent, err = r.readBody(*l.Agent)
	}
	return err
}

// rawOf reads a raw result, or says why it is absent.
func (r *run) rawOf(d *descriptor) (canonical.Raw, error) {
	if d == nil {
		return canonical.Raw{}, nil
	}
	raw := canonical.Raw{Size: d.Size, SHA256: d.SHA256, AtLeast: d.AtLeast}
	if d.Absent {
		return raw, nil
	}
	r.t.s.rawPieces.Add(1)
	var err error
	raw.Bytes, err = r.readBody(*d)
	return raw, err
}
