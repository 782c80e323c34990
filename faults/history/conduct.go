package history

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/faults/internal/cuts"
	"github.com/toolharness/harness/faults/internal/workers"
)

// Shape of one history.
const (
	Clients        = 10
	Runs           = 4
	PerRun         = 5 // operations of one client in one run
	clientsOfOne   = 2 // in one worker
	workerCount    = Clients / clientsOfOne
	conductor      = Clients // the client that opens and reads
	flushEvery     = 15 * time.Millisecond
	flushLimit     = 5 * time.Second
	operationTotal = Clients * Runs * PerRun
)

// Conductor makes histories with workers that stay.
type Conductor struct {
	addr    string
	odds    cuts.Odds
	broken  *Broken
	workers []*workers.Worker
}

// Conduct starts the workers in the role of that name, which must be [Work]. A
// broken line is nil for the store as it is.
func Conduct(role, addr string, odds cuts.Odds, broken *Broken) (*Conductor, error) {
	c := &Conductor{addr: addr, odds: odds, broken: broken}
	for range workerCount {
		w, err := workers.Start(role)
		if err != nil {
			return nil, errors.Join(err, c.End())
		}
		c.workers = append(c.workers, w)
	}
	return c, nil
}

// End ends the workers.
func (c *Conductor) End() error {
	err := workers.CloseAll(c.workers)
	c.workers = nil
	return err
}

// Make makes one history: what the workers did, and what was read at the end.
// Each seed gives other runs, so that no history finds what another left.
func (c *Conductor) Make(seed uint64) (Report, error) {
	store, end, broke, err := connect(c.addr, nil, c.broken)
	if err != nil {
		return Report{}, err
	}
	defer end()
	plan := Plan{Addr: c.addr, Seed: seed, Runs: planRuns(seed, Runs), PerRun: PerRun, Odds: c.odds, Broken: c.broken}
	me := newClient(conductor, seed, store, Runs)
	for run, p := range plan.Runs {
		if o := me.open(run, p); !o.Answered() {
			return Report{}, errors.New("history: a run could not be opened")
		}
	}
	report, err := c.work(plan)
	if err != nil {
		return Report{}, err
	}
	time.Sleep(2 * clockSlack * time.Millisecond) // so that it is certain what is overdue
	for run, p := range plan.Runs {
		me.readAll(run, p)
	}
	report.Operations = append(report.Operations, me.ops...)
	report.Broke += broke.Load()
	return report, nil
}

// work lets the workers play a plan while the server's script cache is dropped
// now and then.
func (c *Conductor) work(plan Plan) (Report, error) {
	stop := c.flushScripts()
	defer stop()
	for i, w := range c.workers {
		plan.Clients = nil
		for k := range clientsOfOne {
			plan.Clients = append(plan.Clients, i*clientsOfOne+k)
		}
		if err := w.Send(plan); err != nil {
			return Report{}, err
		}
	}
	var all Report
	for _, w := range c.workers {
		var r Report
		if err := w.Receive(&r); err != nil {
			return Report{}, err
		}
		all.Operations = append(all.Operations, r.Operations...)
		all.Faults.LostRequests += r.Faults.LostRequests
		all.Faults.CutRequests += r.Faults.CutRequests
		all.Faults.LostReplies += r.Faults.LostReplies
		all.Broke += r.Broke
	}
	return all, nil
}

// flushScripts sends SCRIPT FLUSH until it is stopped.
func (c *Conductor) flushScripts() (stop func()) {
	client := redis.NewClient(&redis.Options{Addr: c.addr})
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(flushEvery):
				_ = client.ScriptFlush(ctx).Err() // one that fails is one fault less
			}
		}
	}()
	return func() {
		cancel()
		<-done
		_ = client.Close()
	}
}
