// Command faults injects faults between Harness and a redis-server, has a checker
// recount what became of every call, and prints one table. It exits with 1 unless
// nothing was lost, doubled, left without an expiry or otherwise wrong.
//
//	faults [-full] [-seed n] [-each n] [-only regexp] [-dir folder] [-keep]
//
// The report and the file of entries are kept in -dir where something failed, or
// always with -keep.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"github.com/toolharness/harness/faults/checker"
	"github.com/toolharness/harness/faults/inject"
	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/faults/report"
)

func main() {
	workers.Main(roles())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	full, keep bool
	seed       uint64
	dir        string
	selection  inject.Selection
}

func parse(args []string, errors io.Writer) (options, error) {
	var o options
	var only string
	f := flag.NewFlagSet("faults", flag.ContinueOnError)
	f.SetOutput(errors)
	f.BoolVar(&o.full, "full", false, "at least 200 injections of each combination")
	f.BoolVar(&o.keep, "keep", false, "keep the report and the file of entries")
	f.Uint64Var(&o.seed, "seed", 1, "from which all injections follow")
	f.IntVar(&o.selection.Each, "each", 0, "injections of each combination; 0 for the usual number")
	f.IntVar(&o.selection.Lanes, "lanes", 0, "injections under way at a time; 0 for the usual number")
	f.StringVar(&only, "only", "", "a regular expression for \"section fault script place\"")
	f.StringVar(&o.dir, "dir", "", "folder for report and entries; a new one if empty")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("an argument that is no flag: %q", f.Arg(0))
	}
	if o.selection.Each < 0 || o.selection.Lanes < 0 {
		return o, fmt.Errorf("-each and -lanes are numbers above 0")
	}
	if only != "" {
		pattern, err := regexp.Compile(only)
		if err != nil {
			return o, fmt.Errorf("-only: %w", err)
		}
		o.selection.Only = pattern
	}
	return o, nil
}

// sections are all families of injections, in the order in which they run.
func sections(o options) []report.Section {
	return []report.Section{inject.Wire(o.selection), inject.Server(o.selection), kills(o.selection)}
}

// run injects, checks and prints. It reports whether nothing was wrong.
func run(ctx context.Context, args []string, out, progress io.Writer) (ok bool, err error) {
	o, err := parse(args, progress)
	if err != nil {
		return false, err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "faults"); err != nil {
			return false, err
		}
	}
	lines, entries := filepath.Join(o.dir, "report.jsonl"), filepath.Join(o.dir, "entries.txt")
	file, err := os.OpenFile(lines, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	check := checker.New(lines, entries)
	start := time.Now()
	bench := &report.Bench{
		Lines: report.NewWriter(file), Entries: entries, Dir: o.dir, Seed: o.seed, Full: o.full, Audit: check.Audit,
		Logf: func(format string, args ...any) {
			fmt.Fprintf(progress, "%5.0fs %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
		},
	}
	for _, s := range sections(o) {
		if failed := s.Run(ctx, bench); failed != nil {
			err = errors.Join(err, fmt.Errorf("section %s: %w", s.Name, failed))
		}
	}
	result, failed := check.Finish()
	if err = errors.Join(err, failed, file.Close()); result == nil {
		return false, err
	}
	if failed := result.Print(out); failed != nil {
		return false, errors.Join(err, failed)
	}
	ok = result.OK() && err == nil
	if ok && !o.keep {
		return ok, os.RemoveAll(o.dir)
	}
	fmt.Fprintf(progress, "report: %s\nentries: %s\n", lines, entries)
	return ok, err
}
