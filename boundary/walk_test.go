package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

// TestWalk makes calls of every kind on a store that fails in every way at
// random, with callers that leave at random, and holds what the model was told
// against the tool's own count and the records once the store is well again.
func TestWalk(t *testing.T) {
	t.Parallel()
	t.Run("fake", func(t *testing.T) {
		const walks, calls = 300, 12
		told := map[string]int{}
		for seed := range uint64(walks) {
			synctest.Test(t, func(t *testing.T) {
				w := newWalk(t, seed)
				for i := range calls {
					w.step(fmt.Sprintf("call_%d", i))
				}
				w.mend()
				w.judge()
				for _, c := range w.calls {
					told[outcomeWord(c.outcome)]++
				}
			})
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		t.Logf("%d calls were told: %v", walks*calls, told)
		for _, code := range []string{"READY", "STORE_UNAVAILABLE", "RESULT_NOT_STORED", "OUTCOME_UNKNOWN", "CANCELLED", "TOOL_TIMEOUT", "TOOL_EXECUTION_FAILED", "RESULT_TOO_LARGE"} {
			if told[code] == 0 {
				t.Errorf("no call was told %s: the walk does not go everywhere", code)
			}
		}
	})
}

func outcomeWord(o boundary.Outcome) string {
	if !o.IsError() {
		return "READY"
	}
	return string(o.Code())
}

// walk is one process on a store that fails as its seed says.
type walk struct {
	*bench
	r     *rand.Rand
	seed  uint64
	calls []*walked
	open  chan struct{} // closed at the end: lets bodies go that wait for nothing else
}

type walked struct {
	id      string
	write   bool
	tool    *body
	outcome boundary.Outcome
}

func newWalk(t *testing.T, seed uint64) *walk {
	w := &walk{r: rand.New(rand.NewPCG(seed, 0)), seed: seed, open: make(chan struct{})}
	w.bench = newBench(t, fakeBackend().start(t), setup{
		config: boundary.Config{Limits: canonical.Limits{RawBytes: 1 << 10}},
		spec:   boundary.RunSpec{Budget: canonical.Budget{Calls: 100, PerTool: 100}},
	})
	faults := []fakes.Fault{fakes.FailBefore, fakes.FailAfter, fakes.HangBefore, fakes.HangAfter, fakes.Twice}
	for _, m := range []fakes.Method{fakes.MethodAdmit, fakes.MethodSave, fakes.MethodComplete} {
		worst := w.r.Float64() * 0.9 // some walks have a store that is down for good
		for call := range 60 {
			if w.r.Float64() < worst {
				w.faulty.Script(m, call+1, faults[w.r.IntN(len(faults))])
			}
		}
	}
	return w
}

// tool is a body that ends in one of all ways.
func (w *walk) tool() *body {
	how := w.r.IntN(9)
	return &body{do: func(ctx context.Context, _ boundary.Input, raw io.Writer) error {
		switch how {
		case 0:
			return errLost
		case 1:
			return boundary.NotApplied("", errLost)
		case 2:
			panic("walk")
		case 3:
			runtime.Goexit()
		case 4:
			<-ctx.Done()
			return ctx.Err()
		case 5:
			<-w.open // whatever the context says
		case 6:
			_, err := raw.Write(make([]byte, 2<<10))
			return err
		}
		_, err := io.WriteString(raw, "ok")
		return err
	}}
}

func (w *walk) step(id string) {
	c := &walked{id: id, write: w.r.IntN(2) == 0, tool: w.tool()}
	w.calls = append(w.calls, c)
	env, action := w.envelope(id), reading(c.tool)
	if c.write {
		env, action = w.writeEnvelope(id), writing(c.tool)
	}
	ctx, leave := context.WithCancel(w.t.Context())
	defer leave()
	if w.r.IntN(4) == 0 { // within the time that a call may take
		time.AfterFunc(time.Duration(w.r.Int64N(int64(8*time.Second))), leave)
	}
	got := w.Invoke(ctx, w.run, env, action)
	c.outcome = got.Outcome
	if (got.Err == nil) == got.Outcome.IsError() {
		w.t.Errorf("%s: outcome %v and error %v contradict each other", id, got.Outcome, got.Err)
	}
	w.resolve()
}

// resolve lifts the barrier, so that the walk goes on.
func (w *walk) resolve() {
	list, err := w.run.Unresolved(w.t.Context())
	if err != nil {
		w.t.Fatalf("Unresolved: %v", err)
	}
	for _, id := range list {
		err := w.run.Resolve(w.t.Context(), id.Call, canonical.NotApplied, "looked")
		if err != nil && !errors.Is(err, canonical.ErrStillOpen) {
			w.t.Errorf("Resolve %s: %v", id.Call, err)
		}
	}
}

// mend makes the store well, lets all bodies go, and shuts the process down.
func (w *walk) mend() {
	for _, m := range fakes.Methods() {
		w.faulty.Heal(m)
	}
	close(w.open)
	synctest.Wait()
	if err := w.Shutdown(w.t.Context()); err != nil {
		w.t.Errorf("Shutdown: %v", err)
	}
}

func (w *walk) judge() {
	for _, c := range w.calls {
		w.judgeCount(c)
		w.judgeRecord(c)
	}
	w.deck.advance(w.t, time.Hour)
	if _, err := w.run.Sweep(w.t.Context(), 0); err != nil {
		w.t.Errorf("Sweep: %v", err)
	}
	out, err := w.run.Outstanding(w.t.Context())
	if err != nil || len(out.Open) != 0 {
		w.t.Errorf("outstanding after a sweep: %+v, %v, want nothing", out, err)
	}
	var bytes int64
	order, err := w.deck.Order(w.t.Context(), w.run.Key(), 0, 1000)
	if err != nil {
		w.t.Fatalf("Order: %v", err)
	}
	for _, entry := range order {
		rec := w.recordOf(entry.Call)
		bytes += int64(len(rec.Request) + len(rec.Raw.Bytes) + len(rec.Agent) + len(rec.Facts) + len(rec.Coverage))
	}
	if state := w.state(); state.Reserved != bytes || state.LastSeq != int64(len(order)) {
		w.t.Errorf("the ledger has %d admissions and %d bytes, the records %d and %d", state.LastSeq, state.Reserved, len(order), bytes)
	}
}

// judgeCount: what the model was told of the tool is what the tool counted.
func (w *walk) judgeCount(c *walked) {
	n, x := c.tool.entries(), c.outcome.Execution()
	if n > 1 || x == lifecycle.NotStarted && n != 0 || x == lifecycle.Completed && n != 1 {
		w.t.Errorf("%s: told %v, entered %d times", c.id, c.outcome, n)
	}
}

// judgeRecord: the record says the same as the outcome, or it is one of the
// endings of which the outcome said that they may have got lost.
func (w *walk) judgeRecord(c *walked) {
	rec, err := w.deck.Record(w.t.Context(), w.run.Key(), named(c.id))
	word := outcomeWord(c.outcome)
	if errors.Is(err, canonical.ErrMissing) {
		if c.outcome.Execution() != lifecycle.NotStarted {
			w.t.Errorf("%s: told %s and there is no record", c.id, word)
		}
		return
	}
	if err != nil {
		w.t.Fatalf("Record %s: %v", c.id, err)
	}
	switch {
	case word == "READY":
		if rec.State != lifecycle.Ready || string(rec.Agent) != c.outcome.Text() {
			w.t.Errorf("%s: told READY %q, the record is %s %q", c.id, c.outcome.Text(), rec.State, string(rec.Agent))
		}
	case c.outcome.Execution() == lifecycle.NotStarted:
		if rec.State == lifecycle.Ready || rec.State == lifecycle.Error && rec.Execution != lifecycle.NotStarted {
			w.t.Errorf("%s: told that it was not run, the record is %s %s %s", c.id, rec.State, rec.Code, rec.Execution)
		}
	case word == string(lifecycle.ResultNotStored): // settled by the shutdown
		if rec.State == lifecycle.Projecting || rec.Execution != lifecycle.Completed {
			w.t.Errorf("%s: told %s, after the shutdown the record is %s %s", c.id, word, rec.State, rec.Code)
		}
	case word == string(lifecycle.OutcomeUnknown): // of a read too, where its ending could not be stored at first
		if rec.State != lifecycle.Error || rec.Execution != lifecycle.Unknown {
			w.t.Errorf("%s: told %v, the record is %s %s %s", c.id, c.outcome, rec.State, rec.Code, rec.Execution)
		}
	default:
		if string(rec.Code) != word || rec.Execution != c.outcome.Execution() {
			w.t.Errorf("%s: told %v, the record is %s %s %s", c.id, c.outcome, rec.State, rec.Code, rec.Execution)
		}
	}
}
