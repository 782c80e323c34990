// Command peers measures systems that keep a durable record of a tool call on the
// same work: arguments of 1 KiB, a result of 16 KiB, runs of 50 calls.
//
//	peers [-only regexp] [-rounds n] [-runs n] [-callers list] [-o text|json]
//
// Each system is a process of its own; in every round each takes one turn, in a new
// order. What cannot be had here is left out with a line that says so, and is no
// failure. All servers are on loopback and end with the program.
//
//	needs              for
//	redis-server       Harness
//	nothing            DBOS on SQLite
//	initdb, postgres   DBOS on Postgres: Debian's packages, found below /usr/lib/postgresql
//	a long build       Temporal: the module in the folder temporal, a server in one process
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

	"github.com/toolharness/harness/benchmarks/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if len(os.Args) == 4 && os.Args[1] == "contestant" {
		err = contestant(ctx, os.Args[2], os.Args[3])
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// contestant is a process that was started by this program itself.
func contestant(ctx context.Context, kind, address string) error {
	switch kind {
	case "harness":
		return serveHarness(ctx, address)
	case "dbos":
		return serveDBOS(ctx, address)
	default:
		return fmt.Errorf("no contestant %q", kind)
	}
}

// options are what the command line says.
type options struct {
	only    *regexp.Regexp
	rounds  int
	runs    int
	callers []int
	form    string
}

func parse(args []string, errs io.Writer) (options, error) {
	var o options
	var only, callers string
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&only, "only", "", "a regular expression for names of systems")
	f.IntVar(&o.rounds, "rounds", 5, "rounds, after one that is thrown away")
	f.IntVar(&o.runs, "runs", 16, "runs of 50 calls in a turn")
	f.StringVar(&callers, "callers", "1,16", "numbers of callers")
	f.StringVar(&o.form, "o", "text", "text or json")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.only, err = regexp.Compile(only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	for part := range strings.SplitSeq(callers, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > 1024 {
			return o, errors.New("-callers: numbers from 1 to 1024, with commas between them")
		}
		o.callers = append(o.callers, n)
	}
	if o.rounds < 1 || o.runs < 1 || o.form != "text" && o.form != "json" || f.NArg() > 0 {
		return o, errors.New("-rounds and -runs are numbers above 0, -o is text or json, and there are no other arguments")
	}
	return o, nil
}

// run starts the systems that can be had, lets them take turns, and prints.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	b := &bench{options: o, progress: progress}
	defer b.close()
	if err := b.start(ctx); err != nil {
		return err
	}
	doc := report.Document{Command: strings.TrimSpace("peers " + strings.Join(args, " ")), Machine: report.ThisMachine(b.redis)}
	table, err := b.measure(ctx)
	if err != nil {
		return err
	}
	doc.Tables = append(doc.Tables, table, b.words())
	doc.Ended = report.ThisMachine(b.redis).Load
	if o.form == "json" {
		return doc.JSON(out)
	}
	return doc.Text(out)
}
