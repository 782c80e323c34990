package console_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/console"
)

func TestPipeGetsPlainLinesOnly(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := console.New(&out, 0)
	c.Status("running %d", 1)
	c.Line("first %s", "line")
	c.Status("running %d", 2)
	c.Line("second")
	c.Close()
	if got, want := out.String(), "first line\nsecond\n"; got != want || c.Err() != nil {
		t.Errorf("got %q, %v, want %q", got, c.Err(), want)
	}
}

func TestTerminalRewritesItsLastLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := console.New(&out, 20)
	c.Status("running %d", 1)
	c.Status("running %d", 2)
	c.Line("first")
	c.Line("second")
	c.Status("a status that is longer than the line")
	c.Close()
	c.Close()
	const erase = "\r\x1b[K"
	want := "running 1" + erase + "running 2" + erase + "first\nsecond\n" + "a status that is lo" + erase
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStatusOnNarrowTerminal(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{1: "", 2: "ä", 3: "äö", 4: "äöü", 5: "äöü"} {
		var out strings.Builder
		console.New(&out, width).Status("äöü")
		if out.String() != want {
			t.Errorf("width %d: got %q, want %q", width, out.String(), want)
		}
	}
}

func TestFileIsNoTerminal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	c := console.For(file)
	c.Status("running")
	c.Line("line")
	if err := errors.Join(c.Err(), file.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "line\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

type brokenPipe struct{ writes int }

func (b *brokenPipe) Write([]byte) (int, error) {
	b.writes++
	return 0, os.ErrClosed
}

func TestWriteErrorIsKept(t *testing.T) {
	t.Parallel()
	pipe := &brokenPipe{}
	c := console.New(pipe, 0)
	c.Line("one")
	c.Line("two")
	if !errors.Is(c.Err(), os.ErrClosed) || pipe.writes != 1 {
		t.Errorf("got %v after %d writes, want the error of the only one", c.Err(), pipe.writes)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Antônio":         "Antônio",
		"a\nb\tc\r":       "a b c ",
		"\x1b[2Jx\x07":    "\ufffd[2Jx\ufffd",
		"\u202egnp.exe":   "\ufffdgnp.exe",
		"bad \xff\xfe":    "bad \ufffd\ufffd",
		"zero\u200bwidth": "zero\ufffdwidth",
	} {
		if got := console.Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestMarksAreForTerminalsThatWantThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width         int
		colour        bool
		strong, alert string
	}{
		{0, false, "x", "x"}, {0, true, "x", "x"}, {80, false, "x", "x"}, {80, true, "\x1b[1mx\x1b[0m", "\x1b[31mx\x1b[0m"},
	} {
		out := console.New(&strings.Builder{}, c.width)
		out.Colour(c.colour)
		if strong, alert := out.Strong("x"), out.Alert("x"); strong != c.strong || alert != c.alert {
			t.Errorf("%+v: got %q, %q", c, strong, alert)
		}
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\n\tb\r\n":        "a\n\tb\ufffd\n",
		"\x1b[2Jx\x9by\x07": "\ufffd[2Jx\ufffdy\ufffd",
		"\u202e青松卡\n":       "\ufffd青松卡\n",
	} {
		if got := console.Block(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
