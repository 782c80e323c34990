package localstore

import (
	"context"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Save implements [canonical.Calls]. One transaction.
func (s *Store) Save(ctx context.Context, m canonical.Saving) (canonical.Ended, error) {
	if err := prepared(ctx, "save", m.Validate); err != nil {
		return canonical.Ended{}, err
	}
	raw := cutRaw(m.Raw)
	var out canonical.Ended
	err := s.write(ctx, "save", func(t *tx) (err error) {
		out, err = t.save(m, raw)
		return err
	})
	if err != nil {
		return canonical.Ended{}, err
	}
	return out, nil
}

func (t *tx) save(m canonical.Saving, raw *body) (canonical.Ended, error) {
	r, rec, err := t.claimed("save", m.Run, m.Call, m.Claim)
	if err != nil {
		return canonical.Ended{}, err
	}
	effects, fault := r.effects()
	if fault != nil {
		return canonical.Ended{}, refuse("save", m.Call, fault)
	}
	if r.ledger.notice(m.Seen) {
		r.keep()
	}
	if rec.saved() && rec.Raw.SHA256 == raw.desc.SHA256 {
		return canonical.Ended{Repeat: true, Pieces: raw.pieces(), Strength: Strength}, nil
	}
	if rec.saved() || rec.State != lifecycle.Projecting {
		return canonical.Ended{}, standing("save", rec, canonical.ErrConflict)
	}
	rec.Raw = r.keepBody(raw)
	r.keepRecord(rec)
	if waits(effects, m.Call) >= 0 {
		r.keepEffects(without(effects, m.Call))
	}
	return canonical.Ended{Pieces: raw.pieces(), Strength: Strength}, nil
}

// Complete implements [canonical.Calls]. One transaction.
func (s *Store) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	got := s.CompleteBatch(ctx, []canonical.Ending{e})[0]
	return got.Ended, got.Err
}

// ending is an ending with its bodies divided and its digest taken.
type ending struct {
	canonical.Ending
	raw     *body
	agent   *body
	outcome string
}

func prepareEnding(e canonical.Ending) ending {
	out := ending{Ending: e, raw: cutRaw(e.Raw), outcome: e.Digest()}
	if e.Agent != nil {
		agent := cut(e.Agent, "")
		out.agent = &agent
	}
	return out
}

// sent is the digest over the pieces of the raw that came with this message.
func (e *ending) sent() string {
	if e.RawSaved {
		return ""
	}
	return e.raw.pieces()
}

// lateAnswer answers an ending that differs from the one that a record has.
type lateAnswer func(*run, *record, ending) (canonical.Ended, error)

// end is what Complete and Settle share.
func (s *Store) end(ctx context.Context, op string, messages []canonical.Ending, late lateAnswer) []canonical.EndAnswer {
	answers := make([]canonical.EndAnswer, len(messages))
	errs := s.batch(ctx, op, len(messages), func(i int) (func(*tx) error, error) {
		if err := messages[i].Validate(); err != nil {
			return nil, err
		}
		e := prepareEnding(messages[i])
		return func(t *tx) (err error) {
			answers[i].Ended, err = t.end(op, e, late)
			return err
		}, nil
	})
	for i, err := range errs {
		if answers[i].Err = err; err != nil {
			answers[i].Ended = canonical.Ended{}
		}
	}
	return answers
}

func (t *tx) end(op string, e ending, late lateAnswer) (canonical.Ended, error) {
	r, rec, err := t.claimed(op, e.Run, e.Call, e.Claim)
	if err != nil {
		return canonical.Ended{}, err
	}
	effects, fault := r.effects()
	if fault != nil {
		return canonical.Ended{}, refuse(op, e.Call, fault)
	}
	if r.ledger.notice(e.Seen) {
		r.keep()
	}
	switch {
	case rec.Outcome == e.outcome:
		return canonical.Ended{Repeat: true, Pieces: e.sent(), Strength: Strength}, nil
	case rec.State.Final():
		return late(r, rec, e)
	case !rec.acceptsRaw(e.Ending):
		return canonical.Ended{}, standing(op, rec, canonical.ErrConflict)
	}
	rec.Outcome = e.outcome
	if !rec.saved() {
		rec.Raw = r.keepBody(e.raw)
	}
	rec.Agent = r.keepBody(e.agent)
	rec.Facts, rec.Coverage = e.Facts, e.Coverage
	rec.Stage = []byte(e.Stage)
	r.ended(rec, e.Verdict, effects)
	return canonical.Ended{Pieces: e.sent(), Strength: Strength}, nil
}

// claimed returns the record of a message whose sender holds its claim.
func (t *tx) claimed(op string, key canonical.RunKey, call canonical.CallName, claim canonical.Claim) (*run, *record, error) {
	r, err := t.ledgered(op, key, call, canonical.ErrMissing)
	if err != nil {
		return nil, nil, err
	}
	rec, fault := r.record(call)
	switch {
	case fault != nil:
		return nil, nil, refuse(op, call, fault)
	case rec == nil:
		return nil, nil, refuse(op, call, canonical.ErrMissing)
	case string(rec.Claim) != string(claim):
		return nil, nil, standing(op, rec, canonical.ErrConflict)
	}
	return r, rec, nil
}

// acceptsRaw: a raw that was saved is not replaced, and one that was not saved
// cannot be referred to.
func (rec *record) acceptsRaw(e canonical.Ending) bool {
	if rec.saved() {
		return e.Raw.SHA256 == "" || e.Raw.SHA256 == rec.Raw.SHA256
	}
	return !e.RawSaved
}

// ended gives a record its verdict and the run its capacity back, and writes both.
func (r *run) ended(rec *record, v lifecycle.Completion, effects []effect) {
	rec.State, rec.Code, rec.Evidence, rec.Execution = v.State, v.Code, v.Evidence, v.Execution
	rec.Ended = r.t.now.UnixMilli()
	r.keepRecord(rec)
	r.ledger.Open--
	r.ledger.Reserved += rec.held() - rec.Reserve
	r.keep()
	r.t.delete(r.b, prefixOpen+number(rec.Due)+rec.call.String())
	place := waits(effects, rec.call)
	switch {
	case place < 0:
	case v.Execution == lifecycle.Unknown:
		effects[place].Due = 0
		r.keepEffects(effects)
	default:
		r.keepEffects(without(effects, rec.call))
	}
}
