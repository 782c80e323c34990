package replay_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/replay"
)

func TestTable(t *testing.T) {
	t.Parallel()
	path := file(t, everything())
	var out strings.Builder
	screen := replay.NewText(console.New(&out, 0))
	if _, err := replay.Run(t.Context(), replay.Options{Files: []string{path, path}}, screen); err != nil {
		t.Fatal(err)
	}
	want := `file  calls  results  admitted  ready  failed  refused  no id  unanswered  raw bytes  to the model  differ
FILE     14       13         7      4       3        7      1           1         38            22       0
FILE     14       13         7      4       3        7      1           1         38            22       0
all      28       26        14      8       6       14      2           2         76            44       0

refused  4  DUPLICATE_TOOL_CALL
refused  4  INVALID_INPUT
refused  4  INVALID_TOOL_CALL_ID
refused  2  UNKNOWN_TOOL

failed  4  PROJECTION_FAILED
failed  2  TOOL_EXECUTION_FAILED

All 8 ready results, read back through a second client, are what was recorded. Store: embedded.
`
	got := strings.ReplaceAll(strings.ReplaceAll(out.String(), "file"+strings.Repeat(" ", len(path)-4), "file"), path, "FILE")
	got = strings.ReplaceAll(got, "all"+strings.Repeat(" ", len(path)-3), "all ")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableOfADifference(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	to := console.New(&out, 300)
	to.Colour(true)
	o := replay.Options{Files: []string{file(t, everything())}}.WithExecutor(other("b"))
	if _, err := replay.Run(t.Context(), o, replay.NewText(to)); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[31m1 of 4 ready results, read back through a second client, are not what was recorded.\x1b[0m\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q, want it to end in %q", out.String(), want)
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	screen := replay.NewText(console.New(&out, 100))
	screen.Reading("chat\x1b[2J.jsonl", 1, 1)
	for i := range 4 {
		screen.Replayed(i+1, 4)
	}
	const erase = "\r\x1b[K"
	want := "reading chat\ufffd[2J.jsonl" + erase +
		"[######------------------] 1 of 4 calls, chat\ufffd[2J.jsonl" + erase +
		"[############------------] 2 of 4 calls, chat\ufffd[2J.jsonl" + erase +
		"[##################------] 3 of 4 calls, chat\ufffd[2J.jsonl" + erase +
		"[########################] 4 of 4 calls, chat\ufffd[2J.jsonl"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	screen.Reading("b", 2, 3)
	if got := out.String(); !strings.HasSuffix(got, "reading file 2 of 3: b") {
		t.Errorf("got %q", got)
	}
}

// A large file does not redraw the bar for every call, and shows the first and the last.
func TestBarOfALargeFile(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	screen := replay.NewText(console.New(&out, 100))
	const calls = 100_000
	for i := range calls {
		screen.Replayed(i+1, calls)
	}
	if n := strings.Count(out.String(), "["+"#") + strings.Count(out.String(), "[-"); n < 100 || n > 600 {
		t.Errorf("drawn %d times", n)
	}
	for _, want := range []string{"] 1 of 100000 calls", "] 100000 of 100000 calls"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not shown", want)
		}
	}
}

func TestNoTableOfNothing(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if _, err := replay.Run(t.Context(), replay.Options{Files: []string{t.TempDir()}}, replay.NewText(console.New(&out, 0))); err != nil || out.String() != "" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestKeptIsTold(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	d := replay.Document{Files: []replay.File{{Name: "a\nb"}}, Kept: replay.Kept{Keys: 3, LookWith: "redis-cli HGETALL k", NeedsPassword: true}}
	replay.NewText(console.New(&out, 0)).End(d)
	want := "\n3 keys are left in Redis until they expire.\nTo look at one record:\n  redis-cli HGETALL k\n  with the password in REDISCLI_AUTH\n"
	if got := out.String(); !strings.HasSuffix(got, want) || !strings.Contains(got, "\na b ") {
		t.Errorf("got %q, want it to end in %q", got, want)
	}
}
