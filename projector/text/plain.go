package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// printable is text with line feeds for all ends of lines and without characters
// that act on whoever prints it; tabs stay.
func printable(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && hidden(r) {
			return -1
		}
		return r
	}, text)
}

// hidden characters act or do not show; joiners (U+200C, U+200D) belong to words.
func hidden(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// cutText returns text in at most maxBytes: all of it, or its beginning to the end
// of a line, or inside one to the end of a rune with a mark, and then what was
// left out.
func cutText(text string, maxBytes int) ([]byte, error) {
	if len(text) <= maxBytes {
		return []byte(text), nil
	}
	room := maxBytes - len(omission(len(text), strings.Count(text, "\n"))) - len(evidence.ClipMark)
	if room < 1 {
		return nil, &projector.Error{Kind: projector.TooLarge, Field: projector.FieldResult, Size: int64(maxBytes - room + 1), Limit: int64(maxBytes)}
	}
	for !utf8.RuneStart(text[room]) {
		room--
	}
	head, mark := text[:room], evidence.ClipMark
	if end := strings.LastIndexByte(head, '\n'); end >= len(head)/2 { // most of what fits is whole lines
		head, mark = head[:end], ""
	}
	rest := text[len(head):]
	return []byte(head + mark + omission(len(rest), strings.Count(strings.Trim(rest, "\n"), "\n")+1)), nil
}

func omission(bytes, lines int) string {
	return fmt.Sprintf("\n[omitted: %d bytes, %d lines]", bytes, lines)
}

// appendString appends text as a JSON string in which hidden characters are
// escaped, so that printing it shows them.
func appendString(dst []byte, text string) []byte {
	quoted, _ := jsontext.AppendQuote(nil, text) // texts are valid UTF-8 here
	if strings.IndexFunc(text, hidden) < 0 {
		return append(dst, quoted...)
	}
	for _, r := range string(quoted) {
		if !hidden(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			dst = fmt.Appendf(dst, `\u%04x`, unit)
		}
	}
	return dst
}
