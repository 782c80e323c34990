// Package contest lets programs that do the same work be measured by one other. Each
// contestant is a process of its own, so that none pays for another's threads and
// collections; they take turns, and only one works at a time.
//
// Between the two goes one JSON object a line: [Ask] to the contestant, [Answer]
// back. The first answer is to no question: it says that the contestant is ready, or
// why it cannot be.
//
// # Use
//
//	// in the contestant
//	err := contest.Serve(ctx, os.Stdin, os.Stdout, run)
//
//	// in the judge
//	c, err := contest.Start(exec.Command(path, args...))
//	answer, err := c.Ask(contest.Ask{Callers: 16, Calls: 800})
//	defer c.Close()
package contest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/toolharness/harness/benchmarks/measure"
)

// CallsPerRun is how many tool calls one run, or one workflow, of a contestant has.
const CallsPerRun = 50

// Ask is a turn: so many callers share so many runs.
type Ask struct {
	Callers int `json:"callers"`
	Runs    int `json:"runs"` // of CallsPerRun calls each
}

// Answer is what came of a turn.
type Answer struct {
	Rate  float64 `json:"rate"`   // calls a second
	P50   float64 `json:"p50_us"` // of one call, as its caller saw it
	P99   float64 `json:"p99_us"`
	Error string  `json:"error,omitempty"`
}

// Run makes CallsPerRun calls in one run with a number that no other run has, and
// answers how long each took.
type Run func(ctx context.Context, number int) ([]time.Duration, error)

// Serve takes turns until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, run Run) error {
	lines := json.NewEncoder(out)
	if err := lines.Encode(Answer{}); err != nil {
		return err
	}
	number := 0
	for asks := json.NewDecoder(in); ; {
		var ask Ask
		switch err := asks.Decode(&ask); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("contest: reading what is asked: %w", err)
		}
		answer := turn(ctx, ask, number, run)
		number += ask.Runs
		if err := lines.Encode(answer); err != nil {
			return err
		}
	}
}

// turn lets the callers share the runs.
func turn(ctx context.Context, ask Ask, first int, run Run) Answer {
	var mu sync.Mutex
	var times []float64
	var failed error
	next := first
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if failed != nil || next >= first+ask.Runs {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var all sync.WaitGroup
	start := time.Now()
	for range ask.Callers {
		all.Go(func() {
			for number, ok := take(); ok; number, ok = take() {
				took, err := run(ctx, number)
				mu.Lock()
				failed = errors.Join(failed, err)
				for _, d := range took {
					times = append(times, measure.Micros(d))
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	seconds := time.Since(start).Seconds()
	switch {
	case failed != nil:
		return Answer{Error: failed.Error()}
	case len(times) != ask.Runs*CallsPerRun:
		return Answer{Error: fmt.Sprintf("%d calls in %d runs, want %d in each", len(times), ask.Runs, CallsPerRun)}
	}
	return Answer{Rate: float64(len(times)) / seconds, P50: measure.Median(times), P99: measure.Quantile(times, 0.99)}
}

// Contestant is a process that takes turns.
type Contestant struct {
	cmd     *exec.Cmd
	asks    io.WriteCloser
	answers *json.Decoder
}

// Start starts the process and waits until it is ready.
func Start(cmd *exec.Cmd) (*Contestant, error) {
	asks, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("contest: %w", err)
	}
	c := &Contestant{cmd: cmd, asks: asks, answers: json.NewDecoder(bufio.NewReader(out))}
	if _, err := c.answer(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Ask gives the contestant a turn and waits for it.
func (c *Contestant) Ask(ask Ask) (Answer, error) {
	if err := json.NewEncoder(c.asks).Encode(ask); err != nil {
		return Answer{}, fmt.Errorf("contest: asking: %w", err)
	}
	return c.answer()
}

func (c *Contestant) answer() (Answer, error) {
	var answer Answer
	if err := c.answers.Decode(&answer); err != nil {
		return Answer{}, fmt.Errorf("contest: no answer: %w", err)
	}
	if answer.Error != "" {
		return Answer{}, errors.New("contest: " + answer.Error)
	}
	return answer, nil
}

// Close lets the process end by itself, and waits for it.
func (c *Contestant) Close() error {
	closed := c.asks.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("contest: the contestant: %w", err)
	}
	return closed
}
