package projector

import (
	"context"
	"time"

	"github.com/toolharness/harness/evidence"
)

// Projector makes an agent result of a raw one. The package comment is the
// contract. An implementation is used by many calls at once and must be safe
// for that.
//
// An error means that the result could not be judged; the call then ends as
// ERROR and keeps its raw bytes. The error's text stays with the host. To give
// the ending a code that the host registered, return [Coded].
type Projector interface {
	Project(context.Context, Input) (Projection, error)
}

// Func lets a function be a [Projector].
type Func func(context.Context, Input) (Projection, error)

// Project calls f.
func (f Func) Project(ctx context.Context, in Input) (Projection, error) { return f(ctx, in) }

// Default limits and time of one projection.
const (
	DefaultAgentBytes = 16 << 10
	DefaultFactsBytes = 8 << 10
	DefaultTimeout    = 2 * time.Second
)

// Limits bound what one projection may return, in bytes of UTF-8. Zero fields
// mean the defaults; a projector called by [Drive] never sees a zero.
type Limits struct {
	AgentBytes int // the agent result
	FactsBytes int // facts and coverage together, in their stored JSON form
}

// Input is all that a projector may look at.
type Input struct {
	Tool    string    // name of the tool, as the host registered it
	Request []byte    // the arguments, exactly the bytes that were digested
	Raw     []byte    // what the tool returned; the driver hands out a private copy
	Limits  Limits    // what may be returned
	Now     time.Time // the only clock a projector may read; set by the host
}

// Projection is what a projector made of one raw result.
type Projection struct {
	Result   []byte          // all that the model gets: valid UTF-8, JSON where it parses, never empty
	Status   evidence.Status // evidence.Found or evidence.None
	Coverage evidence.Coverage
	Facts    []evidence.Fact // none with evidence.None
}
