package logsearch

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// contains looks for part in text, with Unicode's simple case folding if asked.
func contains(text, part string, fold bool) bool {
	if !fold {
		return strings.Contains(text, part)
	}
	return strings.Contains(folded(text), folded(part))
}

// folded writes every rune as the least of those that differ from it in case
// only. Bytes that are no UTF-8 stay as they are.
func folded(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && c != 'k' && c != 'K' && c != 's' && c != 'S' {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			out.WriteByte(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			out.WriteByte(text[i])
		} else {
			out.WriteRune(leastInOrbit(r))
		}
		i += size
	}
	return out.String()
}

// leastInOrbit walks the runes that fold to each other; k, K and the Kelvin sign
// are one such ring.
func leastInOrbit(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
