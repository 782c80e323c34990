// Command bench measures Harness on a redis-server that it starts on loopback, and
// prints one table a section. See package section for what is compared with what.
//
//	bench [-only regexp] [-rounds n] [-calls n] [-sizes list] [-callers list] [-o text|json] ...
//
// It exits with 1 when a call failed or something could not be measured; no time is
// too long for it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/toolharness/harness/benchmarks/report"
	"github.com/toolharness/harness/benchmarks/section"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	section.Options
	only *regexp.Regexp
	form string
}

func parse(args []string, errs io.Writer) (options, error) {
	var o options
	var only, sizes, callers string
	var full, once bool
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&only, "only", "", "a regular expression for names of sections: "+names())
	f.StringVar(&o.form, "o", "text", "text, or json for keeping")
	f.IntVar(&o.Rounds, "rounds", 5, "rounds of every comparison")
	f.IntVar(&o.Calls, "calls", 2000, "calls of one sample, at most")
	f.IntVar(&o.Bytes, "bytes", 96<<20, "bytes of raw in one sample, at most; a few calls are made in any case")
	f.StringVar(&sizes, "sizes", "1024,16384,262144,4194304", "sizes of raw in bytes")
	f.StringVar(&callers, "callers", "1,16,64", "numbers of goroutines")
	f.IntVar(&o.Long, "long", 20_000, "calls in the long run of section scale")
	f.IntVar(&o.Full, "full", 50_000, "records in the full store of section scale")
	f.BoolVar(&full, "whole", false, "-long 100000 -full 1000000; takes about 3 GB")
	f.BoolVar(&o.Pages, "steady", false, "the server keeps its memory between samples, as one does whose records are replaced")
	f.Uint64Var(&o.Seed, "seed", 1, "from which the order within rounds follows")
	f.BoolVar(&once, "once", false, "everything once and briefly: shows that it works, and says nothing of times")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("an argument that is no flag: %q", f.Arg(0))
	}
	if full {
		o.Long, o.Full = 100_000, 1_000_000
	}
	var err error
	if o.only, err = regexp.Compile(only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	if o.Sizes, err = numbers("-sizes", sizes, 256, 4<<20); err != nil {
		return o, err
	}
	if o.Callers, err = numbers("-callers", callers, 1, 1024); err != nil {
		return o, err
	}
	if once {
		o.Rounds, o.Calls, o.Bytes, o.Long, o.Full, o.Cold = 1, 8, 1, 200, 400, true
		o.Callers, o.Sizes = o.Callers[:1], o.Sizes[:min(2, len(o.Sizes))]
	}
	return o, o.check()
}

func (o options) check() error {
	switch {
	case o.form != "text" && o.form != "json":
		return fmt.Errorf("-o is %q, text or json is needed", o.form)
	case o.Rounds < 1 || o.Calls < 1 || o.Bytes < 1:
		return fmt.Errorf("-rounds, -calls and -bytes are numbers above 0")
	case o.Long < 200 || o.Full < o.Long:
		return fmt.Errorf("-long is at least 200, and -full at least that")
	}
	return nil
}

func names() string {
	var all []string
	for _, s := range section.All() {
		all = append(all, s.Name)
	}
	return strings.Join(all, ", ")
}

// numbers reads a list of numbers within bounds.
func numbers(flag, text string, low, high int) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < low || n > high {
			return nil, fmt.Errorf("%s: numbers from %d to %d, with commas between them", flag, low, high)
		}
		out = append(out, n)
	}
	return out, nil
}

// run measures and prints. What failed in one section does not keep the others from
// running.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	start := time.Now()
	o.Logf = func(format string, args ...any) {
		fmt.Fprintf(progress, "%5.0fs %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	env, err := section.Start(ctx, o.Options)
	if err != nil {
		return err
	}
	version, err := env.Redis(ctx)
	doc := report.Document{Command: strings.TrimSpace("bench " + strings.Join(args, " ")), Machine: report.ThisMachine(version)}
	for _, s := range section.All() {
		if !o.only.MatchString(s.Name) || err != nil && ctx.Err() != nil {
			continue
		}
		t, failed := s.Run(ctx, env)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("section %s: %w", s.Name, failed))
			continue
		}
		doc.Tables = append(doc.Tables, t)
	}
	doc.Ended = report.ThisMachine(version).Load
	err = errors.Join(err, env.Close())
	if o.form == "json" {
		return errors.Join(err, doc.JSON(out))
	}
	return errors.Join(err, doc.Text(out))
}
