package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/faults/internal/cuts"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore"
)

// Shape of a run.
const (
	callsPerRun = 16
	runDuration = 15 * time.Second
	recordTTL   = 20 * time.Second
	againEvery  = 7 // a call is made a second time
	patience    = 30 * time.Second
)

func limits() canonical.Limits {
	return canonical.Limits{RecordTTL: recordTTL, ToolTimeout: time.Second, ProjectorTimeout: time.Second, ClosingTimeout: time.Second}
}

// lane is one worker: a client that breaks, and one run after the other.
type lane struct {
	*soak
	rand   *rand.Rand
	store  canonical.Store
	cutter *cuts.Cutter
	client *redis.Client
}

func (s *soak) newLane(n int) (*lane, error) {
	cutter := cuts.New(uint64(n), odds)
	client := redis.NewClient(&redis.Options{
		Addr: s.Addr, PoolSize: 4, ContextTimeoutEnabled: true, DisableIdentity: true, Dialer: cutter.Dial,
	})
	store, err := redisstore.New(client, nil)
	if err != nil {
		return nil, err
	}
	s.cutters = append(s.cutters, cutter)
	return &lane{soak: s, rand: rand.New(rand.NewPCG(7, uint64(n))), store: store, cutter: cutter, client: client}, nil
}

// work makes runs until there are no tokens left.
func (l *lane) work(ctx context.Context) error {
	defer func() { _ = l.client.Close() }()
	for {
		if _, more := <-l.tokens; !more || ctx.Err() != nil {
			return ctx.Err()
		}
		if err := l.makeRun(ctx); err != nil {
			return err
		}
	}
}

// call is what this process knows of one call.
type call struct {
	name    canonical.CallName
	effect  canonical.Effect
	size    int
	seed    uint64
	entries atomic.Int64
	told    string // READY or the code
	ran     string
	settled bool // its result came into the store later
}

// makeRun opens a run, makes its calls, and looks at what is left of it. The
// token of the first call is taken.
func (l *lane) makeRun(ctx context.Context) error {
	keeper := &keeper{}
	b, err := boundary.New(boundary.Config{
		Store: l.store, Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true, Unknown: true},
		Limits: limits(), OnRetained: keeper.keep,
	})
	if err != nil {
		return err
	}
	run, err := open(ctx, b)
	if err != nil {
		return err
	}
	var calls []*call
	for more := true; more; {
		c := l.drawCall(len(calls))
		calls = append(calls, c)
		l.invoke(ctx, b, run, c)
		if len(calls) == callsPerRun {
			break
		}
		_, more = <-l.tokens
	}
	if err := l.wind(ctx, b, run, keeper, calls); err != nil {
		return err
	}
	return l.look(ctx, run, calls)
}

// open tries until the server is there.
func open(ctx context.Context, b *boundary.ToolBoundary) (run *boundary.Run, err error) {
	for limit := time.Now().Add(patience); time.Now().Before(limit) && ctx.Err() == nil; {
		run, err = b.OpenRun(ctx, boundary.RunSpec{
			Scope: canonical.Scope{Tenant: "faults", Owner: "soak"}, MaxDuration: runDuration,
			Budget: boundary.Budget{Calls: 2 * callsPerRun, PerTool: 2 * callsPerRun},
		})
		if err == nil {
			return run, nil
		}
		time.Sleep(100 * time.Millisecond) // for a real server to come back
	}
	return nil, errors.Join(err, ctx.Err())
}

func (l *lane) drawCall(n int) *call {
	c := &call{name: canonical.CallName{ID: canonical.ToolCallID(fmt.Sprintf("call_%d", n))}, seed: l.rand.Uint64()}
	switch l.rand.IntN(10) {
	case 0, 1:
		c.effect = canonical.EffectWrite
	case 2:
		c.effect = canonical.EffectUnknown
	default:
		c.effect = canonical.EffectRead
	}
	switch x := l.rand.IntN(200); {
	case x == 0:
		c.size = 1<<20 + l.rand.IntN(300<<10)
	case x < 5:
		c.size = 200 << 10
	case x < 25:
		c.size = 20 << 10
	default:
		c.size = 300
	}
	return c
}

// invoke makes a call, and now and then makes it again.
func (l *lane) invoke(ctx context.Context, b *boundary.ToolBoundary, run *boundary.Run, c *call) {
	outcome := b.Invoke(ctx, run, c.envelope(run.ID()), l.action(c)).Outcome
	c.told, c.ran = toldOf(outcome)
	l.count(c.told)
	if c.told == "READY" && outcome.Text() != string(summarize(c.raw())) {
		l.found("%s %s: the model got another text than the projector made", run.ID(), c.name)
	}
	if c.told != "READY" || l.rand.IntN(againEvery) != 0 {
		return
	}
	again, ran := toldOf(b.Invoke(ctx, run, c.envelope(run.ID()), l.action(c)).Outcome)
	if again == "READY" || ran != "no" {
		l.found("%s %s: a second call of the same name was told %s, ran %s", run.ID(), c.name, again, ran)
	}
}

func toldOf(o boundary.Outcome) (told, ran string) {
	if o.IsError() {
		return string(o.Code()), o.Execution().Ran()
	}
	return "READY", o.Execution().Ran()
}

func (c *call) raw() []byte {
	out := make([]byte, c.size)
	_, _ = rand.NewChaCha8([32]byte{byte(c.seed), byte(c.seed >> 8), byte(c.seed >> 16), byte(c.seed >> 24)}).Read(out) // never fails
	return out
}

func summarize(raw []byte) []byte {
	return fmt.Appendf(nil, `{"bytes":%d,"sha256":%q}`, len(raw), report.Digest(raw))
}

func (c *call) envelope(run canonical.RunID) boundary.Envelope {
	return boundary.Envelope{
		RunID: run, ToolCallID: c.name.ID, Tool: "tool-" + string(c.effect), Input: fmt.Appendf(nil, `{"seed":"%d"}`, c.seed),
		Authorized: true, ReadOnly: c.effect.Read(),
	}
}

func (l *lane) action(c *call) boundary.Action {
	return boundary.Action{
		Effect: c.effect,
		Executor: boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
			c.entries.Add(1)
			l.entered.Add(1)
			if err := report.Enter(l.Entries, report.Base(in.Identity.RunKey), in.Identity.Call.String()); err != nil {
				return err
			}
			_, err := raw.Write(c.raw())
			return err
		}),
		Projector: projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: summarize(in.Raw), Status: evidence.Found}, nil
		}),
	}
}

// keeper is the host's hand for results that could not be stored.
type keeper struct {
	mu   sync.Mutex
	held []boundary.Retained
}

func (k *keeper) keep(_ context.Context, r boundary.Retained) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = append(k.held, r)
}

// wind closes a run and its boundary. What could not be stored is settled; the
// server may be away, so it is tried for a while.
func (l *lane) wind(ctx context.Context, b *boundary.ToolBoundary, run *boundary.Run, k *keeper, calls []*call) error {
	var err error
	for limit := time.Now().Add(patience); time.Now().Before(limit) && ctx.Err() == nil; {
		if err = errors.Join(run.Close(ctx), b.Shutdown(ctx)); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond) // for a real server to come back
	}
	if err != nil {
		return fmt.Errorf("soak: a run could not be wound up: %w", err)
	}
	for _, r := range k.held {
		for _, c := range calls {
			c.settled = c.settled || c.name == r.Identity.Call
		}
	}
	return nil
}
