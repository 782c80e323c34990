package history_test

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/history"
	"github.com/toolharness/harness/lifecycle"
)

// script writes small histories by hand: at(a, b) is from millisecond a to b.
type script struct{ ops []history.Operation }

func (s *script) at(from, to int, in history.Input, text string) {
	due := int64(0)
	if in.Kind == history.Admit && text != "" {
		due = int64(from) + in.Timeout + in.Closing
	}
	s.ops = append(s.ops, history.Operation{
		Client: len(s.ops), Input: in, Output: history.Output{Text: text, Due: due},
		Start: int64(from) * int64(time.Millisecond), End: int64(to) * int64(time.Millisecond),
	})
}

// begin is a history of one open run.
func begin() *script {
	s := &script{}
	unlimited := canonical.Budget{Calls: 2, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
	s.at(0, 1, history.Input{Kind: history.Open, Budget: unlimited}, "open, 0 admissions, 0 bytes")
	return s
}

func admission(name, claim string) history.Input {
	return history.Input{
		Kind: history.Admit, Call: name, Claim: claim, Evidence: "ev", Tool: "one", Read: true, ToolBudget: canonical.Unlimited,
		NotAfter: 1 << 40, Timeout: 1000, Closing: 1000,
	}
}

func ending(name, claim, outcome string) history.Input {
	return history.Input{
		Kind: history.Complete, Call: name, Claim: claim, Outcome: outcome,
		Verdict: lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.Completed),
	}
}

func inspect() history.Input { return history.Input{Kind: history.Inspect} }

const (
	created1  = "created 1 ev PROJECTING "
	created2  = "created 2 ev PROJECTING "
	duplicate = "no: the call name was used before; PROJECTING"
	claimOne  = "claim-1"
	claimTwo  = "claim-2"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(*script)
		want porcupine.CheckResult
	}{
		{"two admissions at once, one wins", func(s *script) {
			s.at(10, 20, admission("a", claimOne), duplicate)
			s.at(10, 20, admission("a", claimTwo), created1)
		}, porcupine.Ok},
		{"a duplicate before its first", func(s *script) {
			s.at(10, 20, admission("a", claimOne), duplicate)
			s.at(21, 30, admission("a", claimTwo), created1)
		}, porcupine.Illegal},
		{"two winners", func(s *script) {
			s.at(10, 20, admission("a", claimOne), created1)
			s.at(10, 20, admission("a", claimTwo), created1)
		}, porcupine.Illegal},
		{"no answer explains a duplicate that comes later", func(s *script) {
			s.at(10, 20, admission("a", claimOne), "")
			s.at(50, 60, admission("a", claimTwo), duplicate)
		}, porcupine.Ok},
		{"no answer explains nothing that came before it", func(s *script) {
			s.at(10, 20, admission("a", claimTwo), duplicate)
			s.at(50, 60, admission("a", claimOne), "")
		}, porcupine.Illegal},
		{"no answer, and nothing ever seen of it", func(s *script) {
			s.at(10, 20, admission("a", claimOne), "")
			s.at(50, 60, inspect(), "open, 0 admissions, 0 bytes")
		}, porcupine.Ok},
		{"no answer counts once, not twice", func(s *script) {
			s.at(10, 20, admission("a", claimOne), "")
			s.at(30, 40, admission("a", claimOne), "")
			s.at(50, 60, inspect(), "open, 2 admissions, 0 bytes")
		}, porcupine.Illegal},
		{"a unit too many", func(s *script) {
			s.at(10, 20, admission("a", claimOne), created1)
			s.at(10, 20, admission("b", claimOne), created2)
			s.at(10, 20, admission("c", claimOne), "created 3 ev PROJECTING ")
		}, porcupine.Illegal},
		{"one outcome", func(s *script) {
			s.at(10, 20, admission("a", claimOne), created1)
			s.at(30, 40, ending("a", claimOne, "x"), "stored")
			s.at(30, 40, ending("a", claimOne, "y"), "no: the record was ended or claimed differently; ERROR")
			s.at(50, 60, ending("a", claimOne, "x"), "repeat")
		}, porcupine.Ok},
		{"two outcomes", func(s *script) {
			s.at(10, 20, admission("a", claimOne), created1)
			s.at(30, 40, ending("a", claimOne, "x"), "stored")
			s.at(30, 40, ending("a", claimOne, "y"), "stored")
		}, porcupine.Illegal},
		{"a sweep before its time", func(s *script) {
			s.at(10, 20, admission("a", claimOne), created1)
			s.at(1900, 1950, history.Input{Kind: history.Sweep, Call: "a"}, "swept ORPHANED unknown")
		}, porcupine.Illegal},
		{"a sweep in time", func(s *script) {
			s.at(10, 20, admission("a", claimOne), created1)
			s.at(2100, 2110, history.Input{Kind: history.Sweep, Call: "a"}, "swept ORPHANED unknown")
		}, porcupine.Ok},
		{"an overdue call left open by the last sweep", func(s *script) {
			s.at(10, 20, admission("a", claimOne), created1)
			s.at(2100, 2110, history.Input{Kind: history.SweptOut}, "done")
		}, porcupine.Illegal},
		{"an answer that no model gives", func(s *script) {
			s.at(10, 20, inspect(), "error: malformed")
		}, porcupine.Illegal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := begin()
			tt.make(s)
			if got := history.Check(s.ops, time.Minute); got != tt.want {
				t.Errorf("Check = %s, want %s\n%s", got, tt.want, history.Explain(s.ops, time.Minute))
			}
		})
	}
}
