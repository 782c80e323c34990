package demo

import (
	"context"
	"errors"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// searches sends the messages of the demo's own, the calls of each at once.
func (d *demo) searches(ctx context.Context) error {
	for i, m := range d.script.messages {
		shown := &d.document.Messages[i]
		d.screen.Message(*shown)
		calls := m.calls()
		d.screen.Running(names(calls), i+1, len(d.script.messages))
		results := d.options.answers(d.toolset.Dispatch(ctx, d.run, d.options.asked(calls)...))
		for j, result := range results {
			d.note(calls[j], result.Outcome)
			d.answered = append(d.answered, nameOf(result))
			s := &shown.Calls[j]
			s.Call, s.Found = callOf(calls[j], result.Outcome), found(calls[j].Name, result.Outcome)
			d.screen.Searched(*s)
			if _, err := answer(result); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil // told by the caller
		}
	}
	return nil
}

// nameOf is the name of the call that a result says it is of: that of its reference, or of its error where nothing is kept.
func nameOf(result boundary.Result) canonical.CallName {
	if reference, ok := result.Outcome.Reference(); ok {
		return canonical.CallName{Turn: canonical.Turn(reference.Turn), ID: canonical.ToolCallID(reference.ToolCallID)}
	}
	if failed, ok := errors.AsType[*boundary.Error](result.Err); ok {
		return failed.Identity.Call
	}
	return canonical.CallName{}
}

// planned is a message as the document has it before anything ran.
func (m message) planned() Message {
	planned := Message{Turn: m.turn, Question: m.question}
	for i, call := range m.calls() {
		planned.Calls = append(planned.Calls, Search{
			Call: Call{ID: call.ID, Turn: call.Turn, Tool: call.Name}, Arguments: m.searches[i].arguments,
			WantEvidence: m.searches[i].evidence, WantCode: m.searches[i].code,
		})
	}
	return planned
}
