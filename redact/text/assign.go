package text

import (
	"regexp"
	"strings"

	"github.com/toolharness/harness/redact"
)

// Assignments and headers: a credential's name, a sign, a value. Names are those
// that members of JSON have, never a part of a name, which is why the generic
// rules of repository scanners are not used: they look for words like key and
// auth anywhere in a name, and for noise in the value.
//
//	DB_PASSWORD=…            password: …          "apiKey": "…"       (JSON that was cut)
//	?access_token=…&         secret => '…'        --client-secret …
//	Authorization: Bearer …  Cookie: a=…; b=…     \"token\":\"…\"
var (
	flag    = regexp.MustCompile(`--([a-z][a-z0-9-]*)[ \t]+[^\s-]`)
	opening = regexp.MustCompile(`^(?:[bruf]{1,2})?\\*["'\x60]`)
)

// Variables of the environment end with _TOKEN where names of members do not:
// nobody writes a page's token in capitals. The value must look like a token.
func isEnvironment(name string) bool {
	if name != strings.ToUpper(name) {
		return false
	}
	return strings.HasSuffix(name, "_TOKEN") || strings.HasSuffix(name, "_PAT") || strings.HasSuffix(name, "_ACCESS_KEY")
}

const (
	shortestToken = 16
	longestName   = 64
	widestGap     = 8   // blanks on either side of the sign
	judged        = 512 // bytes of a value that are looked at to tell whether it is one; longer ones are
)

// place is one assignment in a text.
type place struct {
	text       string
	name, sign string
	start      int // of the name
	value      int // where what is assigned begins
	end        int // of the line
	spaced     bool
}

func (r *Rules) assignments(text string) []redact.Span {
	var out []redact.Span
	covered, lineEnd := 0, 0
	add := func(a place) {
		if a.start < covered { // inside a value that is replaced anyway
			return
		}
		known := r.keys.Match(a.name)
		if !known && !isEnvironment(a.name) {
			return
		}
		if a.value >= lineEnd {
			lineEnd = len(text)
			if n := strings.IndexByte(text[a.value:], '\n'); n >= 0 {
				lineEnd = a.value + n
			}
		}
		a.end = lineEnd
		if s := a.span(); s.End > s.Start && (known || tokenLike(text[s.Start:s.End])) {
			out, covered = append(out, s), s.End
		}
	}
	for i := 0; i < len(text); i++ {
		if a, ok := around(text, i); ok {
			add(a)
		}
	}
	covered, lineEnd = 0, 0
	if strings.Contains(text, "--") {
		for _, m := range flag.FindAllStringSubmatchIndex(text, -1) {
			add(place{text: text, name: text[m[2]:m[3]], sign: "=", start: m[0], value: m[1] - 1})
		}
	}
	return out
}

// around reads the assignment whose sign begins at i: name, quote, blanks, sign,
// blanks.
func around(text string, i int) (place, bool) {
	if text[i] != '=' && text[i] != ':' {
		return place{}, false
	}
	sign := text[i : i+1]
	if next := text[i+1:]; strings.HasPrefix(next, "=") || sign == "=" && strings.HasPrefix(next, ">") {
		sign = text[i : i+2]
	}
	left := i
	for left > 0 && i-left < widestGap && (text[left-1] == ' ' || text[left-1] == '\t') {
		left--
	}
	spaced := left < i
	if left > 0 && text[left-1] == ']' {
		left--
	}
	if left > 0 && strings.IndexByte("\"'`", text[left-1]) >= 0 {
		left--
		for left > 0 && text[left-1] == '\\' {
			left--
		}
	}
	start := left
	for start > 0 && left-start < longestName && nameByte(text[start-1]) {
		start--
	}
	value := i + len(sign)
	for n := 0; n < widestGap && value < len(text) && (text[value] == ' ' || text[value] == '\t'); n++ {
		value++
		spaced = true
	}
	name := strings.TrimLeft(text[start:left], "-.")
	return place{text: text, name: name, sign: sign, start: left - len(name), value: value, spaced: spaced}, name != "" && sign != "=="
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// span is the value to be replaced, or nothing.
func (a place) span() redact.Span {
	if a.value >= a.end {
		return redact.Span{}
	}
	if quote := opening.FindString(a.text[a.value:min(a.end, a.value+judged)]); quote != "" {
		return a.quoted(quote)
	}
	switch strings.ToLower(strings.Map(dropHyphen, a.name)) {
	case "authorization", "proxyauthorization", "cookie", "setcookie":
		return a.header()
	}
	return a.bare()
}

func dropHyphen(c rune) rune {
	if c == '-' || c == '_' {
		return -1
	}
	return c
}

// before is what stands left of the name in its line, as far as that matters.
func (a place) before() string {
	b := a.text[max(0, a.start-judged):a.start]
	return b[strings.LastIndexByte(b, '\n')+1:]
}

// rest is the line from the value on.
func (a place) rest(from int) string { return strings.TrimSuffix(a.text[from:a.end], "\r") }

// quoted ends at the same quote, behind the same number of backslashes, or with
// the line.
func (a place) quoted(quote string) redact.Span {
	start := a.value + len(quote)
	quote = strings.TrimLeft(quote, "bruf")
	rest := a.rest(start)
	end := len(rest)
	for from := 0; ; {
		n := strings.Index(rest[from:], quote)
		if n < 0 {
			break
		}
		if n += from; n == 0 || rest[n-1] != '\\' || quote[0] == '\\' && !strings.HasSuffix(rest[:n], `\\`) {
			end = n
			break
		}
		from = n + 1
	}
	if end <= judged && stands(rest[:end]) {
		return redact.Span{}
	}
	return redact.Span{Start: start, End: start + end}
}

// header takes the rest of the line, or up to the quote that the header's name
// stands behind, as on a command line.
func (a place) header() redact.Span {
	rest := a.rest(a.value)
	if a.start > 0 && strings.IndexByte("\"'`", a.text[a.start-1]) >= 0 {
		if n := strings.IndexByte(rest, a.text[a.start-1]); n >= 0 {
			rest = rest[:n]
		}
	}
	rest = strings.TrimRight(rest, " \t")
	isCookie := strings.HasSuffix(strings.ToLower(a.name), "cookie")
	head := rest[:min(len(rest), judged)]
	if isCookie && !strings.Contains(head, "=") || !isCookie && !schemeFirst.MatchString(head) && !opaqueWord(head) {
		return redact.Span{}
	}
	return redact.Span{Start: a.value, End: a.value + len(rest)}
}

var schemeFirst = regexp.MustCompile(`^(?i:basic|bearer|digest|token|apikey|negotiate|ntlm|hawk|aws4-hmac-sha256)[ \t]+\S`)

func opaqueWord(rest string) bool {
	word, _, _ := strings.Cut(rest, " ")
	return opaque(word)
}

// bare values end where the notation around them ends. At the beginning of a line
// or of a quoted text a variable's value goes on to the next blank.
func (a place) bare() redact.Span {
	before := a.before()
	quote := strings.LastIndexAny(before, "\"'`")
	stops := " \t\r\n\"'`,;&<>)]}|"
	if head := strings.TrimPrefix(before[quote+1:], "export "); head == "" && a.sign == "=" {
		stops = " \t\r\n" + before[max(quote, 0):quote+1]
	}
	rest := a.rest(a.value)
	if n := len(template.FindString(rest[:min(len(rest), judged)])); n > 0 && (n == len(rest) || strings.IndexByte(stops, rest[n]) >= 0) {
		return redact.Span{}
	}
	end := 0
	for end < len(rest) {
		if strings.HasPrefix(rest[end:], redact.Replacement) {
			end += len(redact.Replacement)
			continue
		}
		if strings.IndexByte(stops, rest[end]) >= 0 {
			break
		}
		end++
	}
	if end <= judged && !a.isValue(rest[:end], rest[end:], strings.TrimSpace(before[quote+1:])) {
		return redact.Span{}
	}
	return redact.Span{Start: a.value, End: a.value + end}
}

// isValue tells a value from a word of a sentence or of a program: behind a tight
// equals sign, alone in its line, or not made like a word.
func (a place) isValue(value, after, indent string) bool {
	if value == "" || stands(value) || isCode(value) {
		return false
	}
	tight := a.sign == "=" && !a.spaced
	alone := strings.Trim(after, " \t\"'`") == "" && (indent == "" || indent == "-")
	return tight || alone || opaque(value)
}
