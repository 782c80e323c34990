// Command temporal is a contestant for command peers: Temporal's server in one
// process with SQLite in memory, which is what its dev server is, a worker, and
// workflows of 50 activities.
//
// It is a module of its own, since the server's graph has hundreds of modules. Nobody
// else imports it; command peers builds it where the network allows.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/temporaltest"

	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/benchmarks/contest"
)

// queue is where workflows and activities meet their worker.
const queue = "peers"

// raw is the size of a result, in bytes.
const raw = 16 << 10

func main() {
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "temporal:", err)
		os.Exit(1)
	}
}

// job is one workflow a run and one activity a tool call.
type job struct {
	request, result string
}

// Search is the tool. Its input is the arguments, so that the history has them.
func (j *job) Search(context.Context, string) (string, error) { return j.result, nil }

// Run makes the calls of one run. It reads the machine's clock on purpose: times are
// what is wanted, and no history here is ever replayed from the beginning.
func (j *job) Run(ctx workflow.Context, request string) ([]time.Duration, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var took []time.Duration
	for range contest.CallsPerRun {
		start := time.Now()
		var got string
		if err := workflow.ExecuteActivity(ctx, j.Search, request).Get(ctx, &got); err != nil {
			return nil, err
		}
		if len(got) != len(j.result) {
			return nil, fmt.Errorf("an activity answered %d bytes", len(got))
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

func serve(ctx context.Context) error {
	source, err := content.Load()
	if err != nil {
		return err
	}
	set := source.Set(raw)
	j := &job{request: string(set.Requests[0]), result: string(set.Raw[0])}
	quiet := sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	server := temporaltest.NewServer(temporaltest.WithBaseClientOptions(client.Options{Logger: quiet}))
	defer server.Stop()
	server.NewWorker(queue, func(r worker.Registry) {
		r.RegisterWorkflow(j.Run)
		r.RegisterActivity(j.Search)
	})
	c := server.GetDefaultClient()
	return contest.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, _ int) ([]time.Duration, error) {
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: queue}, j.Run, j.request)
		if err != nil {
			return nil, err
		}
		var took []time.Duration
		err = run.Get(ctx, &took)
		return took, err
	})
}
