package boundary_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// What a first user ran into.
func TestSurprises(t *testing.T) {
	onFake(t, []scenario{
		{"a_late_write_says_that_it_is_lost", writeAfterReturn},
		{"an_action_with_senseless_numbers_is_refused", senselessAction},
		{"no_context_is_a_refusal", noContext},
		{"a_tool_that_broke_down_is_told_to_the_host", brokeDown},
		{"a_discarded_result_is_not_listed", discarded},
	})
}

func writeAfterReturn(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	var kept io.Writer
	wantReady(t, b.read("a", boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		kept = raw
		_, err := io.WriteString(raw, "whole")
		return err
	})), "seen: whole")
	if n, err := io.WriteString(kept, "more"); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a write after the end: %d, %v; want 0 and io.ErrClosedPipe", n, err)
	}
}

func senselessAction(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for field, change := range map[string]func(*boundary.Action){
		"Budget":      func(a *boundary.Action) { a.Budget = -5 },
		"Timeout":     func(a *boundary.Action) { a.Timeout = -1 },
		"MaxRawBytes": func(a *boundary.Action) { a.MaxRawBytes = -1 },
	} {
		action := reading(says("no"))
		change(&action)
		got := b.Invoke(t.Context(), b.run, b.envelope("x"), action)
		host := wantFailed(t, got, lifecycle.UnknownTool, lifecycle.NotStarted)
		if bad, ok := errors.AsType[*boundary.ActionError](host); !ok || bad.Field != field || !strings.Contains(host.Error(), field) {
			t.Errorf("%s: got %v", field, host)
		}
	}
	if seq := b.state().LastSeq; seq != 0 {
		t.Errorf("%d calls were admitted, want none", seq)
	}
}

func noContext(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tools, err := boundary.NewToolset(b.ToolBoundary, boundary.Tool{Name: "x", Effect: canonical.EffectRead, Executor: says("no"), Projector: seen()})
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	got := tools.Dispatch(none, b.run, boundary.Call{ID: "a", Name: "x", Arguments: []byte("{}")})
	wantFailed(t, got[0], lifecycle.Cancelled, lifecycle.NotStarted)
}

func brokeDown(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	got := b.read("a", boundary.ExecutorFunc(func(context.Context, boundary.Input, io.Writer) error { panic(marker) }))
	host := wantFailed(t, got, lifecycle.ToolExecutionFailed, lifecycle.Completed)
	if !errors.Is(host, boundary.ErrPanicked) || !strings.Contains(host.Error(), "broke down") || strings.Contains(host.Error(), marker) {
		t.Errorf("host error %v, want ErrPanicked without the value", host)
	}
}

// unending is a store that never ends a call.
type unending struct{ canonical.Store }

func (unending) Complete(context.Context, canonical.Ending) (canonical.Ended, error) {
	return canonical.Ended{}, errors.New(marker)
}

func discarded(t *testing.T, d *deck) {
	var held []boundary.Retained
	b := newBench(t, d, setup{config: boundary.Config{
		OnRetained: func(_ context.Context, r boundary.Retained) { held = append(held, r) },
		Limits:     canonical.Limits{},
		Store:      unending{d.Store},
	}})
	wantFailed(t, b.read("a", says("bytes")), lifecycle.ResultNotStored, lifecycle.Completed)
	if len(held) != 1 {
		t.Fatalf("retained %v, want one", held)
	}
	b.Discard(held[0])
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v, want nothing left", err)
	}
}
