package sqlread

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound one statement. A zero field takes the default that its line names; a negative one is an error.
type Limits struct {
	// Timeout is the longest that one statement may run, waiting for a connection included. 5 s.
	Timeout time.Duration
	// MaxRows is the number of rows that a [Table] holds at most. 200.
	MaxRows int
	// MaxBytes is the size of all values of a [Table], counted as [Table.Bytes] says. 256 KiB.
	MaxBytes int64
	// MaxValueBytes is the size of one text, blob or row inside the engine, so that no function can build a larger one. 1 MiB.
	MaxValueBytes int
	// MaxTempBytes is what sorts and temporary tables may write beyond the page cache, all statements of the database
	// that run at one time together. 32 MiB.
	MaxTempBytes int64
	// MaxStatementBytes is the length of a statement in UTF-8 bytes. 64 KiB, the request limit of the boundary. It bounds
	// the definitions of the tables too, which the engine reads as statements: a database with a longer one cannot be opened.
	MaxStatementBytes int
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Timeout, 5*time.Second)
	setDefault(&l.MaxRows, 200)
	setDefault(&l.MaxBytes, 256<<10)
	setDefault(&l.MaxValueBytes, 1<<20)
	setDefault(&l.MaxTempBytes, 32<<20)
	setDefault(&l.MaxStatementBytes, 64<<10)
	return l
}

func setDefault[N int | int64 | time.Duration](field *N, value N) {
	if *field == 0 {
		*field = value
	}
}

// check reports every bad field at once. The upper ends are the engine's own: beyond them it would silently take less.
func (l Limits) check() error {
	return errors.Join(
		inRange("Timeout", int64(l.Timeout), int64(time.Hour)),
		inRange("MaxRows", int64(l.MaxRows), 1<<20),
		inRange("MaxBytes", l.MaxBytes, 1<<30),
		inRange("MaxValueBytes", int64(l.MaxValueBytes), 1_000_000_000),
		inRange("MaxTempBytes", l.MaxTempBytes, 1<<30),
		inRange("MaxStatementBytes", int64(l.MaxStatementBytes), 1<<20),
	)
}

func inRange(field string, value, highest int64) error {
	if value >= 1 && value <= highest {
		return nil
	}
	return fmt.Errorf("sqlread: limit %s is %d, must be 1 to %d", field, value, highest)
}
