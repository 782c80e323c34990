package logsearch

import (
	"encoding/json"
	"io"
	"math/big"
	"strings"
	"time"
)

// JSONLines reads logs of one JSON object a line, as slog, zap, zerolog, pino and
// logstash write them. Each field lists names of members, the first that a line
// has counts; a nil list means the names in its comment.
//
// The message is the text of its member. What other members a line has follows
// it as a JSON object, in their order and with their digits, so that nothing is
// lost. A line that is no JSON object belongs to the record before it.
type JSONLines struct {
	Time     []string // time, timestamp, @timestamp, ts, t
	Level    []string // level, severity, lvl, log.level
	Message  []string // msg, message
	Service  []string // service, logger, component
	Instance []string // instance, host, hostname, pod
	ID       []string // id, log_id

	// Epoch is the unit of a time that is a number: time.Second for zap,
	// time.Millisecond for pino. Zero: such a number is no time, since nothing in
	// it says which unit it has.
	Epoch time.Duration

	Location *time.Location // for times without a zone; nil: UTC
}

// jsonField is a role that a member can have.
type jsonField int

const (
	fieldOther jsonField = iota
	fieldTime
	fieldLevel
	fieldMessage
	fieldService
	fieldInstance
	fieldID
	fields
)

// rank tells which role name has and how early it stands in its list.
func (p JSONLines) rank(name string) (jsonField, int) {
	for _, role := range []struct {
		field           jsonField
		names, standard []string
	}{
		{fieldTime, p.Time, []string{"time", "timestamp", "@timestamp", "ts", "t"}},
		{fieldLevel, p.Level, []string{"level", "severity", "lvl", "log.level"}},
		{fieldMessage, p.Message, []string{"msg", "message"}},
		{fieldService, p.Service, []string{"service", "logger", "component"}},
		{fieldInstance, p.Instance, []string{"instance", "host", "hostname", "pod"}},
		{fieldID, p.ID, []string{"id", "log_id"}},
	} {
		names := role.names
		if names == nil {
			names = role.standard
		}
		for i, n := range names {
			if n == name {
				return role.field, i
			}
		}
	}
	return fieldOther, 0
}

// member is one member of a line.
type member struct {
	name  string
	value json.RawMessage
	field jsonField
	rank  int
}

// ParseLine implements [Parser].
func (p JSONLines) ParseLine(line string) (Head, bool) {
	members, ok := p.members(line)
	if !ok {
		return Head{}, false
	}
	var best [fields]*member
	for i := range members {
		m := &members[i]
		if m.field == fieldOther || best[m.field] != nil && best[m.field].rank <= m.rank || !p.usable(*m) {
			continue
		}
		best[m.field] = m
	}
	text := func(f jsonField) string {
		if best[f] == nil {
			return ""
		}
		return scalarText(best[f].value)
	}
	head := Head{Level: text(fieldLevel), Service: text(fieldService), Instance: text(fieldInstance), ID: text(fieldID)}
	if best[fieldTime] != nil {
		head.Time, _ = p.time(best[fieldTime].value)
	}
	head.Message = withRest(text(fieldMessage), members, best[:])
	return head, true
}

// members reads one JSON object that is the whole line.
func (p JSONLines) members(line string) ([]member, bool) {
	if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "{") {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(line))
	if _, err := dec.Token(); err != nil { // the brace
		return nil, false
	}
	var list []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		m := member{name: name.(string)} // an object has no other keys
		if dec.Decode(&m.value) != nil {
			return nil, false
		}
		m.field, m.rank = p.rank(m.name)
		list = append(list, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	_, err := dec.Token()
	return list, err == io.EOF
}

// usable reports whether a member can be what its name says; one that cannot
// stays with the rest.
func (p JSONLines) usable(m member) bool {
	if m.field == fieldTime {
		_, ok := p.time(m.value)
		return ok
	}
	return m.value[0] == '"' || m.field != fieldMessage && m.value[0] != '{' && m.value[0] != '[' && m.value[0] != 'n'
}

func (p JSONLines) time(value json.RawMessage) (time.Time, bool) {
	if value[0] != '"' {
		return epochTime(string(value), p.Epoch)
	}
	at, ok := cutDateTime(scalarText(value), locationOr(p.Location))
	return at.time, ok && at.rest == "" && !at.time.IsZero()
}

// epochTime reads a number of units since 1970 without passing through a float.
func epochTime(number string, unit time.Duration) (time.Time, bool) {
	const longest = 40 // digits; with an exponent any number is shorter, and costs more than it is worth
	if unit <= 0 || len(number) > longest || strings.ContainsAny(number, "eE") {
		return time.Time{}, false
	}
	count, ok := new(big.Rat).SetString(number)
	if !ok {
		return time.Time{}, false
	}
	nanoseconds := count.Mul(count, new(big.Rat).SetInt64(int64(unit)))
	whole := new(big.Int).Div(nanoseconds.Num(), nanoseconds.Denom())
	second, rest := new(big.Int).DivMod(whole, big.NewInt(int64(time.Second)), new(big.Int))
	if !second.IsInt64() {
		return time.Time{}, false
	}
	t := time.Unix(second.Int64(), rest.Int64()).UTC()
	return t, second.BitLen() < 40 && writable(t) && !t.IsZero()
}

// scalarText is a string's text, and anything else as it is spelled.
func scalarText(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// withRest appends the members that have no place of their own.
func withRest(message string, members []member, used []*member) string {
	var rest strings.Builder
	for i := range members {
		m := &members[i]
		if m.field != fieldOther && used[m.field] == m {
			continue
		}
		if rest.Len() > 0 {
			rest.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // a string always has a form
		rest.Write(name)
		rest.WriteByte(':')
		rest.Write(m.value)
	}
	switch {
	case rest.Len() == 0:
		return message
	case message == "":
		return "{" + rest.String() + "}"
	}
	return message + " {" + rest.String() + "}"
}
