package inject

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/proxy"
)

// disturbed says that what comes before the fault did not go as usual, because
// the machine was too busy for the short time limits. The injection is made again
// with another seed; what it left is judged like the rest.
type disturbed string

// Error says what was not as usual.
func (d disturbed) Error() string { return "before the fault: " + string(d) }

// verb is how a script comes to be sent in the course of a call.
type verb struct {
	effect func(seed uint64) canonical.Effect
	fails  bool // the tool returns an error
	quota  bool // the run is opened under a quota of its scope
	run    func(context.Context, *wireTry) error
}

func (v verb) subject(w wireFault, seed uint64) subject {
	return subject{seed: seed, effect: v.effect(seed), size: w.form.size(), fails: v.fails, quota: v.quota}
}

func reads(uint64) canonical.Effect  { return canonical.EffectRead }
func writes(uint64) canonical.Effect { return canonical.EffectWrite }

// either makes half of the calls reads and half of them writes.
func either(seed uint64) canonical.Effect {
	if seed%2 == 0 {
		return canonical.EffectRead
	}
	return canonical.EffectWrite
}

// verbs are the stories, one a script.
func verbs() map[string]verb {
	return map[string]verb{
		"open":     {effect: either, run: storyOpen},
		"enlist":   {effect: either, run: storyOpen},
		"admit":    {effect: either, run: storyCall},
		"save":     {effect: writes, run: storyCall},
		"complete": {effect: reads, run: storyCall},
		"attach":   {effect: either, run: storyCall},
		"close":    {effect: either, run: storyClose},
		"resolve":  {effect: writes, fails: true, run: storyResolve},
		"sweep":    {effect: either, run: storySweep},
		"settle":   {effect: either, run: storySettle},
		"delete":   {effect: reads, run: storyDelete},
		"reserve":  {effect: reads, quota: true, run: storyOpen},
		"release":  {effect: reads, quota: true, run: storyClose},
		"use":      {effect: reads, quota: true, run: storyUse},
	}
}

// storyOpen strikes the opening of the run; the call goes through if there is one.
func storyOpen(ctx context.Context, x *wireTry) error {
	x.arm()
	if !x.open(ctx) {
		x.once("open", errors.New("the run was not opened"))
		return nil
	}
	x.proxy.Heal()
	x.invoke(ctx)
	x.onceReady()
	return nil
}

// storyCall strikes something of the call itself.
func storyCall(ctx context.Context, x *wireTry) error {
	if !x.open(ctx) {
		return disturbed("the run was not opened")
	}
	x.arm()
	x.invoke(ctx)
	x.onceReady()
	return nil
}

// storyClose strikes the closing of the run after the call.
func storyClose(ctx context.Context, x *wireTry) error {
	if err := x.readyCall(ctx); err != nil {
		return err
	}
	x.arm()
	x.struck(ctx, "close", x.run.Close)
	state, err := x.store.Inspect(ctx, x.run.Key())
	if err != nil {
		return err
	}
	if state.Phase != canonical.RunClosed {
		x.broke("the run was closed and is %s", state.Phase)
	}
	if x.tool.quota {
		return x.gaveBack(ctx)
	}
	return nil
}

// gaveBack checks that the run's reservation is what the run still holds.
func (x *wireTry) gaveBack(ctx context.Context) error {
	ledger, err := x.client.HMGet(ctx, x.line.Base+"run", "sq", "rs", "qm").Result()
	if err != nil {
		return err
	}
	field := fmt.Sprintf("r:%s:%s", x.name, ledger[2])
	kept, err := x.client.HGet(ctx, scopeBase()+"quota", field).Result()
	if x.must("look for the reservation", err); err != nil {
		return nil
	}
	if want := fmt.Sprintf("%s:%s:", ledger[0], ledger[1]); !strings.HasPrefix(kept, want) {
		x.broke("the run is closed and holds %s, and its reservation is %s", want, kept)
	}
	return nil
}

// storyUse strikes the question what a scope has reserved.
func storyUse(ctx context.Context, x *wireTry) error {
	if err := x.readyCall(ctx); err != nil {
		return err
	}
	x.arm()
	x.struck(ctx, "use", func(ctx context.Context) error {
		use, err := x.through.ScopeUse(ctx, scope())
		if err == nil && use.Runs < 1 {
			return fmt.Errorf("%d reservations, want one at least", use.Runs)
		}
		return err
	})
	return nil
}

// storyResolve strikes the verdict on a write that nobody knows about.
func storyResolve(ctx context.Context, x *wireTry) error {
	if !x.open(ctx) {
		return disturbed("the run was not opened")
	}
	x.invoke(ctx)
	x.arm()
	x.struck(ctx, "resolve", func(ctx context.Context) error {
		return x.run.Resolve(ctx, x.call, canonical.NotApplied, "asked the service")
	})
	return nil
}

// storySweep strikes the sweep of a call whose end could not be stored.
func storySweep(ctx context.Context, x *wireTry) error {
	if err := x.unfinished(ctx, false); err != nil {
		return err
	}
	x.arm()
	x.struck(ctx, "sweep", func(ctx context.Context) error {
		_, err := x.run.Sweep(ctx, time.Millisecond)
		return err
	})
	return nil
}

// storySettle strikes the settling of a result whose call was swept. Half of the
// writes had their raw saved before.
func storySettle(ctx context.Context, x *wireTry) error {
	if err := x.unfinished(ctx, x.line.Seed%4 == 1); err != nil {
		return err
	}
	if swept, err := x.run.Sweep(ctx, time.Millisecond); err != nil || len(swept) != 1 {
		return disturbed(fmt.Sprintf("%d calls were swept: %v", len(swept), err))
	}
	held := x.held()
	x.arm()
	x.struck(ctx, "settle", func(ctx context.Context) error { return x.inside.Settle(ctx, held[0]) })
	return nil
}

// storyDelete strikes the removal of a record.
func storyDelete(ctx context.Context, x *wireTry) error {
	if err := x.readyCall(ctx); err != nil {
		return err
	}
	x.line.Gone = "deleted"
	x.arm()
	x.struck(ctx, "delete", func(ctx context.Context) error { return x.through.Delete(ctx, x.run.Key(), x.call) })
	return nil
}

// readyCall is a call that nothing happens to.
func (x *wireTry) readyCall(ctx context.Context) error {
	if !x.open(ctx) {
		return disturbed("the run was not opened")
	}
	x.invoke(ctx)
	if x.line.Told != "READY" {
		return disturbed("a call that nothing happened to was told " + x.line.Told)
	}
	return nil
}

// unfinished is a call whose tool returned and whose end is lost again and again;
// then so much time passes that its owner counts as gone.
func (x *wireTry) unfinished(ctx context.Context, unsaved bool) error {
	if !x.open(ctx) {
		return disturbed("the run was not opened")
	}
	x.proxy.Arm(proxy.Fault{Script: "complete", Place: proxy.Before, Kind: proxy.Cut, Times: proxy.Always})
	if unsaved {
		x.proxy.Arm(proxy.Fault{Script: "save", Place: proxy.Before, Kind: proxy.Cut, Times: proxy.Always})
	}
	x.invoke(ctx)
	x.proxy.Heal()
	if x.line.Told != "RESULT_NOT_STORED" || len(x.held()) != 1 {
		return disturbed("a call whose end was lost was told " + x.line.Told)
	}
	return x.overdue(ctx)
}

// struck does what the fault is about. Where the fault strikes once it succeeds;
// where it stays it may fail, and succeeds after all once the way is healed.
func (x *wireTry) struck(ctx context.Context, what string, do func(context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	err := do(limited)
	if what != "sweep" && what != "delete" && what != "use" {
		x.once(what, err) // those nobody repeats but the client, which does not where a new connection is late
	}
	if err != nil {
		x.proxy.Heal()
		x.must("undo", x.after(ctx))
		x.must(what+" once the way was healed", x.eventually(limited, do))
	}
}
