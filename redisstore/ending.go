package redisstore

import (
	"context"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// Save implements [canonical.Calls]. One trip.
func (s *Store) Save(ctx context.Context, m canonical.Saving) (canonical.Ended, error) {
	if err := m.Validate(); err != nil {
		return canonical.Ended{}, err
	}
	raw := cutRaw(m.Claim, m.Raw)
	meta, err := encodeDescriptor(raw.desc)
	if err != nil {
		return canonical.Ended{}, trouble(ctx, "save", err)
	}
	var p parcel
	p.add(raw)
	name := m.Call.String()
	keys := s.keys(m.Run).list("run", "call:"+name, "effects")
	args := newArguments(6+len(p.inline), 1, 1+len(p.inline))
	args.text(version(), name, string(m.Claim))
	args.number(m.Seen)
	args.text(raw.desc.SHA256)
	args.bytes(meta)
	args.text(strings.Join(p.names, " "), p.sent())
	p.put(&args)
	r, err := s.deliver(ctx, delivery{
		script: s.lua.save, holder: keys[1], expires: "", fields: p.beside, acks: s.acks,
		message: message{keys: keys, args: args.list},
	})
	if err != nil {
		return canonical.Ended{}, trouble(ctx, "save", err)
	}
	return ended("save", m.Call, r, raw.desc.piecesDigest())
}

// Complete implements [canonical.Calls]. One trip; an argument-sized ending is
// one command.
func (s *Store) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	r, pieces, err := s.complete(ctx, "complete", e)
	if err != nil {
		return canonical.Ended{}, err
	}
	return completionAnswer(e.Call, r, pieces)
}

func completionAnswer(call canonical.CallName, r reply, pieces string) (canonical.Ended, error) {
	if r.word == "swept" {
		return canonical.Ended{}, standing("complete", call, canonical.ErrConflict, r.fields[0])
	}
	return ended("complete", call, r, pieces)
}

// complete answers the script's reply, and the digest over the pieces of the raw
// that went with it.
func (s *Store) complete(ctx context.Context, op string, e canonical.Ending) (r reply, pieces string, err error) {
	d, err := s.checkedCompletion(ctx, op, e)
	if err != nil {
		return reply{}, "", err
	}
	if r, err = s.deliver(ctx, d); err != nil {
		return reply{}, "", trouble(ctx, op, err)
	}
	return r, d.pieces, nil
}

// checkedCompletion is the message of a well-formed ending.
func (s *Store) checkedCompletion(ctx context.Context, op string, e canonical.Ending) (delivery, error) {
	if err := e.Validate(); err != nil {
		return delivery{}, err
	}
	d, err := s.completion(e)
	if err != nil {
		return delivery{}, trouble(ctx, op, err)
	}
	return d, nil
}

// completion is the message that ends a record.
func (s *Store) completion(e canonical.Ending) (delivery, error) {
	var rawParcel, bodies parcel
	rawDigest, rawMeta, pieces := e.Raw.SHA256, []byte(nil), ""
	if !e.RawSaved && known(e.Raw) {
		raw := cutRaw(e.Claim, e.Raw)
		rawParcel.add(raw)
		rawDigest, pieces = raw.desc.SHA256, raw.desc.piecesDigest()
		var err error
		if rawMeta, err = encodeDescriptor(raw.desc); err != nil {
			return delivery{}, err
		}
	}
	last := end{Evidence: e.Verdict.Evidence, Stage: e.Stage}
	for _, b := range []struct {
		kind payloadKind
		body canonical.Body
		desc **descriptor
	}{{kindAgent, e.Agent, &last.Agent}, {kindFacts, e.Facts, &last.Facts}, {kindCover, e.Coverage, &last.Coverage}} {
		if b.body != nil {
			pl := cut(b.kind, e.Claim, b.body, "")
			bodies.add(pl)
			*b.desc = &pl.desc
		}
	}
	meta, err := encodeEnd(last)
	if err != nil {
		return delivery{}, err
	}
	name := e.Call.String()
	keys := s.keys(e.Run).list("run", "call:"+name, "open", "effects")
	all := parcel{beside: append(rawParcel.beside, bodies.beside...), inline: append(rawParcel.inline, bodies.inline...)}
	args := newArguments(11+len(all.inline), 1, 2+len(all.inline))
	args.text(version(), name, string(e.Claim))
	args.number(e.Seen)
	args.text(string(e.Verdict.State), string(e.Verdict.Code), string(e.Verdict.Execution), e.Digest())
	args.bytes(meta)
	args.text(rawDigest)
	args.bytes(rawMeta)
	args.text(strings.Join(rawParcel.names, " "), strings.Join(bodies.names, " "), all.sent())
	all.put(&args)
	return delivery{
		script: s.lua.complete, holder: keys[1], expires: "", fields: all.beside, pieces: pieces, acks: s.acks,
		message: message{keys: keys, args: args.list},
	}, nil
}

// known reports whether anything is known of a raw result.
func known(raw canonical.Raw) bool { return raw.Present() || raw.SHA256 != "" || raw.Size != 0 }

// ended reads the answers that save, complete and settle share.
func ended(op string, call canonical.CallName, r reply, pieces string) (canonical.Ended, error) {
	switch r.word {
	case "saved", "ended", "settled", "repeat":
		return canonical.Ended{Repeat: r.word == "repeat", Pieces: pieces, Strength: strengthOf(r.replicas)}, nil
	default:
		return canonical.Ended{}, common(op, call, r)
	}
}

// sweptEnd is what a sweep stores beside state, code and execution.
func sweptEnd() ([]byte, error) {
	return encodeEnd(end{Evidence: evidence.Failed, Stage: canonical.StageSweep})
}
