package console_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/console"
)

// A long text is one line where it may be searched, and a paragraph where it is only read.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word ", 100) + "end"
	for width, whole := range map[int]bool{0: true, 80: false} {
		var long, paragraph strings.Builder
		console.New(&long, width).Long("  ", text)
		console.New(&paragraph, width).Paragraph("  ", text)
		if got := long.String() == "  "+text+"\n"; got != whole {
			t.Errorf("width %d: got %q", width, long.String())
		}
		if got := long.String() == paragraph.String(); got == whole {
			t.Errorf("width %d: got %q, as a paragraph %q", width, long.String(), paragraph.String())
		}
	}
}

func TestParagraphFitsATerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"short":            {"one two", []string{"  one two"}},
		"exactly full":     {strings.Repeat("x", 37) + " y", []string{"  " + strings.Repeat("x", 37), "      y"}},
		"one cell less":    {strings.Repeat("x", 35) + " y", []string{"  " + strings.Repeat("x", 35) + " y"}},
		"between words":    {strings.Repeat("word ", 10) + "end", []string{"  word word word word word word word", "      word word word end"}},
		"a long word":      {strings.Repeat("x", 80), []string{"  " + strings.Repeat("x", 38), "      " + strings.Repeat("x", 34), "      " + strings.Repeat("x", 8)}},
		"wide characters":  {strings.Repeat("青", 30), []string{"  " + strings.Repeat("青", 19), "      " + strings.Repeat("青", 11)}},
		"wide, odd cells":  {"x" + strings.Repeat("青", 20), []string{"  x" + strings.Repeat("青", 18), "      " + strings.Repeat("青", 2)}},
		"blanks are kept":  {"a  b", []string{"  a  b"}},
		"a trailing blank": {"a ", []string{"  a "}},
		"nothing":          {"", []string{"  "}},
	} {
		var out strings.Builder
		console.New(&out, 41).Paragraph("  ", c.text)
		if got, want := out.String(), strings.Join(c.want, "\n")+"\n"; got != want {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
		for line := range strings.Lines(out.String()) {
			if n := console.Cells(strings.TrimSuffix(line, "\n")); n > 40 {
				t.Errorf("%s: %d cells: %q", name, n, line)
			}
		}
	}
}

// A very wide terminal does not make lines that nobody can read, and a very narrow one does not end the text.
func TestParagraphOnOddTerminals(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word ", 100) + "end"
	for width, most := range map[int]int{0: 116, 1: 40, 80: 79, 117: 116, 400: 116} {
		var out strings.Builder
		console.New(&out, width).Paragraph("  ", text)
		longest := 0
		for line := range strings.Lines(out.String()) {
			longest = max(longest, console.Cells(strings.TrimSuffix(line, "\n")))
		}
		if longest > most || longest < most-5 || strings.Count(out.String(), "word") != 100 {
			t.Errorf("width %d: the longest line has %d cells, want at most %d:\n%s", width, longest, most, out.String())
		}
	}
}
