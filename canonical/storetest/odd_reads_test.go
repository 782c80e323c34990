package storetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
)

func isMissing(err error) bool { return errors.Is(err, canonical.ErrMissing) }

func (s *odd) Heads(ctx context.Context, key canonical.RunKey, names []canonical.CallName) ([]canonical.Head, error) {
	heads := make([]canonical.Head, 0, len(names))
	for _, name := range names { // one by one, and others may write in between
		v, err := s.View(ctx, key, name)
		if err != nil && !isMissing(err) {
			return nil, err
		}
		heads = append(heads, v.Head)
	}
	return heads, nil
}

func (s *odd) View(ctx context.Context, key canonical.RunKey, name canonical.CallName) (canonical.View, error) {
	r, err := s.Record(ctx, key, name)
	return r.View, err
}

func (s *odd) Record(ctx context.Context, key canonical.RunKey, name canonical.CallName) (out canonical.Record, err error) {
	err = s.about(ctx, key, name, func(r *oddRun, c *oddCall) error {
		a, e := c.a, c.ending
		out.Request, out.Raw, out.Agent = a.Request.Clone(), c.raw, e.Agent.Clone()
		out.Raw.Bytes = c.raw.Bytes.Clone()
		out.Head = canonical.Head{
			Version: canonical.SchemaVersion, Identity: canonical.Identity{RunKey: key, Call: name}, Seq: c.seq, Tool: a.Tool, Effect: a.Effect,
			Principal: a.Principal, EvidenceID: a.EvidenceID, OperationKey: a.OperationKey, Redacted: a.Redacted, State: c.state(), Code: c.verdict.Code,
			Evidence: c.verdict.Evidence, Execution: c.verdict.Execution, Stage: c.stage,
			RequestSize: int64(len(a.Request)), RequestSHA256: a.Request.SHA256(),
			Raw:   canonical.RawInfo{Stored: c.raw.Present(), Size: c.raw.Size, SHA256: c.raw.SHA256, AtLeast: c.raw.AtLeast},
			Facts: e.Facts.Clone(), Coverage: e.Coverage.Clone(),
			Created: elsewhere(c.born), Due: elsewhere(c.due(r)), Ended: elsewhere(c.ended), Expires: elsewhere(c.expires()), Strength: synced,
		}
		if e.Agent != nil {
			out.AgentSize, out.AgentSHA256 = int64(len(e.Agent)), e.Agent.SHA256()
		}
		if len(c.raw.Bytes) > 1<<10 {
			out.Head.Raw.Pieces = canonical.Body("pieces of " + c.raw.SHA256).SHA256()
		}
		return nil
	})
	return out, err
}

func (s *odd) SettlementOf(ctx context.Context, key canonical.RunKey, name canonical.CallName) (canonical.Settlement, error) {
	if err := key.Validate(); err != nil {
		return canonical.Settlement{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return canonical.Settlement{}, err
	}
	defer leave()
	r := s.read(key)
	if r == nil {
		return canonical.Settlement{}, nil
	}
	out := canonical.Settlement{Identity: canonical.Identity{RunKey: key, Call: name}, Expires: elsewhere(r.expires)}
	if e, ok := r.late[name]; ok {
		m := canonical.Ending(e.what.(settled))
		out.Late = &canonical.LateResult{Verdict: m.Verdict, Raw: m.Raw, Agent: m.Agent.Clone(), At: elsewhere(e.at)}
		out.Late.Raw.Bytes = m.Raw.Bytes.Clone() // of a raw that was saved only what is known of it
	}
	if m, ok := r.verdicts[name]; ok {
		out.Resolved = &m
	}
	return out, nil
}

func (s *odd) FindEvidence(ctx context.Context, key canonical.RunKey, id canonical.EvidenceID) (name canonical.CallName, err error) {
	if err := canonical.CheckEvidenceID("odd", id); err != nil {
		return name, err
	}
	err = s.with(ctx, key, func(r *oddRun) error {
		for _, other := range r.order {
			if r.calls[other].a.EvidenceID == id {
				name = other
			}
		}
		if name == (canonical.CallName{}) {
			return no(canonical.ErrMissing, "")
		}
		return nil
	})
	return name, err
}

// RawPart gives at most three hundred thousand bytes at a time.
func (s *odd) RawPart(ctx context.Context, key canonical.RunKey, name canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
	r, err := s.Record(ctx, key, name)
	switch {
	case canonical.CheckPart(offset, most) != nil:
		return canonical.RawPart{}, canonical.CheckPart(offset, most)
	case err != nil:
		return canonical.RawPart{}, err
	case !r.Head.Raw.Stored:
		return canonical.RawPart{}, no(canonical.ErrMissing, "")
	}
	end, err := r.Head.Raw.Part(offset, min(most, 300_000))
	if err != nil {
		return canonical.RawPart{}, err
	}
	return canonical.RawPart{Raw: r.Head.Raw, Bytes: r.Raw.Bytes[offset:end], Offset: offset}, nil
}

func (s *odd) ListRuns(ctx context.Context, scope canonical.Scope, after canonical.ListedRun, most int) (page []canonical.ListedRun, err error) {
	if err := canonical.CheckListing(scope, after, most); err != nil {
		return nil, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	seen := map[canonical.RunKey]bool{}
	for _, e := range s.log {
		if seen[e.run] || e.run.Scope != scope {
			continue
		}
		seen[e.run] = true
		if r := s.read(e.run); r != nil {
			page = append(page, canonical.ListedRun{Run: e.run.Run, Expires: elsewhere(r.expires)})
		}
	}
	slices.SortFunc(page, canonical.ListedRun.Compare)
	page = slices.DeleteFunc(page, func(r canonical.ListedRun) bool { return r.Compare(after) <= 0 })
	return page[:min(len(page), most)], nil
}

// TestOdd_walks shows that the odd store is as correct as the others, so that
// what the suite accepts there is no weakness of the suite.
func TestOdd_walks(t *testing.T) {
	t.Parallel()
	storetest.Walk(t, storetest.WalkOptions{Seed: 3, Ops: 6_000},
		storetest.NamedHarness{Name: "odd", Open: func(testing.TB) storetest.Harness { return newOdd(0) }},
		storetest.NamedHarness{Name: "fake", Open: func(testing.TB) storetest.Harness { _, h := newGood(); return h }})
}
