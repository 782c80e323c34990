package soak

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/faults/report"
)

// seen is a run as a plain client reads it.
type seen struct {
	base    string
	ledger  map[string]string
	sets    map[string][]string // order, open, effects
	records map[string]map[string]string
	expires map[string]int64 // by key, ms; -1 for none, -2 for no key
}

// recordFields are read of each record: no body.
var recordFields = []string{"st", "cd", "xe", "ef", "rd", "ex", "rs", "ac"}

func read(ctx context.Context, client *redis.Client, base string) (*seen, error) {
	s := &seen{base: base, sets: map[string][]string{}, records: map[string]map[string]string{}, expires: map[string]int64{}}
	var err error
	if s.ledger, err = client.HGetAll(ctx, base+"run").Result(); err != nil {
		return nil, err
	}
	keys := []string{"run", "order", "open", "effects"}
	for _, set := range keys[1:] {
		if s.sets[set], err = client.ZRange(ctx, base+set, 0, -1).Result(); err != nil {
			return nil, err
		}
	}
	for field := range s.ledger {
		if name, guard := strings.CutPrefix(field, "c:"); guard {
			if err := s.readRecord(ctx, client, name); err != nil {
				return nil, err
			}
			keys = append(keys, "call:"+name)
		}
	}
	for _, key := range keys {
		at, err := client.Do(ctx, "pexpiretime", base+key).Int64()
		if err != nil {
			return nil, err
		}
		s.expires[key] = at
	}
	return s, nil
}

func (s *seen) readRecord(ctx context.Context, client *redis.Client, name string) error {
	values, err := client.HMGet(ctx, s.base+"call:"+name, recordFields...).Result()
	if err != nil {
		return err
	}
	fields, err := client.HKeys(ctx, s.base+"call:"+name).Result()
	if err != nil {
		return err
	}
	record := map[string]string{}
	for i, field := range recordFields {
		if text, ok := values[i].(string); ok {
			record[field] = text
		}
	}
	for _, field := range fields {
		if strings.Contains(field, ":") && !strings.Contains(" "+record["ac"]+" ", " "+field+" ") {
			record["unnamed"] = field
		}
	}
	s.records[name] = record
	return nil
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// wrong lists what does not fit in a run by itself, whoever made it.
func (s *seen) wrong() (bad []string) {
	guards, used, held := int64(len(s.records)), int64(0), int64(0)
	for field, value := range s.ledger {
		if strings.HasPrefix(field, "u:") {
			used += number(value)
		}
	}
	open := " " + strings.Join(s.sets["open"], " ") + " "
	for name, r := range s.records {
		held += number(r["rs"])
		listed := strings.Contains(open, " "+name+" ")
		switch state := r["st"]; {
		case state != "READY" && state != "ERROR" && state != "PROJECTING":
			bad = append(bad, name+": admitted, and its state is "+strconv.Quote(state))
		case listed != (state == "PROJECTING"):
			bad = append(bad, fmt.Sprintf("%s: is %s, listed as open: %t", name, state, listed))
		case state != "PROJECTING" && r["unnamed"] != "":
			bad = append(bad, name+": has a body that it does not name")
		case s.expires["call:"+name] != number(r["ex"]):
			bad = append(bad, fmt.Sprintf("%s: expires at %d, born to expire at %s", name, s.expires["call:"+name], r["ex"]))
		}
	}
	if n := number(s.ledger["sq"]); n != guards || used != guards || int64(len(s.sets["order"])) != guards {
		bad = append(bad, fmt.Sprintf("%d guards, sequence %d, %d in order, %d counted by tool", guards, n, len(s.sets["order"]), used))
	}
	if rs := number(s.ledger["rs"]); rs != held {
		bad = append(bad, fmt.Sprintf("%d bytes counted, %d held", rs, held))
	}
	for _, key := range []string{"run", "order", "open", "effects"} {
		if at := s.expires[key]; at != -2 && at != number(s.ledger["ex"]) {
			bad = append(bad, fmt.Sprintf("%s expires at %d, born to expire at %s", key, at, s.ledger["ex"]))
		}
	}
	return bad
}

// look reads a run that is wound up, and compares it with what its calls were
// told. Every second run is deleted afterwards.
func (l *lane) look(ctx context.Context, run *boundary.Run, calls []*call) error {
	s, err := read(ctx, l.outside, report.Base(run.Key()))
	if err != nil {
		return err
	}
	for _, text := range s.wrong() {
		l.found("%s: %s", run.ID(), text)
	}
	names := map[string]bool{}
	for _, c := range calls {
		names[c.name.String()] = true
		if text := c.against(s.records[c.name.String()]); text != "" {
			l.found("%s %s: %s", run.ID(), c.name, text)
		}
	}
	for name := range s.records {
		if !names[name] {
			l.found("%s: a record of no call: %s", run.ID(), name)
		}
	}
	l.mu.Lock()
	l.runs++
	remove := l.runs%2 == 0
	if len(s.sets["open"]) > 0 {
		l.open = append(l.open, run.Key())
	}
	l.mu.Unlock()
	if remove {
		return l.remove(ctx, run, calls)
	}
	return nil
}

// against compares a call with its record.
func (c *call) against(record map[string]string) string {
	entered, state := c.entries.Load(), record["st"]
	switch {
	case entered > 1:
		return fmt.Sprintf("entered %d times", entered)
	case c.told == "DUPLICATE_TOOL_CALL":
		return "a first call was told that it is a duplicate"
	case c.ran == "no" && entered != 0, c.ran == "yes" && entered != 1:
		return fmt.Sprintf("told ran %s, entered %d times", c.ran, entered)
	case entered == 1 && state == "":
		return "entered, and there is no record"
	case c.told == "READY" && state != "READY":
		return "told READY, and the record is " + state
	case state == "READY" && entered != 1:
		return "READY, and not entered"
	case state == "READY" && c.told != "READY" && !c.settled:
		return "READY, and told " + c.told
	case state == "READY" && record["rd"] != report.Digest(c.raw()):
		return "READY with other bytes than the tool returned"
	case record["xe"] == "not_started" && entered != 0:
		return "said to be not started, and entered"
	case c.settled && state != "READY" && record["xe"] != "unknown":
		return "settled, and the record is " + state
	}
	return ""
}

// remove deletes what may be deleted, on the connection with faults.
func (l *lane) remove(ctx context.Context, run *boundary.Run, calls []*call) error {
	for _, c := range calls {
		_ = l.store.Delete(ctx, run.Key(), c.name) // open, unresolved or not answered: it expires
	}
	s, err := read(ctx, l.outside, report.Base(run.Key()))
	if err != nil {
		return err
	}
	held := int64(0)
	for _, r := range s.records {
		held += max(number(r["rs"]), 0)
	}
	if rs := number(s.ledger["rs"]); rs != held {
		l.found("%s: after deleting %d bytes are counted, %d held", run.ID(), rs, held)
	}
	return nil
}
