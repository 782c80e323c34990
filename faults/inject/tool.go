package inject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/projector"
)

// subject is the call that is made: what its tool is and does.
type subject struct {
	seed   uint64
	effect canonical.Effect
	size   int  // bytes that the tool returns
	fails  bool // it returns an error in place of them
	quota  bool // its run is opened under a quota of the scope
}

// raw is what the tool returns: bytes of any value, decided by the seed.
func (s subject) raw() []byte {
	r := rand.New(rand.NewPCG(s.seed, uint64(s.size)))
	out := make([]byte, s.size)
	for i := 0; i < len(out); i += 8 {
		word := r.Uint64()
		for j := i; j < len(out) && j < i+8; j++ {
			out[j] = byte(word)
			word >>= 8
		}
	}
	return out
}

var errTool = errors.New("the tool failed after it had begun")

// tool enters itself in the file of entries, and counts.
type tool struct {
	subject
	file    string
	entries atomic.Int64
	within  func() // runs inside the body; nil for nothing
	lost    atomic.Pointer[error]
}

// Execute implements [boundary.Executor].
func (t *tool) Execute(_ context.Context, in boundary.Input, raw io.Writer) error {
	t.entries.Add(1)
	if err := report.Enter(t.file, report.Base(in.Identity.RunKey), in.Identity.Call.String()); err != nil {
		t.lost.Store(&err)
	}
	if t.within != nil {
		t.within()
	}
	if t.fails {
		return errTool
	}
	_, err := raw.Write(t.raw())
	return err
}

// summarize is the projector: what the model reads of the bytes.
func summarize(_ context.Context, in projector.Input) (projector.Projection, error) {
	text := fmt.Sprintf(`{"bytes":%d,"sha256":%q}`, len(in.Raw), report.Digest(in.Raw))
	fact := evidence.NewFact(evidence.Subject{Kind: "tool", ID: in.Tool}, "returned", fmt.Sprintf("%d bytes", len(in.Raw)))
	return projector.Projection{Result: []byte(text), Status: evidence.Found, Facts: []evidence.Fact{fact}}, nil
}

const toolName = "probe"

// scope is that of all runs of this package.
func scope() canonical.Scope { return canonical.Scope{Tenant: "faults", Owner: "inject"} }

// scopeBase is what the keys of the scope itself begin with.
func scopeBase() string { return "harness:v1:{" + scope().Digest() + "}:" }

func (t *tool) action() boundary.Action {
	return boundary.Action{Executor: t, Projector: projector.Func(summarize), Effect: t.effect}
}

func (t *tool) envelope(run canonical.RunID, call canonical.CallName) boundary.Envelope {
	return boundary.Envelope{
		RunID: run, ToolCallID: call.ID, Turn: call.Turn, Tool: toolName, Input: fmt.Appendf(nil, `{"seed":"%d"}`, t.seed),
		Authorized: true, ReadOnly: t.effect == canonical.EffectRead,
	}
}
