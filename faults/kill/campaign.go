package kill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/redisstore"
)

// RoleName is the role, in package workers, in which the program that runs a
// campaign must offer [Work].
const RoleName = "kill"

// Campaign is a number of kills on one server.
type Campaign struct {
	Addr  string // of a redis-server with an append-only file and an empty database 0
	Kills int
	Lanes int // children at a time; zero: 4

	// Restart ends the server and starts it again from its file, before the
	// audit. Nil: the audit reads the server as it is.
	Restart func() error
}

// campaign is one under way.
type campaign struct {
	Campaign
	bench    *report.Bench
	client   *redis.Client // plain, to look from outside
	store    *redisstore.Store
	boundary *boundary.ToolBoundary // of the parent, which opens runs and sweeps them

	mu        sync.Mutex
	histogram Histogram
	runs      []*victims
	problems  []error
}

// Run kills, waits until every call that was killed is overdue, sweeps, and has
// the checker look at what is there. The histogram says where the processes were.
func (c Campaign) Run(ctx context.Context, b *report.Bench) (Histogram, error) {
	if c.Lanes == 0 {
		c.Lanes = 4
	}
	store, err := redisstore.Dial(ctx, "redis://"+c.Addr+"/0", nil)
	if err != nil {
		return nil, err
	}
	inner, err := newBoundary(store, nil)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	w := &campaign{
		Campaign: c, bench: b, store: store, boundary: inner, histogram: Histogram{},
		client: redis.NewClient(&redis.Options{Addr: c.Addr, ContextTimeoutEnabled: true, DisableIdentity: true}),
	}
	err = w.conduct(ctx)
	return w.histogram, errors.Join(err, inner.Shutdown(ctx), store.Close(), w.client.Close())
}

func (c *campaign) conduct(ctx context.Context) error {
	all := draw(c.bench.Seed, c.Kills)
	plan(c.bench, all)
	start := time.Now()
	c.killAll(ctx, all)
	if err := c.problem(); err != nil {
		return err
	}
	c.bench.Logf("%d kills in %v, by the last phase that the process told:\n%s",
		c.histogram.Total(), time.Since(start).Round(time.Second), c.histogram)
	if err := c.sweepAll(ctx); err != nil {
		return err
	}
	if c.Restart != nil {
		if err := c.Restart(); err != nil {
			return err
		}
	}
	return errors.Join(c.bench.Lines.Err(), c.bench.Audit(ctx, c.Addr))
}

// killAll works through the victims, one run after the other in each lane.
func (c *campaign) killAll(ctx context.Context, all []victim) {
	work := make(chan []victim)
	var lanes sync.WaitGroup
	for range c.Lanes {
		lanes.Go(func() {
			for some := range work {
				c.fail(c.killRun(ctx, some))
			}
		})
	}
	for len(all) > 0 && c.problem() == nil && ctx.Err() == nil {
		n := min(callsPerRun, len(all))
		work <- all[:n]
		all = all[n:]
	}
	close(work)
	lanes.Wait()
}

func (c *campaign) fail(err error) {
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.problems = append(c.problems, err)
	}
}

func (c *campaign) problem() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.problems...)
}

// victims is one run, and what is known of its calls.
type victims struct {
	list  []victim
	run   *boundary.Run
	lines []report.Call
	due   time.Time // of the last call that was killed, by our clock
}

// killRun opens a run and kills a process in each of its calls. A last process
// is left alone: it makes all calls once more and looks every one up.
func (c *campaign) killRun(ctx context.Context, list []victim) error {
	run, err := c.boundary.OpenRun(ctx, boundary.RunSpec{
		Scope:  canonical.Scope{Tenant: "faults", Owner: "kill"},
		Budget: boundary.Budget{Calls: len(list) + extraCalls, PerTool: len(list) + extraCalls},
	})
	if err != nil {
		return err
	}
	v := &victims{list: list, run: run, lines: make([]report.Call, len(list))}
	for i, one := range list {
		v.lines[i] = report.Call{
			Combination: one.at(), Seed: one.Seed, Base: report.Base(run.Key()), Name: ":" + string(one.ID),
			Effect: string(one.Effect), SHA256: report.Digest(one.raw()),
		}
	}
	for i := range list {
		if err := c.killIn(v, i); err != nil {
			return err
		}
	}
	if err := c.leaveAlone(v); err != nil {
		return err
	}
	l := limits()
	v.due = time.Now().Add(l.ToolTimeout + l.Closing() + canonical.DueMargin)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = append(c.runs, v)
	return nil
}

func (c *campaign) order(v *victims) Order {
	o := Order{Addr: c.Addr, Ticket: v.run.Ticket().Reveal(), Entries: c.bench.Entries, Watch: -1}
	for _, one := range v.list {
		o.Calls = append(o.Calls, one.Spec)
	}
	return o
}

// heard takes over what a child said became of a call. Whoever is told first
// made the call; everybody after that must be told that it is a duplicate.
func (v *victims) heard(w Word) {
	line := &v.lines[w.Call]
	switch {
	case w.Looked != "":
		v.lookedUp(line, v.list[w.Call], w.Looked)
	case line.Told == "" && line.Again == "" && w.Told != duplicate:
		line.Told, line.Ran, line.Agent = w.Told, w.Ran, w.Agent
	default:
		if line.Again = w.Told; w.Told != duplicate {
			line.Broken += "a later process was told " + w.Told + "; "
		}
	}
}

const duplicate = "DUPLICATE_TOOL_CALL"

// lookedUp: a stored answer is the one that the tool's bytes make, byte for byte.
func (v *victims) lookedUp(line *report.Call, one victim, looked string) {
	want := report.Digest(summarize(one.raw()))
	switch {
	case looked == "open" && line.Told == "":
	case looked == want && (line.Told == "" || line.Agent == want):
	case looked == line.Told:
	default:
		line.Broken += fmt.Sprintf("looked up: %s, told: %q; ", looked, line.Told)
	}
}
