package section

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/benchmarks/bed"
	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// way is one way to make calls. begin makes everything that is not measured, for
// that many calls; end undoes it.
type way struct {
	name  string
	begin func(ctx context.Context, calls int, set content.Set) (call func(context.Context, int) error, end func() error, err error)
}

// life is how long anything lives that the floor writes.
const life = 24 * time.Hour

// callsPerRun is how many calls share a run: more than most agents make.
const callsPerRun = 100

func nothing() error { return nil }

// floor is two plain round trips with the same bytes.
func floor(client redis.UniversalClient) way {
	return way{"floor", func(_ context.Context, calls int, set content.Set) (func(context.Context, int) error, func() error, error) {
		keys := floorKeys(calls)
		return func(ctx context.Context, i int) error {
			v := i % content.Variants
			if err := client.Set(ctx, keys[i], set.Requests[v], life).Err(); err != nil {
				return err
			}
			return client.SetArgs(ctx, keys[i], set.Whole[v], redis.SetArgs{Mode: "XX", KeepTTL: true}).Err()
		}, nothing, nil
	}}
}

// floorKeys are as long as the keys of records.
func floorKeys(calls int) []string {
	keys := make([]string, calls)
	for i := range keys {
		keys[i] = fmt.Sprintf("harness:v1:{%s:run-%06d}:call::call_%08d", benchScope().Digest(), i%runs(calls), i)
	}
	return keys
}

// runs is how many runs so many calls are spread over.
func runs(calls int) int { return max(1, calls/callsPerRun) }

func benchScope() canonical.Scope {
	return canonical.Scope{Tenant: "benchmarks", Owner: "calls", Namespace: "runs"}
}

func unlimited() canonical.Budget {
	return canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
}

// messages are the admissions and endings of calls, made before they are sent.
type messages struct {
	admissions []canonical.Admission
	endings    []canonical.Ending
}

// openRun opens a run that allows everything.
func openRun(ctx context.Context, s canonical.Store, id string) (canonical.RunState, error) {
	return s.OpenRun(ctx, canonical.Opening{
		Run: canonical.RunKey{Scope: benchScope(), Run: canonical.RunID(id)}, Token: "token-of-the-run",
		Duration: time.Hour, Budget: unlimited(), Limits: canonical.DefaultLimits(),
	})
}

// admissionOf is the admission of a call, as the boundary would send it.
func admissionOf(state canonical.RunState, id string, request []byte) canonical.Admission {
	call := canonical.CallName{ID: canonical.ToolCallID(id)}
	mark := canonical.Body(string(state.Run.Run) + id).SHA256()
	return canonical.Admission{
		Run: state.Run, Call: call, Claim: canonical.Claim(mark[:32]),
		EvidenceID:   canonical.EvidenceID(mark[:8] + "-" + mark[8:12] + "-4" + mark[13:16] + "-8" + mark[17:20] + "-" + mark[20:32]),
		OperationKey: canonical.Identity{RunKey: state.Run, Call: call}.OperationKey(request),
		Tool:         "search", Effect: canonical.EffectRead, Request: request, ToolBudget: canonical.Unlimited,
		Reserve: state.Limits.Reserve(len(request)), NotAfter: state.Now.Add(time.Hour),
		Timeout: state.Limits.ToolTimeout, Closing: state.Limits.Closing() + canonical.DueMargin, TTL: state.Limits.RecordTTL,
	}
}

func endingOf(a canonical.Admission, raw canonical.Raw, agent, facts []byte) canonical.Ending {
	return canonical.Ending{
		Run: a.Run, Call: a.Call, Claim: a.Claim, Verdict: lifecycle.Succeed(evidence.Found),
		Raw: raw, Agent: agent, Facts: facts, Expires: a.NotAfter.Add(a.TTL),
	}
}

// prepared opens runs and makes the messages of calls in them.
func prepared(ctx context.Context, s canonical.Store, calls int, set content.Set) (messages, error) {
	states := make([]canonical.RunState, runs(calls))
	for i := range states {
		var err error
		if states[i], err = openRun(ctx, s, fmt.Sprintf("run-%06d", i)); err != nil {
			return messages{}, err
		}
	}
	raws := make([]canonical.Raw, content.Variants)
	for v := range raws {
		raws[v] = canonical.NewRaw(set.Raw[v])
	}
	var m messages
	for i := range calls {
		v := i % content.Variants
		a := admissionOf(states[i%len(states)], fmt.Sprintf("call_%08d", i), set.Requests[v])
		m.admissions = append(m.admissions, a)
		m.endings = append(m.endings, endingOf(a, raws[v], set.Agent[v], nil))
	}
	return m, nil
}

// storeAlone is Admit and Complete.
func storeAlone(s canonical.Store) way {
	return way{"store", func(ctx context.Context, calls int, set content.Set) (func(context.Context, int) error, func() error, error) {
		m, err := prepared(ctx, s, calls, set)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, i int) error {
			if _, err := s.Admit(ctx, m.admissions[i]); err != nil {
				return err
			}
			_, err := s.Complete(ctx, m.endings[i])
			return err
		}, nothing, nil
	}}
}

// invoke is the whole boundary.
func invoke(s canonical.Store) way { return invokeIn(s, 0) }

// invokeIn spreads the calls over that many runs, or, for zero, over runs of the
// usual length.
func invokeIn(s canonical.Store, number int) way {
	return way{"invoke", func(ctx context.Context, calls int, set content.Set) (func(context.Context, int) error, func() error, error) {
		b, err := boundary.New(configOf(s))
		if err != nil {
			return nil, nil, err
		}
		opened := make([]*boundary.Run, cmp.Or(number, runs(calls)))
		for i := range opened {
			if opened[i], err = b.OpenRun(ctx, spec(fmt.Sprintf("run-%06d", i))); err != nil {
				return nil, nil, err
			}
		}
		actions, envelopes := actionsOf(set), make([]boundary.Envelope, calls)
		for i := range envelopes {
			envelopes[i] = envelope(opened[i%len(opened)], fmt.Sprintf("call_%08d", i), set.Requests[i%content.Variants])
		}
		return func(ctx context.Context, i int) error {
			return b.Invoke(ctx, opened[i%len(opened)], envelopes[i], actions[i%content.Variants]).Err
		}, func() error { return b.Shutdown(context.WithoutCancel(ctx)) }, nil
	}}
}

// envelope is one read, authorized.
func envelope(run *boundary.Run, id string, input []byte) boundary.Envelope {
	return boundary.Envelope{
		RunID: run.ID(), ToolCallID: canonical.ToolCallID(id), Tool: "search", Input: input, Authorized: true, ReadOnly: true,
	}
}

// configOf differs from a host's usual one in what a call may take: nothing here
// fails for being slow.
func configOf(s canonical.Store) boundary.Config {
	return boundary.Config{Store: s, Authorizer: boundary.AllowAll{}, Limits: canonical.Limits{ClosingTimeout: bed.IOTimeout}}
}

// openBoundary is a boundary with one open run.
func openBoundary(ctx context.Context, s canonical.Store, id string) (*boundary.ToolBoundary, *boundary.Run, error) {
	b, err := boundary.New(configOf(s))
	if err != nil {
		return nil, nil, err
	}
	run, err := b.OpenRun(ctx, spec(id))
	return b, run, err
}

func spec(id string) boundary.RunSpec {
	return boundary.RunSpec{ID: canonical.RunID(id), Scope: benchScope(), MaxDuration: time.Hour, Budget: unlimited()}
}

// actionsOf are the trivial tool and projector of each variant.
func actionsOf(set content.Set) []boundary.Action {
	actions := make([]boundary.Action, content.Variants)
	for v := range actions {
		raw, agent := set.Raw[v], set.Agent[v]
		actions[v] = boundary.Action{
			Effect: canonical.EffectRead,
			Executor: boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, w io.Writer) error {
				_, err := w.Write(raw)
				return err
			}),
			Projector: projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
				return projector.Projection{Result: agent, Status: evidence.Found}, nil
			}),
		}
	}
	return actions
}
