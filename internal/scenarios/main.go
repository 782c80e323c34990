package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are the flags of the command; see the package comment.
type options struct {
	doc, events, save string
	packages          bool
	goTest            []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("scenarios", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.doc, "doc", "docs/scenarios.md", "the `file` with the rows")
	flags.StringVar(&o.events, "events", "", "judge this saved `file` of go test -json instead of running the tests")
	flags.StringVar(&o.save, "save", "", "keep the events of the run in this `file`")
	flags.BoolVar(&o.packages, "packages", false, "print only what go test said about each package")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.goTest = flags.Args()
	if o.events != "" && (o.save != "" || len(o.goTest) > 0) {
		return o, errors.New("-events judges what was saved: neither -save nor flags for go test go with it")
	}
	return o, nil
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	ok := false
	if err == nil {
		ok, err = o.look(stdout, stderr)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "scenarios:", err)
		return 2
	case !ok:
		return 1
	}
	return 0
}

// look gathers, judges, prints, and reports whether all holds.
func (o options) look(stdout, stderr io.Writer) (bool, error) {
	file, err := os.Open(o.doc)
	if err != nil {
		return false, err
	}
	defer file.Close()
	rows, err := readTable(file)
	if err != nil {
		return false, fmt.Errorf("%s: %w", o.doc, err)
	}
	r, err := o.gather(stdout, stderr)
	if err != nil {
		return false, err
	}
	if o.packages {
		printPackages(stdout, r)
		return len(r.problems()) == 0, nil
	}
	found, strangers := judge(rows, r)
	if err := printFindings(stdout, found); err != nil {
		return false, err
	}
	return printVerdict(stdout, found, strangers, r.problems()), nil
}

func (o options) gather(stdout, stderr io.Writer) (*results, error) {
	r := newResults()
	if o.events != "" {
		file, err := os.Open(o.events)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return r, readEvents(file, r.add)
	}
	save := io.Discard
	if o.save != "" {
		file, err := os.Create(o.save)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		save = file
	}
	buffered := bufio.NewWriter(save)
	dirs, err := moduleDirs()
	if err != nil {
		return nil, err
	}
	live := &reporter{w: stdout, output: map[testID]*strings.Builder{}}
	err = runTests(dirs, o.goTest, buffered, stderr, func(e event) { r.add(e); live.show(e) })
	return r, errors.Join(err, buffered.Flush())
}
