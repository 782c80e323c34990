package kill

import (
	"fmt"
	"math/rand/v2"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/report"
)

// callsPerRun are killed one after another in one run, each in a process of its
// own.
const callsPerRun = 6

// victim is one call and the moment at which its process is to be killed.
type victim struct {
	Spec
	phase Phase
	held  bool    // the process waits in the phase; else it goes on
	delay float64 // ms between the word that the phase has come and the kill; of one that is not held
}

// draw chooses n calls and moments. Every phase gets as many as the next, half
// of them in a process that goes on meanwhile.
func draw(seed uint64, n int) []victim {
	r := rand.New(rand.NewPCG(seed, 0x6b696c6c))
	list := make([]victim, n)
	for i := range list {
		v := victim{phase: phases[i%len(phases)], held: i/len(phases)%2 == 0, delay: r.Float64() * r.Float64() * 1.5}
		for {
			v.Effect, v.Size = drawEffect(r), drawSize(r)
			if v.phase.fits(v.Effect, v.Size) {
				break
			}
		}
		list[i] = v
	}
	r.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	for i := range list {
		list[i].Seed = seed<<24 + uint64(i)
		list[i].ID = canonical.ToolCallID(fmt.Sprintf("call_%d", i%callsPerRun))
	}
	return list
}

func drawEffect(r *rand.Rand) canonical.Effect {
	switch r.IntN(4) {
	case 0:
		return canonical.EffectWrite
	case 1:
		return canonical.EffectUnknown
	default:
		return canonical.EffectRead
	}
}

func drawSize(r *rand.Rand) int {
	switch x := r.IntN(20); {
	case x < 11:
		return smallBytes
	case x < 15:
		return 20 << 10
	case x < 19:
		return largeBytes + r.IntN(largeBytes)
	default:
		return pieceBytes + r.IntN(pieceBytes/8)
	}
}

// at is the row and the place of a victim in the report.
func (v victim) at() report.Combination {
	c := report.Combination{Section: "kill", Fault: "SIGKILL while it goes on", Script: "any", Place: "1.5 ms after a phase"}
	if v.held {
		c.Fault, c.Script, c.Place = "SIGKILL in a phase", string(v.phase), "held"
	}
	return c
}

// plan tells the report what is to be expected of it.
func plan(b *report.Bench, victims []victim) {
	counts := map[report.Combination]int{}
	var order []report.Combination
	for _, v := range victims {
		if counts[v.at()] == 0 {
			order = append(order, v.at())
		}
		counts[v.at()]++
	}
	for _, c := range order {
		b.Lines.Plan(c, counts[c])
	}
}
