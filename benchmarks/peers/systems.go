package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/toolharness/harness/benchmarks/bed"
)

// system is one row: what takes part, and what has to be known to compare it.
type system struct {
	name    string
	flushed bool   // every commit waits until the disk has it
	against string // what its record survives
	does    string // for this work
	lacks   string // of what the boundary does for it

	// start makes what the contestant needs, and its command. The error says why the
	// system cannot take part.
	start func(context.Context, *bench) (*exec.Cmd, error)
}

// What the systems do for this work, for the second table.
const (
	harnessDoes  = "admission, budgets, duplicates, deadline before the tool runs; record of arguments, result and the model's part; order of the run; expiry"
	harnessLacks = "no queue, no retries, does not resume the program"
	dbosDoes     = "step output kept, replayed when the workflow is run again; workflow's status and input"
	dbosLacks    = "nothing written before a step runs, so one write a call; arguments of a step not kept; no budgets, no duplicates among steps, no expiry"
	temporalDoes = "activity scheduled, started and completed as events with arguments and result; retries, time-outs, replay of the program"
	temporalMiss = "no budgets, no part for a model; the time is that of a waiting workflow, which it is not made for"
)

// systems are the rows, those that flush every commit last.
func systems() []system {
	return []system{
		{name: "Harness, Redis without AOF", against: "end of the caller", does: harnessDoes, lacks: harnessLacks, start: onRedis()},
		{name: "Harness, Redis appendfsync everysec", against: "end of Redis but for 2 s", does: harnessDoes, lacks: harnessLacks,
			start: onRedis("--appendonly", "yes", "--appendfsync", "everysec")},
		{name: "DBOS Go, SQLite synchronous NORMAL", against: "end of the process", does: dbosDoes, lacks: dbosLacks, start: onSQLite("NORMAL")},
		{name: "DBOS Go, Postgres synchronous_commit off", against: "end of Postgres but for 0.6 s", does: dbosDoes, lacks: dbosLacks,
			start: onPostgres("-c", "synchronous_commit=off")},
		{name: "Temporal, one process, SQLite in memory", against: "end of the caller", does: temporalDoes, lacks: temporalMiss, start: onTemporal},
		{name: "Harness, Redis appendfsync always", flushed: true, against: "loss of power", does: harnessDoes, lacks: harnessLacks,
			start: onRedis("--appendonly", "yes", "--appendfsync", "always")},
		{name: "DBOS Go, SQLite synchronous FULL", flushed: true, against: "loss of power", does: dbosDoes, lacks: dbosLacks, start: onSQLite("FULL")},
		{name: "DBOS Go, Postgres", flushed: true, against: "loss of power", does: dbosDoes, lacks: dbosLacks, start: onPostgres()},
	}
}

// own is a contestant of this very program.
func own(ctx context.Context, kind, address string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, path, "contestant", kind, address), nil
}

func onRedis(args ...string) func(context.Context, *bench) (*exec.Cmd, error) {
	return func(ctx context.Context, b *bench) (*exec.Cmd, error) {
		server, err := bed.Start(args...)
		if err != nil {
			return nil, err
		}
		b.later(server.Close)
		if b.redis, err = server.Version(ctx); err != nil {
			return nil, err
		}
		return own(ctx, "harness", server.URL())
	}
}

func onSQLite(synchronous string) func(context.Context, *bench) (*exec.Cmd, error) {
	return func(ctx context.Context, b *bench) (*exec.Cmd, error) {
		dir, err := b.folder()
		if err != nil {
			return nil, err
		}
		return own(ctx, "dbos", "sqlite:"+filepath.Join(dir, "dbos.db")+"?_pragma=synchronous("+synchronous+")")
	}
}

func onPostgres(args ...string) func(context.Context, *bench) (*exec.Cmd, error) {
	return func(ctx context.Context, b *bench) (*exec.Cmd, error) {
		url, err := b.startPostgres(ctx, args...)
		if err != nil {
			return nil, err
		}
		return own(ctx, "dbos", url)
	}
}

// onTemporal builds the module beside this one: its graph is too large to be part of
// any other.
func onTemporal(ctx context.Context, b *bench) (*exec.Cmd, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, "temporal")
	b.logf("building Temporal's server; minutes, the first time")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	build.Dir, build.Env = "temporal", append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w: %.500s", err, out)
	}
	return exec.CommandContext(ctx, binary), nil
}
