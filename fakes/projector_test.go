package fakes_test

import (
	"context"
	"errors"
	"testing"

	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/projector"
)

func TestProjector_follows_its_script(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	p := fakes.NewProjector(fakes.Found("one"), fakes.Absent("none", "table t"), fakes.Projected{Err: broken})
	for i, want := range []struct {
		text string
		err  error
	}{{"one", nil}, {"none", nil}, {"", broken}, {"", broken}} {
		got, err := p.Project(context.Background(), projector.Input{Raw: []byte("raw")})
		if string(got.Result) != want.text || err != want.err {
			t.Errorf("call %d = %q, %v; want %q, %v", i+1, got.Result, err, want.text, want.err)
		}
		if err == nil {
			if err := got.Validate(projector.Limits{}); err != nil {
				t.Errorf("call %d is not a valid projection: %v", i+1, err)
			}
		}
	}
	if p.Entries() != 4 {
		t.Errorf("Entries = %d, want 4", p.Entries())
	}
}

func TestProjector_counts_entries_not_returns(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	p := fakes.NewProjector(fakes.Projected{Until: release, Panic: "secret"})
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		_, _ = p.Project(context.Background(), projector.Input{})
	}()
	for p.Entries() == 0 {
	}
	close(release)
	if got := <-done; got != "secret" {
		t.Errorf("panicked with %v, want the scripted value", got)
	}
}

func TestProjector_shares_no_bytes(t *testing.T) {
	t.Parallel()
	p := fakes.NewProjector(fakes.Found("text"))
	raw := []byte("raw")
	got, err := p.Project(context.Background(), projector.Input{Raw: raw})
	if err != nil {
		t.Fatal(err)
	}
	raw[0], got.Result[0] = 'X', 'X'
	again, _ := p.Project(context.Background(), projector.Input{})
	if string(again.Result) != "text" || string(p.Inputs()[0].Raw) != "raw" {
		t.Errorf("answer %q, input %q; want text and raw", again.Result, p.Inputs()[0].Raw)
	}
}

func TestClock_moves_only_when_told(t *testing.T) {
	t.Parallel()
	c := fakes.NewClock()
	if !c.Now().Equal(fakes.Epoch()) || !c.Now().Equal(c.Now()) {
		t.Errorf("a new clock shows %v, want %v", c.Now(), fakes.Epoch())
	}
	c.Advance(90)
	if got := c.Now().Sub(fakes.Epoch()); got != 90 {
		t.Errorf("moved by %v, want 90ns", got)
	}
}
