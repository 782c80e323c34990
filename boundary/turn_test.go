package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
)

func TestTurn(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"P20_two_writes_and_three_reads", direct(writesAmongReads)},
		{"P34_sixteen_calls_four_at_a_time", direct(fourAtATime)},
	})
}

func TestTurnSharesTrips(t *testing.T) {
	onFake(t, []scenario{
		{"one_batch_each_way", oneBatchEachWay},
		{"a_slow_call_holds_nobody_up", slowHoldsNobodyUp},
		{"a_refused_call_holds_nobody_up", refusedHoldsNobodyUp},
		{"answers_that_are_lost", lostBatches},
		{"too_few_answers", shortBatches},
		{"the_caller_leaves_before_the_wave_is_sent", leavesBeforeTheWave},
		{"shut_down_before_the_wave_is_sent", shutDownBeforeTheWave},
	})
}

func TestTurnTrips(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Run("P35_round_trips_of_a_batch", func(t *testing.T) { t.Parallel(); batchRoundTrips(t) })
	})
}

// states are what the store has of calls, in their order.
func (b *bench) states(ids ...string) []lifecycle.State {
	names := make([]canonical.CallName, len(ids))
	for i, id := range ids {
		names[i] = named(id)
	}
	heads, err := b.deck.Heads(b.t.Context(), b.run.Key(), names)
	if err != nil {
		b.t.Errorf("Heads: %v", err)
	}
	out := make([]lifecycle.State, len(heads))
	for i, h := range heads {
		out[i] = h.State
	}
	return out
}

// writesAmongReads: the two reads in front wait for each other, so they run side
// by side; every other call looks at how those before it have ended.
func writesAmongReads(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	var both sync.WaitGroup
	both.Add(2)
	after := func(ids ...string) *body {
		return &body{do: func(_ context.Context, in boundary.Input, raw io.Writer) error {
			for i, state := range b.states(ids...) {
				if state != lifecycle.Ready {
					t.Errorf("%s was entered while %s was %q", in.Identity.Call, ids[i], state)
				}
			}
			_, err := io.WriteString(raw, string(in.Identity.Call.ID))
			return err
		}}
	}
	meet := &body{do: func(_ context.Context, in boundary.Input, raw io.Writer) error {
		both.Done()
		both.Wait()
		_, err := io.WriteString(raw, string(in.Identity.Call.ID))
		return err
	}}
	set := b.toolset(readTool("meet", meet), writeTool("write1", after("r1", "r2")), writeTool("write2", after("r1", "r2", "w1")), readTool("last", after("w1", "w2")))
	calls := []boundary.Call{asked("r1", "meet"), asked("r2", "meet"), asked("w1", "write1"), asked("w2", "write2"), asked("r3", "last")}
	for i, got := range set.Dispatch(t.Context(), b.run, calls...) {
		wantReady(t, got, "seen: "+string(calls[i].ID))
	}
	order, err := d.Order(t.Context(), b.run.Key(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i, entry := range order {
		if entry.Call.ID != calls[i].ID {
			t.Errorf("number %d is %s, want %s", i+1, entry.Call, calls[i].ID)
		}
	}
}

// fourAtATime: the second call does not return before all others are READY in the
// store, and nobody ever sees more than four admitted and open.
func fourAtATime(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anyBudget(), config: boundary.Config{Parallelism: 4}})
	ids := upTo(16)
	slow := ids[1]
	others := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == slow })
	release := make(chan struct{})
	tool := &body{do: func(ctx context.Context, in boundary.Input, raw io.Writer) error {
		open, err := d.Outstanding(ctx, b.run.Key())
		if err != nil || len(open.Open) > 4 {
			t.Errorf("%d calls are open, %v; want 4 at most", len(open.Open), err)
		}
		if string(in.Identity.Call.ID) == slow {
			select {
			case <-release:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		_, err = io.WriteString(raw, "ok")
		return err
	}}
	results := make(chan []boundary.Result, 1)
	go func() { results <- b.tools(tool).Dispatch(t.Context(), b.run, turn(ids...)...) }()
	for slices.ContainsFunc(b.states(others...), func(s lifecycle.State) bool { return s != lifecycle.Ready }) {
		if t.Context().Err() != nil {
			t.Fatal("the fast calls did not end before the slow one")
		}
		pass(t, time.Millisecond) // real time, for the store's own work
	}
	if got := b.states(slow)[0]; got != lifecycle.Projecting {
		t.Errorf("the slow call is %q while it runs, want PROJECTING", got)
	}
	close(release)
	for _, got := range <-results {
		wantReady(t, got, "seen: ok")
	}
	wantEntered(t, tool, 16)
}

// batched is a store that takes batches, tells their sizes and may lose answers.
type batched struct {
	canonical.Store
	inner canonical.Batcher
	admit func([]canonical.AdmitAnswer) []canonical.AdmitAnswer // what becomes of the answers; nil: nothing
	end   func([]canonical.EndAnswer) []canonical.EndAnswer

	mu       sync.Mutex
	admitted []int
	ended    []int
}

func newBatched(t *testing.T, d *deck) *batched {
	inner, ok := d.Store.(canonical.Batcher)
	if !ok {
		t.Fatal("this store takes no batches")
	}
	return &batched{Store: d.Store, inner: inner}
}

// AdmitBatch implements [canonical.Batcher].
func (s *batched) AdmitBatch(ctx context.Context, m []canonical.Admission) []canonical.AdmitAnswer {
	s.mu.Lock()
	s.admitted = append(s.admitted, len(m))
	s.mu.Unlock()
	answers := s.inner.AdmitBatch(ctx, m)
	if s.admit != nil {
		return s.admit(answers)
	}
	return answers
}

// CompleteBatch implements [canonical.Batcher].
func (s *batched) CompleteBatch(ctx context.Context, m []canonical.Ending) []canonical.EndAnswer {
	s.mu.Lock()
	s.ended = append(s.ended, len(m))
	s.mu.Unlock()
	answers := s.inner.CompleteBatch(ctx, m)
	if s.end != nil {
		return s.end(answers)
	}
	return answers
}

// inBatches is a bench on such a store.
func inBatches(t *testing.T, d *deck, s *batched, config boundary.Config) *bench {
	config.Store = s
	return newBench(t, d, setup{spec: anyBudget(), config: config})
}

func oneBatchEachWay(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		store := newBatched(t, d)
		b := inBatches(t, d, store, boundary.Config{})
		for _, got := range b.tools(says("ok")).Dispatch(t.Context(), b.run, turn(upTo(20)...)...) {
			wantReady(t, got, "seen: ok")
		}
		if want := []int{8, 8, 4}; !slices.Equal(store.admitted, want) || !slices.Equal(store.ended, want) {
			t.Errorf("admitted %v, ended %v, want %v each way", store.admitted, store.ended, want)
		}
	})
}

// slowHoldsNobodyUp: in the time of the bubble, which stands still while anybody
// works, the others' endings leave 2 ms after they are ready.
func slowHoldsNobodyUp(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		store := newBatched(t, d)
		b := inBatches(t, d, store, boundary.Config{})
		start := time.Now()
		slow := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			time.Sleep(10 * time.Millisecond)
			if got := b.states("call_00", "call_01", "call_02"); slices.Contains(got, lifecycle.Projecting) {
				t.Errorf("states %v while the slow call runs", got)
			}
			_, err := io.WriteString(raw, "ok")
			return err
		}}
		set := b.toolset(readTool("fast", says("ok")), readTool("slow", slow))
		got := set.Dispatch(t.Context(), b.run, asked("call_00", "fast"), asked("call_01", "fast"), asked("call_02", "fast"), asked("call_03", "slow"))
		for _, r := range got {
			wantReady(t, r, "seen: ok")
		}
		if !slices.Equal(store.ended, []int{3}) { // the last one is alone
			t.Errorf("ended in batches of %v, want one of 3", store.ended)
		}
		if took := time.Since(start); took != 10*time.Millisecond {
			t.Errorf("the message took %v, want what its slowest call takes", took)
		}
	})
}

// refusedHoldsNobodyUp: nobody waits for a call that will bring nothing.
func refusedHoldsNobodyUp(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		store := newBatched(t, d)
		b := inBatches(t, d, store, boundary.Config{})
		calls := turn(upTo(6)...)
		calls[1].Arguments, calls[5].ID = []byte(`[`), calls[0].ID
		calls[2].Name = "none"
		start := time.Now()
		got := b.tools(says("ok")).Dispatch(t.Context(), b.run, calls...)
		for i, code := range map[int]lifecycle.Code{1: lifecycle.InvalidInput, 2: lifecycle.UnknownTool, 5: lifecycle.DuplicateToolCall} {
			wantFailed(t, got[i], code, lifecycle.NotStarted)
		}
		for _, i := range []int{0, 3, 4} {
			wantReady(t, got[i], "seen: ok")
		}
		if took := time.Since(start); took != 0 || !slices.Equal(store.admitted, []int{4}) || !slices.Equal(store.ended, []int{3}) {
			t.Errorf("took %v, admitted %v, ended %v; want no time, 4 and 3 in one batch", took, store.admitted, store.ended)
		}
	})
}

var errBatchLost = errors.New("the answers were lost")

// lostBatches: all answers are lost, or every second one. What the store has done
// is recognised as ours.
func lostBatches(t *testing.T, d *deck) {
	for _, every := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			store := newBatched(t, d)
			store.admit = func(answers []canonical.AdmitAnswer) []canonical.AdmitAnswer {
				for i := 0; i < len(answers); i += every {
					answers[i] = canonical.AdmitAnswer{Err: errBatchLost}
				}
				return answers
			}
			store.end = func(answers []canonical.EndAnswer) []canonical.EndAnswer {
				for i := 0; i < len(answers); i += every {
					answers[i] = canonical.EndAnswer{Err: errBatchLost}
				}
				return answers
			}
			b := inBatches(t, d, store, boundary.Config{})
			tool := says("ok")
			for _, got := range b.tools(tool).Dispatch(t.Context(), b.run, turn(upTo(6)...)...) {
				wantReady(t, got, "seen: ok")
			}
			wantEntered(t, tool, 6)
			if got := b.state().LastSeq; got != 6 {
				t.Errorf("%d admissions, want 6", got)
			}
			if err := b.Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
	}
}

// shortBatches: a store that does not keep to the contract must not make anybody
// wait for ever, or take another's answer.
func shortBatches(t *testing.T, d *deck) {
	store := newBatched(t, d)
	store.admit = func(answers []canonical.AdmitAnswer) []canonical.AdmitAnswer { return answers[1:] }
	store.end = func(answers []canonical.EndAnswer) []canonical.EndAnswer {
		return append(answers, canonical.EndAnswer{})
	}
	b := inBatches(t, d, store, boundary.Config{})
	tool := says("ok")
	for _, got := range b.tools(tool).Dispatch(t.Context(), b.run, turn(upTo(4)...)...) {
		wantReady(t, got, "seen: ok")
	}
	wantEntered(t, tool, 4)
}

// hesitant lets one call's authorization wait.
func hesitant(id string, until <-chan struct{}) boundary.Authorizer {
	return boundary.AuthorizerFunc(func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
		if q.Identity.Call == named(id) {
			<-until
		}
		return q.Grant(), nil
	})
}

func leavesBeforeTheWave(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		store, until := newBatched(t, d), make(chan struct{})
		b := inBatches(t, d, store, boundary.Config{Authorizer: hesitant("call_01", until)})
		ctx, leave := context.WithCancel(t.Context())
		tool, results := says("ok"), make(chan []boundary.Result, 1)
		go func() { results <- b.tools(tool).Dispatch(ctx, b.run, turn(upTo(3)...)...) }()
		synctest.Wait() // two have come, one is asked about
		leave()
		close(until)
		for _, got := range <-results {
			if code := got.Outcome.Code(); code != lifecycle.Cancelled && code != lifecycle.Unauthorized || got.Outcome.Execution() != lifecycle.NotStarted {
				t.Errorf("outcome %v, want CANCELLED or UNAUTHORIZED, ran: no", got.Outcome)
			}
		}
		wantEntered(t, tool, 0)
		if got := b.state().LastSeq; got != 0 {
			t.Errorf("%d admissions, want none", got)
		}
	})
}

func shutDownBeforeTheWave(t *testing.T, d *deck) {
	synctest.Test(t, func(t *testing.T) {
		store, until := newBatched(t, d), make(chan struct{})
		b := inBatches(t, d, store, boundary.Config{Authorizer: hesitant("call_01", until)})
		tool, results := says("ok"), make(chan []boundary.Result, 1)
		go func() { results <- b.tools(tool).Dispatch(t.Context(), b.run, turn(upTo(3)...)...) }()
		synctest.Wait()
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		close(until)
		for _, got := range <-results {
			wantFailed(t, got, lifecycle.RunInactive, lifecycle.NotStarted)
		}
		wantEntered(t, tool, 0)
	})
}

// batchRoundTrips counts what the server reads for a message of eight reads: one
// trip admits them, one ends them. On a busy machine a body may take longer than
// others wait for it, which costs a trip; so the best of several counts, and no
// message takes fewer than two.
func batchRoundTrips(t *testing.T) {
	server := redistest.Server(t)
	d := &deck{Store: dial(t, server.URL()), now: time.Now, advance: pass, keys: keysOf(server.Client()), direct: true}
	b := newBench(t, d, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}}})
	wantReady(t, b.read("warm", says("ok")), "seen: ok")
	best := int64(1 << 30)
	for round := range 50 {
		before := readsOf(t, server)
		ids := upTo(8)
		for i := range ids {
			ids[i] = fmt.Sprintf("%s_%d", ids[i], round)
		}
		for _, got := range b.tools(says("ok")).Dispatch(t.Context(), b.run, turn(ids...)...) {
			wantReady(t, got, "seen: ok")
		}
		got := readsOf(t, server) - before - 1 // one is the question itself
		if got < 2 {
			t.Fatalf("the server read %d times for eight calls, which cannot be", got)
		}
		best = min(best, got)
	}
	if best != 2 {
		t.Errorf("the server read %d times for eight calls at best, want 2", best)
	}
}

// readsOf is how often the server has read from a connection.
func readsOf(t *testing.T, server *redistest.Process) int64 {
	t.Helper()
	info, err := server.Client().Info(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "total_reads_processed:")
	line, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatalf("total_reads_processed %q: %v", line, err)
	}
	return n
}
