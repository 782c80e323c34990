package checker

import (
	"bytes"
	"context"
	"fmt"
	"sort"
)

// Checker recounts one report. It is for one goroutine.
type Checker struct {
	report  tail
	file    tail
	entries map[string]int // lines of the file by base and name
	judged  map[string]int // entries of a call when it was judged
	result  Result
	pending []line // read and not yet audited
}

// New recounts the report and the file of entries at these paths. Neither need
// exist yet.
func New(report, entries string) *Checker {
	return &Checker{
		report: tail{path: report}, file: tail{path: entries},
		entries: map[string]int{}, judged: map[string]int{},
		result: Result{rows: map[[2]string]*Row{}, places: map[place]*placed{}},
	}
}

// Audit judges what was written since the last audit against the contents of
// the server at addr. The error says that something could not be read; what is
// wrong with what was read is in the Result.
func (c *Checker) Audit(ctx context.Context, addr string) error {
	if err := c.read(); err != nil {
		return err
	}
	held, err := readContents(ctx, addr)
	if err != nil {
		return fmt.Errorf("the contents of the server: %w", err)
	}
	c.judgePending(held)
	return nil
}

// Finish answers the result. Everything that was written must have been audited.
func (c *Checker) Finish() (*Result, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	for _, l := range c.pending {
		if l.Base != "" {
			c.result.wrong(l.at(), fmt.Sprintf("%s%s: no audit covers this call", l.Base, l.Call))
		}
	}
	c.judgePending(&contents{runs: map[string]*run{}})
	for _, t := range []*tail{&c.report, &c.file} {
		left, err := t.rest()
		if err != nil {
			return nil, err
		}
		if left != 0 {
			c.result.general(fmt.Sprintf("the last line of %s has no end", t.path))
		}
	}
	for _, key := range sorted(c.entries) {
		switch before, known := c.judged[key]; {
		case !known:
			c.result.general("an entry belongs to no call of the report: " + key)
		case before != c.entries[key]:
			c.result.general(fmt.Sprintf("%s was entered %d times, and %d when it was judged", key, c.entries[key], before))
		}
	}
	if c.result.calls == 0 {
		c.result.general("the report has no call")
	}
	return &c.result, nil
}

// read takes over what was added to both files. The report comes first, since a
// tool writes its entry before its runner writes the line.
func (c *Checker) read() error {
	err := c.report.next(func(number int, text []byte) error {
		l, err := parse(number, text)
		if err != nil {
			return err
		}
		switch l.Kind {
		case "plan":
			c.result.place(l.at()).asked += l.Asked
		case "not tested":
			c.result.place(l.at()).reason = l.Reason
		default:
			c.pending = append(c.pending, l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.file.next(func(_ int, text []byte) error {
		base, name, ok := bytes.Cut(text, []byte(" "))
		if !ok {
			return fmt.Errorf("the file of entries has a line that is none")
		}
		c.entries[key(string(base), string(name))]++
		return nil
	})
}

func key(base, name string) string { return base + " " + name }

// judgePending judges the calls that wait, and the runs that the server holds.
func (c *Checker) judgePending(held *contents) {
	first := map[string]place{}
	gone := map[string]map[string]bool{}
	for _, l := range c.pending {
		r := held.runs[l.Base]
		if r == nil {
			r = &run{}
		}
		e := evidence{line: l, entered: c.entries[key(l.Base, l.Call)], run: r, record: r.records[l.Call]}
		if l.Call != "" {
			if _, twice := c.judged[key(l.Base, l.Call)]; twice {
				c.result.wrong(l.at(), key(l.Base, l.Call)+" has two lines in the report")
			}
			c.judged[key(l.Base, l.Call)] = e.entered
		}
		c.result.count(e, judge(e))
		if _, there := first[l.Base]; !there {
			first[l.Base], gone[l.Base] = l.at(), map[string]bool{}
		}
		if l.Gone != "" {
			gone[l.Base][l.Gone] = true
		}
	}
	c.pending = nil
	for _, base := range sorted(held.runs) {
		c.judgeRun(held.runs[base], base, first, gone[base])
	}
	for _, base := range sorted(held.quotas) {
		for _, text := range held.quotas[base].miscounted() {
			c.result.general(base + "quota: " + text)
		}
	}
	for _, key := range held.endless {
		c.result.general(key + " has no expiry")
	}
	for _, key := range held.strange {
		c.result.general("the server has a key of nobody: " + key)
	}
}

func (c *Checker) judgeRun(r *run, base string, first map[string]place, gone map[string]bool) {
	at, known := first[base]
	if !known {
		c.result.general("the server has a run of no line: " + base)
	}
	for _, text := range r.withoutTTL() {
		c.result.withoutTTL(at, known, base+text)
	}
	for _, text := range r.miscounted(gone) {
		c.result.wrong(at, base+": "+text)
	}
	for name := range r.records {
		if _, judged := c.judged[key(base, name)]; known && !judged {
			c.result.wrong(at, base+": a record of no line: "+name)
		}
	}
	if len(r.foreign) > 0 && !gone["foreign"] {
		c.result.wrong(at, fmt.Sprintf("%s: keys of a foreign type: %q", base, r.foreign))
	}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
