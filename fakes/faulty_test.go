package fakes_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
)

const marker = "marker-7c1f"

// faulted is an open run behind a faulty store, and how many admissions the
// wrapped store has seen.
type faulted struct {
	*fakes.Faulty
	inner *fakes.Store
	state canonical.RunState
}

func newFaulted(t *testing.T) faulted {
	t.Helper()
	inner := fakes.NewStore(fakes.NewClock())
	return faulted{fakes.NewFaulty(inner, marker), inner, open(t, inner)}
}

func (f faulted) admit(ctx context.Context, id canonical.ToolCallID) (canonical.Admitted, error) {
	return f.Admit(ctx, admission(id, f.state))
}

func (f faulted) landed(t *testing.T) int64 {
	t.Helper()
	state, err := f.inner.Inspect(context.Background(), theRun())
	if err != nil {
		t.Fatal(err)
	}
	return state.LastSeq
}

func TestFaulty_before_and_after(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  fakes.Fault
		sent   bool
		landed int64
	}{{fakes.FailBefore, false, 0}, {fakes.FailAfter, true, 1}} {
		f := newFaulted(t)
		f.Script(fakes.MethodAdmit, 1, c.fault)
		_, err := f.admit(context.Background(), "c1")
		var fault *fakes.FaultError
		if !errors.As(err, &fault) || fault.Sent != c.sent || fault.Call != 1 || !strings.Contains(err.Error(), marker) {
			t.Errorf("%s: error %v, want a FaultError with Sent=%v and the marker", c.fault, err, c.sent)
		}
		if got := f.landed(t); got != c.landed {
			t.Errorf("%s: %d admissions landed, want %d", c.fault, got, c.landed)
		}
		if _, err := f.admit(context.Background(), "c1"); err != nil {
			t.Errorf("%s: the next call = %v, want it to pass", c.fault, err)
		}
	}
}

func TestFaulty_refusal_can_be_lost_too(t *testing.T) {
	t.Parallel()
	f := newFaulted(t)
	f.Script(fakes.MethodJoinRun, fakes.Every, fakes.FailAfter)
	_, err := f.JoinRun(context.Background(), theRun(), "another")
	if errors.Is(err, canonical.ErrRunTaken) || err == nil {
		t.Errorf("JoinRun = %v, want the refusal lost", err)
	}
}

func TestFaulty_hang_ends_with_the_context(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  fakes.Fault
		landed int64
	}{{fakes.HangBefore, 0}, {fakes.HangAfter, 1}, {fakes.HoldBefore, 0}, {fakes.HoldAfter, 1}} {
		f := newFaulted(t)
		f.Script(fakes.MethodAdmit, 1, c.fault)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			_, err := f.admit(ctx, "c1")
			done <- err
		}()
		<-f.Reached(fakes.MethodAdmit, 1)
		for f.landed(t) != c.landed { // the call is on its way to where it hangs
		}
		cancel()
		err := <-done
		var fault *fakes.FaultError
		if !errors.As(err, &fault) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want a FaultError around context.Canceled", c.fault, err)
		}
		if got := f.landed(t); got != c.landed {
			t.Errorf("%s: %d admissions landed, want %d", c.fault, got, c.landed)
		}
	}
}

func TestFaulty_held_call_goes_on_when_released(t *testing.T) {
	t.Parallel()
	for _, fault := range []fakes.Fault{fakes.HoldBefore, fakes.HoldAfter} {
		f := newFaulted(t)
		f.Script(fakes.MethodAdmit, 2, fault)
		if _, err := f.admit(context.Background(), "c1"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := f.admit(context.Background(), "c2")
			done <- err
		}()
		<-f.Reached(fakes.MethodAdmit, 2)
		select {
		case err := <-done:
			t.Errorf("%s: returned %v before it was released", fault, err)
			continue
		default:
		}
		f.Release(fakes.MethodAdmit, 2)
		f.Release(fakes.MethodAdmit, 2)
		if err := <-done; err != nil {
			t.Errorf("%s: after release = %v, want success", fault, err)
		}
		if got := f.landed(t); got != 2 {
			t.Errorf("%s: %d admissions landed, want 2", fault, got)
		}
	}
}

func TestFaulty_twice_answers_as_the_second(t *testing.T) {
	t.Parallel()
	f := newFaulted(t)
	f.Script(fakes.MethodAdmit, 1, fakes.Twice)
	got, err := f.admit(context.Background(), "c1")
	if err != nil || !got.Own {
		t.Errorf("Admit = %+v, %v; want the answer to a claim of our own", got, err)
	}
	if n := f.landed(t); n != 1 {
		t.Errorf("%d admissions landed, want 1", n)
	}
}

func TestFaulty_answer_is_not_sent(t *testing.T) {
	t.Parallel()
	f := newFaulted(t)
	no := &canonical.RefusedError{Op: "admit", Err: canonical.ErrCapacity}
	f.Answer(fakes.MethodAdmit, 1, no)
	if _, err := f.admit(context.Background(), "c1"); err != error(no) {
		t.Errorf("Admit = %v, want the scripted answer", err)
	}
	if n := f.landed(t); n != 0 {
		t.Errorf("%d admissions landed, want 0", n)
	}
}

func TestFaulty_counts_heals_and_tells_what_never_happened(t *testing.T) {
	t.Parallel()
	f := newFaulted(t)
	f.Script(fakes.MethodAdmit, fakes.Every, fakes.FailBefore)
	f.Script(fakes.MethodAdmit, 3, fakes.Twice)
	f.Script(fakes.MethodSweep, 9, fakes.FailBefore)
	for range 2 {
		if _, err := f.admit(context.Background(), "c1"); err == nil {
			t.Error("a call under Every passed")
		}
	}
	if got, want := f.Unused(), []string{"Admit 3", "Sweep 9"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Unused = %v, want %v", got, want)
	}
	f.Heal(fakes.MethodAdmit)
	if _, err := f.admit(context.Background(), "c1"); err != nil {
		t.Errorf("after Heal = %v, want success", err)
	}
	if got := f.Calls(fakes.MethodAdmit); got != 3 {
		t.Errorf("Calls = %d, want 3", got)
	}
}

func TestFaulty_refuses_a_script_that_cannot_happen(t *testing.T) {
	t.Parallel()
	f := newFaulted(t)
	for name, do := range map[string]func(){
		"method": func() { f.Script("Admitt", 1, fakes.FailAfter) },
		"fault":  func() { f.Script(fakes.MethodAdmit, 1, "fail") },
		"answer": func() { f.Answer(fakes.MethodAdmit, 1, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a script with a wrong %s was accepted", name)
				}
			}()
			do()
		}()
	}
}

func TestFaulty_passes_every_method_on(t *testing.T) {
	t.Parallel()
	f := newFaulted(t)
	value := reflect.ValueOf(f.Faulty)
	for _, m := range fakes.Methods() {
		f.Script(m, 1, fakes.FailBefore)
		method := value.MethodByName(string(m))
		args := make([]reflect.Value, method.Type().NumIn())
		for i := range args {
			args[i] = reflect.Zero(method.Type().In(i))
		}
		args[0] = reflect.ValueOf(context.Background())
		out := method.Call(args)
		err, _ := out[len(out)-1].Interface().(error)
		var fault *fakes.FaultError
		if !errors.As(err, &fault) || fault.Method != m {
			t.Errorf("%s failed with %v, want a FaultError that names it", m, err)
		}
	}
	store := reflect.TypeFor[canonical.Store]()
	if got, want := len(fakes.Methods()), store.NumMethod(); got != want {
		t.Errorf("%d methods are known, the interface has %d", got, want)
	}
}

func TestFaulty_concurrent_calls_are_each_counted_once(t *testing.T) {
	t.Parallel()
	f := newFaulted(t)
	f.Script(fakes.MethodInspect, 7, fakes.FailBefore)
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	for range 20 {
		wg.Go(func() {
			if _, err := f.Inspect(context.Background(), theRun()); err != nil {
				mu.Lock()
				failed++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed != 1 || f.Calls(fakes.MethodInspect) != 20 {
		t.Errorf("%d of %d calls failed, want 1 of 20", failed, f.Calls(fakes.MethodInspect))
	}
}
