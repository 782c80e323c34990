package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore"
)

// FrozenRole is the role, in package workers, in which a program that runs
// [Frozen] must offer [WorkFrozen].
const FrozenRole = "frozen"

// bodyTime is how long each body takes. It is over while the process is frozen.
const bodyTime = 400 * time.Millisecond

// frozenLimit bounds the whole.
const frozenLimit = time.Minute

// atOnce is how many calls one sweep looks at, few, so that owner and sweeper
// take turns.
const atOnce = 3

// Frozen is an owner that is stopped in the middle of its calls until all of them
// are overdue, and goes on while somebody sweeps them, a few at a time. For each call
// exactly one of the two ends the record. What the owner brings too late is in
// its host's hands, and settled beside the record.
type Frozen struct {
	Addr  string
	Calls int
}

// Outcome counts who ended the calls.
type Outcome struct{ ByOwner, BySweep, Settled int }

// frozenWord is what a frozen child says: that a body was entered, or what became
// of a call.
type frozenWord struct {
	Entered  bool   `json:"entered,omitempty"`
	Word     Word   `json:"word"`
	Retained string `json:"retained,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	Settled  string `json:"settled,omitempty"`
	Done     bool   `json:"done,omitempty"`
}

// Run makes one such owner and writes a line for each call.
func (f Frozen) Run(ctx context.Context, b *report.Bench) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, frozenLimit)
	defer cancel()
	at := report.Combination{Section: "kill", Fault: "frozen past its due time", Script: "sweep", Place: "against its owner"}
	b.Lines.Plan(at, f.Calls)
	store, err := redisstore.Dial(ctx, "redis://"+f.Addr+"/0", nil)
	if err != nil {
		return Outcome{}, err
	}
	defer store.Close()
	inner, err := newBoundary(store, nil)
	if err != nil {
		return Outcome{}, err
	}
	run, err := inner.OpenRun(ctx, boundary.RunSpec{
		Scope: canonical.Scope{Tenant: "faults", Owner: "frozen"}, Budget: boundary.Budget{Calls: f.Calls, PerTool: f.Calls},
	})
	if err != nil {
		return Outcome{}, err
	}
	w, err := workers.Start(FrozenRole)
	if err != nil {
		return Outcome{}, err
	}
	z := &freezing{Frozen: f, bench: b, store: store, run: run, child: w, swept: map[string]lifecycle.Code{}, lines: make([]report.Call, f.Calls)}
	outcome, err := z.conduct(ctx, at)
	return outcome, errors.Join(err, w.Close(), inner.Shutdown(ctx), b.Lines.Err())
}

// freezing is one under way.
type freezing struct {
	Frozen
	bench *report.Bench
	store *redisstore.Store
	run   *boundary.Run
	child *workers.Worker
	lines []report.Call
	swept map[string]lifecycle.Code
}

// frozenSpecs are the calls: reads, writes and unknown effects by turns.
func frozenSpecs(seed uint64, n int) []Spec {
	effects := [...]canonical.Effect{canonical.EffectRead, canonical.EffectWrite, canonical.EffectUnknown}
	list := make([]Spec, n)
	for i := range list {
		list[i] = Spec{
			ID: canonical.ToolCallID(fmt.Sprintf("call_%d", i)), Effect: effects[i%len(effects)],
			Size: []int{smallBytes, 20 << 10}[i%2], Seed: seed<<24 + 1<<23 + uint64(i),
		}
	}
	return list
}

func (z *freezing) conduct(ctx context.Context, at report.Combination) (Outcome, error) {
	specs := frozenSpecs(z.bench.Seed, z.Calls)
	for i, s := range specs {
		z.lines[i] = report.Call{
			Combination: at, Seed: s.Seed, Base: report.Base(z.run.Key()), Name: ":" + string(s.ID),
			Effect: string(s.Effect), SHA256: report.Digest(s.raw()),
		}
	}
	o := Order{Addr: z.Addr, Ticket: z.run.Ticket().Reveal(), Entries: z.bench.Entries, Calls: specs}
	if err := z.freeze(o); err != nil {
		return Outcome{}, err
	}
	time.Sleep(limits().ToolTimeout + limits().Closing() + canonical.DueMargin + afterDue) // a server's clock cannot be moved
	for len(z.swept) < z.Calls/4 {                                                         // these are the sweep's; the rest is open to both
		if _, err := z.sweepSome(ctx); err != nil {
			return Outcome{}, err
		}
	}
	swept := make(chan error, 1)
	go func() { swept <- z.sweepUntilDone(ctx) }()
	if err := z.child.Continue(); err != nil {
		return Outcome{}, errors.Join(err, z.child.Kill(), <-swept)
	}
	heard := z.hear()
	if err := errors.Join(heard, <-swept); err != nil {
		return Outcome{}, err
	}
	return z.take(ctx)
}

// freeze waits until every body was entered, and stops the process.
func (z *freezing) freeze(o Order) error {
	if err := z.child.Send(o); err != nil {
		return err
	}
	for range o.Calls {
		var w frozenWord
		if err := z.child.Receive(&w); err != nil {
			return err
		}
		if !w.Entered {
			return fmt.Errorf("kill: a call was told %s before its process was frozen", w.Word.Told)
		}
	}
	return z.child.Stop()
}

// sweepUntilDone sweeps until no call is open.
func (z *freezing) sweepUntilDone(ctx context.Context) error {
	for {
		if left, err := z.sweepSome(ctx); err != nil || left == 0 {
			return err
		}
	}
}

// sweepSome sweeps a few calls and says how many are still open.
func (z *freezing) sweepSome(ctx context.Context) (left int, err error) {
	swept, err := z.store.Sweep(ctx, canonical.Sweeping{Run: z.run.Key(), Grace: grace, Max: atOnce})
	if err != nil {
		return 0, err
	}
	for _, s := range swept {
		z.swept[s.Call.String()] = s.Code
	}
	out, err := z.store.Outstanding(ctx, z.run.Key())
	return len(out.Open), err
}

// hear takes over what the child says of its calls.
func (z *freezing) hear() error {
	for {
		var w frozenWord
		if err := z.child.Receive(&w); err != nil {
			return err
		}
		if w.Done {
			return nil
		}
		line := &z.lines[w.Word.Call]
		switch {
		case w.Retained != "":
			keepRetained(line, w)
		default:
			line.Told, line.Ran, line.Agent = w.Word.Told, w.Word.Ran, w.Word.Agent
		}
	}
}

// keepRetained notes what the host was given. A body that came back too late for
// its own call gives its bytes in a second message, which cannot be settled.
func keepRetained(line *report.Call, w frozenWord) {
	if line.Retained == "" || w.Retained != string(boundary.Late) {
		line.Retained, line.Settled = w.Retained, w.Settled
	}
	if w.SHA256 != "" {
		line.RetainedSHA256 = w.SHA256
	}
}

// take compares what was said with what is there, and writes the lines.
func (z *freezing) take(ctx context.Context) (Outcome, error) {
	entries, err := readEntries(z.bench.Entries)
	if err != nil {
		return Outcome{}, err
	}
	client := redis.NewClient(&redis.Options{Addr: z.Addr, DisableIdentity: true})
	defer client.Close()
	var counts Outcome
	for _, line := range z.lines {
		fields, err := client.HMGet(ctx, line.Base+"call:"+line.Name, "st", "cd", "by").Result()
		if err != nil {
			return Outcome{}, err
		}
		line.State, _ = fields[0].(string)
		line.Code, _ = fields[1].(string)
		line.Entries = entries[line.Base+" "+line.Name]
		code, swept := z.swept[line.Name]
		line.Broken = wonBy(line, fields[2], code, swept)
		if swept {
			counts.BySweep++
		} else {
			counts.ByOwner++
		}
		if line.Settled == "ok" {
			counts.Settled++
		}
		z.bench.Lines.Call(line)
	}
	return counts, nil
}

// wonBy says what is wrong with a call that owner and sweep both wanted to end.
func wonBy(line report.Call, by any, code lifecycle.Code, swept bool) string {
	switch {
	case swept && (by != "sweep" || line.Code != string(code)):
		return fmt.Sprintf("swept as %s, and the record was ended by %v as %s", code, by, line.Code)
	case !swept && by != "owner":
		return fmt.Sprintf("not swept, and the record was ended by %v", by)
	case swept && line.Told != string(lifecycle.StoreConflict):
		return "swept, and the owner's model was told " + line.Told
	case swept && (line.Retained != string(boundary.Conflicted) || line.Settled != "ok"):
		return fmt.Sprintf("swept, and the host's result is %q, settled %q", line.Retained, line.Settled)
	case !swept && line.Told != "READY" && line.Told != line.Code:
		return fmt.Sprintf("the owner won with %s, and its model was told %s", line.Code, line.Told)
	case !swept && (line.Retained != "") != (line.Told != "READY"):
		return fmt.Sprintf("the owner won with %s, and its host was given %q", line.Told, line.Retained)
	}
	return ""
}

// WorkFrozen is the role of an owner that will be frozen.
func WorkFrozen(orders *json.Decoder, answers *json.Encoder) error {
	var o Order
	if err := orders.Decode(&o); err != nil {
		return err
	}
	store, err := redisstore.Dial(context.Background(), "redis://"+o.Addr+"/0", &redisstore.Options{PoolSize: 8})
	if err != nil {
		return err
	}
	z := &frozenChild{Order: o, answers: answers}
	if z.boundary, err = newBoundary(store, z.keep); err != nil {
		return err
	}
	ticket, err := boundary.ParseRunTicket(o.Ticket)
	if err != nil {
		return err
	}
	if z.run, err = z.boundary.JoinRun(context.Background(), ticket); err != nil {
		return err
	}
	var calls sync.WaitGroup
	for i := range o.Calls {
		calls.Go(func() { z.call(i) })
	}
	calls.Wait()
	time.Sleep(bodyTime) // for bodies that were left behind
	z.settleAll()
	z.tell(frozenWord{Done: true})
	var end any
	return orders.Decode(&end)
}

type frozenChild struct {
	Order
	boundary *boundary.ToolBoundary
	run      *boundary.Run

	mu       sync.Mutex
	answers  *json.Encoder
	retained []boundary.Retained
}

func (z *frozenChild) tell(w frozenWord) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.answers.Encode(w) != nil {
		os.Exit(3) // nobody listens
	}
}

func (z *frozenChild) keep(_ context.Context, r boundary.Retained) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.retained = append(z.retained, r)
}

func (z *frozenChild) call(i int) {
	s := z.Calls[i]
	result := z.boundary.Invoke(context.Background(), z.run, s.envelope(z.run.ID()), boundary.Action{
		Effect: s.Effect,
		Executor: boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
			if err := report.Enter(z.Entries, report.Base(in.Identity.RunKey), in.Identity.Call.String()); err != nil {
				return err
			}
			z.tell(frozenWord{Entered: true})
			time.Sleep(bodyTime)
			_, err := raw.Write(s.raw())
			return err
		}),
		Projector: projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: summarize(in.Raw), Status: evidence.Found}, nil
		}),
	})
	z.tell(frozenWord{Word: wordOf(i, result.Outcome)})
}

// settleAll stores what came too late beside the records that were swept.
func (z *frozenChild) settleAll() {
	z.mu.Lock()
	retained := z.retained
	z.mu.Unlock()
	for _, r := range retained {
		w := frozenWord{Retained: string(r.Reason)}
		if r.Raw.Present() {
			w.SHA256 = report.Digest(r.Raw.Bytes)
		}
		for i, s := range z.Calls {
			if s.ID == r.Identity.Call.ID {
				w.Word.Call = i
			}
		}
		if r.Reason != boundary.Late {
			w.Settled = "ok"
			if err := z.boundary.Settle(context.Background(), r); err != nil {
				w.Settled = err.Error()
			}
		}
		z.tell(w)
	}
}
