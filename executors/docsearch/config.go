package docsearch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Config is what a host says of a collection. Name is required.
type Config struct {
	Name    string // what model, results and facts call it; 1 to 64 bytes
	Version string // of what is in it, for results; at most 64 bytes; left out where empty

	// Path is the folder of the index: one that Build makes and that must not be
	// there yet, or one that Open reads. Empty: in memory, for Build alone.
	Path string

	// Fields are the names that documents may have and filters may use: 16 at most,
	// each 1 to 32 bytes of a-z 0-9 _.
	Fields []string

	Limits Limits
}

// Limits bound one search. A zero field takes the value its comment names; a
// negative one is an error.
type Limits struct {
	TopK            int   // hits where the model asks for no number; 6
	MaxTopK         int   // hits at most; 20
	SnippetBytes    int   // of the passage shown of one hit, marks included; 300
	MaxContentBytes int   // of the text of one hit that goes into the result; more is cut with a mark; 8 KiB
	MaxBytes        int64 // of the whole result; 256 KiB
	MaxQueryBytes   int   // 1024
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.TopK, 6)
	setDefault(&l.MaxTopK, max(20, l.TopK))
	setDefault(&l.SnippetBytes, 300)
	setDefault(&l.MaxContentBytes, 8<<10)
	setDefault(&l.MaxBytes, 256<<10)
	setDefault(&l.MaxQueryBytes, 1024)
	return l
}

func setDefault[N int | int64](field *N, value N) {
	if *field == 0 {
		*field = value
	}
}

// ConfigError names a field of a configuration and the rule that it breaks.
type ConfigError struct {
	Field  string
	Reason string
}

// Error has field and rule.
func (e *ConfigError) Error() string { return "docsearch: " + e.Field + ": " + e.Reason }

// Bounds of a configuration.
const (
	maxNameBytes  = 64
	maxFields     = 16
	maxFieldBytes = 32
	leastSnippet  = 64
	mostTopK      = 1000
	headMembers   = 4 << 10 // room for the members of a result that have a fixed length
	escapedGrowth = 6       // a byte of text becomes six at most in JSON: \u0001
	mostBytes     = 1 << 30
)

// check reports every bad field at once.
func (c Config) check(l Limits) error {
	var problems []error
	say := func(field, format string, args ...any) {
		problems = append(problems, &ConfigError{field, fmt.Sprintf(format, args...)})
	}
	if c.Name == "" || !printable(c.Name, maxNameBytes) {
		say("Name", "must be 1 to %d bytes of printable text", maxNameBytes)
	}
	if !printable(c.Version, maxNameBytes) {
		say("Version", "must be at most %d bytes of printable text", maxNameBytes)
	}
	if len(c.Fields) > maxFields {
		say("Fields", "%d, must be at most %d", len(c.Fields), maxFields)
	}
	for i, name := range c.Fields {
		if !isFieldName(name) || slices.Contains(c.Fields[:i], name) {
			say(fmt.Sprintf("Fields[%d]", i), "must be 1 to %d bytes of a-z 0-9 _, and not twice", maxFieldBytes)
		}
	}
	for _, n := range []struct {
		field                  string
		value, lowest, highest int64
	}{
		{"TopK", int64(l.TopK), 1, mostTopK}, {"MaxTopK", int64(l.MaxTopK), int64(l.TopK), mostTopK},
		{"SnippetBytes", int64(l.SnippetBytes), leastSnippet, MaxTextBytes}, {"MaxContentBytes", int64(l.MaxContentBytes), leastSnippet, MaxTextBytes},
		{"MaxQueryBytes", int64(l.MaxQueryBytes), 1, 1 << 16}, {"MaxBytes", l.MaxBytes, c.leastDocument(l), mostBytes},
	} {
		if n.value < n.lowest || n.value > n.highest {
			say("Limits."+n.field, "%d, must be %d to %d", n.value, n.lowest, n.highest)
		}
	}
	return errors.Join(problems...)
}

// leastDocument is room for everything around the hits and for one hit, so that
// no first hit is ever too large for a result.
func (c Config) leastDocument(l Limits) int64 {
	text := l.MaxQueryBytes + len(c.Fields)*(maxFieldBytes+MaxFieldValueBytes) + 2*MaxIDBytes + MaxTitleBytes + l.SnippetBytes + l.MaxContentBytes
	return int64(headMembers + escapedGrowth*max(text, 0))
}

func isFieldName(name string) bool {
	return name != "" && len(name) <= maxFieldBytes &&
		!strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

func printable(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
