package demo

import (
	"context"
	"io"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/recording"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector/rows"
)

// script is what the demo does: the recorded conversations of the SQL agent, the messages of its own, and the budgets that
// follow from both.
type script struct {
	conversations []recording.Conversation
	messages      []message
	calls         int            // recorded, all of them
	perTool       map[string]int // recorded calls of each tool
}

// readScript takes the conversations whose calls are all of tools that exist here.
func readScript(tools []boundary.Tool) (script, error) {
	all, err := recording.Parse(data.Conversations())
	if err != nil {
		return script{}, err
	}
	known := map[string]bool{}
	for _, tool := range tools {
		known[tool.Name] = true
	}
	s := script{perTool: map[string]int{}, messages: messages()}
	for _, c := range all {
		if !onlyOf(c, known) {
			continue
		}
		s.conversations = append(s.conversations, c)
		for _, call := range c.Calls {
			s.calls++
			s.perTool[call.Tool]++
		}
	}
	return s, nil
}

func onlyOf(c recording.Conversation, known map[string]bool) bool {
	for _, call := range c.Calls {
		if !known[call.Tool] {
			return false
		}
	}
	return len(c.Calls) > 0
}

// turns groups the calls that the agent made in one message, in order.
func turns(c recording.Conversation) [][]boundary.Call {
	var groups [][]boundary.Call
	message := -1
	for _, call := range c.Calls {
		if call.Message != message {
			message = call.Message
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], asked(call))
	}
	return groups
}

func asked(call recording.Call) boundary.Call {
	return boundary.Call{ID: boundary.ToolCallID(call.ID), Name: call.Tool, Arguments: []byte(call.Arguments)}
}

// admitted is how many calls the run admits: those recorded, those of the messages, and the DELETE, which only the
// database itself can refuse.
func (s script) admitted() int {
	count := s.calls + 1
	for _, m := range s.messages {
		count += len(m.searches)
	}
	return count
}

// ready is how many of them must end READY: all but the DELETE and the search that must not be taken for an absence.
func (s script) ready() int {
	count := s.calls
	for _, m := range s.messages {
		count += m.ready()
	}
	return count
}

// recorded are the calls of all conversations, in order.
func (s script) recorded() []recording.Call {
	var all []recording.Call
	for _, c := range s.conversations {
		all = append(all, c.Calls...)
	}
	return all
}

// lastOf is the last recorded call of a tool.
func (s script) lastOf(tool string) boundary.Call {
	var last boundary.Call
	for _, call := range s.recorded() {
		if call.Tool == tool {
			last = asked(call)
		}
	}
	return last
}

// The tool that would change the database, if it were let through. It is never entered.
const nameAddArtist = "add_artist"

type artistInput struct {
	Name string `json:"name"`
}

func addArtist(tools *sqlagent.Tools) boundary.Tool {
	return boundary.Tool{
		Name: nameAddArtist, Description: "Add an artist.", Effect: boundary.EffectWrite,
		Projector: rows.New(rows.Options{}),
		Executor: boundary.Args(func(ctx context.Context, in artistInput, raw io.Writer) error {
			return tools.Query(ctx, sqlagent.QueryInput{Query: "INSERT INTO Artist (Name) VALUES ('" + in.Name + "')"}, raw)
		}),
	}
}

// attempt is one call that must be refused.
type attempt struct {
	what string
	call boundary.Call
	code boundary.Code
	ran  lifecycle.Execution
	by   func(*demo, context.Context, boundary.Call) (boundary.Outcome, error)
}

func (a attempt) refusal() Refusal {
	return Refusal{What: a.what, ID: a.call.ID, Turn: a.call.Turn, Tool: a.call.Name, WantCode: a.code, WantRan: a.ran.Ran()}
}

// attempts stand in an order in which each has one reason to be refused: the tool's budget while the run still has a call
// left, the DELETE that takes this last call, and the run's budget after it.
func (s script) attempts() []attempt {
	const query = sqlagent.NameQuery
	count := []byte(`{"query":"SELECT COUNT(*) FROM Artist"}`)
	no, yes := lifecycle.NotStarted, lifecycle.Completed
	return []attempt{
		{"one call more than the tool may have", boundary.Call{ID: "demo_tool_budget", Name: sqlagent.NameListTables, Arguments: []byte(`{}`)},
			lifecycle.ToolBudgetExhausted, no, (*demo).dispatch},
		{"a DELETE, sent to the tool that reads", boundary.Call{ID: "demo_delete", Name: query, Arguments: []byte(`{"query":"DELETE FROM Artist"}`)},
			sqlagent.CodeRefused, yes, (*demo).dispatch},
		{"a tool that writes", boundary.Call{ID: "demo_write", Name: nameAddArtist, Arguments: []byte(`{"name":"Nobody"}`)},
			lifecycle.NotReadOnly, no, (*demo).dispatch},
		{"an id that would break a log line", boundary.Call{ID: "demo_unsafe\r\n", Name: query, Arguments: count},
			lifecycle.InvalidToolCallID, no, (*demo).dispatch},
		{"a call that names another run", boundary.Call{ID: "demo_other_run", Name: query, Arguments: count},
			lifecycle.RunMismatch, no, (*demo).asOfAnotherRun},
		{"the id of a call that ran", s.lastOf(query), lifecycle.DuplicateToolCall, no, (*demo).dispatch},
		{"the id of a call of the same turn", messageOf(turnNothing).calls()[0], lifecycle.DuplicateToolCall, no, (*demo).dispatch},
		{"one call more than the run may have", boundary.Call{ID: "demo_run_budget", Name: query, Arguments: count},
			lifecycle.RunBudgetExhausted, no, (*demo).dispatch},
		{"a call after the run's deadline", boundary.Call{ID: "demo_too_late", Name: query, Arguments: count},
			lifecycle.RunDeadlineExceeded, no, (*demo).afterDeadline},
	}
}
