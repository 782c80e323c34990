// Command harness shows what the boundary does with the tool calls of an agent. See package command for what it can be
// asked and what its exit status means.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"

	"github.com/toolharness/harness/cmd/harness/internal/command"
)

func main() { os.Exit(run()) }

// run is apart from main because os.Exit runs no deferred call.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A reader that goes away ends a program by default, before it could take its keys out of Redis. So it is told of a
	// failed write instead.
	signal.Ignore(syscall.SIGPIPE)
	// The Redis client writes to standard error by itself; what it has to say comes back as errors, without addresses.
	logging.Disable()
	return command.Run(ctx, os.Args[1:], command.Streams{Out: os.Stdout, Err: os.Stderr, Env: os.Getenv})
}
