package command_test

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolharness/harness/cmd/harness/internal/command"
	"github.com/toolharness/harness/internal/redistest"
)

// onTerminal runs a command on a pseudo terminal of 100 columns and returns what appeared there.
func onTerminal(t *testing.T, env map[string]string, args ...string) (status int, shown string) {
	t.Helper()
	var stderr strings.Builder
	if status, shown = terminalWith(t, env, &stderr, args...); stderr.String() != "" {
		t.Errorf("got %q", stderr.String())
	}
	return status, shown
}

// terminalWith also gives what was said on standard error, which is no terminal.
func terminalWith(t *testing.T, env map[string]string, stderr io.Writer, args ...string) (status int, shown string) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100}); err != nil {
		t.Fatal(err)
	}
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(screen) // ends with EIO once the terminal is closed
		seen <- string(text)
	}()
	status = command.Run(t.Context(), args, command.Streams{
		Out: terminal, Err: stderr, Env: func(name string) string { return env[name] },
	})
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
	return status, <-seen
}

const erase = "\r\x1b[K"

// plain is what stays on a terminal: lines without what was taken back and without marks.
func plain(shown string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.ReplaceAll(shown, "\r\n", "\n"), "\n") {
		if at := strings.LastIndex(line, erase); at >= 0 {
			line = line[at+len(erase):]
		}
		b.WriteString(strings.NewReplacer("\x1b[1m", "", "\x1b[31m", "", "\x1b[0m", "").Replace(line) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// withoutRun blanks the run's id, and the facts, whose order may differ between calls of one message.
func withoutRun(text string) string {
	head, rest, _ := strings.Cut(text, ", run demo-")
	_, rest, _ = strings.Cut(rest, "\n")
	head += "\n" + rest
	head, rest, _ = strings.Cut(head, "from its records alone\n")
	_, rest, _ = strings.Cut(rest, "\nChecked\n")
	return head + rest
}

func TestTerminalShowsWhatIsGoingOn(t *testing.T) {
	t.Parallel()
	status, shown := onTerminal(t, nil, "demo")
	if status != command.ExitDone || !strings.Contains(shown, "1 of 11: sql_db_list_tables"+erase) || !strings.Contains(shown, "\x1b[1m") {
		t.Errorf("got %d, %q", status, shown)
	}
	_, piped, _ := run(t, "demo")
	// The same text, though its lines may be broken at other places.
	if got, want := strings.Fields(withoutRun(plain(shown))), strings.Fields(withoutRun(piped)); !slices.Equal(got, want) {
		t.Errorf("what stays on a terminal: got\n%s\nwant what a pipe gets\n%s", plain(shown), piped)
	}
}

func TestTerminalWithoutColour(t *testing.T) {
	t.Parallel()
	if status, shown := onTerminal(t, map[string]string{"NO_COLOR": "1"}, "demo"); status != command.ExitDone ||
		strings.Contains(shown, "m\x1b") || strings.Contains(shown, "\x1b[1m") || !strings.Contains(shown, erase) {
		t.Errorf("NO_COLOR: got %d, %q", status, shown)
	}
	if status, shown := onTerminal(t, map[string]string{"NO_COLOR": ""}, "demo"); status != command.ExitDone || !strings.Contains(shown, "\x1b[1m") {
		t.Errorf("an empty NO_COLOR is none: got %d, %q", status, shown)
	}
}

func TestTerminalThatCannotRewriteALine(t *testing.T) {
	t.Parallel()
	if status, shown := onTerminal(t, map[string]string{"TERM": "dumb"}, "demo"); status != command.ExitDone || strings.Contains(shown, "\x1b") {
		t.Errorf("got %d, %q", status, shown)
	}
}

func TestTerminalGetsOneJSONDocument(t *testing.T) {
	t.Parallel()
	status, shown := onTerminal(t, nil, "demo", "-o", "json")
	if status != command.ExitDone || !strings.HasPrefix(shown, "{\r\n") || !strings.HasSuffix(shown, "}\r\n") || strings.Contains(shown, "\x1b") {
		t.Errorf("got %d, %q", status, shown)
	}
}

func TestTerminalShowsABarDuringAReplay(t *testing.T) {
	t.Parallel()
	path := chatFile(t, recordedChat)
	status, shown := onTerminal(t, nil, "replay", path)
	if status != command.ExitDone || !strings.Contains(shown, "[############------------] 1 of 2 calls, ") || !strings.Contains(shown, "\x1b[1mfile") {
		t.Errorf("got %d, %q", status, shown)
	}
	_, piped, _ := run(t, "replay", path)
	if got := plain(shown); got != piped {
		t.Errorf("what stays on a terminal: got\n%s\nwant what a pipe gets\n%s", got, piped)
	}
	if status, shown := onTerminal(t, nil, "replay", "-o", "json", path); status != command.ExitDone || !strings.HasPrefix(shown, "{\r\n") || strings.Contains(shown, "\x1b") {
		t.Errorf("got %d, %q", status, shown)
	}
}

// A terminal would obey what a tool returned. A pipe gets it byte for byte.
func TestTerminalReadsHarmlessText(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	asked(t, "replay", "--redis", db.URL(), "--keep", chatFile(t, strings.ReplaceAll(recordedChat, `"one"`, `"a\u001b[2J\nb\u202e"`)))
	store := []string{"--redis", db.URL(), "--tenant", "replay"}
	id := documentOf[listed](t, append([]string{"ls"}, store...)...).Runs[0].ID
	for _, args := range [][]string{{"read", id, "call_1"}, {"read", id, "call_1", "--raw"}} {
		args = append(args, store...)
		if status, shown := onTerminal(t, nil, args...); status != command.ExitDone || shown != "a\uFFFD[2J\r\nb\uFFFD\r\n" {
			t.Errorf("got %d, %q", status, shown)
		}
		if piped := asked(t, args...); piped != "a\x1b[2J\nb\u202e" {
			t.Errorf("got %q in a pipe", piped)
		}
	}
	if status, shown := onTerminal(t, nil, append([]string{"ls", id}, store...)...); status != command.ExitDone || !strings.HasPrefix(shown, "\x1b[1mseq  call") {
		t.Errorf("got %d, %q", status, shown)
	}
	var stderr strings.Builder
	status, shown := terminalWith(t, nil, &stderr, append([]string{"export", id}, store...)...)
	if status != command.ExitUsage || shown != "" || !strings.Contains(stderr.String(), "not for a terminal") {
		t.Errorf("got %d, %q, %q", status, shown, stderr.String())
	}
}
