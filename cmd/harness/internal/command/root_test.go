package command_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/command"
)

func run(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr strings.Builder
	status = command.Run(t.Context(), args, command.Streams{Out: &stdout, Err: &stderr})
	return status, stdout.String(), stderr.String()
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"help", "version"}} {
		status, out, errs := run(t, args...)
		if status != command.ExitDone || !strings.Contains(out, "harness") || errs != "" {
			t.Errorf("%v: got %d, %q, %q, want help on standard output", args, status, out, errs)
		}
	}
}

func TestUsageErrorsRunNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"unknown"}, {"--unknown"}, {"version", "extra"}, {"version", "--unknown"}} {
		status, out, errs := run(t, args...)
		if status != command.ExitUsage || out != "" || !strings.HasPrefix(errs, "harness: ") || !strings.Contains(errs, "harness help") {
			t.Errorf("%v: got %d, %q, %q, want status 2 and one message", args, status, out, errs)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	status, out, errs := run(t, "version")
	if status != command.ExitDone || !strings.Contains(out, runtime.Version()) || strings.Count(out, "\n") != 1 || errs != "" {
		t.Errorf("got %d, %q, %q, want one line", status, out, errs)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestLostOutputIsAFailure(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	status := command.Run(t.Context(), []string{"version"}, command.Streams{Out: closedPipe{}, Err: &stderr})
	if status != command.ExitFailed || strings.Contains(stderr.String(), "help") {
		t.Errorf("got %d, %q, want status 1 without a hint on usage", status, stderr.String())
	}
}
