package localstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/localstore"
)

// order is what a worker is to do: open the file, and carry out calls from two
// goroutines until it is killed. Attempts at every name are made twice, so that each
// is once a duplicate, or once refused what the other got.
type order struct {
	Path string
	Life int
}

// event is what a worker says, behind the answer of the store and before anything
// else.
type event struct {
	Opened  bool
	Entered string // a call that was admitted for the first time: its body begins
	Ended   string // a call whose end was acknowledged
	Seq     int64
}

// rawFor is the raw result of a call: of a size and bytes that follow from its name.
func rawFor(call string) []byte {
	r := rand.New(rand.NewPCG(uint64(len(call)), uint64(call[len(call)-1])))
	raw := make([]byte, 1+r.IntN(2*localstore.PieceBytes))
	for i := range raw {
		raw[i] = call[i%len(call)]
	}
	return raw
}

func workRole(orders *json.Decoder, answers *json.Encoder) error {
	var o order
	if err := orders.Decode(&o); err != nil {
		return err
	}
	s, err := localstore.Open(o.Path, &localstore.Options{Wait: time.Minute})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(e event) error {
		mu.Lock()
		defer mu.Unlock()
		return answers.Encode(e)
	}
	if _, err := s.OpenRun(context.Background(), opening("run")); err != nil {
		return err
	}
	if err := say(event{Opened: true}); err != nil {
		return err
	}
	errs := make(chan error)
	for w := range 2 {
		go func() {
			for i := 0; ; i++ {
				if err := carryOut(s, w, fmt.Sprintf("call-%d-%d", o.Life, i), say); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return <-errs
}

// carryOut is one attempt at a call, which another goroutine makes too.
func carryOut(s *localstore.Store, worker int, call string, say func(event) error) error {
	ctx := context.Background()
	a := admission("run", call, time.Now())
	a.Claim = canonical.Claim(fmt.Sprintf("claim-%d-%s", worker, call))
	got, err := s.Admit(ctx, a)
	if errors.Is(err, canonical.ErrDuplicate) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := say(event{Entered: call, Seq: got.Seq}); err != nil {
		return err
	}
	if _, err := s.Complete(ctx, ending(a, got.Expires, rawFor(call))); err != nil {
		return err
	}
	return say(event{Ended: call, Seq: got.Seq})
}

// TestCrash kills a process that admits and ends calls, again
// and again on one file. What it was told is there: every call that was entered has
// its record, every end that was acknowledged has its bytes, no name was entered
// twice, and the order has no gap.
func TestCrash(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) {
		lives := 12
		if testing.Short() {
			lives = 3
		}
		dir := t.TempDir() // on a disk
		path := dir + "/" + localstore.FileName
		h := history{entered: map[string]int64{}, ended: map[string]bool{}}
		r := rand.New(rand.NewPCG(1, 2))
		for life := range lives {
			p := start(t, "work")
			p.send(order{Path: path, Life: life})
			h.listen(t, p, 5+r.IntN(40), time.Duration(r.IntN(20_000))*time.Microsecond)
			h.check(t, path)
		}
		if len(h.ended) < lives {
			t.Errorf("%d calls ended in %d lives: too few to show anything", len(h.ended), lives)
		}
		t.Logf("%d processes killed, %d calls entered, %d ended", lives, len(h.entered), len(h.ended))
	})
}

// history is what all killed processes said.
type history struct {
	entered map[string]int64
	ended   map[string]bool
}

// listen hears so many events, kills the process a moment later, and hears the
// rest.
func (h *history) listen(t *testing.T, p *process, events int, moment time.Duration) {
	t.Helper()
	for n := 0; ; n++ {
		if n == events {
			time.AfterFunc(moment, p.kill)
		}
		var e event
		if err := p.out.Decode(&e); err != nil {
			break
		}
		if e.Entered != "" {
			if _, twice := h.entered[e.Entered]; twice {
				t.Errorf("%s was entered twice", e.Entered)
			}
			h.entered[e.Entered] = e.Seq
		}
		if e.Ended != "" {
			h.ended[e.Ended] = true
		}
	}
	if err := p.cmd.Wait(); p.cmd.ProcessState.Exited() {
		t.Fatalf("the process ended by itself: %v", err)
	}
}

func (h *history) check(t *testing.T, path string) {
	t.Helper()
	s, err := localstore.Open(path, &localstore.Options{Wait: time.Minute})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	ctx := context.Background()
	for call, seq := range h.entered {
		rec, err := s.Record(ctx, runKey("run"), canonical.CallName{ID: canonical.ToolCallID(call)})
		must(t, err)
		if rec.Seq != seq || h.ended[call] && rec.State != lifecycle.Ready {
			t.Errorf("%s: sequence %d, %s; was told %d, ended %v", call, rec.Seq, rec.State, seq, h.ended[call])
		}
		if rec.State == lifecycle.Ready && string(rec.Raw.Bytes) != string(rawFor(call)) {
			t.Errorf("%s has %d other bytes", call, len(rec.Raw.Bytes))
		}
	}
	state, err := s.Inspect(ctx, runKey("run"))
	must(t, err)
	order, err := s.Order(ctx, runKey("run"), 0, 1_000_000)
	must(t, err)
	if int64(len(order)) != state.LastSeq {
		t.Errorf("%d names in the order, last sequence %d", len(order), state.LastSeq)
	}
	names := map[canonical.CallName]bool{}
	for i, n := range order {
		if n.Seq != int64(i+1) || names[n.Call] {
			t.Errorf("place %d of the order has sequence %d, %s", i, n.Seq, n.Call)
		}
		names[n.Call] = true
	}
}
