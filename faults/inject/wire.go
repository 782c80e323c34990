package inject

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolharness/harness/faults/proxy"
	"github.com/toolharness/harness/faults/report"
)

// WireSection is the name of the section that spoils messages.
const WireSection = "wire"

// Wire spoils each message of each script at each place, in each way.
func Wire(s Selection) report.Section {
	return report.Section{Name: WireSection, Run: func(ctx context.Context, b *report.Bench) error { return runWire(ctx, b, s) }}
}

// wireEach is the usual number of injections of a combination, short and full.
func wireEach(full bool) int {
	if full {
		return 200
	}
	return 4
}

// wireLanes is how many injections are under way at a time. Most of the time of
// each is waiting.
const wireLanes = 16

func runWire(ctx context.Context, b *report.Bench, s Selection) error {
	lanes := s.Lanes
	if lanes == 0 {
		lanes = wireLanes
	}
	if !s.wantsAny(append(wireFaults(), controls()...)) {
		return nil
	}
	return onServer(ctx, b, newField(WireSection), lanes, nil, func(beds []*bed) error {
		return runJobs(ctx, beds, wireJobs(b, s, beds[0].scripts.Texts()))
	})
}

// wireJobs plans all injections, in an order that mixes slow and quick ones. known
// are the scripts that a store sends at all.
func wireJobs(b *report.Bench, s Selection, known map[string]string) []job {
	each := s.Each
	if each == 0 {
		each = wireEach(b.Full)
	}
	var jobs []job
	for _, w := range append(wireFaults(), controls()...) {
		at := w.combination()
		if !s.wants(at) {
			continue
		}
		if _, sent := known[w.script]; !sent {
			b.Lines.NotTested(at, "the store of this version sends no such script")
			continue
		}
		b.Lines.Plan(at, each)
		for i := range each {
			jobs = append(jobs, job{at: at, index: i, seed: seedOf(b.Seed, at, i), bytes: w.form.size(), do: w.inject})
		}
	}
	for at, reason := range impossible() {
		if s.wants(at) {
			b.Lines.NotTested(at, reason)
		}
	}
	r := rand.New(rand.NewPCG(b.Seed, 1))
	r.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	return jobs
}

// controls are messages that pass: the same calls with nothing done to them.
func controls() []wireFault {
	var all []wireFault
	for _, script := range []string{"open", "enlist", "reserve", "release", "use", "admit", "close", "resolve", "sweep", "delete", "save", "complete", "settle", "attach"} {
		w := wireFault{script: script, form: bare, place: proxy.Before, kind: proxy.Pass}
		if script == "attach" {
			w.form = multi
		}
		all = append(all, w)
	}
	return all
}

// warm has the server and the proxies see the text of every script once, by
// calls that nothing happens to. They count for nothing in the table but their
// own failures.
func warm(ctx context.Context, b *bed, section string) error {
	for i, w := range controls() {
		at := w.combination()
		own := at
		own.Section = section // two sections must not warm up in the same runs
		if err := w.inject(ctx, b, job{at: at, seed: seedOf(b.bench.Seed, own, -1-i), warm: true}); err != nil {
			return err
		}
	}
	return nil
}

// attempts bounds how often an injection is begun that something else disturbs,
// and rest is how much longer each waits than the one before.
const (
	attempts = 6
	rest     = 100 * time.Millisecond
)

// inject makes one injection. One that a busy machine disturbs again and again is
// left out, and the table says that its combination has too few.
func (w wireFault) inject(ctx context.Context, b *bed, j job) error {
	for i := range attempts {
		err := w.injectOnce(ctx, b, j)
		if err == nil || !errors.As(err, new(disturbed)) || ctx.Err() != nil {
			return err
		}
		b.bench.Logf("made again: %s, %s, %s: %v", j.at.Fault, j.at.Script, j.at.Place, oneLine(err))
		time.Sleep(time.Duration(i) * rest)
		j.seed = mix(j.seed)
	}
	return nil
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// injectOnce is what comes before the message, the fault, the message, and what
// comes after it.
func (w wireFault) injectOnce(ctx context.Context, b *bed, j job) error {
	verb := verbs()[w.script]
	t, err := b.begin(ctx, j.at, verb.subject(w, j.seed), w.always || w.lenient)
	if err != nil {
		return err
	}
	x := &wireTry{try: t, wire: w}
	t.line.Gone = w.gone
	t.dies = w.dies || w.always && j.index%2 == 1
	failed := verb.run(ctx, x)
	failed = errors.Join(failed, x.after(ctx))
	if j.warm || x.trap == nil || x.trap.Fired() == 0 {
		t.line.Part = 1 // nothing was struck: not an injection
		if !j.warm {
			failed = errors.Join(failed, disturbed("the message was never sent"))
		}
	} else if t.run != nil && w.script != "close" && w.script != "release" && t.line.Name != "" {
		t.again(ctx)
	}
	return errors.Join(failed, t.end(ctx))
}

// wireTry is one injection of the section.
type wireTry struct {
	*try
	wire wireFault
	trap *proxy.Trap

	// Of faults of the server:
	foreign    string     // key that was planted
	background chan error // answered by what still runs on the server
	undone     bool
	slow       atomic.Bool                   // the fault took longer than a client waits
	later      []func(context.Context) error // done before the call is looked at
}

// after undoes what was done to the server and waits for what still runs there.
func (x *wireTry) after(ctx context.Context) (err error) {
	if x.undone {
		return nil
	}
	x.undone = true
	for _, do := range x.later {
		err = errors.Join(err, do(ctx))
	}
	if x.wire.undo != nil {
		err = errors.Join(err, x.wire.undo(x.bed, ctx))
	}
	if x.background != nil {
		err = errors.Join(err, <-x.background)
	}
	x.untouched(ctx)
	return err
}

// arm sets the fault; from here on the message is struck.
func (x *wireTry) arm() {
	f := x.wire.arm(x.line.Seed)
	if x.wire.do != nil {
		f.Do = func() { x.must("do "+x.wire.name+" to the server", x.wire.do(context.Background(), x)) }
	}
	x.trap = x.proxy.Arm(f)
}

// once notes an error that a fault which strikes once must not lead to: the
// message may be sent again, so the client has sent it again.
func (x *wireTry) once(what string, err error) {
	if !x.wire.lasting() && !x.slow.Load() {
		x.must(what, err)
	}
}

// onceReady expects the call to be READY in spite of the fault.
func (x *wireTry) onceReady() {
	if !x.wire.lasting() && !x.slow.Load() && x.line.Told != "READY" {
		x.broke("the fault struck once, and the model was told %s", x.line.Told)
	}
}
