package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/conversation"
	"github.com/toolharness/harness/cmd/harness/internal/place"
)

// job is one conversation with the id of its run.
type job struct {
	id   canonical.RunID
	said conversation.Conversation
}

// news is what a worker tells: one more call was answered, or a conversation is over.
type news struct {
	call   bool
	counts Counts
	look   *canonical.Identity
	err    error
}

// conversations replays those of one file, [Parallel] at once, and ends with the first error of any.
func (r *replay) conversations(ctx context.Context, all []conversation.Conversation) (Counts, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	total := newCounts()
	var failed error
	done, of := 0, callsIn(all)
	for n := range r.work(ctx, r.jobs(all)) {
		switch {
		case n.call:
			done++
			r.screen.Replayed(done, of)
		case n.err != nil:
			if failed == nil { // what follows from the cancellation is not the reason
				failed = n.err
			}
			cancel()
		default:
			total.add(n.counts)
			if n.look != nil {
				r.look = n.look
			}
		}
	}
	return total, failed
}

func callsIn(all []conversation.Conversation) int {
	n := 0
	for _, c := range all {
		n += len(c.Calls)
	}
	return n
}

// jobs gives each conversation that has a call a run of its own.
func (r *replay) jobs(all []conversation.Conversation) <-chan job {
	jobs := make(chan job, len(all))
	for _, said := range all {
		if len(said.Calls) > 0 {
			r.runs++
			jobs <- job{canonical.RunID(r.series + strconv.Itoa(r.runs)), said}
		}
	}
	close(jobs)
	return jobs
}

// work starts the workers. The channel is closed once all of them have ended; it must be read until then.
func (r *replay) work(ctx context.Context, jobs <-chan job) <-chan news {
	out := make(chan news)
	var workers sync.WaitGroup
	for range min(Parallel, len(jobs)) {
		workers.Go(func() {
			for j := range jobs {
				counts, look, err := r.conversation(ctx, j, func() { out <- news{call: true} })
				out <- news{counts: counts, look: look, err: err}
				if err != nil {
					return
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(out)
	}()
	return out
}

// conversation replays one conversation in a run of its own, and reads back what was stored.
func (r *replay) conversation(ctx context.Context, j job, answered func()) (Counts, *canonical.Identity, error) {
	counts := newCounts()
	run, err := r.boundary.OpenRun(ctx, boundary.RunSpec{
		ID: j.id, Scope: r.scope, Principal: boundary.Principal{Agent: "recorded conversation"}, MaxDuration: patience,
		Budget: boundary.Budget{Calls: boundary.Unlimited, PerTool: boundary.Unlimited, Bytes: boundary.Unlimited},
	})
	if err != nil {
		return counts, nil, stopped(ctx, err)
	}
	var ready []conversation.Call
	for _, call := range j.said.Calls {
		counts.recorded(call)
		outcome, entered, err := r.call(ctx, run, call)
		if err != nil {
			return counts, nil, stopped(ctx, err)
		}
		counts.outcome(call, outcome, entered)
		if !outcome.IsError() {
			ready = append(ready, call)
		}
		answered()
	}
	if err := run.Close(ctx); err != nil {
		return counts, nil, stopped(ctx, err)
	}
	r.options.beforeReading(ctx, run.Key())
	look, err := r.readBack(ctx, run.Key(), ready, &counts)
	if err == nil && r.place.Embedded != nil {
		// The records of all conversations need not fit into this process, and the embedded server looks at every key it
		// has for every command.
		err = r.place.Outside.Remove(ctx, []canonical.RunKey{run.Key()})
	}
	return counts, look, stopped(ctx, err)
}

// stopped names an interrupt as what it is, whatever error it led to.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("replay: stopped: %w", context.Cause(ctx))
	}
	return err
}

var errNoResult = errors.New("the recording has no result for this call")

// call sends one call. The error means that the server is lost or ctx has ended; then the outcome says nothing of the
// recording.
func (r *replay) call(ctx context.Context, run *boundary.Run, call conversation.Call) (boundary.Outcome, bool, error) {
	var entered atomic.Bool // the body may have been left behind
	executor := boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		entered.Store(true)
		if !call.HasResult {
			return errNoResult
		}
		_, err := raw.Write(call.Result)
		return err
	})
	name := r.nameOf(call)
	result := r.boundary.Invoke(ctx, run, boundary.Envelope{
		RunID: run.ID(), ToolCallID: name.ID, Turn: name.Turn, Tool: call.Name, Input: call.Arguments, Authorized: true, ReadOnly: true,
	}, boundary.Action{Executor: r.options.executor(executor), Projector: r.project, Effect: canonical.EffectRead})
	if ctx.Err() != nil || place.Lost(result.Outcome.Code()) {
		return result.Outcome, false, errors.Join(result.Err, ctx.Err())
	}
	return result.Outcome, entered.Load(), nil
}

func (r *replay) nameOf(call conversation.Call) canonical.CallName {
	name := canonical.CallName{ID: canonical.ToolCallID(call.ID)}
	if r.options.Turns {
		name.Turn = canonical.Turn(strconv.Itoa(call.Turn))
	}
	return name
}

// readBack asks the second store how many calls were admitted, and compares each ready result with the recording. It
// names one of the calls that it found.
func (r *replay) readBack(ctx context.Context, run canonical.RunKey, ready []conversation.Call, counts *Counts) (*canonical.Identity, error) {
	state, err := r.second.Inspect(ctx, run)
	if err != nil {
		return nil, err
	}
	counts.Admitted = int(state.LastSeq)
	if entered := counts.Ready + sum(counts.failed); counts.Admitted != entered {
		return nil, fmt.Errorf("replay: the store counts %d admissions, the tool %d entries", counts.Admitted, entered)
	}
	var look *canonical.Identity
	for _, call := range ready {
		name := r.nameOf(call)
		record, err := r.second.Record(ctx, run, name)
		switch {
		case err == nil && record.Raw.Present() && bytes.Equal(record.Raw.Bytes, call.Result):
			look = &canonical.Identity{RunKey: run, Call: name}
		case err == nil, errors.As(err, new(*canonical.RefusedError)): // other bytes, or the store says what is wrong with them
			counts.RawMismatch++
		default:
			return nil, err
		}
	}
	return look, nil
}
