package redact

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A JSON string literal is read piece by piece, a piece being one escape, one
// pair of surrogate escapes, or one byte as it stands. Edits found in the decoded
// text are carried back to whole pieces of the literal, so that a replaced part
// does not change how the rest of the string is spelled.

// piece returns the decoded bytes at the beginning of a literal's content and
// how many bytes of the literal they take. The content comes from a valid
// literal, so an escape is never cut.
func piece(content []byte, buffer *[utf8.UTFMax]byte) (decoded []byte, size int) {
	if content[0] != '\\' {
		return content[:1], 1
	}
	switch c := content[1]; c {
	case 'u':
		r, size := escapedRune(content)
		return buffer[:utf8.EncodeRune(buffer[:], r)], size
	case 'b':
		buffer[0] = '\b'
	case 'f':
		buffer[0] = '\f'
	case 'n':
		buffer[0] = '\n'
	case 'r':
		buffer[0] = '\r'
	case 't':
		buffer[0] = '\t'
	default: // quote, backslash, slash
		buffer[0] = c
	}
	return buffer[:1], 2
}

// escapedRune reads \uXXXX, or two of them that make a surrogate pair. Half of
// a pair alone is U+FFFD.
func escapedRune(content []byte) (r rune, size int) {
	first := hex4(content)
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	if len(content) >= 12 && content[6] == '\\' && content[7] == 'u' {
		if r := utf16.DecodeRune(first, hex4(content[6:])); r != utf8.RuneError {
			return r, 12
		}
	}
	return utf8.RuneError, 6
}

func hex4(escape []byte) rune {
	n, err := strconv.ParseUint(string(escape[2:6]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// decoded is what a literal's content says. Without escapes it is the content
// itself, not a copy.
func decoded(content []byte) []byte {
	if bytes.IndexByte(content, '\\') < 0 {
		return content
	}
	out := make([]byte, 0, len(content))
	var buffer [utf8.UTFMax]byte
	for len(content) > 0 {
		b, size := piece(content, &buffer)
		out = append(out, b...)
		content = content[size:]
	}
	return out
}

// carried turns edits of the decoded text, sorted and apart, into edits of the
// literal's content that starts at offset base of the document. An edit that
// ends inside a piece takes the whole piece.
func carried(content []byte, base int, edits []edit) []edit {
	out := make([]edit, 0, len(edits))
	var buffer [utf8.UTFMax]byte
	raw, read := 0, 0 // offsets in the literal and in the decoded text
	advance := func(limit int, whole bool) {
		for raw < len(content) && read < limit {
			b, size := piece(content[raw:], &buffer)
			if !whole && read+len(b) > limit {
				return
			}
			read += len(b)
			raw += size
		}
	}
	for _, e := range edits {
		advance(e.start, false)
		start := raw
		advance(e.end, true)
		out = append(out, edit{base + start, base + raw, quoted(e.with)})
	}
	return out
}
