package projector

import (
	"bytes"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escapeHidden replaces, in valid JSON on one line, every control and invisible
// format character by its JSON escape. Such characters can only stand inside
// strings, so the value stays the same; only how it prints changes. Joiners
// (U+200C, U+200D) belong to real words and stay.
func escapeHidden(encoded []byte) []byte {
	if bytes.IndexFunc(encoded, hidden) < 0 {
		return encoded
	}
	out := make([]byte, 0, len(encoded)+16)
	for len(encoded) > 0 {
		r, size := utf8.DecodeRune(encoded)
		switch {
		case !hidden(r):
			out = append(out, encoded[:size]...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = appendEscape(appendEscape(out, high), low)
		default:
			out = appendEscape(out, r)
		}
		encoded = encoded[size:]
	}
	return out
}

func hidden(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

func appendEscape(out []byte, unit rune) []byte {
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', hex[unit>>12&0xF], hex[unit>>8&0xF], hex[unit>>4&0xF], hex[unit&0xF])
}
