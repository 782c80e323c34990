package fakes

import (
	"context"
	"slices"
	"sort"

	"github.com/toolharness/harness/canonical"
)

// Heads implements [canonical.Reader].
func (s *Store) Heads(ctx context.Context, key canonical.RunKey, calls []canonical.CallName) ([]canonical.Head, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	for _, call := range calls {
		if err := call.Validate(); err != nil {
			return nil, err
		}
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	heads := make([]canonical.Head, len(calls))
	r := s.find(key, s.now())
	if r == nil {
		return heads, nil
	}
	for i, call := range calls {
		if fault := r.fault(call); fault != nil {
			heads[i] = canonical.Head{Identity: canonical.Identity{RunKey: key, Call: call}, Fault: fault}
		} else if rec := r.record(call); rec != nil {
			heads[i] = rec.copyHead()
		}
	}
	return heads, nil
}

// View implements [canonical.Reader].
func (s *Store) View(ctx context.Context, key canonical.RunKey, call canonical.CallName) (canonical.View, error) {
	rec, leave, err := s.stored(ctx, "view", key, call)
	if err != nil {
		return canonical.View{}, err
	}
	defer leave()
	return rec.view("view")
}

// Record implements [canonical.Reader].
func (s *Store) Record(ctx context.Context, key canonical.RunKey, call canonical.CallName) (canonical.Record, error) {
	rec, leave, err := s.stored(ctx, "record", key, call)
	if err != nil {
		return canonical.Record{}, err
	}
	defer leave()
	s.rawReads++
	view, err := rec.view("record")
	if err != nil {
		return canonical.Record{}, err
	}
	raw := rec.raw
	raw.Bytes = raw.Bytes.Clone()
	if rec.request.SHA256() != rec.head.RequestSHA256 || raw.Present() && raw.Bytes.SHA256() != raw.SHA256 {
		return canonical.Record{}, standing("record", rec, canonical.ErrCorrupt)
	}
	return canonical.Record{View: view, Request: rec.request.Clone(), Raw: raw}, nil
}

// stored enters the store for a method that needs the record.
func (s *Store) stored(ctx context.Context, op string, key canonical.RunKey, call canonical.CallName) (*record, func(), error) {
	if err := key.Validate(); err != nil {
		return nil, nil, err
	}
	if err := call.Validate(); err != nil {
		return nil, nil, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := s.find(key, s.now())
	if r == nil {
		leave()
		return nil, nil, refuse(op, call, canonical.ErrMissing)
	}
	if err := r.legible(op, call); err != nil {
		leave()
		return nil, nil, err
	}
	rec := r.record(call)
	if rec == nil {
		leave()
		return nil, nil, refuse(op, call, canonical.ErrMissing)
	}
	return rec, leave, nil
}

func (rec *record) copyHead() canonical.Head {
	h := rec.head
	h.Facts, h.Coverage = h.Facts.Clone(), h.Coverage.Clone()
	return h
}

func (rec *record) view(op string) (canonical.View, error) {
	if rec.agent != nil && rec.agent.SHA256() != rec.head.AgentSHA256 {
		return canonical.View{}, standing(op, rec, canonical.ErrCorrupt)
	}
	return canonical.View{Head: rec.copyHead(), Agent: rec.agent.Clone()}, nil
}

// Order implements [canonical.Reader].
func (s *Store) Order(ctx context.Context, key canonical.RunKey, after int64, max int) ([]canonical.Numbered, error) {
	if max < 1 {
		return nil, &canonical.ArgumentError{Op: "order", Field: "max", Reason: "below one"}
	}
	r, _, leave, err := s.living(ctx, "order", key)
	if err != nil {
		return nil, err
	}
	defer leave()
	first := sort.Search(len(r.order), func(i int) bool { return r.order[i].Seq > after })
	rest := r.order[first:]
	return slices.Clone(rest[:min(len(rest), max)]), nil
}

// SettlementOf implements [canonical.Reader].
func (s *Store) SettlementOf(ctx context.Context, key canonical.RunKey, call canonical.CallName) (canonical.Settlement, error) {
	if err := key.Validate(); err != nil {
		return canonical.Settlement{}, err
	}
	if err := call.Validate(); err != nil {
		return canonical.Settlement{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.Settlement{}, err
	}
	defer leave()
	out := canonical.Settlement{Identity: canonical.Identity{RunKey: key, Call: call}}
	r := s.find(key, s.now())
	if r == nil || r.settled[call] == nil {
		return out, nil
	}
	out.Expires = r.ledger.expires
	set := r.settled[call]
	if set.late != nil {
		late := *set.late
		late.Raw.Bytes, late.Agent = late.Raw.Bytes.Clone(), late.Agent.Clone()
		out.Late = &late
	}
	if set.resolved != nil {
		resolved := *set.resolved
		out.Resolved = &resolved
	}
	return out, nil
}
