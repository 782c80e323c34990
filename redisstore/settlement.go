package redisstore

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// late is what is kept of a late result beside its bodies, in the field lm of
// the settlement. Facts and coverage are not kept: no report may use them.
type late struct {
	State     lifecycle.State     `json:"state"`
	Code      lifecycle.Code      `json:"code,omitempty"`
	Evidence  evidence.Status     `json:"evidence"`
	Execution lifecycle.Execution `json:"execution"`
	Raw       *descriptor         `json:"raw,omitempty"`
	Agent     *descriptor         `json:"agent,omitempty"`

	accepted []string // names of its payload fields, from lf
}

// Settle implements [canonical.Effects]. One trip, as complete, where the call
// is still open; another where it was swept, and two more where its raw was
// saved before: the settlement outlives the record, so it has bytes of its own.
func (s *Store) Settle(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	r, pieces, err := s.complete(ctx, "settle", e)
	if err != nil {
		return canonical.Ended{}, err
	}
	if r.word != "swept" {
		return ended("settle", e.Call, r, pieces)
	}
	raw := e.Raw
	if e.RawSaved {
		if raw, err = s.savedRaw(ctx, e, r.fields[0]); err != nil {
			return canonical.Ended{}, err
		}
	}
	d, err := s.lateDelivery(e, raw, r.fields[1])
	if err != nil {
		return canonical.Ended{}, trouble(ctx, "settle", err)
	}
	d.acks = s.acks
	if r, err = s.deliver(ctx, d); err != nil {
		return canonical.Ended{}, trouble(ctx, "settle", err)
	}
	return ended("settle", e.Call, r, pieces)
}

// savedRaw reads the raw that an ending says was saved before.
func (s *Store) savedRaw(ctx context.Context, e canonical.Ending, state string) (canonical.Raw, error) {
	record, err := s.whole(ctx, "settle", e.Run, e.Call, true)
	if err != nil {
		return canonical.Raw{}, err
	}
	if !record.Raw.Present() || record.Raw.SHA256 != e.Raw.SHA256 {
		return canonical.Raw{}, standing("settle", e.Call, canonical.ErrConflict, state)
	}
	return record.Raw, nil
}

// lateDelivery is the message that appends a late result. expires is the run's,
// as the answer to complete had it: the fields of large bodies come before the
// script that gives the settlement its life.
func (s *Store) lateDelivery(e canonical.Ending, raw canonical.Raw, expires string) (delivery, error) {
	l := late{State: e.Verdict.State, Code: e.Verdict.Code, Evidence: e.Verdict.Evidence, Execution: e.Verdict.Execution}
	var p parcel
	if known(raw) {
		pl := cutRaw(e.Claim, raw)
		p.add(pl)
		l.Raw = &pl.desc
	}
	if e.Agent != nil {
		pl := cut(kindAgent, e.Claim, e.Agent, "")
		p.add(pl)
		l.Agent = &pl.desc
	}
	meta, err := json.Marshal(l, json.Deterministic(true))
	if err != nil {
		return delivery{}, err
	}
	k := s.keys(e.Run)
	args := newArguments(5+len(p.inline), 0, 1+len(p.inline))
	args.text(version(), string(e.Claim), e.Digest())
	args.bytes(meta)
	args.text(strings.Join(p.names, " "), p.sent())
	p.put(&args)
	return delivery{
		script: s.lua.settle, holder: k.settled(e.Call), expires: expires, fields: p.beside,
		message: message{
			keys: []string{k.ledger(), k.record(e.Call), k.settled(e.Call)},
			args: args.list,
		},
	}, nil
}

// Resolve implements [canonical.Effects]. One trip.
func (s *Store) Resolve(ctx context.Context, m canonical.Resolution) error {
	if err := m.Validate(); err != nil {
		return err
	}
	k := s.keys(m.Run)
	r, err := s.run(ctx, s.lua.resolve, message{
		keys: []string{k.ledger(), k.record(m.Call), k.effects(), k.settled(m.Call)},
		args: []any{version(), m.Call.String(), string(m.Verdict), m.Evidence},
	})
	if err != nil {
		return trouble(ctx, "resolve", err)
	}
	switch r.word {
	case "resolved", "repeat":
		return nil
	case "open":
		return standing("resolve", m.Call, canonical.ErrStillOpen, r.fields[0])
	default:
		return common("resolve", m.Call, r)
	}
}

// settledFields are read for a settlement. None of them is a body.
var settledFields = [...]string{"v", "lm", "lf", "lt", "rv", "re"}

// SettlementOf implements [canonical.Reader]. One trip, two where a late result
// has bodies.
func (s *Store) SettlementOf(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.Settlement, error) {
	if err := checkCall(run, call); err != nil {
		return canonical.Settlement{}, err
	}
	k := s.keys(run)
	var ledger, settled *redis.SliceCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		ledger = p.HMGet(ctx, k.ledger(), "ex")
		settled = p.HMGet(ctx, k.settled(call), settledFields[:]...)
		return nil
	})
	if err != nil && !answered(err) {
		return canonical.Settlement{}, trouble(ctx, "settlement", err)
	}
	if err := settled.Err(); err != nil {
		return canonical.Settlement{}, s.explain(ctx, "settlement", call, k.settled(call), err)
	}
	h := present(settledFields[:], settled.Val())
	out := canonical.Settlement{Identity: canonical.Identity{RunKey: run, Call: call}}
	expires := present([]string{"ex"}, ledger.Val())["ex"]
	if h["v"] == "" || expires == "" {
		return out, nil
	}
	bodies, err := decodeSettlement(h, &out)
	if err == nil {
		var n numbers
		if out.Expires = n.time(expires); n.bad {
			err = canonical.ErrCorrupt
		}
	}
	if err != nil {
		return canonical.Settlement{}, refused("settlement", call, err)
	}
	if err := s.readLate(ctx, &out, bodies); err != nil {
		return canonical.Settlement{}, err
	}
	return out, nil
}

// decodeSettlement reads the fixed fields of a settlement into out, and answers
// what is still to be read.
func decodeSettlement(h hash, out *canonical.Settlement) (*late, error) {
	var n numbers
	if written := n.int(h["v"]); n.bad || written > canonical.SchemaVersion {
		return nil, canonical.ErrNewerVersion
	}
	if verdict := canonical.EffectVerdict(h["rv"]); h["rv"] != "" {
		if !verdict.Valid() {
			return nil, canonical.ErrCorrupt
		}
		out.Resolved = &canonical.Resolution{Run: out.Identity.RunKey, Call: out.Identity.Call, Verdict: verdict, Evidence: h["re"]}
	}
	if h["lm"] == "" {
		return nil, nil
	}
	var l late
	at := n.time(h["lt"])
	if n.bad || json.Unmarshal([]byte(h["lm"]), &l) != nil {
		return nil, canonical.ErrCorrupt
	}
	verdict := lifecycle.Completion{State: l.State, Code: l.Code, Evidence: l.Evidence, Execution: l.Execution}
	if verdict.Validate() != nil || l.Raw != nil && !l.Raw.valid() || l.Agent != nil && !l.Agent.valid() {
		return nil, canonical.ErrCorrupt
	}
	out.Late = &canonical.LateResult{Verdict: verdict, At: at}
	l.accepted = strings.Fields(h["lf"])
	return &l, nil
}

// readLate reads the bodies of a late result.
func (s *Store) readLate(ctx context.Context, out *canonical.Settlement, l *late) error {
	if l == nil {
		return nil
	}
	id := out.Identity
	key := s.keys(id.RunKey).settled(id.Call)
	var list []fetch
	var fault error
	if l.Agent != nil {
		list = append(list, fetch{key: key, names: l.Agent.names(kindAgent, l.accepted), desc: *l.Agent, to: &out.Late.Agent, fault: &fault})
	}
	if l.Raw != nil {
		out.Late.Raw = canonical.Raw{Size: l.Raw.Size, SHA256: l.Raw.SHA256, AtLeast: l.Raw.AtLeast}
		if !l.Raw.Absent {
			list = append(list, fetch{key: key, names: l.Raw.names(kindRaw, l.accepted), desc: *l.Raw, to: &out.Late.Raw.Bytes, fault: &fault})
		}
	}
	if err := s.fetch(ctx, list); err != nil {
		return trouble(ctx, "settlement", err)
	}
	if fault != nil {
		return refused("settlement", id.Call, fault)
	}
	return nil
}
