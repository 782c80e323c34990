package redact

import (
	"errors"
	"fmt"
)

// Why a value was withheld. Match them with errors.Is; the [*Error] around them
// has the numbers.
var (
	ErrTooLarge = errors.New("more bytes than may be redacted")
	ErrTooDeep  = errors.New("nested deeper than may be looked into")
	ErrTooMany  = errors.New("more to replace than is allowed")
	ErrUnstable = errors.New("redacting again and again finds more")
	ErrPolicy   = errors.New("the host's policy failed")
	ErrRules    = errors.New("the rules failed")
	ErrNotJSON  = errors.New("the value has no JSON form")
	ErrConfig   = errors.New("the configuration contradicts itself")
)

// Error says why a value is withheld, in numbers and fixed words. Its text is
// safe to log and to show: it never has a part of the value, nor what a policy
// said, which may quote it.
type Error struct {
	Err    error  // one of the sentinels above
	Detail string // fixed words: "deadline", "panic", "not JSON any more", a field's name, ...
	Got    int64  // bytes, where they are known
	Limit  int64  // bytes, levels or replacements; 0 where the reason is no limit

	cause error
}

// Error has reason, detail and limit.
func (e *Error) Error() string {
	text := "redact: " + e.Err.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Limit > 0 && e.Got > 0 {
		return fmt.Sprintf("%s (%d, limit %d)", text, e.Got, e.Limit)
	}
	if e.Limit > 0 {
		return fmt.Sprintf("%s (limit %d)", text, e.Limit)
	}
	return text
}

// Unwrap gives the sentinel alone, so that printing a chain of errors shows
// nothing of the value.
func (e *Error) Unwrap() error { return e.Err }

// Cause is what a policy returned, or a context's end. It may quote the value: it
// is for the host, never for a log line or a model. Nil for limits.
func (e *Error) Cause() error { return e.cause }
