package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // for addresses that begin with sqlite:

	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/benchmarks/contest"
)

// raw is the size of a result, in bytes.
const raw = 16 << 10

// work is the bodies that every system of this program is given.
func work() (content.Set, error) {
	source, err := content.Load()
	if err != nil {
		return content.Set{}, err
	}
	return source.Set(raw), nil
}

// serveDBOS is one workflow a run and one step a tool call, as DBOS is meant to be
// used: the workflow's input has the arguments, a step's output the result.
func serveDBOS(ctx context.Context, url string) error {
	set, err := work()
	if err != nil {
		return err
	}
	runtime, err := dbos.NewContext(ctx, dbos.Config{
		DatabaseURL: url, AppName: "peers", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	times := map[string][]time.Duration{} // by workflow, which hands back what DBOS would keep
	result := string(set.Raw[0])
	workflow := func(ctx dbos.Context, arguments string) (string, error) {
		id, err := dbos.GetWorkflowID(ctx)
		if err != nil {
			return "", err
		}
		var took []time.Duration
		for range contest.CallsPerRun {
			start := time.Now()
			got, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return result, nil })
			if err != nil || len(got) != len(result) || arguments == "" {
				return "", errors.Join(err, fmt.Errorf("a step answered %d bytes", len(got)))
			}
			took = append(took, time.Since(start))
		}
		mu.Lock()
		defer mu.Unlock()
		times[id] = took
		return id, nil
	}
	dbos.RegisterWorkflow(runtime, workflow)
	if err := dbos.Launch(runtime); err != nil {
		return err
	}
	defer dbos.Shutdown(runtime, 5*time.Second)
	return contest.Serve(ctx, os.Stdin, os.Stdout, func(context.Context, int) ([]time.Duration, error) {
		handle, err := dbos.RunWorkflow(runtime, workflow, string(set.Requests[0]))
		if err != nil {
			return nil, err
		}
		id, err := handle.GetResult()
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		took := times[id]
		delete(times, id)
		return took, nil
	})
}
