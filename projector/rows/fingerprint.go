package rows

import (
	"strings"
	"unicode/utf8"
)

// Fingerprint is a statement without its literals and comments, on one line:
// strings and numbers become ?, white space one space. It is for telling
// statements apart without repeating their values; it is no parser.
//
// It takes double quotes, as the SQL standard does, for names and keeps what
// they hold; MySQL without ANSI_QUOTES takes them for strings. Where dialects
// disagree about the end of a string (a backslash before a quote) the rest of
// the statement is left out and an ellipsis says so: too little is better than
// a literal. The same goes for a string or comment that never ends.
func Fingerprint(statement string) string {
	s := scanner{rest: strings.ToValidUTF8(statement, "\uFFFD")}
	for s.rest != "" && !s.stopped {
		s.next()
	}
	if s.stopped {
		s.word("…")
	}
	return s.out.String()
}

type scanner struct {
	rest    string
	out     strings.Builder
	space   bool // white space or a comment is pending
	inWord  bool // the last byte written belongs to a name or number
	stopped bool // the rest cannot be told apart
}

func (s *scanner) next() {
	c := s.rest[0]
	switch {
	case strings.ContainsRune(" \t\r\n\f\v", rune(c)):
		s.skip(1)
	case strings.HasPrefix(s.rest, "--"):
		s.skip(lineEnd(s.rest))
	case strings.HasPrefix(s.rest, "/*"):
		s.comment()
	case c == '\'':
		s.quoted()
	case c == '"' || c == '`':
		s.name(c)
	case c == '$' && !s.wordPending():
		s.dollar()
	case digit(c) && !s.wordPending(), c == '.' && len(s.rest) > 1 && digit(s.rest[1]) && !s.wordPending():
		s.number()
	default:
		_, size := utf8.DecodeRuneInString(s.rest)
		s.copy(size, wordByte(c))
	}
}

// wordPending reports whether the next byte would continue a name: the 2 of t2.
func (s *scanner) wordPending() bool { return s.inWord && !s.space }

// skip drops n bytes that count as white space.
func (s *scanner) skip(n int) {
	s.rest = s.rest[n:]
	s.space = true
}

// copy keeps n bytes as they are.
func (s *scanner) copy(n int, inWord bool) {
	s.word(s.rest[:n])
	s.rest, s.inWord = s.rest[n:], inWord
}

// word writes text, after one space where white space was dropped before it.
func (s *scanner) word(text string) {
	if s.space && s.out.Len() > 0 {
		s.out.WriteByte(' ')
	}
	s.space, s.inWord = false, false
	s.out.WriteString(text)
}

// literal drops n bytes and writes ? for them.
func (s *scanner) literal(n int) {
	s.word("?")
	s.rest = s.rest[n:]
}

// comment drops a block comment. Some dialects nest them; where this one does
// not, dropping too much is harmless.
func (s *scanner) comment() {
	depth := 0
	for i := 0; i < len(s.rest)-1; i++ {
		switch s.rest[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				s.skip(i + 1)
				return
			}
		}
	}
	s.stop()
}

// quoted replaces a string in single quotes; a doubled quote is inside it.
func (s *scanner) quoted() {
	for i := 1; i < len(s.rest); i++ {
		switch {
		case strings.HasPrefix(s.rest[i:], `\\`): // one backslash or two: the string goes on either way
			i++
		case strings.HasPrefix(s.rest[i:], `\'`):
			s.literal(i)
			s.stop()
			return
		case s.rest[i] != '\'':
		case i+1 < len(s.rest) && s.rest[i+1] == '\'':
			i++
		default:
			s.literal(i + 1)
			return
		}
	}
	s.literal(len(s.rest))
	s.stop()
}

// name keeps a quoted name with its quotes.
func (s *scanner) name(quote byte) {
	end := strings.IndexByte(s.rest[1:], quote)
	if end < 0 {
		s.stop()
		return
	}
	text := s.rest[:end+2]
	s.word(strings.Join(strings.Fields(text), " "))
	s.rest = s.rest[len(text):]
}

// dollar replaces a dollar-quoted string ($tag$ … $tag$) and keeps $1 and a
// lone sign.
func (s *scanner) dollar() {
	end := 1
	for end < len(s.rest) && wordByte(s.rest[end]) && s.rest[end] != '$' {
		end++
	}
	if end == len(s.rest) || s.rest[end] != '$' || end > 1 && digit(s.rest[1]) {
		s.copy(end, true)
		return
	}
	tag := s.rest[:end+1]
	closing := strings.Index(s.rest[len(tag):], tag)
	if closing < 0 {
		s.stop()
		return
	}
	s.literal(len(tag) + closing + len(tag))
}

// number replaces digits, a fraction, an exponent, and hexadecimal forms.
func (s *scanner) number() {
	end := 0
	for end < len(s.rest) {
		c := s.rest[end]
		signed := (c == '+' || c == '-') && end > 0 && (s.rest[end-1]|0x20) == 'e'
		if !wordByte(c) && c != '.' && !signed {
			break
		}
		end++
	}
	s.literal(end)
	s.inWord = true
}

func (s *scanner) stop() { s.stopped, s.space = true, true }

func lineEnd(text string) int {
	if end := strings.IndexAny(text, "\r\n"); end >= 0 {
		return end
	}
	return len(text)
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// wordByte is a byte of a name; every byte of a non-ASCII rune is.
func wordByte(c byte) bool {
	return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' || c >= utf8.RuneSelf
}
