package inject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolharness/harness/faults/proxy"
	"github.com/toolharness/harness/faults/report"
)

// ServerSection is the name of the section that does something to the server.
const ServerSection = "server"

// Server does to the server, at exactly one message, what servers suffer.
func Server(s Selection) report.Section {
	return report.Section{Name: ServerSection, Run: func(ctx context.Context, b *report.Bench) error { return runServer(ctx, b, s) }}
}

// family is what shares one server: faults with the same arguments and, where a
// story is its own, that story.
type family struct {
	args   []string
	faults []serverFault
}

// serverFault is one combination.
type serverFault struct {
	at    report.Combination
	do    func(context.Context, *bed, job) error
	bytes int
}

// serverEach is the usual number of injections of a combination.
func serverEach(full bool) int {
	if full {
		return 200
	}
	return 2
}

// serverLanes is how many servers are at work at a time, and serverJobs how many
// injections one of them gets.
const (
	serverLanes = 6
	serverJobs  = 40
)

// share is what one server gets to do.
type share struct {
	args []string
	jobs []job
}

func runServer(ctx context.Context, b *report.Bench, s Selection) error {
	if !wantsServer(s) {
		return nil
	}
	lanes := s.Lanes
	if lanes == 0 {
		lanes = serverLanes
	}
	all, ground := &merged{to: b}, newField(ServerSection)
	first := all.bench()
	err := onServer(ctx, first, ground, 1, nil, func(beds []*bed) error { return first.Audit(ctx, beds[0].server.Addr()) })
	if err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	shares := serverShares(b, s, ground.scripts.Texts())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]error, lanes)
	queue := make(chan share)
	var wg sync.WaitGroup
	for i := range lanes {
		wg.Go(func() {
			for sh := range queue {
				if failures[i] != nil {
					continue
				}
				if failures[i] = sh.run(ctx, all.bench(), ground); failures[i] != nil {
					cancel()
				}
			}
		})
	}
	for _, sh := range shares {
		queue <- sh
	}
	close(queue)
	wg.Wait()
	return errors.Join(failures...)
}

func (sh share) run(ctx context.Context, b *report.Bench, ground field) error {
	err := onServer(ctx, b, ground, 1, sh.args, func(beds []*bed) error { return runJobs(ctx, beds, sh.jobs) })
	if err != nil {
		return fmt.Errorf("%s: %w", sh.jobs[0].at.Fault, err)
	}
	return nil
}

func wantsServer(s Selection) bool {
	for _, f := range families() {
		for _, fault := range f.faults {
			if s.wants(fault.at) {
				return true
			}
		}
	}
	return false
}

// serverShares plans all injections and deals them out. known are the scripts that
// a store sends at all.
func serverShares(b *report.Bench, s Selection, known map[string]string) []share {
	each := s.Each
	if each == 0 {
		each = serverEach(b.Full)
	}
	var shares []share
	for _, f := range families() {
		var jobs []job
		for _, fault := range f.faults {
			if !s.wants(fault.at) {
				continue
			}
			if script, _, _ := strings.Cut(fault.at.Script, " "); known[script] == "" {
				b.Lines.NotTested(fault.at, "the store of this version sends no such script")
				continue
			}
			b.Lines.Plan(fault.at, each)
			for i := range each {
				jobs = append(jobs, job{at: fault.at, index: i, seed: seedOf(b.Seed, fault.at, i), bytes: fault.bytes, do: fault.do})
			}
		}
		for len(jobs) > 0 {
			n := min(serverJobs, len(jobs))
			shares = append(shares, share{f.args, jobs[:n]})
			jobs = jobs[n:]
		}
	}
	return shares
}

// merged lets several servers be at work at once, though an audit is about one
// of them: the lines of each are kept back until its own audit.
type merged struct {
	mu sync.Mutex
	to *report.Bench
}

// bench is one for a single server.
func (m *merged) bench() *report.Bench {
	b, kept := *m.to, &bytes.Buffer{}
	b.Lines = report.NewWriter(kept)
	b.Audit = func(ctx context.Context, addr string) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.to.Lines.Append(kept.Bytes())
		kept.Reset()
		return errors.Join(b.Lines.Err(), m.to.Lines.Err(), m.to.Audit(ctx, addr))
	}
	return &b
}

// struckAt makes combinations of faults that are done at a message.
func struckAt(list ...wireFault) []serverFault {
	var out []serverFault
	for _, w := range list {
		out = append(out, serverFault{at: w.combination(), bytes: w.form.size(), do: func(ctx context.Context, b *bed, j job) error {
			if err := b.load(ctx); err != nil {
				return err
			}
			return w.inject(ctx, b, j)
		}})
	}
	return out
}

// load has the server know all scripts, so that the message that is struck is the
// one that is meant and not the one after NOSCRIPT.
func (b *bed) load(ctx context.Context) error {
	for name, text := range b.scripts.Texts() {
		if err := b.client.ScriptLoad(ctx, text).Err(); err != nil {
			return fmt.Errorf("load %s: %w", name, err)
		}
	}
	return nil
}

// families are all server faults.
func families() []family {
	return []family{
		{args: []string{"--appendonly", "yes", "--appendfsync", "always"}, faults: restartsKept()},
		{faults: restartsLost()},
		{faults: scriptFlushes()},
		{faults: pauses()},
		{args: []string{"--busy-reply-threshold", "5"}, faults: busy()},
		{args: []string{"--maxmemory-policy", "noeviction"}, faults: memory()},
		{faults: append(append(foreignTypes(), expiries()...), stories()...)},
	}
}

// everyForm is each script in each of its forms.
func everyForm() []wireFault {
	var all []wireFault
	for _, w := range controls() {
		all = append(all, w)
		switch w.script {
		case "save", "complete", "settle":
			for _, f := range []form{multi, pieces} {
				w.form = f
				all = append(all, w)
			}
		}
	}
	return all
}

// ofCall are the forms of the scripts that a plain call sends, in order.
func ofCall() []wireFault {
	var all []wireFault
	for _, w := range everyForm() {
		switch w.script {
		case "admit", "save", "complete":
			all = append(all, w)
		}
	}
	return all
}

// restartsKept: the server is killed and comes back with all that it answered.
// Half of the time it is back before anybody asks again, half of the time later.
func restartsKept() []serverFault {
	var all []wireFault
	for _, w := range everyForm() {
		for _, place := range []proxy.Place{proxy.Before, proxy.After} {
			w.name, w.place, w.kind, w.do = "restart with AOF", place, proxy.Cut, restart
			all = append(all, w)
		}
	}
	late := []wireFault{}
	for _, w := range ofCall() {
		w.name, w.note, w.kind, w.do, w.undo, w.lenient = "restart with AOF", "back late", proxy.Cut, killed, (*bed).revive, true
		late = append(late, w)
	}
	return struckAt(append(all, late...)...)
}

// restartsLost: the server comes back with nothing.
func restartsLost() []serverFault {
	var all []wireFault
	for _, w := range ofCall() {
		for _, place := range []proxy.Place{proxy.Before, proxy.After} {
			w.name, w.place, w.kind, w.do, w.gone = "restart without AOF", place, proxy.Cut, restart, "server"
			all = append(all, w)
		}
	}
	return struckAt(all...)
}

// quickly is how long a restart may take for a client to notice nothing of it.
const quickly = onceIO / 2

// restart ends the server and starts it again. On a busy machine that can take
// longer than a client tries; then the model may notice.
func restart(_ context.Context, x *wireTry) error {
	start := time.Now()
	err := errors.Join(x.server.kill(), x.server.start())
	if time.Since(start) > quickly {
		x.slow.Store(true)
	}
	return err
}
