package logsearch

import (
	"strings"
	"time"
)

// stamp is a time of day as found at the front of a line.
type stamp struct {
	time time.Time // zero: it has the shape of one and is none, as 2016-02-30 is
	rest string    // behind it
}

const dateTimeLength = len("2006-01-02T15:04:05")

// cutDateTime finds a date and time of ISO 8601 at the front of text, with a
// blank or a T between the two, a fraction behind a point or a comma, and a zone
// of RFC 3339 or none. Where there is none it is read in location.
func cutDateTime(text string, location *time.Location) (stamp, bool) {
	if !shapedAsDateTime(text) {
		return stamp{}, false
	}
	end := dateTimeLength + fractionLength(text[dateTimeLength:])
	zone := zoneLength(text[end:])
	clock := text[:10] + "T" + text[11:end]
	layout := "2006-01-02T15:04:05"
	if zone > 0 {
		clock += strings.ToUpper(text[end : end+zone])
		layout = time.RFC3339
	}
	parsed, err := time.ParseInLocation(layout, clock, location)
	if err != nil || !writable(parsed) {
		parsed = time.Time{}
	}
	return stamp{parsed.UTC(), text[end+zone:]}, true
}

func shapedAsDateTime(text string) bool {
	const shape = "dddd-dd-dd?dd:dd:dd"
	if len(text) < len(shape) {
		return false
	}
	for i := range len(shape) {
		c := text[i]
		switch shape[i] {
		case 'd':
			if c < '0' || c > '9' {
				return false
			}
		case '?':
			if c != ' ' && c != 'T' && c != 't' {
				return false
			}
		default:
			if c != shape[i] {
				return false
			}
		}
	}
	return true
}

// fractionLength is the length of a fraction of a second, its sign included.
func fractionLength(text string) int {
	if text == "" || text[0] != '.' && text[0] != ',' {
		return 0
	}
	n := 1
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	if n == 1 {
		return 0 // a full stop
	}
	return n
}

func zoneLength(text string) int {
	const offset = "+00:00"
	switch {
	case text == "":
		return 0
	case text[0] == 'Z' || text[0] == 'z':
		return 1
	case len(text) >= len(offset) && (text[0] == '+' || text[0] == '-') && text[3] == ':' &&
		digits(text[1:3]) && digits(text[4:6]):
		return len(offset)
	}
	return 0
}

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// writable reports whether RFC 3339 has a form for t in UTC.
func writable(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }

func locationOr(location *time.Location) *time.Location {
	if location == nil {
		return time.UTC
	}
	return location
}
