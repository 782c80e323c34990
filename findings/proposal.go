package findings

import (
	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
)

// ProposalVersion is the version of stored proposals that this code writes and reads.
const ProposalVersion = 1

// Proposal is what a paused call was proposed with: its name, a digest of the
// bytes that the model wrote, and the witness of the request that it answered. It
// has no argument and no result.
type Proposal struct {
	call    canonical.CallName
	tool    string
	emitted string
	witness *Witness
}

// Propose keeps what a call needs to be resumed. emitted are the arguments as the
// model wrote them, with the reserved one. The witness is reduced to what they
// cite; that changes no verdict.
func Propose(w *Witness, call canonical.CallName, tool string, emitted canonical.Request) (Proposal, error) {
	parts, err := Split(emitted)
	if err != nil {
		return Proposal{}, err
	}
	if w == nil {
		return Proposal{}, &CodeError{What: "proposal", Reason: "there is no witness"}
	}
	return Proposal{call: call, tool: tool, emitted: emitted.SHA256(), witness: w.only(parts.Declaration)}, nil
}

// Resume judges a paused call again, before anything else of it goes on, with the
// witness of its own proposal: nothing that was served later can grant it
// anything. A proposal that is missing, of another run, call or tool, or of other
// bytes, refuses the call whether it cites or not (F30).
func Resume(p *Proposal, call canonical.Identity, tool string, emitted canonical.Request) (Parts, Admission, error) {
	parts, err := Split(emitted)
	if err != nil {
		return Parts{}, Admission{}, err
	}
	switch {
	case p == nil || p.witness == nil:
		return parts, refused(parts, NoProposal), nil
	case !p.witness.Of(call.RunKey), p.call != call.Call, p.tool != tool, p.emitted != emitted.SHA256():
		return parts, refused(parts, OtherProposal), nil
	}
	return parts, Admit(p.witness, parts.Declaration), nil
}

// refused refuses a whole proposal, each of its citations for the same reason.
func refused(parts Parts, reason Reason) Admission {
	a := Admission{Declaration: parts.Declaration}
	for _, c := range parts.Declaration.Previous {
		a.Verdicts = append(a.Verdicts, Verdict{ID: c.ID, Refused: reason})
	}
	a.Verdicts = append(a.Verdicts, Verdict{Refused: reason})
	return a
}

type storedProposal struct {
	Version int           `json:"v"`
	Call    string        `json:"call"`
	Tool    string        `json:"tool"`
	Emitted string        `json:"emitted"`
	Witness storedWitness `json:"witness"`
}

// EncodeProposal is the stored form, for the reserved fields of the record of a
// suspended call: one JSON object.
func EncodeProposal(p Proposal, redact Redactor) ([]byte, error) {
	w, err := p.witness.stored(redact)
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedProposal{Version: ProposalVersion, Call: p.call.String(), Tool: p.tool, Emitted: p.emitted, Witness: w},
		json.Deterministic(true))
}

// DecodeProposal reads what [EncodeProposal] wrote, and checks all of it first.
// The error is a [*CodeError]; the call is then resumed with nil, and refused.
func DecodeProposal(encoded []byte) (*Proposal, error) {
	if err := checkVersion("proposal", encoded, ProposalVersion); err != nil {
		return nil, err
	}
	var s storedProposal
	if err := json.Unmarshal(encoded, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, &CodeError{What: "proposal", Reason: "not one JSON object of a proposal"}
	}
	call, err := canonical.ParseCallName(s.Call)
	if err != nil || canonical.CheckToolName(s.Tool) != nil || !isDigest(s.Emitted) {
		return nil, &CodeError{What: "proposal", Reason: "the call, the tool or the digest is not valid"}
	}
	w, err := s.Witness.witness()
	if err != nil {
		return nil, err
	}
	return &Proposal{call: call, tool: s.Tool, emitted: s.Emitted, witness: w}, nil
}
