package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit statuses of the program.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitMissing = 3 // no such run, call, result or file
	ExitDiffers = 4 // stored bytes or a file are not what was recorded of them
)

// Streams are where a command reads nothing from and writes to.
type Streams struct {
	Out io.Writer           // results
	Err io.Writer           // messages about what went wrong
	Env func(string) string // the environment; nil: an empty one
}

// failure marks an error of a command that had begun. Every other error is one of usage: the parser found it before
// anything ran.
type failure struct{ cause error }

func (f failure) Error() string { return f.cause.Error() }
func (f failure) Unwrap() error { return f.cause }

// answer is a failure with a status of its own.
type answer struct {
	failure
	status int
}

// Run executes one command line, without the name of the program, and returns the exit status.
func Run(ctx context.Context, args []string, streams Streams) int {
	root := newRoot(streams)
	root.SetArgs(args)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitDone
	}
	fmt.Fprintf(streams.Err, "harness: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	var own answer
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.As(err, new(failure)):
		return ExitFailed
	}
	fmt.Fprintln(streams.Err, "Try 'harness help'.")
	return ExitUsage
}

func newRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "harness",
		Short: "Look at what a tool boundary does with the calls of an agent",
		Args:  cobra.NoArgs,
		// With something to run, an unknown command is an error; without, the parser would print the help and succeed.
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// Both are printed by Run, once and in one form.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newDemo(streams), newReplay(streams), newLs(streams), newShow(streams), newRead(streams), newExport(streams), newVerify(streams), newVersion())
	return root
}
