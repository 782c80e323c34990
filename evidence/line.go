package evidence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ClipMark ends a line that was cut, so that a cut is never silent.
const ClipMark = "…"

// Line turns any text into one safe line of at most limit bytes: invalid UTF-8
// becomes U+FFFD, every run of white space one space, control and invisible
// format characters (including bidirectional overrides) are dropped, and a text
// that is too long is cut at a rune boundary and ends in [ClipMark]. With a limit
// below the size of the mark the line is cut without one.
func Line(text string, limit int) string {
	var b strings.Builder
	space := false
	for _, r := range text { // invalid bytes arrive as U+FFFD
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case !printable(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		if b.Len() > limit {
			return Clip(b.String(), limit)
		}
	}
	return b.String()
}

// Clip cuts text to at most limit bytes, never inside a rune; a cut text ends in
// [ClipMark] where there is room for it. Text must be valid UTF-8.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	mark := ClipMark
	if limit < len(mark) {
		mark = ""
	}
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:max(cut, 0)] + mark
}

func checkLine(field, text string, limit int) error {
	if len(text) > limit {
		return &Error{Field: field, Reason: "too long in bytes", Size: int64(len(text)), Limit: int64(limit)}
	}
	if !utf8.ValidString(text) {
		return &Error{Field: field, Reason: "not valid UTF-8"}
	}
	for _, r := range text {
		if !printable(r) {
			return &Error{Field: field, Reason: "has a line feed, control or invisible format character"}
		}
	}
	return nil
}

// printable refuses what could forge a line or hide text: controls, line and
// paragraph separators, and format characters. U+200D and U+200C join real
// words in several scripts and stay.
func printable(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return true
	case '\u2028', '\u2029':
		return false
	}
	return !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r)
}
