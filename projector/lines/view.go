package lines

import (
	"errors"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// detail is how much of a document is shown.
type detail struct {
	patterns, groups int
	text             int // bytes of a message, pattern or name
}

// less is the next smaller detail.
func (d detail) less() detail { return detail{d.patterns / 2, d.groups / 2, d.text / 2} }

// smallestText ends the search for a detail that leaves room for a record.
const smallestText = 16

// view makes what the model reads. Where not even one record fits, everything is
// shown shorter before records are given up.
func (p logLines) view(d *document, c evidence.Coverage, maxBytes int) ([]byte, error) {
	for much := (detail{p.options.Patterns, p.options.Groups, p.options.MessageBytes}); ; much = much.less() {
		list := p.list(d, c, maxBytes, much)
		err := list.Err()
		last := much.text/2 < smallestText
		if err == nil && (list.Returned() > 0 || d.tally.all.count == 0 || last) {
			return list.JSON(), nil
		}
		if e, ok := errors.AsType[*projector.Error](err); err != nil && (last || !ok || e.Kind != projector.TooLarge) {
			return nil, err
		}
	}
}

// shownWindow is the window as the model sees it.
type shownWindow struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// shownRecord is a record as the model sees it; what the log does not have is
// left out.
type shownRecord struct {
	Time     string `json:"time,omitempty"`
	Level    string `json:"level,omitempty"`
	Service  string `json:"service,omitempty"`
	Instance string `json:"instance,omitempty"`
	ID       string `json:"id,omitempty"`
	Message  string `json:"message"`
}

func (p logLines) list(d *document, c evidence.Coverage, maxBytes int, much detail) *projector.List {
	list := projector.NewNamedList("samples", maxBytes)
	setSearch(list, d, much)
	setSources(list, d, much)
	all := d.tally.all
	list.Set("record_count", all.count)
	list.Set("record_count_is", d.accuracy())
	list.Set("end_reached", d.complete())
	if all.count == 0 {
		list.Set("nothing_found", c.Sentence(evidence.MaxFactValue))
		return list
	}
	if d.cursor != "" && !d.complete() {
		list.Set("cursor", evidence.Line(d.cursor, evidence.MaxFactValue)) // cut, it is of no use, and marked
	}
	if !all.first.IsZero() {
		list.Set("first", shownTime(all.first))
		list.Set("last", shownTime(all.last))
	}
	setPositive(list, "without_time", d.tally.withoutTime)
	setPositive(list, "outside_window", d.outside())
	setGroups(list, d, much)
	for _, r := range d.samples {
		list.Add(showRecord(r, much.text))
	}
	list.Omit(all.count - int64(len(d.samples)))
	return list
}

// setSearch says what was searched and how.
func setSearch(list *projector.List, d *document, much detail) {
	if d.mock {
		list.Set("mock", true)
	}
	if d.window != nil {
		list.Set("window", shownWindow{shownTime(d.window.From), shownTime(d.window.To)})
	}
	list.Set("query", bounds.Clip(d.query, much.text))
	if d.queryIsDefault {
		list.Set("query_is_default", true)
	}
	if d.order != "" {
		list.Set("order", string(d.order))
	}
}

// setSources names places that were searched and counts those that failed; the
// coverage has more of both.
func setSources(list *projector.List, d *document, much detail) {
	shown := d.sources[:min(len(d.sources), max(much.groups, 1))]
	names := make([]string, len(shown))
	for i, source := range shown {
		names[i] = bounds.Clip(source, much.text)
	}
	list.Set("sources", names)
	setPositive(list, "sources_of_others", int64(len(d.sources)-len(shown)))
	setPositive(list, "sources_failed", int64(len(d.failed)))
}

func setPositive(list *projector.List, name string, n int64) {
	if n > 0 {
		list.Set(name, n)
	}
}

// setGroups writes the counts. What a kind has more than is shown is counted by
// records, so that its counts add up to all of them.
func setGroups(list *projector.List, d *document, much detail) {
	cut := len(d.sources) > max(much.groups, 1)
	for _, kind := range []struct {
		name   string
		groups *groups
		most   int
		show   func(*group, int) any
	}{
		{"levels", &d.tally.levels, much.groups, showLevel},
		{"services", &d.tally.services, much.groups, showService},
		{"patterns", &d.tally.patterns, much.patterns, showPattern},
	} {
		shown, others := kind.groups.top(kind.most)
		if len(kind.groups.list) == 1 && kind.groups.list[0].name == "" {
			continue // no record has any
		}
		values := make([]any, len(shown))
		for i, g := range shown {
			values[i] = kind.show(g, much.text)
		}
		list.Set(kind.name, values)
		if others > 0 {
			list.Set(kind.name+"_of_others", others)
			cut = true
		}
	}
	if cut {
		list.Set("truncated", true)
	}
}

// orNil keeps records without a level apart from a level that is called none.
func orNil(name string, limit int) any {
	if name == "" {
		return nil
	}
	return bounds.Clip(name, limit)
}

type shownLevel struct {
	Level any   `json:"level"`
	Count int64 `json:"count"`
}

func showLevel(g *group, limit int) any { return shownLevel{orNil(g.name, limit), g.count} }

type shownService struct {
	Service any   `json:"service"`
	Count   int64 `json:"count"`
}

func showService(g *group, limit int) any { return shownService{orNil(g.name, limit), g.count} }

type shownPattern struct {
	Pattern string `json:"pattern"`
	Count   int64  `json:"count"`
	First   string `json:"first,omitempty"`
	Last    string `json:"last,omitempty"`
	Sample  string `json:"sample_id,omitempty"`
}

func showPattern(g *group, limit int) any {
	shown := shownPattern{Pattern: evidence.Line(g.name, limit), Count: g.count, Sample: bounds.Clip(g.sample, limit)}
	if !g.first.IsZero() {
		shown.First, shown.Last = shownTime(g.first), shownTime(g.last)
	}
	return shown
}

func showRecord(r Record, limit int) shownRecord {
	shown := shownRecord{
		Level: bounds.Clip(r.Level, limit), Service: bounds.Clip(r.Service, limit), Instance: bounds.Clip(r.Instance, limit),
		ID: bounds.Clip(r.ID, limit), Message: bounds.Clip(r.Message, limit),
	}
	if !r.Time.IsZero() {
		shown.Time = shownTime(r.Time)
	}
	return shown
}
