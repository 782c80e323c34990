// Command harness shows what the boundary does with the tool calls of an agent. See package command for what it can be
// asked and what its exit status means.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolharness/harness/cmd/harness/internal/command"
)

func main() { os.Exit(run()) }

// run is apart from main because os.Exit runs no deferred call.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command.Run(ctx, os.Args[1:], command.Streams{Out: os.Stdout, Err: os.Stderr})
}
