package boundary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// Tool is a named tool: what a model sees of it, and what runs.
type Tool struct {
	Name        string // 1 to 64 bytes of A-Z a-z 0-9 _ . -
	Description string // for the model
	Effect      canonical.Effect
	Executor    Executor
	Projector   projector.Projector

	// Schema is a JSON Schema for the arguments, shown to the model and checked
	// in preflight. Optional. It must be whole in itself: a reference to a file
	// or an address is refused at construction.
	Schema json.RawMessage

	Timeout     time.Duration // zero: Limits.ToolTimeout
	Budget      int           // calls in one run; zero: the run's own
	MaxRawBytes int64         // zero: Limits.RawBytes, which it cannot exceed

	// OwnsFindings: the tool's author brought an argument of the reserved name of
	// package findings, as a tool of somebody else's server may. It is the tool's
	// data, and not judged.
	OwnsFindings bool
}

// Call is one tool call of a model's message.
type Call struct {
	ID        canonical.ToolCallID // exactly as in the message
	Turn      canonical.Turn       // optional
	Name      string
	Arguments []byte // exactly as in the message

	// Where findings are armed, as in Envelope.
	Witness *findings.Witness
	Paused  bool
}

// Format prints names and sizes, never the arguments.
func (c Call) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{call %q tool %q arguments %d bytes}", canonical.CallName{Turn: c.Turn, ID: c.ID}.String(), c.Name, len(c.Arguments))
}

// MarshalJSON writes names and sizes, never the arguments.
func (c Call) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        canonical.ToolCallID `json:"id"`
		Turn      canonical.Turn       `json:"turn,omitempty"`
		Name      string               `json:"name"`
		Arguments canonical.Body       `json:"arguments"`
	}{c.ID, c.Turn, c.Name, c.Arguments})
}

// Definition is what a model's request says of a tool.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// Toolset is a fixed set of tools on one boundary. It is safe for concurrent
// use. It builds envelopes, and asks the boundary's Authorizer about each call.
type Toolset struct {
	boundary *ToolBoundary
	order    []string
	tools    map[string]*boundTool
	armed    bool // citations are judged
}

type boundTool struct {
	Tool
	check *schemaCheck // nil without a schema
}

// NewToolset checks all tools and reports everything that is wrong at once, as a
// [*ConfigError].
func NewToolset(b *ToolBoundary, tools ...Tool) (*Toolset, error) {
	if b == nil {
		return nil, &ConfigError{Problems: []error{errors.New("the boundary is missing")}}
	}
	s := &Toolset{boundary: b, tools: make(map[string]*boundTool, len(tools)), armed: b.armed}
	var problems []error
	for i, tool := range tools {
		bound, errs := b.bind(tool)
		for _, err := range errs {
			problems = append(problems, fmt.Errorf("tool %d: %w", i, err))
		}
		if _, twice := s.tools[tool.Name]; twice {
			problems = append(problems, fmt.Errorf("tool %d: name %q is given twice", i, tool.Name))
		}
		s.tools[tool.Name] = bound
		s.order = append(s.order, tool.Name)
	}
	if s.armed {
		if err := s.checkFindings(); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return nil, &ConfigError{Problems: problems}
	}
	return s, nil
}

func (b *ToolBoundary) bind(t Tool) (*boundTool, []error) {
	var problems []error
	say := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if err := canonical.CheckToolName(t.Name); err != nil {
		problems = append(problems, err)
	}
	if err := t.checkReserved(); err != nil {
		problems = append(problems, err)
	}
	if t.Executor == nil {
		say("no Executor")
	}
	if t.Projector == nil {
		say("no Projector")
	}
	if !t.Effect.Valid() {
		say("effect must be read, write or unknown")
	}
	if t.Timeout != 0 && t.Timeout < time.Millisecond {
		say("timeout is %v, at least 1ms is needed", t.Timeout)
	}
	if most := b.limits.RecordTTL - b.limits.Closing() - canonical.DueMargin; t.Timeout > most {
		say("timeout is %v, the record's life allows %v", t.Timeout, most)
	}
	if t.Budget < canonical.Unlimited || t.Budget > canonical.MaxBudgetCalls {
		say("budget is %d, not within 0 to %d", t.Budget, canonical.MaxBudgetCalls)
	}
	if t.MaxRawBytes < 0 || t.MaxRawBytes > b.limits.RawBytes {
		say("limit MaxRawBytes is %d, the limit is %d", t.MaxRawBytes, b.limits.RawBytes)
	}
	t.Schema = slices.Clone(t.Schema)
	bound := &boundTool{Tool: t}
	if len(t.Schema) > 0 {
		check, err := newSchemaCheck(t.Schema)
		if err != nil {
			problems = append(problems, err)
		}
		bound.check = check
	}
	return bound, problems
}

// Definitions describes the tools in the order in which they were given. Where
// findings are armed, schemas show the reserved argument.
func (s *Toolset) Definitions() []Definition {
	list := make([]Definition, 0, len(s.order))
	for _, name := range s.order {
		t := s.tools[name]
		list = append(list, Definition{Name: t.Name, Description: t.Description, Schema: s.shown(t)})
	}
	return list
}

// Dispatch takes the calls of one model message through the boundary and answers
// one result for each, in the order asked, whatever fails. They are admitted in
// that order, too. Reads run beside each other, Config.Parallelism of them at most,
// and share the trips to the store: k that start at once and end together take two
// in all. Any other call waits for those before it and runs alone.
func (s *Toolset) Dispatch(ctx context.Context, run *Run, calls ...Call) []Result {
	results := make([]Result, len(calls))
	all := make([]*call, len(calls))
	for i, asked := range calls {
		all[i] = s.call(run, asked)
	}
	t := newTurn(s.boundary)
	for i := 0; i < len(all); {
		n := leadingReads(all[i:])
		if n == 0 {
			t.wait()
			results[i] = s.boundary.invoke(ctx, all[i])
			i++
			continue
		}
		n = t.room(n)
		t.start(ctx, all[i:i+n], results[i:i+n])
		i += n
	}
	t.wait()
	return results
}

// leadingReads counts the calls before the first that is no read.
func leadingReads(calls []*call) int {
	for i, c := range calls {
		if !c.action.effect(c.env.ReadOnly).Read() {
			return i
		}
	}
	return len(calls)
}

// unanswered stands in for the result of a call whose goroutine was ended from
// inside, by runtime.Goexit in a host's code: nothing is known of it.
func unanswered(c *call) Result {
	err := &Error{Code: lifecycle.OutcomeUnknown, Op: "dispatch", Execution: Unknown, cause: errUnanswered}
	if c.run != nil {
		err.Identity.RunKey = c.run.key
	}
	return Result{Outcome: c.b.failure(err.Code, err.Execution), Err: err}
}

var errUnanswered = errors.New("the call's goroutine was ended by the host's own code")

// call turns a model's call into one for the boundary. An unknown name has no
// action, which preflight refuses after it has looked at id, run and request.
func (s *Toolset) call(run *Run, asked Call) *call {
	c := &call{b: s.boundary, run: run, ask: true, citing: s.armed, env: Envelope{
		ToolCallID: asked.ID, Turn: asked.Turn, Tool: asked.Name, Input: asked.Arguments,
		Witness: asked.Witness, Paused: asked.Paused,
	}}
	if run != nil {
		c.env.RunID = run.key.Run
	}
	tool, ok := s.tools[asked.Name]
	if !ok {
		c.env.ReadOnly = true // nothing will run
		return c
	}
	c.env.ReadOnly = tool.Effect.Read()
	c.action = Action{
		Executor: tool.Executor, Projector: tool.Projector, Effect: tool.Effect,
		Timeout: tool.Timeout, Budget: tool.Budget, MaxRawBytes: tool.MaxRawBytes,
	}
	c.schema, c.citing = tool.check, s.armed && !tool.OwnsFindings
	return c
}

// String lists the names of the tools.
func (s *Toolset) String() string { return "toolset(" + strings.Join(s.order, ", ") + ")" }

// Format prints String() for every verb.
func (s *Toolset) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }
