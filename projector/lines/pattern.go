package lines

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What stands in a pattern for a part that varies.
const (
	maskNumber = "<n>"
	maskHex    = "<hex>"
	maskUUID   = "<uuid>"
)

// leastHex is how long a word of hexadecimal digits must be to be masked; shorter
// ones (face, dead, added) are words.
const leastHex = 8

// Pattern is a message with what varies masked: UUIDs, hexadecimal words (0x…, or
// at least eight digits among them a letter and a decimal one), and every other
// run of decimal digits of any script. It is for telling kinds of messages apart;
// it knows no log format.
func Pattern(message string) string {
	if strings.IndexFunc(message, unicode.IsDigit) < 0 && !strings.Contains(message, "-") {
		return message // a UUID of letters alone still has its hyphens
	}
	var out strings.Builder
	out.Grow(len(message))
	for rest := message; rest != ""; {
		size, mask := masked(rest)
		if size == 0 { // a rune that is no part of a word
			_, size = utf8.DecodeRuneInString(rest)
			mask = rest[:size]
		}
		out.WriteString(mask)
		rest = rest[size:]
	}
	return out.String()
}

// masked looks at the word that text begins with: how long it is, and what to
// write for it. A text that begins with no ASCII letter or digit and no digit of
// another script gives a size of zero.
func masked(text string) (size int, mask string) {
	if n := uuidLength(text); n > 0 {
		return n, maskUUID
	}
	word := text[:wordLength(text)]
	switch {
	case word == "":
		return otherDigits(text)
	case isHex(word):
		return len(word), maskHex
	default:
		return len(word), maskDigits(word)
	}
}

// uuidLength is 36 where text begins with a UUID that ends there.
func uuidLength(text string) int {
	const length = 36
	if len(text) < length || len(text) > length && wordByte(text[length]) {
		return 0
	}
	for i := range length {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (text[i] == '-') || !hyphen && !hexDigit(text[i]) {
			return 0
		}
	}
	return length
}

func wordLength(text string) int {
	n := 0
	for n < len(text) && wordByte(text[n]) {
		n++
	}
	return n
}

func isHex(word string) bool {
	digits, marked := word, false
	if len(word) > 2 && word[0] == '0' && word[1]|0x20 == 'x' {
		digits, marked = word[2:], true
	}
	letters, decimals := 0, 0
	for i := range len(digits) {
		switch {
		case !hexDigit(digits[i]):
			return false
		case decimal(digits[i]):
			decimals++
		default:
			letters++
		}
	}
	return marked || len(word) >= leastHex && letters > 0 && decimals > 0
}

func maskDigits(word string) string {
	var out strings.Builder
	for i := 0; i < len(word); {
		if !decimal(word[i]) {
			out.WriteByte(word[i])
			i++
			continue
		}
		for i < len(word) && decimal(word[i]) {
			i++
		}
		out.WriteString(maskNumber)
	}
	return out.String()
}

// otherDigits masks digits of other scripts.
func otherDigits(text string) (size int, mask string) {
	for size < len(text) {
		r, n := utf8.DecodeRuneInString(text[size:])
		if r < utf8.RuneSelf || !unicode.IsDigit(r) {
			break
		}
		size += n
	}
	return size, maskNumber
}

func wordByte(c byte) bool { return decimal(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }
func hexDigit(c byte) bool { return decimal(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func decimal(c byte) bool  { return '0' <= c && c <= '9' }
