package kill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/projector"
)

// extraCalls are what the parent may call in a run to see whether it is blocked.
const extraCalls = 3

// afterDue is waited beyond the last due time; grace is what a sweep adds.
const (
	afterDue = 300 * time.Millisecond
	grace    = time.Millisecond
)

// keepOpen is every how many runs one is left as its processes left it, with open
// calls that are listed and not swept.
const keepOpen = 5

// sweepAll waits until nothing can be under way any more, and looks at each run
// from outside, through the library, and from outside again.
func (c *campaign) sweepAll(ctx context.Context) error {
	entries, err := readEntries(c.bench.Entries)
	if err != nil {
		return err
	}
	for i, v := range c.runs {
		if wait := time.Until(v.due.Add(afterDue)); wait > 0 {
			time.Sleep(wait) // a server's clock cannot be moved
		}
		a := &aftermath{campaign: c, victims: v, entries: entries}
		if err := a.examine(ctx, i%keepOpen != 0); err != nil {
			return err
		}
		for _, line := range v.lines {
			c.bench.Lines.Call(line)
		}
	}
	return nil
}

// aftermath is one run after all its processes are gone.
type aftermath struct {
	*campaign
	*victims
	entries map[string]int // of the file, when the last process was gone
	probes  int
}

// found notes what should not be, with the first call of the run.
func (a *aftermath) found(format string, args ...any) {
	a.lines[0].Broken += fmt.Sprintf(format, args...) + "; "
}

func (a *aftermath) examine(ctx context.Context, sweep bool) error {
	open, err := a.rawOpen(ctx)
	if err != nil {
		return err
	}
	if err := a.listed(ctx, open); err != nil {
		return err
	}
	if err := a.probe(ctx, "before the sweep"); err != nil {
		return err
	}
	if sweep {
		if err := a.sweep(ctx, open); err != nil {
			return err
		}
	}
	return a.take(ctx)
}

// left is an open call as Redis has it: what a sweep must make of it.
type left struct {
	name string
	due  int64
	code string
}

// rawOpen reads the open calls with a plain client.
func (a *aftermath) rawOpen(ctx context.Context) ([]left, error) {
	base := a.lines[0].Base
	members, err := a.client.ZRangeWithScores(ctx, base+"open", 0, -1).Result()
	if err != nil {
		return nil, err
	}
	var out []left
	for _, z := range members {
		name, _ := z.Member.(string)
		fields, err := a.client.HMGet(ctx, base+"call:"+name, "st", "ef", "rd").Result()
		if err != nil {
			return nil, err
		}
		l := left{name: name, due: int64(z.Score), code: "OUTCOME_UNKNOWN"}
		switch {
		case fields[2] != nil:
			l.code = "PROJECTION_FAILED"
		case fields[1] == "read":
			l.code = "ORPHANED"
		}
		if fields[0] != "PROJECTING" {
			a.found("%s is in the set of open calls, and its state is %v", name, fields[0])
		}
		out = append(out, l)
	}
	return out, nil
}

// listed: Unresolved and Outstanding name every open call, with its age, and
// nothing else.
func (a *aftermath) listed(ctx context.Context, open []left) error {
	out, err := a.run.Outstanding(ctx)
	if err != nil {
		return err
	}
	var want, got, unresolved []string
	for _, l := range open {
		want = append(want, fmt.Sprintf("%s due %d", l.name, l.due))
	}
	for _, o := range out.Open {
		got = append(got, fmt.Sprintf("%s due %d", o.Call, o.Due.UnixMilli()))
		if !o.Due.Before(out.Now) {
			a.found("%s is not overdue, %v before its time", o.Call, o.Due.Sub(out.Now))
		}
		for i := range a.lines {
			a.lines[i].Listed = a.lines[i].Listed || a.lines[i].Name == o.Call.String()
		}
	}
	a.same("Outstanding", got, want)
	ids, err := a.run.Unresolved(ctx)
	if err != nil {
		return err
	}
	want = nil
	for _, id := range ids {
		unresolved = append(unresolved, id.Call.String())
	}
	for _, l := range open {
		want = append(want, l.name)
	}
	a.same("Unresolved", unresolved, want)
	return nil
}

func (a *aftermath) same(what string, got, want []string) {
	sort.Strings(got)
	sort.Strings(want)
	if !slices.Equal(got, want) {
		a.found("%s: %v, Redis has %v", what, got, want)
	}
}

// probe makes a call of the parent's own: it is refused exactly while an effect
// is overdue or unknown.
func (a *aftermath) probe(ctx context.Context, when string) error {
	base := a.lines[0].Base
	blocked, err := a.client.ZCount(ctx, base+"effects", "-inf", strconv.FormatInt(time.Now().UnixMilli(), 10)).Result()
	if err != nil {
		return err
	}
	a.probes++
	s := Spec{ID: canonical.ToolCallID(fmt.Sprintf("probe_%d", a.probes)), Effect: canonical.EffectRead, Size: smallBytes, Seed: a.list[0].Seed}
	line := report.Call{
		Combination: a.lines[0].Combination, Part: a.probes, Seed: s.Seed, Base: base, Name: ":" + string(s.ID),
		Effect: "read", SHA256: report.Digest(s.raw()),
	}
	result := a.boundary.Invoke(ctx, a.run, s.envelope(a.run.ID()), a.action(s, &line))
	w := wordOf(0, result.Outcome)
	line.Told, line.Ran, line.Agent = w.Told, w.Ran, w.Agent
	if line.Told == "READY" {
		line.State = "READY"
	}
	want := "READY"
	if blocked > 0 {
		want = "UNRESOLVED_EFFECT"
	}
	if line.Told != want {
		line.Broken = fmt.Sprintf("%s: a call was told %s, want %s", when, line.Told, want)
	}
	a.bench.Lines.Call(line)
	return nil
}

func (a *aftermath) action(s Spec, line *report.Call) boundary.Action {
	return boundary.Action{
		Effect: s.Effect,
		Executor: boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
			line.Entries++
			if err := report.Enter(a.bench.Entries, report.Base(in.Identity.RunKey), in.Identity.Call.String()); err != nil {
				return err
			}
			_, err := raw.Write(s.raw())
			return err
		}),
		Projector: projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: summarize(in.Raw), Status: evidence.Found}, nil
		}),
	}
}

// sweep ends what is open, as what each must be ended; a second one finds
// nothing. Unknown effects block the run until they are resolved.
func (a *aftermath) sweep(ctx context.Context, open []left) error {
	swept, err := a.run.Sweep(ctx, grace)
	if err != nil {
		return err
	}
	var got, want []string
	for _, s := range swept {
		got = append(got, s.Call.String()+" "+string(s.Code))
	}
	for _, l := range open {
		want = append(want, l.name+" "+l.code)
	}
	a.same("Sweep", got, want)
	again, err := a.run.Sweep(ctx, grace)
	if err != nil {
		return err
	}
	if len(again) > 0 {
		a.found("a second sweep ended %v", again)
	}
	if err := a.probe(ctx, "after the sweep"); err != nil {
		return err
	}
	for _, s := range swept {
		if s.Code == "OUTCOME_UNKNOWN" {
			if err := a.run.Resolve(ctx, s.Call, canonical.Applied, "the file of entries"); err != nil {
				return err
			}
		}
	}
	return a.probe(ctx, "after resolving")
}

// take reads the end of each call, and its entries, into its line.
func (a *aftermath) take(ctx context.Context) error {
	for i := range a.lines {
		line := &a.lines[i]
		fields, err := a.client.HMGet(ctx, line.Base+"call:"+line.Name, "st", "cd").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		line.State, _ = fields[0].(string)
		line.Code, _ = fields[1].(string)
		line.Entries = a.entries[line.Base+" "+line.Name]
		line.Broken = strings.TrimSuffix(line.Broken, "; ")
	}
	return nil
}
