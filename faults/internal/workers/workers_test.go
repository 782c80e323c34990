package workers_test

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolharness/harness/faults/internal/workers"
)

func TestMain(m *testing.M) {
	workers.Main(map[string]workers.Role{"echo": echo})
	goleak.VerifyTestMain(m)
}

// echo answers every number with the next one.
func echo(orders *json.Decoder, answers *json.Encoder) error {
	for {
		var n int
		if err := orders.Decode(&n); err != nil {
			return err
		}
		if err := answers.Encode(n + 1); err != nil {
			return err
		}
	}
}

func start(t *testing.T, role string) *workers.Worker {
	t.Helper()
	w, err := workers.Start(role)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func ask(t *testing.T, w *workers.Worker, n int) int {
	t.Helper()
	var got int
	if err := w.Send(n); err != nil {
		t.Fatal(err)
	}
	if err := w.Receive(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestWorker_answers_and_leaves(t *testing.T) {
	w := start(t, "echo")
	if got := ask(t, w, 41); got != 42 {
		t.Errorf("answer = %d, want 42", got)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
}

func TestCloseAll(t *testing.T) {
	list := []*workers.Worker{start(t, "echo"), start(t, "nobody"), start(t, "echo")}
	if err := workers.CloseAll(list); err == nil {
		t.Error("CloseAll = nil, want the failure of one")
	}
	if err := workers.CloseAll(nil); err != nil {
		t.Errorf("CloseAll of none = %v, want nil", err)
	}
}

func TestWorker_that_is_killed_is_heard_to_its_last_word(t *testing.T) {
	w := start(t, "echo")
	for n := range 3 {
		if err := w.Send(n); err != nil {
			t.Fatal(err)
		}
	}
	var got int
	for got != 3 {
		if err := w.Receive(&got); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := w.Receive(&got); err == nil {
		t.Errorf("Receive after the end gave %d, want an error", got)
	}
	if err := w.Reap(); err == nil {
		t.Error("Reap = nil, want how it was killed")
	}
}

func TestWorker_in_a_role_that_there_is_not(t *testing.T) {
	w := start(t, "nobody")
	if err := w.Close(); err == nil {
		t.Error("Close = nil, want a failure")
	}
}

func TestWorker_that_is_frozen_goes_on(t *testing.T) {
	w := start(t, "echo")
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := w.Continue(); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, w, 1); got != 2 {
		t.Errorf("answer = %d, want 2", got)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
}
