package workers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Variable names the environment variable that makes a test binary a worker. Its
// value is the role.
const Variable = "HARNESS_FAULTS_WORKER"

// endLimit is how long a worker may take to leave once its input has ended.
const endLimit = 20 * time.Second

// Role is what a worker does: it reads orders until io.EOF and writes answers.
// Each Encode is one write to the pipe, so what was encoded is with the parent
// even if the worker is killed at once.
type Role func(orders *json.Decoder, answers *json.Encoder) error

// Main plays a role and exits, if this process was started as a worker;
// otherwise it does nothing. It is the first call of TestMain.
func Main(roles map[string]Role) {
	name := os.Getenv(Variable)
	if name == "" {
		return
	}
	role, ok := roles[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "workers: no role %q\n", name)
		os.Exit(2)
	}
	if err := role(json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintf(os.Stderr, "workers: %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Worker is one child process. Its methods are for one goroutine, except Kill,
// Stop and Continue.
type Worker struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	to   *json.Encoder
	from *json.Decoder

	wait sync.Once
	err  error
}

// Start runs this binary again in a role. What it writes to standard error goes
// to ours.
func Start(role string) (*Worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), Variable+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Worker{cmd: cmd, in: in, to: json.NewEncoder(in), from: json.NewDecoder(out)}, nil
}

// Send gives the worker one order.
func (w *Worker) Send(order any) error { return w.to.Encode(order) }

// Receive reads one answer. After a kill it still reads what the worker had
// written, and then fails.
func (w *Worker) Receive(answer any) error { return w.from.Decode(answer) }

// Kill sends SIGKILL. The worker is reaped by Reap or Close.
func (w *Worker) Kill() error { return w.cmd.Process.Kill() }

// Pid is the process id.
func (w *Worker) Pid() int { return w.cmd.Process.Pid }

// Reap waits for the end of a worker that was killed. All answers must have been
// read before: it closes the pipe. The error says how the process ended.
func (w *Worker) Reap() error {
	w.wait.Do(func() { w.err = w.cmd.Wait() })
	return w.err
}

// Close ends the worker's input, which it leaves at, and waits for it; one that
// does not leave is killed and reported. Answers that were not read are lost.
func (w *Worker) Close() error {
	_ = w.in.Close() // one that is gone already is told by Wait
	left := make(chan error, 1)
	go func() { left <- w.Reap() }()
	select {
	case err := <-left:
		return err
	case <-time.After(endLimit):
		return errors.Join(fmt.Errorf("worker %d did not leave in %v", w.Pid(), endLimit), w.Kill(), <-left)
	}
}

// CloseAll closes workers side by side and answers all that went wrong.
func CloseAll(list []*Worker) error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, w := range list {
		wg.Go(func() { errs[i] = w.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
