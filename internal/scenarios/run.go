package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// moduleDirs lists the main module, or all modules of go.work.
func moduleDirs() ([]string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", withStderr(err))
	}
	text := strings.TrimSpace(string(out))
	if text == "" {
		return nil, errors.New("go list -m names no module")
	}
	return strings.Split(text, "\n"), nil // a folder's name may have spaces
}

func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// runTests runs go test -json in every module. Each event goes to each and, as
// it came, to save. That tests fail is in the events and no error here.
func runTests(dirs, args []string, save, stderr io.Writer, each func(event)) error {
	for _, dir := range dirs {
		cmd := exec.Command("go", append(append([]string{"test", "-json"}, args...), "./...")...)
		cmd.Dir, cmd.Stderr = dir, stderr
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		seen := 0
		readErr := readEvents(io.TeeReader(pipe, save), func(e event) { seen++; each(e) })
		if readErr != nil {
			_ = cmd.Process.Kill()
		}
		waitErr := cmd.Wait()
		if readErr != nil {
			return fmt.Errorf("go test in %s: %w", dir, readErr)
		}
		if seen == 0 {
			return fmt.Errorf("go test in %s said nothing: %v", dir, waitErr)
		}
	}
	return nil
}

// reporter prints a run as it goes the way go test does without -v: one line a
// package, and the output of what failed without its RUN, PAUSE and CONT lines.
type reporter struct {
	w      io.Writer
	output map[testID]*strings.Builder
}

func (p *reporter) show(e event) {
	id := testID{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(p.w, e.Output)
	case e.Action == "output" && e.Test == "":
		if e.Output != "PASS\n" && e.Output != "FAIL\n" && !strings.HasPrefix(e.Output, "?   \t") {
			fmt.Fprint(p.w, e.Output)
		}
	case e.Action == "output" && strings.HasPrefix(e.Output, "=== "):
	case e.Action == "output":
		if p.output[id] == nil {
			p.output[id] = &strings.Builder{}
		}
		p.output[id].WriteString(e.Output)
	case e.Action == "fail" && p.output[id] != nil:
		fmt.Fprint(p.w, p.output[id].String())
		delete(p.output, id)
	case e.Action == "pass" || e.Action == "skip":
		delete(p.output, id)
	}
}
