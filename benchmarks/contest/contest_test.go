package contest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain is a contestant where it is started as one.
func TestMain(m *testing.M) {
	switch os.Getenv("CONTESTANT") {
	case "good":
		if err := Serve(context.Background(), os.Stdin, os.Stdout, quick); err != nil {
			os.Exit(1)
		}
	case "silent":
		os.Exit(3)
	default:
		os.Exit(m.Run())
	}
}

func quick(context.Context, int) ([]time.Duration, error) {
	return make([]time.Duration, CallsPerRun), nil
}

func contestant(t *testing.T, kind string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(cmd.Environ(), "CONTESTANT="+kind)
	return cmd
}

func TestContestants_take_turns_in_processes_of_their_own(t *testing.T) {
	t.Parallel()
	c, err := Start(contestant(t, "good"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if answer, err := c.Ask(Ask{Callers: 2, Runs: 5}); err != nil || answer.Rate <= 0 {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestStart_tells_of_one_that_is_not_ready(t *testing.T) {
	t.Parallel()
	if _, err := Start(contestant(t, "silent")); err == nil {
		t.Error("a contestant that ended at once is taken for one that is ready")
	}
}

func TestServe_tells_what_failed_and_what_was_left_out(t *testing.T) {
	t.Parallel()
	for want, run := range map[string]Run{
		"broken": func(context.Context, int) ([]time.Duration, error) { return nil, errors.New("broken") },
		"want 50": func(context.Context, int) ([]time.Duration, error) {
			return make([]time.Duration, CallsPerRun-1), nil
		},
	} {
		var out bytes.Buffer
		if err := Serve(t.Context(), strings.NewReader(`{"callers":3,"runs":4}`), &out, run); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("answers %q, want one with %q", out.String(), want)
		}
	}
	if err := Serve(t.Context(), strings.NewReader("nonsense"), &bytes.Buffer{}, quick); err == nil {
		t.Error("nonsense is taken for a turn")
	}
}

func TestTurn_gives_every_run_a_number_of_its_own(t *testing.T) {
	t.Parallel()
	seen := make(chan int, 20)
	answer := turn(t.Context(), Ask{Callers: 4, Runs: 20}, 100, func(_ context.Context, number int) ([]time.Duration, error) {
		seen <- number
		return make([]time.Duration, CallsPerRun), nil
	})
	if answer.Error != "" {
		t.Fatal(answer.Error)
	}
	close(seen)
	numbers := map[int]bool{}
	for n := range seen {
		numbers[n] = n >= 100 && n < 120
	}
	if len(numbers) != 20 {
		t.Errorf("%d numbers, want 20", len(numbers))
	}
}
