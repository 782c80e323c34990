package race

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore"
)

// Shape of a round.
const (
	Processes = 4
	Each      = 16 // goroutines of one process
	Callers   = Processes * Each
)

// Round is what a process is told.
type Round struct {
	Addr    string `json:"addr"`
	Ticket  string `json:"ticket"`
	SameID  bool   `json:"same_id"`
	Process int    `json:"process"`
	Start   int64  `json:"start"` // nanoseconds of the wall clock, for all processes the same
}

// Result is what became of the calls of one process.
type Result struct {
	Entries int64          `json:"entries"` // of the tool body
	Told    map[string]int `json:"told"`    // READY or the code, and "ran"
}

// limits make the reserve of a call small and its size exact.
func limits() canonical.Limits {
	return canonical.Limits{RawBytes: 1000, AgentBytes: 1000, FactsBytes: 100, RequestBytes: 1000, RecordBytes: 16 << 10}
}

// arguments have the same length for everybody.
const arguments = `{}`

// reserve is what one call sets aside, and held what it keeps when it has ended:
// request, raw and agent result.
func reserve() int64 { return limits().Reserve(len(arguments)) }

const (
	rawText   = "raw"
	agentText = "{}"
	held      = int64(len(arguments) + len(rawText) + len(agentText))
)

func newBoundary(store canonical.Store) (*boundary.ToolBoundary, error) {
	return boundary.New(boundary.Config{Store: store, Authorizer: boundary.AllowAll{}, Limits: limits()})
}

// call goes the whole way through the boundary.
func call(ctx context.Context, b *boundary.ToolBoundary, run *boundary.Run, id string, entries *atomic.Int64) boundary.Outcome {
	return b.Invoke(ctx, run, boundary.Envelope{
		RunID: run.ID(), ToolCallID: canonical.ToolCallID(id), Tool: "tool", Input: []byte(arguments), Authorized: true, ReadOnly: true,
	}, boundary.Action{
		Effect: canonical.EffectRead,
		Executor: boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			entries.Add(1)
			_, err := io.WriteString(raw, rawText)
			return err
		}),
		Projector: projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: []byte(agentText), Status: evidence.Found}, nil
		}),
	}).Outcome
}

// told is READY or a code, and whether the tool ran.
func told(o boundary.Outcome) string {
	if o.IsError() {
		return string(o.Code()) + " ran " + o.Execution().Ran()
	}
	return "READY ran " + o.Execution().Ran()
}

// Work is the role of a process: one round after the other.
func Work(orders *json.Decoder, answers *json.Encoder) error {
	p := &process{}
	for {
		var r Round
		if err := orders.Decode(&r); err != nil {
			return err
		}
		result, err := p.play(r)
		if err != nil {
			return err
		}
		if err := answers.Encode(result); err != nil {
			return err
		}
	}
}

// process keeps its connections from round to round.
type process struct {
	boundary *boundary.ToolBoundary
}

func (p *process) play(r Round) (Result, error) {
	ctx := context.Background()
	if p.boundary == nil {
		store, err := redisstore.Dial(ctx, "redis://"+r.Addr+"/0", &redisstore.Options{PoolSize: Each})
		if err != nil {
			return Result{}, err
		}
		if p.boundary, err = newBoundary(store); err != nil {
			return Result{}, err
		}
	}
	ticket, err := boundary.ParseRunTicket(r.Ticket)
	if err != nil {
		return Result{}, err
	}
	run, err := p.boundary.JoinRun(ctx, ticket)
	if err != nil {
		return Result{}, err
	}
	return p.race(ctx, run, r), nil
}

// race lets all goroutines go at the moment that the round names.
func (p *process) race(ctx context.Context, run *boundary.Run, r Round) Result {
	result := Result{Told: map[string]int{}}
	var entries atomic.Int64
	var mu sync.Mutex
	var callers, waiting sync.WaitGroup
	waiting.Add(Each)
	gate := make(chan struct{})
	for i := range Each {
		id := "wanted"
		if !r.SameID {
			id = fmt.Sprintf("caller_%d_%d", r.Process, i)
		}
		callers.Go(func() {
			waiting.Done()
			<-gate
			text := told(call(ctx, p.boundary, run, id, &entries))
			mu.Lock()
			defer mu.Unlock()
			result.Told[text]++
		})
	}
	waiting.Wait()
	time.Sleep(time.Until(time.Unix(0, r.Start))) // the same moment in every process
	close(gate)
	callers.Wait()
	result.Entries = entries.Load()
	return result
}
