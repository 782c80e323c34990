package race

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/redisstore"
)

// RoleName is the role, in package workers, in which the program must offer
// [Work].
const RoleName = "race"

// Contest is what there is only one of.
type Contest int

// The contests.
const (
	SameID Contest = iota
	RunBudget
	ToolBudget
	Capacity
)

// before is how many calls the parent makes before the contest, so that one unit
// is left.
const before = 2

// ahead is how long before the start the processes are told of it.
const ahead = 3 * time.Millisecond

// Track has the processes, which stay from round to round.
type Track struct {
	addr     string
	store    *redisstore.Store
	boundary *boundary.ToolBoundary
	workers  []*workers.Worker
}

// Prepare starts the processes.
func Prepare(ctx context.Context, addr string) (*Track, error) {
	store, err := redisstore.Dial(ctx, "redis://"+addr+"/0", nil)
	if err != nil {
		return nil, err
	}
	t := &Track{addr: addr, store: store}
	if t.boundary, err = newBoundary(store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	for range Processes {
		w, err := workers.Start(RoleName)
		if err != nil {
			return nil, errors.Join(err, t.End(ctx))
		}
		t.workers = append(t.workers, w)
	}
	return t, nil
}

// End ends the processes.
func (t *Track) End(ctx context.Context) error {
	return errors.Join(t.boundary.Shutdown(ctx), t.store.Close(), workers.CloseAll(t.workers))
}

// Finish is how a round ended.
type Finish struct {
	Run      canonical.RunKey
	Told     map[string]int // READY or the code, and whether the tool ran
	Entries  int64          // of the tool body, in the contest alone
	Admitted int            // calls that the run must have
	Held     int64          // bytes that the run must count
}

// budget leaves one unit of the contested thing after the parent's calls, and
// plenty of everything else.
func (c Contest) budget() boundary.Budget {
	b := boundary.Budget{Calls: 1000, PerTool: 1000, Bytes: 1 << 30}
	switch c {
	case RunBudget:
		b.Calls = before + 1
	case ToolBudget:
		b.PerTool = before + 1
	case Capacity:
		// While a call is open it takes its reserve, afterwards what it holds. A
		// second one does not fit by one byte, even once the first has ended.
		b.Bytes = before*held + reserve() + held - 1
	}
	return b
}

// Run makes one round.
func (t *Track) Run(ctx context.Context, c Contest) (Finish, error) {
	run, err := t.boundary.OpenRun(ctx, boundary.RunSpec{Scope: canonical.Scope{Tenant: "faults", Owner: "race"}, Budget: c.budget()})
	if err != nil {
		return Finish{}, err
	}
	var entries atomic.Int64
	for i := range before {
		if got := told(call(ctx, t.boundary, run, fmt.Sprintf("before_%d", i), &entries)); got != "READY ran yes" {
			return Finish{}, fmt.Errorf("race: a call before the contest was told %s", got)
		}
	}
	f := Finish{Run: run.Key(), Told: map[string]int{}, Admitted: before + 1, Held: (before + 1) * held}
	start := time.Now().Add(ahead).UnixNano()
	for i, w := range t.workers {
		order := Round{Addr: t.addr, Ticket: run.Ticket().Reveal(), SameID: c == SameID, Process: i, Start: start}
		if err := w.Send(order); err != nil {
			return Finish{}, err
		}
	}
	for _, w := range t.workers {
		var r Result
		if err := w.Receive(&r); err != nil {
			return Finish{}, err
		}
		f.Entries += r.Entries
		for text, n := range r.Told {
			f.Told[text] += n
		}
	}
	return f, nil
}
