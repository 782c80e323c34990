package history

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/internal/cuts"
	"github.com/toolharness/harness/redisstore"
)

// Work is a worker's role: it plays the clients of one plan after the other.
func Work(orders *json.Decoder, answers *json.Encoder) error {
	for {
		var p Plan
		if err := orders.Decode(&p); err != nil {
			return err
		}
		report, err := p.play()
		if err != nil {
			return err
		}
		if err := answers.Encode(report); err != nil {
			return err
		}
	}
}

// Report is what a worker's clients did.
type Report struct {
	Operations []Operation `json:"operations"`
	Faults     cuts.Total  `json:"faults"`
	Broke      int64       `json:"broke"` // scripts that were sent with the broken line
}

func (p Plan) play() (Report, error) {
	var report Report
	var mu sync.Mutex
	var group sync.WaitGroup
	var failed error
	for _, id := range p.Clients {
		group.Go(func() {
			ops, total, broke, err := p.playClient(id)
			mu.Lock()
			defer mu.Unlock()
			report.Operations = append(report.Operations, ops...)
			report.Faults.LostRequests += total.LostRequests
			report.Faults.CutRequests += total.CutRequests
			report.Faults.LostReplies += total.LostReplies
			report.Broke += broke
			if err != nil {
				failed = err
			}
		})
	}
	group.Wait()
	return report, failed
}

func (p Plan) playClient(id int) ([]Operation, cuts.Total, int64, error) {
	cutter := cuts.New(p.Seed*1000+uint64(id), p.Odds)
	store, end, broke, err := connect(p.Addr, cutter, p.Broken)
	if err != nil {
		return nil, cuts.Total{}, 0, err
	}
	defer end()
	c := newClient(id, p.Seed, store, len(p.Runs))
	for run, plan := range p.Runs {
		c.play(run, plan, p.PerRun)
	}
	return c.ops, cutter.Total(), broke.Load(), nil
}

// connect makes a store whose client sends every message once.
func connect(addr string, cutter *cuts.Cutter, broken *Broken) (canonical.Store, func(), *atomic.Int64, error) {
	o := &redis.Options{Addr: addr, MaxRetries: -1, PoolSize: 2, ContextTimeoutEnabled: true, DisableIdentity: true}
	if cutter != nil {
		o.Dialer = cutter.Dial
	}
	client := redis.NewClient(o)
	breaker := &breaker{broken: broken}
	if broken != nil {
		client.AddHook(breaker)
	}
	store, err := redisstore.New(client, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	return store, func() { _ = client.Close() }, &breaker.count, nil
}

// breaker replaces a line in the text of every script that has it. The server
// has never seen the whole text, so the store always sends the text.
type breaker struct {
	broken *Broken
	count  atomic.Int64
}

func (b *breaker) alter(cmd redis.Cmder) {
	args := cmd.Args()
	if len(args) < 2 || !strings.EqualFold(cmd.Name(), "eval") {
		return
	}
	if text, ok := args[1].(string); ok && strings.Contains(text, b.broken.Old) {
		args[1] = strings.Replace(text, b.broken.Old, b.broken.New, 1)
		b.count.Add(1)
	}
}

// DialHook changes nothing.
func (b *breaker) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook alters a script that is sent alone.
func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		b.alter(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook alters scripts in a pipeline.
func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			b.alter(cmd)
		}
		return next(ctx, cmds)
	}
}
