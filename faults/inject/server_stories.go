package inject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/redisstore"
)

// stories are faults that take more than one call to show.
func stories() []serverFault {
	at := func(fault, place string) report.Combination {
		return report.Combination{Section: ServerSection, Fault: fault, Script: "admit", Place: place}
	}
	return []serverFault{
		{at: at("ledger put back (P16)", "next call of the process that saw it"), bytes: 2000, do: putBack(false)},
		{at: at("ledger put back (P16)", "next call of a process that joined"), bytes: 2000, do: putBack(true)},
		{at: at("killed inside a write (P19)", "nobody sweeps"), bytes: 4000, do: killedInside(false, false)},
		{at: at("killed inside a write (P19)", "swept"), bytes: 4000, do: killedInside(true, false)},
		{at: at("killed inside a write (P19)", "swept and resolved"), bytes: 4000, do: killedInside(true, true)},
	}
}

// also makes a further call of the same injection and writes its line.
func (t *try) also(ctx context.Context, part int, run *boundary.Run, id canonical.ToolCallID) (told string, err error) {
	line, tool0, call := t.line, t.tool, t.call
	defer func() { t.line, t.tool, t.call = line, tool0, call }()
	t.call = canonical.CallName{ID: id}
	t.tool = &tool{subject: tool0.subject, file: tool0.file}
	t.tool.seed = mix(tool0.seed + uint64(part))
	t.line = report.Call{Combination: line.Combination, Seed: line.Seed, Part: part, Base: report.Base(run.Key()), Effect: line.Effect, Gone: line.Gone}
	t.line.Name, t.line.SHA256 = t.call.String(), report.Digest(t.tool.raw())
	t.tell(t.inside.Invoke(ctx, run, t.tool.envelope(run.ID(), t.call), t.tool.action()))
	return t.line.Told, t.write(ctx)
}

// wantTold notes an answer that is not the expected one.
func (t *try) wantTold(id, told, want string) {
	if told != want {
		t.broke("%s was told %s, want %s", id, told, want)
	}
}

// putBack restores the ledger to what it was one admission ago, as a snapshot or
// a promoted replica would. Whoever has seen the later one notices.
func putBack(joined bool) func(context.Context, *bed, job) error {
	return func(ctx context.Context, b *bed, j job) error {
		t, err := b.begin(ctx, j.at, subject{seed: j.seed, effect: either(j.seed), size: bare.size()}, false)
		if err != nil {
			return err
		}
		t.line.Gone = "put back"
		if !t.open(ctx) {
			return errors.Join(disturbed("the run was not opened"), t.end(ctx))
		}
		if err := t.putBack(ctx, joined); err != nil {
			return errors.Join(err, t.end(ctx))
		}
		return t.end(ctx)
	}
}

func (t *try) putBack(ctx context.Context, joined bool) error {
	told, err := t.also(ctx, 1, t.run, "call_1")
	if err != nil {
		return err
	}
	t.wantTold("call_1", told, "READY")
	ledger := t.line.Base + "run"
	old, err := t.client.Dump(ctx, ledger).Result()
	if err != nil {
		return err
	}
	at, err := t.client.PExpireTime(ctx, ledger).Result()
	if err != nil {
		return err
	}
	if told, err = t.also(ctx, 2, t.run, "call_2"); err != nil {
		return err
	}
	t.wantTold("call_2", told, "READY")
	if joined {
		if t.run, err = t.inside.JoinRun(ctx, t.run.Ticket()); err != nil {
			return err
		}
	}
	if err := t.client.Do(ctx, "RESTORE", ledger, at.Milliseconds(), old, "REPLACE", "ABSTTL").Err(); err != nil {
		return err
	}
	t.call = canonical.CallName{ID: "call_3"}
	t.invoke(ctx)
	t.wantTold("call_3", t.line.Told, "RUN_INACTIVE")
	for _, id := range []canonical.ToolCallID{"call_1", "call_2"} { // reads go on
		out, err := t.run.Lookup(ctx, canonical.CallName{ID: id})
		if t.must("look "+string(id)+" up", err); err == nil && out.IsError() {
			t.broke("%s was READY and is %s", id, out.Code())
		}
	}
	return nil
}

// killedInside kills a process while the body of its write is being executed.
func killedInside(swept, resolved bool) func(context.Context, *bed, job) error {
	return func(ctx context.Context, b *bed, j job) error {
		t, err := b.begin(ctx, j.at, subject{seed: j.seed, effect: canonical.EffectWrite, size: bare.size()}, false)
		if err != nil {
			return err
		}
		if !t.open(ctx) {
			return errors.Join(disturbed("the run was not opened"), t.end(ctx))
		}
		if err := t.killInside(ctx); err != nil {
			return errors.Join(err, t.end(ctx))
		}
		return errors.Join(t.barrier(ctx, swept, resolved), t.end(ctx))
	}
}

// killInside has a child process make the call and die in its tool.
func (t *try) killInside(ctx context.Context) error {
	child, err := workers.Start(writerRole)
	if err != nil {
		return err
	}
	order := writerOrder{Addr: t.server.Addr(), Ticket: t.run.Ticket().Reveal(), Entries: t.bench.Entries, Seed: t.line.Seed}
	if err := child.Send(order); err != nil {
		return errors.Join(err, child.Kill())
	}
	var answer string
	if err := child.Receive(&answer); err == nil {
		return errors.Join(fmt.Errorf("the child came back from its write: %s", answer), child.Kill(), child.Reap())
	}
	if child.Reap() == nil {
		return errors.New("the child left by itself")
	}
	t.line.Name, t.line.SHA256 = t.call.String(), report.Digest(t.tool.raw())
	t.tool.entries.Store(1) // in the child, which is gone
	return nil
}

// barrier looks at what the killed call means for others: before it is due, when
// it is, after a sweep, and after a verdict.
func (t *try) barrier(ctx context.Context, swept, resolved bool) error {
	told, err := t.also(ctx, 1, t.run, "call_2")
	if err != nil {
		return err
	}
	t.wantTold("a call before the due time", told, "READY")
	if err := t.overdue(ctx); err != nil {
		return err
	}
	if told, err = t.also(ctx, 2, t.run, "call_3"); err != nil {
		return err
	}
	t.wantTold("a call after the due time", told, "UNRESOLVED_EFFECT")
	other, err := t.inside.OpenRun(ctx, boundary.RunSpec{Scope: scope(), ID: t.name + "-other"})
	if err != nil {
		return err
	}
	if told, err = t.also(ctx, 3, other, "call_1"); err != nil {
		return err
	}
	t.wantTold("a call of another run", told, "READY")
	want := "UNRESOLVED_EFFECT"
	if swept {
		list, err := t.run.Sweep(ctx, time.Millisecond)
		if t.must("sweep", err); len(list) != 1 {
			t.broke("%d calls were swept, want 1", len(list))
		}
	}
	if resolved {
		t.must("resolve", t.run.Resolve(ctx, t.call, canonical.Applied, "found in the file of entries"))
		want = "READY"
	}
	if told, err = t.also(ctx, 4, t.run, "call_4"); err != nil {
		return err
	}
	t.wantTold("a call in the end", told, want)
	return nil
}

// writerRole is what the child process is started as.
const writerRole = "faults write"

// writerOrder is what the child is told.
type writerOrder struct {
	Addr, Ticket, Entries string
	Seed                  uint64
}

// Roles are what this program does when it is started as its own child.
func Roles() map[string]workers.Role {
	return map[string]workers.Role{writerRole: writeAndDie}
}

// writeAndDie joins a run and makes one write, in whose body the process is
// killed as by somebody else: at once, with nothing said to anybody.
func writeAndDie(orders *json.Decoder, answers *json.Encoder) error {
	var o writerOrder
	if err := orders.Decode(&o); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
	defer cancel()
	store, err := redisstore.Dial(ctx, "redis://"+o.Addr+"/0", nil)
	if err != nil {
		return err
	}
	b, err := newBoundary(store, onceClosing, nil)
	if err != nil {
		return err
	}
	ticket, err := boundary.ParseRunTicket(o.Ticket)
	if err != nil {
		return err
	}
	run, err := b.JoinRun(ctx, ticket)
	if err != nil {
		return err
	}
	t := &tool{subject: subject{seed: o.Seed, effect: canonical.EffectWrite, size: bare.size()}, file: o.Entries, within: func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		time.Sleep(stepLimit) // the kernel is about to end this
		_ = answers.Encode(fmt.Sprint("not killed: ", err))
	}}
	result := b.Invoke(ctx, run, t.envelope(run.ID(), canonical.CallName{ID: "call_1"}), t.action())
	return answers.Encode(result.Outcome.Text())
}
