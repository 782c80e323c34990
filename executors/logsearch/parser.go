package logsearch

import (
	"strings"
	"time"
)

// Parser knows one format of log line. It is asked about every line, without its
// line end, and must give the same answer for the same line. It must be safe for
// concurrent use.
type Parser interface {
	// ParseLine reads a line that begins a record. False means that the line
	// belongs to the record before it, as the lines of a stack trace do.
	ParseLine(line string) (Head, bool)
}

// Head is what the first line of a record says.
type Head struct {
	Time     time.Time // zero: the line has none that can be read; never fill one in
	Level    string    // as the log spells it; empty: none
	Service  string    // for log4j the logger
	Instance string
	ID       string // the log's own; empty: source and byte offset are used

	// Message is the part of the line that is left to read. Further lines of the
	// record are appended to it as they are.
	Message string
}

// PlainLines takes every line for a record of its own that has a message and
// nothing else. With it every search works that needs neither time nor level.
type PlainLines struct{}

// ParseLine never refuses a line.
func (PlainLines) ParseLine(line string) (Head, bool) { return Head{Message: line}, true }

// isLevelWord knows the words that loggers use, in capitals.
func isLevelWord(word string) bool {
	switch word {
	case "ALL", "TRACE", "FINEST", "FINER", "FINE", "DEBUG", "CONFIG", "INFO", "NOTICE", "WARN", "WARNING",
		"ERROR", "ERR", "SEVERE", "CRITICAL", "CRIT", "ALERT", "FATAL", "PANIC", "EMERG", "EMERGENCY":
		return true
	}
	return false
}

// leadingLevel takes a level from the front of text. A bare word counts in
// capitals only unless small is set, since a message may well begin with "error";
// in brackets any spelling counts.
func leadingLevel(text string, small bool) (level, rest string) {
	if inside, ok := strings.CutPrefix(text, "["); ok {
		if word, after, ok := strings.Cut(inside, "]"); ok && isLevelWord(strings.ToUpper(strings.TrimSpace(word))) {
			return strings.TrimSpace(word), trimOneBlank(after)
		}
		return "", text
	}
	end := 0
	for end < len(text) && ('A' <= text[end] && text[end] <= 'Z' || small && 'a' <= text[end] && text[end] <= 'z') {
		end++
	}
	if !isLevelWord(strings.ToUpper(text[:end])) {
		return "", text
	}
	rest = strings.TrimPrefix(text[end:], ":")
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", text // the word goes on: ERROR_COUNT
	}
	return text[:end], trimOneBlank(rest)
}

// trimOneBlank takes the separator away and leaves further blanks, which belong
// to the message.
func trimOneBlank(text string) string {
	if text != "" && (text[0] == ' ' || text[0] == '\t') {
		return text[1:]
	}
	return text
}
