package sqltool

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Checker decides whether a statement may run. It is asked in preflight, so it
// must not wait for anything, and again right before the statement is sent. It
// gets the text as it is sent, and must be safe for concurrent use.
//
// A checker decides what is permitted. What is merely wrong is better left to the
// database, whose failure has a code of its own. The text of its error stays with
// the host.
type Checker interface {
	CheckStatement(statement string) error
}

// CheckerFunc lets a function be a [Checker].
type CheckerFunc func(statement string) error

// CheckStatement calls f.
func (f CheckerFunc) CheckStatement(statement string) error { return f(statement) }

// Unchecked permits everything: the guard is the account and the read-only
// transaction. It has to be written out.
type Unchecked struct{}

// CheckStatement refuses nothing.
func (Unchecked) CheckStatement(string) error { return nil }

// Config is what a host says of a database. DB, Name and Checker are required.
type Config struct {
	DB      *sql.DB // opened by the host and closed by it
	Name    string  // what model, results and facts call it; 1 to 64 bytes, no host and no user
	Dialect string  // told to the model: "PostgreSQL 17, placeholders $1, $2"; at most 200 bytes
	Checker Checker

	// AllowSemicolons permits semicolons inside a statement. Set it only where
	// Checker or driver refuse a second statement by themselves.
	AllowSemicolons bool

	// Classify reads the errors of a driver that has no SQLState method, or reads
	// them better; an empty Fault leaves the answer to this package. Optional.
	Classify func(error) Fault

	Limits Limits
	Now    func() time.Time // for the time of reading that a result has; nil: time.Now
}

// Limits bound one statement. A zero field takes the value its comment names; a
// negative one is an error.
type Limits struct {
	Timeout           time.Duration // waiting for a connection included; 30 s
	MaxRows           int           // 200
	MaxBytes          int64         // of the whole result; 256 KiB
	MaxStatementBytes int           // 32 KiB
	MaxParameters     int           // 100
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Timeout, 30*time.Second)
	setDefault(&l.MaxRows, 200)
	setDefault(&l.MaxBytes, 256<<10)
	setDefault(&l.MaxStatementBytes, 32<<10)
	setDefault(&l.MaxParameters, 100)
	return l
}

func setDefault[N int | int64 | time.Duration](field *N, value N) {
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
func (e *ConfigError) Error() string { return "sqltool: " + e.Field + ": " + e.Reason }

const (
	maxNameBytes    = 64
	maxDialectBytes = 200
	leastBytes      = 1 << 10 // of a result; its frame and one small row
)

// check reports every bad field at once.
func (c Config) check(l Limits) error {
	var problems []error
	say := func(field, format string, args ...any) {
		problems = append(problems, &ConfigError{field, fmt.Sprintf(format, args...)})
	}
	if c.DB == nil {
		say("DB", "is missing")
	}
	if c.Name == "" || !printable(c.Name, maxNameBytes) {
		say("Name", "must be 1 to %d bytes of printable text", maxNameBytes)
	}
	if !printable(c.Dialect, maxDialectBytes) {
		say("Dialect", "must be at most %d bytes of printable text", maxDialectBytes)
	}
	if c.Checker == nil {
		say("Checker", "is missing; write Unchecked{} where account and transaction are the guard")
	}
	for _, n := range []struct {
		field         string
		value, lowest int64
	}{
		{"Timeout", int64(l.Timeout), int64(time.Millisecond)}, {"MaxRows", int64(l.MaxRows), 1}, {"MaxBytes", l.MaxBytes, leastBytes},
		{"MaxStatementBytes", int64(l.MaxStatementBytes), 1}, {"MaxParameters", int64(l.MaxParameters), 1},
	} {
		if n.value < n.lowest {
			say("Limits."+n.field, "%d, must be at least %d", n.value, n.lowest)
		}
	}
	return errors.Join(problems...)
}

func printable(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
