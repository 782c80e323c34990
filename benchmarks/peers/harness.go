package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/toolharness/harness/benchmarks/contest"
	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore"
)

// serveHarness is the boundary on a Redis, with reads of which the model gets 2 KiB.
func serveHarness(ctx context.Context, url string) error {
	set, err := work()
	if err != nil {
		return err
	}
	store, err := redisstore.Dial(ctx, url, &redisstore.Options{PoolSize: 64, IOTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer store.Close()
	b, err := boundary.New(boundary.Config{Store: store, Authorizer: boundary.AllowAll{}, Limits: canonical.Limits{ClosingTimeout: time.Minute}})
	if err != nil {
		return err
	}
	action := boundary.Action{
		Effect: canonical.EffectRead,
		Executor: boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, w io.Writer) error {
			_, err := w.Write(set.Raw[0])
			return err
		}),
		Projector: projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: set.Agent[0], Status: evidence.Found}, nil
		}),
	}
	err = contest.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, number int) ([]time.Duration, error) {
		run, err := b.OpenRun(ctx, boundary.RunSpec{
			Scope: canonical.Scope{Tenant: "peers"}, Budget: canonical.Budget{Calls: contest.CallsPerRun, PerTool: contest.CallsPerRun, Bytes: canonical.Unlimited},
		})
		if err != nil {
			return nil, err
		}
		var times []time.Duration
		for i := range contest.CallsPerRun {
			start := time.Now()
			result := b.Invoke(ctx, run, boundary.Envelope{
				RunID: run.ID(), ToolCallID: canonical.ToolCallID(fmt.Sprintf("call_%d", i)), Tool: "search",
				Input: set.Requests[0], Authorized: true, ReadOnly: true,
			}, action)
			if result.Err != nil {
				return nil, result.Err
			}
			times = append(times, time.Since(start))
		}
		return times, run.Close(ctx)
	})
	return errors.Join(err, b.Shutdown(context.WithoutCancel(ctx)))
}
