package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Kind is the verb of an operation.
type Kind string

// The kinds. SweptOut and the last two reads are made when nothing else runs.
const (
	Open     Kind = "open"
	Admit    Kind = "admit"
	Save     Kind = "save"
	Complete Kind = "complete"
	Settle   Kind = "settle"
	Sweep    Kind = "sweep" // of one call
	Delete   Kind = "delete"
	Resolve  Kind = "resolve"
	Close    Kind = "close"
	Inspect  Kind = "inspect"
	Head     Kind = "head"

	SweptOut    Kind = "swept_out"
	Outstanding Kind = "outstanding"
	Settlement  Kind = "settlement"

	end Kind = "end" // behind everything that was answered; the checker adds it
)

// Input is what was sent, as far as the model needs it. Times are milliseconds
// of the one clock that servers and clients share.
type Input struct {
	Kind  Kind   `json:"kind"`
	Run   int    `json:"run"`
	Call  string `json:"call,omitempty"`
	Claim string `json:"claim,omitempty"`

	// Of an opening.
	Budget canonical.Budget `json:"budget,omitzero"`

	// Of an admission.
	Evidence   string `json:"evidence,omitempty"`
	Tool       string `json:"tool,omitempty"`
	Read       bool   `json:"read,omitempty"`
	Request    int64  `json:"request,omitempty"` // bytes
	Reserve    int64  `json:"reserve,omitempty"`
	ToolBudget int    `json:"tool_budget,omitempty"`
	NotAfter   int64  `json:"not_after,omitempty"`
	Timeout    int64  `json:"timeout,omitempty"`
	Closing    int64  `json:"closing,omitempty"`

	// Of a saving or an ending.
	Raw      string               `json:"raw,omitempty"` // digest
	RawSize  int64                `json:"raw_size,omitempty"`
	RawSaved bool                 `json:"raw_saved,omitempty"`
	Agent    string               `json:"agent,omitempty"` // digest
	AgentLen int64                `json:"agent_len,omitempty"`
	Outcome  string               `json:"outcome,omitempty"` // digest of the ending
	Verdict  lifecycle.Completion `json:"verdict,omitzero"`

	Grounds string `json:"grounds,omitempty"` // of a resolution: verdict and evidence
}

// Output is what came back. Text is the answer in words, the same that the model
// would use; it is empty where there was no answer.
type Output struct {
	Text string `json:"text,omitempty"`
	Due  int64  `json:"due,omitempty"` // of an admission or a head, ms
}

// Operation is one message and its answer. Start and End are nanoseconds; End of
// an operation without an answer is when its client stopped waiting.
type Operation struct {
	Client int    `json:"client"`
	Input  Input  `json:"input"`
	Output Output `json:"output"`
	Start  int64  `json:"start"`
	End    int64  `json:"end"`
}

// Answered reports whether anything came back.
func (o Operation) Answered() bool { return o.Output.Text != "" }

// String is the operation on one line, for a failing test.
func (o Operation) String() string {
	in := o.Input
	text := fmt.Sprintf("client %d: %s", o.Client, in.Kind)
	if in.Call != "" {
		text += " " + in.Call
	}
	if in.Claim != "" {
		text += " by " + in.Claim[len(in.Claim)-4:]
	}
	if in.Outcome != "" {
		text += fmt.Sprintf(" %s %s", in.Verdict.State, in.Verdict.Code)
	}
	answer := o.Output.Text
	if answer == "" {
		answer = "no answer"
	}
	return text + " -> " + answer
}

// The answers in words.

const textDone = "done"

func textNo(sentinel error, first lifecycle.State) string {
	if first == "" {
		return "no: " + sentinel.Error()
	}
	return "no: " + sentinel.Error() + "; " + string(first)
}

func textAdmitted(own bool, seq int64, evidence string, state lifecycle.State, code lifecycle.Code) string {
	word := "created"
	if own {
		word = "own"
	}
	return fmt.Sprintf("%s %d %s %s %s", word, seq, evidence, state, code)
}

func textEnded(repeat bool) string {
	if repeat {
		return "repeat"
	}
	return "stored"
}

func textSwept(code lifecycle.Code, x lifecycle.Execution) string {
	return fmt.Sprintf("swept %s %s", code, x)
}

func textRun(phase canonical.Phase, seq, reserved int64) string {
	return fmt.Sprintf("%s, %d admissions, %d bytes", phase, seq, reserved)
}

func textClosed(seq int64, unresolved []string) string {
	return fmt.Sprintf("closed after %d, unresolved: %s", seq, sorted(unresolved))
}

func textHead(seq int64, state lifecycle.State, code lifecycle.Code, x lifecycle.Execution, raw string) string {
	return fmt.Sprintf("%d %s %s %s raw %s", seq, state, code, x, raw)
}

func textOutstanding(open, waiting, unknown []string) string {
	return fmt.Sprintf("open: %s; effects waiting: %s; unknown: %s", sorted(open), sorted(waiting), sorted(unknown))
}

func textSettlement(late, verdict string) string { return "late: " + late + "; verdict: " + verdict }

func textLate(v lifecycle.Completion, raw, agent string) string {
	return fmt.Sprintf("%s %s raw %s agent %s", v.State, v.Code, raw, agent)
}

func sorted(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return strings.Join(names, " ")
}
