package boundary

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/lifecycle"
)

// WithFindings is the same toolset, armed: the reserved argument of package
// findings is shown to the model, taken off before schema, tool and record, and
// judged before authorization, budget and record. The error is a [*ConfigError]:
// the boundary is armed already (Config.Findings), or a tool brings the reserved
// name without owning it (Tool.OwnsFindings).
func (s *Toolset) WithFindings() (*Toolset, error) {
	if s.armed {
		return nil, &ConfigError{Problems: []error{errArmedTwice}}
	}
	armed := *s
	armed.armed = true
	if err := armed.checkFindings(); err != nil {
		return nil, &ConfigError{Problems: []error{err}}
	}
	return &armed, nil
}

var errArmedTwice = errors.New("findings are armed twice")

// checkFindings reports every tool that cannot be armed.
func (s *Toolset) checkFindings() error {
	shapes := make([]findings.ToolShape, 0, len(s.order))
	for _, name := range s.order {
		t := s.tools[name]
		shapes = append(shapes, findings.ToolShape{Name: t.Name, Schema: t.Schema, OwnsReserved: t.OwnsFindings})
	}
	return findings.CheckTools(shapes...)
}

// shown is the schema that the model sees of a tool.
func (s *Toolset) shown(t *boundTool) json.RawMessage {
	if !s.armed || t.OwnsFindings {
		return append(json.RawMessage(nil), t.Schema...)
	}
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	with, err := findings.AddArgument(schema, findings.ArgumentSchema(findings.Offer{}))
	if err != nil { // cannot be: bind has parsed the schema, checkFindings looked for the name
		return append(json.RawMessage(nil), t.Schema...)
	}
	return with
}

// checkFindings takes the reserved argument off and judges what it cites. A
// refusal concerns this call alone, and costs nothing.
func (c *call) checkFindings(context.Context) *refusal {
	if !c.citing {
		c.operationKey = c.identity.OperationKey(c.request.Bytes())
		return nil
	}
	parts, admission, err := c.judge()
	if err != nil {
		return &refusal{lifecycle.InvalidInput, "take the reserved argument off", err}
	}
	c.request = parts.Arguments
	c.operationKey = c.identity.OperationKey(c.request.Bytes())
	c.run.Findings().File(findings.Origin{Call: c.identity.Call}, admission)
	if admission.Declaration.Cites() || admission.Refused() {
		event := admission.Event(c.identity)
		c.cited = &event
	}
	if admission.Refused() {
		return &refusal{findings.Code, "judge its citations", errCitations}
	}
	return nil
}

var errCitations = errors.New("a citation names no result that was served and executed; Event.Findings has the reasons")

// judge asks for the call's own witness, or for that of its proposal where it was
// paused: nothing that was served later grants it anything.
func (c *call) judge() (findings.Parts, findings.Admission, error) {
	if held := c.run.held(c.identity.Call); held != nil || c.env.Paused {
		return findings.Resume(held, c.identity, c.env.Tool, c.request)
	}
	parts, err := findings.Split(c.request)
	if err != nil {
		return parts, findings.Admission{}, err
	}
	w := c.env.Witness
	if w != nil && !w.Of(c.run.key) {
		w = nil // of another run: it proves nothing here
	}
	return parts, findings.Admit(w, parts.Declaration), nil
}

// Mark is what the host keeps of a result that it puts into the next request, for
// the witness of that request; false where it is not known whether the tool ran,
// so that nothing can be cited.
func (r *Run) Mark(call canonical.CallName, o Outcome) (findings.Mark, bool) {
	identity := canonical.Identity{RunKey: r.key, Call: call}
	switch o.Execution() {
	case Completed:
		return findings.MarkExecuted(identity, o.Text()), true
	case NotStarted:
		return findings.MarkNotDispatched(identity, o.Text()), true
	default:
		return findings.Mark{}, false
	}
}

// Witness makes the witness of one request: served are the results that stood in
// it, as package findings/wire reads them, incomplete whether the provider keeps a
// part of the conversation, marks what the host kept of the results. It reads the
// records of the marked calls, of this run and of those that it continues, one
// batch a run. The error is the store's, or a [*findings.CaptureError].
func (r *Run) Witness(ctx context.Context, served []findings.Served, incomplete bool, marks []findings.Mark) (*findings.Witness, error) {
	capture := findings.Capture{Run: r.key, Continues: r.continues, Served: served, Incomplete: incomplete, Marks: marks}
	for _, run := range append([]canonical.RunID{r.key.Run}, r.continues...) {
		key := canonical.RunKey{Scope: r.key.Scope, Run: run}
		var names []canonical.CallName
		for _, m := range marks {
			if m.Call.RunKey == key && m.Dispatch == findings.Executed {
				names = append(names, m.Call.Call)
			}
		}
		if len(names) == 0 {
			continue
		}
		heads, err := r.boundary.store.Heads(ctx, key, names)
		if err != nil {
			return nil, r.boundary.runError("read the cited records", key, err)
		}
		for i, head := range heads {
			identity := canonical.Identity{RunKey: key, Call: names[i]}
			capture.Records = append(capture.Records, findings.RecordOf(identity, head))
		}
	}
	return findings.NewWitness(capture)
}

// Findings is what the model has declared in this run, by this process, and what
// Restore brought. It decides nothing.
func (r *Run) Findings() *findings.Ledger {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cited
}

// AdmitAnswer judges the citations of a final answer, files them and tells the
// observer. A host with middleware on answers asks twice, see
// [findings.AdmitAnswer]. The error is nil or a [*findings.AnswerDeniedError].
func (r *Run) AdmitAnswer(ctx context.Context, w *findings.Witness, stage findings.Stage, text []byte) (findings.Admission, error) {
	if w != nil && !w.Of(r.key) {
		w = nil
	}
	admission, err := findings.AdmitAnswer(w, stage, text)
	r.Findings().File(findings.Origin{Answer: stage}, admission)
	event := admission.Event(canonical.Identity{RunKey: r.key})
	r.boundary.events.put(ctx, Event{
		Kind: EventAnswer, Time: r.boundary.now(), Identity: canonical.Identity{RunKey: r.key}, TextBytes: len(text), Findings: &event,
	})
	return admission, err
}
