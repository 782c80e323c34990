package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/toolharness/harness/benchmarks/contest"
	"github.com/toolharness/harness/benchmarks/measure"
	"github.com/toolharness/harness/benchmarks/report"
)

// bench is one run of the program.
type bench struct {
	options
	progress io.Writer
	redis    string // version
	missing  []string
	in       []entrant
	cleanups []func() error
}

// entrant is a system that takes part.
type entrant struct {
	system
	contestant *contest.Contestant
}

func (b *bench) logf(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// later is for what has to be undone at the end.
func (b *bench) later(f func() error) { b.cleanups = append(b.cleanups, f) }

func (b *bench) folder() (string, error) {
	dir, err := os.MkdirTemp("", "peers")
	if err == nil {
		b.later(func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// start starts what can be had, and says loudly what cannot.
func (b *bench) start(ctx context.Context) error {
	for _, s := range systems() {
		if !b.only.MatchString(s.name) {
			continue
		}
		cmd, err := s.start(ctx, b)
		var c *contest.Contestant
		if err == nil {
			cmd.Stderr = io.Discard // some talk all the time
			c, err = contest.Start(cmd)
		}
		if err != nil {
			line := fmt.Sprintf("NOT MEASURED: %s: %v", s.name, err)
			b.missing = append(b.missing, line)
			b.logf("%s", line)
			continue
		}
		b.in = append(b.in, entrant{s, c})
		b.logf("ready: %s", s.name)
	}
	if len(b.in) == 0 {
		return errors.New("nothing to measure")
	}
	return nil
}

// close lets the contestants end, then their servers.
func (b *bench) close() {
	for _, e := range b.in {
		if err := e.contestant.Close(); err != nil {
			b.logf("%s: %v", e.name, err)
		}
	}
	for i := len(b.cleanups) - 1; i >= 0; i-- {
		if err := b.cleanups[i](); err != nil {
			b.logf("%v", err)
		}
	}
}

// measure lets everybody take turns and makes the table.
func (b *bench) measure(ctx context.Context) (report.Table, error) {
	t := report.Table{Title: "Peers: 1 KiB of arguments, 16 KiB of result, runs of 50 calls", Columns: []report.Column{
		{Name: "system"}, {Name: "fsync per commit"}, {Name: "record survives"}, {Name: "callers"}, {Name: "calls/s"},
		{Name: "p50 us"}, {Name: "p99 us"}, {Name: "time / Harness of the same kind"},
	}}
	order := rand.New(rand.NewPCG(1, uint64(len(b.in))))
	for _, callers := range b.callers {
		answers := make([][]contest.Answer, len(b.in))
		for round := range b.rounds + 1 {
			for _, i := range order.Perm(len(b.in)) {
				if err := ctx.Err(); err != nil {
					return t, err
				}
				answer, err := b.in[i].contestant.Ask(contest.Ask{Callers: callers, Runs: max(b.runs, callers)})
				if err != nil {
					return t, fmt.Errorf("%s: %w", b.in[i].name, err)
				}
				b.logf("callers %d, round %d: %s: %.0f calls/s", callers, round, b.in[i].name, answer.Rate)
				if round > 0 {
					answers[i] = append(answers[i], answer)
				}
			}
		}
		for i, e := range b.in {
			b.row(&t, e, callers, answers[i], answers[b.base(e)])
		}
	}
	t.Notes = append(t.Notes, b.missing...)
	t.Notef("The last column is the median over %d rounds, with quartiles. It compares systems that flush every commit with Harness on "+
		"appendfsync always, and the others with Harness without AOF.", b.rounds)
	return t, nil
}

// base is the Harness that a system is compared with, or the system itself where
// that is missing.
func (b *bench) base(e entrant) int {
	for i, other := range b.in {
		if other.does == harnessDoes && other.flushed == e.flushed {
			return i
		}
	}
	for i, other := range b.in {
		if other.name == e.name {
			return i
		}
	}
	return 0
}

func (b *bench) row(t *report.Table, e entrant, callers int, own, base []contest.Answer) {
	var rates, p50, p99, quotients []float64
	for i, a := range own {
		rates, p50, p99 = append(rates, a.Rate), append(p50, a.P50), append(p99, a.P99)
		quotients = append(quotients, base[i].Rate/a.Rate)
	}
	flushed := "no"
	if e.flushed {
		flushed = "yes"
	}
	t.Add(e.name, flushed, e.against, callers, measure.Median(rates), measure.Median(p50), measure.Median(p99), measure.RatioOf(quotients))
}

// words is the table of what each system does and does not do.
func (b *bench) words() report.Table {
	t := report.Table{Title: "What each does for this work, and what it does not", Columns: []report.Column{{Name: "system"}, {Name: "does"}, {Name: "does not"}}}
	for _, e := range b.in {
		t.Add(e.name, e.does, e.lacks)
	}
	t.Notef("They are not the same thing: DBOS and Temporal resume a program, Harness decides about calls and keeps what they showed. " +
		"The table only says what a caller waits for until a call and its result are kept.")
	return t
}
