package logsearch

import "time"

// RFC3339Lines reads lines that begin with a time of RFC 3339, as container
// runtimes and many services write them, and a level behind it where there is
// one:
//
//	2026-01-02T03:04:05.678Z WARN slow answer
//	2026-01-02T03:04:05+01:00 [error] upstream closed
//	2026-01-02 03:04:05 started                        without a zone: in Location
//
// The message is all that stands behind time and level.
type RFC3339Lines struct {
	Location *time.Location // for times without a zone; nil: UTC

	// SmallLevels says that a level may be written in small letters without
	// brackets. A message that begins with "error" or "info" then loses that word
	// to the level; without it, a log that writes "info" has no levels.
	SmallLevels bool
}

// ParseLine implements [Parser].
func (p RFC3339Lines) ParseLine(line string) (Head, bool) {
	at, ok := cutDateTime(line, locationOr(p.Location))
	if !ok || at.rest != "" && at.rest[0] != ' ' && at.rest[0] != '\t' {
		return Head{}, false
	}
	head := Head{Time: at.time}
	head.Level, head.Message = leadingLevel(trimOneBlank(at.rest), p.SmallLevels)
	return head, true
}
