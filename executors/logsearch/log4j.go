package logsearch

import (
	"strings"
	"time"
)

// Log4j reads what the usual patterns of log4j and Logback write:
//
//	[2016-12-19 20:39:48,918] WARN Error in fetch (kafka.server.ReplicaFetcherThread)     [%d] %p %m (%c)
//	2016-12-19 20:39:48,918 WARN  Error in fetch                                          %d %p %m
//	2016-12-19 20:39:48,918 [main] WARN o.a.Fetcher - Error in fetch                      %d [%t] %p %c - %m
//
// The message is all that stands behind the level; in the last form, where a
// thread stands before it, all behind the time. A logger in brackets at the end
// of the line becomes the service and stays in the message too.
type Log4j struct {
	// Location is where the clock stands whose times the log has; nil: UTC. An
	// hour that occurs twice in autumn is read as package time reads it.
	Location *time.Location
}

// ParseLine implements [Parser].
func (p Log4j) ParseLine(line string) (Head, bool) {
	inside, bracket := strings.CutPrefix(line, "[")
	at, ok := cutDateTime(inside, locationOr(p.Location))
	if !ok {
		return Head{}, false
	}
	rest := at.rest
	if bracket {
		if rest, ok = strings.CutPrefix(rest, "]"); !ok {
			return Head{}, false
		}
	}
	head := Head{Time: at.time, Message: trimOneBlank(rest)}
	if level, message := leadingLevel(head.Message, false); level != "" {
		head.Level, head.Message = level, message
	} else {
		head.Level = levelBehindThread(head.Message)
	}
	head.Service = trailingLogger(head.Message)
	return head, true
}

// levelBehindThread looks for a level behind a thread's name in brackets.
func levelBehindThread(text string) string {
	if !strings.HasPrefix(text, "[") {
		return ""
	}
	_, rest, ok := strings.Cut(text, "] ")
	if !ok {
		return ""
	}
	level, _ := leadingLevel(strings.TrimLeft(rest, " "), false)
	return level
}

// trailingLogger is the name in brackets that a line ends with, if it looks like
// a Java name.
func trailingLogger(text string) string {
	open := strings.LastIndexByte(text, '(')
	if open < 0 || !strings.HasSuffix(text, ")") {
		return ""
	}
	name := text[open+1 : len(text)-1]
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '$') {
			return ""
		}
	}
	return name
}
