package records

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/retrieval"
)

// Ask names one call and says how much of it is wanted.
type Ask struct {
	Run        canonical.RunID      // empty with an evidence id: looked for in the runs of the scope
	Call       canonical.CallName   // zero with an evidence id
	EvidenceID canonical.EvidenceID // in place of the call
	Raw        bool                 // bodies too, as they were stored: nothing is redacted
}

// Record is what is known of one call.
type Record struct {
	Scope canonical.Scope `json:"scope"`
	Run   canonical.RunID `json:"run_id"`
	Call
	Principal     canonical.Principal `json:"principal,omitzero"`
	OperationKey  string              `json:"operation_key"`
	Stage         canonical.Stage     `json:"stage,omitempty"` // where a failure happened
	RequestSHA256 string              `json:"request_sha256"`
	RawSHA256     string              `json:"raw_sha256,omitempty"` // also of a result that was too large to keep
	RawAtLeast    bool                `json:"raw_at_least,omitzero"`
	ModelSHA256   string              `json:"model_sha256,omitempty"`
	Due           time.Time           `json:"due,omitzero"` // of an open call: when it counts as abandoned
	Strength      evidence.Strength   `json:"strength,omitempty"`
	Redacted      string              `json:"redacted,omitempty"` // by which policy all bodies were redacted before they were stored; none: they are verbatim
	Facts         []evidence.Fact     `json:"facts"`
	Coverage      *evidence.Coverage  `json:"coverage,omitempty"`
	Settled       *Settled            `json:"settled,omitempty"`

	// With Ask.Raw alone.
	RequestBody *Body `json:"request,omitempty"`
	RawBody     *Body `json:"raw,omitempty"`
	ModelBody   *Body `json:"model,omitempty"`
}

// Settled is what became known after the record had ended.
type Settled struct {
	State    lifecycle.State         `json:"state,omitempty"` // of a result that came late
	Code     lifecycle.Code          `json:"code,omitempty"`
	At       time.Time               `json:"at,omitzero"`
	RawBytes int64                   `json:"raw_bytes"`
	Verdict  canonical.EffectVerdict `json:"verdict,omitempty"` // a host's word on an effect
	Grounds  string                  `json:"grounds,omitempty"` // what it rests on
}

// Body is bytes: as text where they are UTF-8, else in base64.
type Body struct {
	Bytes  int64   `json:"bytes"`
	SHA256 string  `json:"sha256"`
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

func bodyOf(b canonical.Body) *Body {
	if b == nil {
		return nil
	}
	body := &Body{Bytes: int64(len(b)), SHA256: b.SHA256()}
	if utf8.Valid(b) {
		text := string(b)
		body.Text = &text
	} else {
		body.Base64 = b
	}
	return body
}

// Record reads one record whole and verifies it. A damaged one is retrieval.ErrCorrupt and shows nothing.
func (r *Reader) Record(ctx context.Context, ask Ask) (Record, error) {
	run, call, err := r.resolve(ctx, ask)
	if err != nil {
		return Record{}, err
	}
	ref, err := r.reader.GetReference(ctx, run, call)
	var whole canonical.Record
	switch {
	case err == nil:
		whole, err = r.reader.Record(ctx, ref)
	case isNoResult(err): // there is a record that no reference names
		whole, err = r.withoutResult(ctx, run, call)
	}
	if err != nil {
		return Record{}, r.told(err, "call")
	}
	settled, err := r.settled(ctx, whole)
	if err != nil {
		return Record{}, r.told(err, "run")
	}
	made := documentOf(whole)
	made.Settled = settled
	if ask.Raw {
		made.RequestBody, made.RawBody, made.ModelBody = bodyOf(whole.Request), bodyOf(whole.Raw.Bytes), bodyOf(whole.Agent)
	}
	if err := r.judged(ctx, &made, whole.Head, ask.Raw); err != nil {
		return Record{}, r.told(err, "call")
	}
	return made, nil
}

// judged adds what the projector said of the result, without credentials unless the bodies are shown as well.
func (r *Reader) judged(ctx context.Context, made *Record, h canonical.Head, raw bool) error {
	facts, errFacts := evidence.DecodeFacts(h.Facts)
	coverage, errCoverage := evidence.DecodeCoverage(h.Coverage)
	if errFacts != nil || errCoverage != nil {
		return &retrieval.Error{Op: "record", Field: "facts and coverage", Err: retrieval.ErrCorrupt}
	}
	if !raw {
		if facts, errFacts = r.quietFacts(ctx, facts); errFacts != nil {
			return errFacts
		}
		if coverage, errCoverage = r.quietCoverage(ctx, coverage); errCoverage != nil {
			return errCoverage
		}
	}
	made.Facts = append(made.Facts, facts...)
	if !coverage.IsZero() {
		made.Coverage = &coverage
	}
	return nil
}

// withoutResult reads a record that keeps no result. The store verifies its bodies; that they are those of this call shows
// the operation key.
func (r *Reader) withoutResult(ctx context.Context, run canonical.RunID, call canonical.CallName) (canonical.Record, error) {
	key := r.key(run)
	whole, err := r.store.Record(ctx, key, call)
	if err != nil {
		return canonical.Record{}, refusedOr(err)
	}
	if whole.Identity != (canonical.Identity{RunKey: key, Call: call}) || whole.OperationKey != whole.Identity.OperationKey(whole.Request) {
		return canonical.Record{}, &retrieval.Error{Op: "record", Err: retrieval.ErrCorrupt}
	}
	return whole, nil
}

func (r *Reader) settled(ctx context.Context, whole canonical.Record) (*Settled, error) {
	if whole.State != lifecycle.Error { // nothing else can be settled
		return nil, nil
	}
	s, err := r.store.SettlementOf(ctx, whole.Identity.RunKey, whole.Identity.Call)
	if err != nil {
		return nil, refusedOr(err)
	}
	if s.Late == nil && s.Resolved == nil {
		return nil, nil
	}
	made := &Settled{}
	if s.Late != nil {
		made.State, made.Code, made.At, made.RawBytes = s.Late.Verdict.State, s.Late.Verdict.Code, utc(s.Late.At), s.Late.Raw.Size
	}
	if s.Resolved != nil {
		made.Verdict, made.Grounds = s.Resolved.Verdict, s.Resolved.Evidence
	}
	return made, nil
}

// resolve says which call is meant, after the evidence id was looked up where one was given.
func (r *Reader) resolve(ctx context.Context, ask Ask) (canonical.RunID, canonical.CallName, error) {
	if ask.EvidenceID == "" {
		return ask.Run, ask.Call, nil
	}
	found, err := r.reader.Find(ctx, ask.Run, ask.EvidenceID)
	if err != nil {
		return "", canonical.CallName{}, r.told(err, "evidence id")
	}
	return found.Run, found.Call, nil
}

func documentOf(whole canonical.Record) Record {
	h := whole.Head
	d := Record{
		Scope: h.Identity.Scope, Run: h.Identity.Run,
		Call: Call{
			Seq: h.Seq, Name: NameOf(h.Identity.Call), Turn: h.Identity.Call.Turn, ID: h.Identity.Call.ID, EvidenceID: h.EvidenceID,
			Tool: h.Tool, Effect: h.Effect, State: h.State, Code: h.Code, Evidence: h.Evidence, Ran: ran(h.Execution),
			HasResult: h.Raw.Stored, RawBytes: h.Raw.Size, ModelBytes: h.AgentSize, Request: h.RequestSize,
			Created: utc(h.Created), Ended: utc(h.Ended), Expires: utc(h.Expires),
		},
		Principal: h.Principal, OperationKey: h.OperationKey, Stage: h.Stage, RequestSHA256: h.RequestSHA256,
		RawSHA256: h.Raw.SHA256, RawAtLeast: h.Raw.AtLeast, ModelSHA256: h.AgentSHA256, Strength: h.Strength, Redacted: h.Redacted, Facts: []evidence.Fact{},
	}
	if h.State == lifecycle.Projecting {
		d.Due = utc(h.Due)
	}
	return d
}
