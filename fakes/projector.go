package fakes

import (
	"context"
	"slices"
	"sync"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// Projected is one scripted answer of a [Projector].
type Projected struct {
	Projection projector.Projection
	Err        error
	Panic      any             // not nil: the projector panics with it
	Until      <-chan struct{} // not nil: it answers only when this is closed, whatever its context says
}

// Found is a valid positive answer that shows text and has no facts.
func Found(text string) Projected {
	return Projected{Projection: projector.Projection{Result: []byte(text), Status: evidence.Found}}
}

// Absent is a valid negative answer that shows text and says where was looked.
func Absent(text, where string) Projected {
	return Projected{Projection: projector.Projection{
		Result: []byte(text), Status: evidence.None, Coverage: evidence.Searched(text, where),
	}}
}

// Projector is a [projector.Projector] that follows a script: the first call
// gets the first answer, and calls beyond the script the last one. It is safe
// for concurrent use.
type Projector struct {
	mu     sync.Mutex
	script []Projected
	inputs []projector.Input
}

var _ projector.Projector = (*Projector)(nil)

// NewProjector returns a projector with a script of at least one answer.
func NewProjector(first Projected, more ...Projected) *Projector {
	return &Projector{script: append([]Projected{first}, more...)}
}

// Project implements [projector.Projector].
func (p *Projector) Project(_ context.Context, in projector.Input) (projector.Projection, error) {
	step := p.enter(in)
	if step.Until != nil {
		<-step.Until
	}
	if step.Panic != nil {
		panic(step.Panic)
	}
	out := step.Projection
	out.Result, out.Facts, out.Coverage = slices.Clone(out.Result), slices.Clone(out.Facts), out.Coverage.Clone()
	return out, step.Err
}

func (p *Projector) enter(in projector.Input) Projected {
	p.mu.Lock()
	defer p.mu.Unlock()
	in.Raw, in.Request = slices.Clone(in.Raw), slices.Clone(in.Request)
	p.inputs = append(p.inputs, in)
	return p.script[min(len(p.inputs), len(p.script))-1]
}

// Entries is how often the projector was entered, returned or not.
func (p *Projector) Entries() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.inputs)
}

// Inputs are copies of what it was given, in the order of entry.
func (p *Projector) Inputs() []projector.Input {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Clone(p.inputs)
	for i := range out {
		out[i].Raw, out[i].Request = slices.Clone(out[i].Raw), slices.Clone(out[i].Request)
	}
	return out
}
