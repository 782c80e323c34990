package evidence_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolharness/harness/evidence"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"plain":                {"checkout", 20, "checkout"},
		"empty":                {"", 20, ""},
		"space_runs":           {"  a \t\r\n b  ", 20, "a b"},
		"line_separators":      {"a\u2028b\u2029c\u0085d", 20, "a b c d"},
		"no_break_space":       {"a\u00a0b", 20, "a b"},
		"controls_dropped":     {"a\x00b\x1b[2Jc\x7fd\u009be", 20, "ab[2Jcde"},
		"bidi_dropped":         {"a\u202eb\u2066c", 20, "abc"},
		"invisible_dropped":    {"a\u200bb\ufeffc\u00add\U000E0041e", 20, "abcde"},
		"joiners_stay":         {"\u0645\u06cc\u200c\u062e", 20, "\u0645\u06cc\u200c\u062e"},
		"invalid_replaced":     {"a\xffb\xc3", 20, "a\uFFFDb\uFFFD"},
		"at_the_limit":         {"abcdef", 6, "abcdef"},
		"over_the_limit":       {"abcdefg", 6, "abc…"},
		"cut_before_a_rune":    {"ééééé", 8, "éé…"},
		"cut_inside_wide_rune": {"😀😀😀", 8, "😀…"},
		"spaces_behind":        {"abcdef      ", 6, "abcdef"},
		"no_room_for_a_mark":   {"abcdef", 2, "ab"},
		"nothing_fits":         {"😀", 2, ""},
		"zero":                 {"abc", 0, ""},
		"negative":             {"abc", -5, ""},
		"room_for_a_mark_only": {"abcdef", 3, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := evidence.Line(c.text, c.limit); got != c.want {
				t.Errorf("Line(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
			}
		})
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for limit := -2; limit < 40; limit++ {
		text := "aé漢😀" + strings.Repeat("é", 12)
		got := evidence.Clip(text, limit)
		kept, marked := strings.CutSuffix(got, evidence.ClipMark)
		switch {
		case len(got) > max(limit, 0) || !utf8.ValidString(got) || !strings.HasPrefix(text, kept):
			t.Errorf("Clip(…, %d) = %q (%d bytes)", limit, got, len(got))
		case limit >= len(text) && got != text:
			t.Errorf("Clip(…, %d) cuts a text that fits", limit)
		case limit >= len(evidence.ClipMark) && limit < len(text) && !marked:
			t.Errorf("Clip(…, %d) = %q has no mark", limit, got)
		}
	}
}

// FuzzLine: any text becomes one line inside the limit that a fact may hold, and
// a line stays as it is.
func FuzzLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string, limit uint8) {
		most := min(int(limit), evidence.MaxFactValue)
		line := evidence.Line(text, most)
		if len(line) > most || !utf8.ValidString(line) {
			t.Errorf("Line(%q, %d) = %q (%d bytes)", text, most, line, len(line))
		}
		if strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) >= 0 {
			t.Errorf("Line(%q) = %q holds a control character", text, line)
		}
		// Without room for a mark a line can end in the space that stood before the cut.
		if again := evidence.Line(line, most); again != line && most >= len(evidence.ClipMark) {
			t.Errorf("Line of %q is %q, want no change", line, again)
		}
		fact := evidence.NewFact(evidence.Subject{Kind: "k" + text, ID: text}, "p"+text, text)
		if err := fact.Validate(); err != nil {
			t.Errorf("NewFact(%q) is invalid: %v", text, err)
		}
	})
}
