package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/internal/cuts"
)

// Plan is one history to be made: what every worker is told.
type Plan struct {
	Addr    string    `json:"addr"`
	Seed    uint64    `json:"seed"`
	Runs    []RunPlan `json:"runs"`
	Clients []int     `json:"clients"` // of this worker
	PerRun  int       `json:"per_run"` // operations of one client in one run
	Odds    cuts.Odds `json:"odds"`
	Broken  *Broken   `json:"broken,omitempty"`
}

// RunPlan is one run and the rules of its calls.
type RunPlan struct {
	Key    canonical.RunKey `json:"key"`
	Token  string           `json:"token"`
	Budget canonical.Budget `json:"budget"`
	Slow   bool             `json:"slow"` // no call is ever overdue
}

// Broken is one line of one script that is replaced by another, so that a clause
// no longer holds. The texts stand in the scripts as they are.
type Broken struct {
	Clause string `json:"clause"`
	Old    string `json:"old"`
	New    string `json:"new"`
}

// names are the calls of every run, few, so that clients meet; the first are
// drawn most.
var names = [...]string{"c", "a", "e", "b", "d", "f"}

// Sizes of what calls carry, in bytes. The long raw travels beside the script.
const (
	requestBytes = 10
	reserveBytes = 5000
	longRaw      = 3000
	shortRaw     = 40
)

const runDuration = 15 * time.Minute

// planRuns draws the runs of one history. Budgets are such that most histories
// meet each of them.
func planRuns(seed uint64, n int) []RunPlan {
	r := rand.New(rand.NewPCG(seed, 0x72756e73))
	runs := make([]RunPlan, n)
	for i := range runs {
		b := canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
		switch r.IntN(4) {
		case 0:
			b.Calls = 3 + r.IntN(3)
		case 1:
			b.PerTool = 1 + r.IntN(2)
		case 2:
			b.Bytes = 2*reserveBytes + r.Int64N(2*reserveBytes)
		}
		runs[i] = RunPlan{
			Key:   canonical.RunKey{Scope: canonical.Scope{Tenant: "history"}, Run: canonical.RunID(fmt.Sprintf("h%d-%d-%d", seed, i, r.Uint32()))},
			Token: fmt.Sprintf("token-%016x", r.Uint64()), Budget: b, Slow: r.IntN(2) == 0,
		}
	}
	return runs
}

// opening asks for the run of a plan.
func (p RunPlan) opening() canonical.Opening {
	return canonical.Opening{
		Run: p.Key, Token: canonical.Token(p.Token), Duration: runDuration, Budget: p.Budget, Limits: canonical.DefaultLimits(),
	}
}

// Everything below follows from a name, so that every client says the same.

func toolOf(name string) string {
	if strings.Contains("ace", name) {
		return "one"
	}
	return "two"
}

func effectOf(name string) canonical.Effect {
	switch name {
	case "a", "b":
		return canonical.EffectRead
	case "c", "d":
		return canonical.EffectWrite
	default:
		return canonical.EffectUnknown
	}
}

// times are the tool's timeout and the closing time of a call.
func (p RunPlan) times() (timeout, closing time.Duration) {
	if p.Slow {
		return time.Minute, time.Minute
	}
	return time.Millisecond, 2 * time.Millisecond
}

func callName(name string) canonical.CallName {
	return canonical.CallName{ID: canonical.ToolCallID(name)}
}
