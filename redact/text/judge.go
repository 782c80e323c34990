package text

import (
	"regexp"
	"strings"
)

// template stands for a value that is put in later: ${X}, $X, $(X), {{x}}, {x},
// <x>, %x%.
var (
	template  = regexp.MustCompile(`^(?:` + oneTemplate + `)`)
	templates = regexp.MustCompile(`^(?:` + oneTemplate + `)+$`)
)

const oneTemplate = `\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*|\{\{[^}]*\}\}|\{[A-Za-z_][\w.]*\}|<[^>]*>|%[A-Za-z_]\w*%`

// placeholders are words that documentation puts where a value belongs, and what
// programs say when there is none.
var placeholders = regexp.MustCompile(`(?i)^(?:(?:my|your|the|user|db)?[_-]?(?:password|passwd|api[_-]?key|token|secret)|(?:your|replace|insert|enter)[_-].*|` +
	`changeme|redacted|required|optional|string|str|text|bytes?|int|bool|boolean|any|none|null|nil|undefined|true|false|` +
	`invalid|missing|expired|unknown|hidden|empty|incorrect|wrong|not|is|was|and|or)$`)

// stands reports whether a value only stands for one: a template, a placeholder,
// or one letter repeated, as in xxxx and ****.
func stands(value string) bool {
	value = strings.TrimRight(value, ".,:!?")
	return value == "" || templates.MatchString(value) || placeholders.MatchString(value) || strings.Trim(value, value[:1]) == ""
}

// code is an expression where a value would be: a call, an index, a field.
var code = regexp.MustCompile(`^[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*(?:\.[A-Za-z_]\w*|[(\[].*)$`)

func isCode(value string) bool { return code.MatchString(value) }

// opaque tells a value from a word: it has a digit, a sign that words do not
// have, or a capital behind a small letter.
func opaque(value string) bool {
	small := false
	for _, c := range value {
		switch {
		case c >= '0' && c <= '9', strings.ContainsRune("=+@#$%^&*!~", c):
			return true
		case c >= 'a' && c <= 'z':
			small = true
		case c >= 'A' && c <= 'Z' && small:
			return true
		}
	}
	return false
}

func tokenLike(value string) bool {
	return len(value) >= shortestToken && strings.ContainsAny(value, "0123456789") &&
		strings.ContainsFunc(value, func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' })
}
