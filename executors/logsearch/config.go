package logsearch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Config is what a host says of a log. Everything but Sources may be left out.
type Config struct {
	Sources []Source // at least one; searched in this order
	Limits  Limits
}

// Limits bound one search. A zero field takes the value its comment names; a
// negative one is an error.
type Limits struct {
	PageRecords     int   // records returned where the model asks for no number; 100
	MaxPageRecords  int   // records returned at most; 1000
	MaxBytes        int64 // of the whole result; 256 KiB
	MaxMessageBytes int   // of one message in the result; longer ones are cut and say so; 8 KiB
	MaxRecordBytes  int   // of one record that are looked at; 1 MiB
	MaxScanBytes    int64 // read in one search; 64 MiB
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.PageRecords, 100)
	setDefault(&l.MaxPageRecords, max(1000, l.PageRecords))
	setDefault(&l.MaxBytes, 256<<10)
	setDefault(&l.MaxMessageBytes, 8<<10)
	setDefault(&l.MaxRecordBytes, 1<<20)
	setDefault(&l.MaxScanBytes, 64<<20)
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

	cause error
}

// Error has field and rule.
func (e *ConfigError) Error() string { return "logsearch: " + e.Field + ": " + e.Reason }

// Unwrap gives the error of the file system, or nil.
func (e *ConfigError) Unwrap() error { return e.cause }

// Bounds of a configuration.
const (
	maxSources     = 256
	maxNameBytes   = 200
	minMessage     = 64
	headMembers    = 4 << 10 // room for the members of a result that have a fixed length
	escapedGrowth  = 6       // a byte of text becomes six at most in JSON: \u0001
	shortFieldRoom = 4       // level, service, instance and id of one record
)

// check reports every bad field at once.
func (c Config) check(l Limits) error {
	var problems []error
	say := func(field, format string, args ...any) {
		problems = append(problems, &ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)})
	}
	if len(c.Sources) == 0 || len(c.Sources) > maxSources {
		say("Sources", "%d, must be 1 to %d", len(c.Sources), maxSources)
	}
	names, namesBytes := map[string]bool{}, 0
	for i, s := range c.Sources {
		field := fmt.Sprintf("Sources[%d]", i)
		switch {
		case !printable(s.Name, maxNameBytes):
			say(field+".Name", "must be 1 to %d bytes of printable text", maxNameBytes)
		case names[s.Name]:
			say(field+".Name", "%q is used twice", s.Name)
		case s.Parser == nil:
			say(field+".Parser", "is missing")
		case s.Open == nil:
			say(field+".Open", "is missing")
		}
		names[s.Name] = true
		namesBytes += len(s.Name)
	}
	for _, n := range []struct {
		field         string
		value, lowest int64
	}{
		{"PageRecords", int64(l.PageRecords), 1}, {"MaxPageRecords", int64(l.MaxPageRecords), int64(l.PageRecords)},
		{"MaxMessageBytes", int64(l.MaxMessageBytes), minMessage}, {"MaxRecordBytes", int64(l.MaxRecordBytes), int64(l.MaxMessageBytes)},
		{"MaxScanBytes", l.MaxScanBytes, int64(l.MaxRecordBytes)}, {"MaxBytes", l.MaxBytes, leastDocument(l, namesBytes)},
	} {
		if n.value < n.lowest {
			say("Limits."+n.field, "%d, must be at least %d", n.value, n.lowest)
		}
	}
	return errors.Join(problems...)
}

// leastDocument is room for everything around the records and for one record, so
// that no first record is ever too large for a result.
func leastDocument(l Limits, namesBytes int) int64 {
	text := namesBytes + maxTextBytes + maxLevels*maxLevelBytes + max(l.MaxMessageBytes, minMessage) + shortFieldRoom*maxShortField
	return int64(headMembers + escapedGrowth*text)
}

func printable(text string, most int) bool {
	return text != "" && len(text) <= most && utf8.ValidString(text) && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

func sourceNames(sources []Source) []string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
	}
	return slices.Clip(names)
}
