package logsearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/toolharness/harness/projector/lines"
)

// scan is one search under way.
type scan struct {
	*Search
	plan     plan
	out      *lines.Writer
	read     int64 // bytes of finished sources
	returned int
	failed   []lines.Failure
	causes   []error
	stopped  bool  // before the end
	next     place // where to go on: at the record that had no room, or behind the last source read
}

// run goes through the sources until the page is full or all are read.
func (sc *scan) run(ctx context.Context) error {
	at := sc.plan.start
	for ; at.source < len(sc.plan.sources) && !sc.stopped; at = (place{source: at.source + 1}) {
		if err := sc.source(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// source reads one source from a place on. What goes wrong with the source is
// noted and does not end the search; a stale cursor does.
func (sc *scan) source(ctx context.Context, at place) error {
	from := sc.plan.sources[at.source]
	in, before, err := from.openAt(ctx, at)
	switch {
	case errors.Is(err, errStale):
		return ErrStaleCursor
	case err != nil:
		return sc.fail(ctx, from, "could not be opened", err)
	}
	defer in.Close() // nothing was written to it
	// Twice the limit, since the search ends at it with a whole record if it can.
	bounded := &boundedReader{ctx, in, 2*sc.limits.MaxScanBytes - sc.read}
	records := newRecordReader(bounded, from.Parser, at, before, sc.limits.MaxRecordBytes)
	defer func() { sc.read += records.consumed() }()
	for {
		rec, err := records.read()
		switch {
		case errors.Is(err, io.EOF):
			return sc.finish(ctx, at.source, records)
		case errors.Is(err, errOverlong):
			return sc.leave(ctx, at.source)
		case err != nil:
			return sc.fail(ctx, from, "could not be read to its end", err)
		}
		if err := sc.record(at.source, &rec); err != nil || sc.stopped {
			return err
		}
		if sc.read+records.consumed() > sc.limits.MaxScanBytes {
			sc.stopped, sc.next = true, records.ahead(at.source)
			return nil
		}
	}
}

// leave gives a source up in the midst of a record that does not end, and with it
// the search; a cursor can only lead to the next source.
func (sc *scan) leave(ctx context.Context, source int) error {
	if next := source + 1; next < len(sc.plan.sources) {
		sc.stopped, sc.next = true, place{source: next}
	}
	return sc.fail(ctx, sc.plan.sources[source], "a record of it is longer than one search may read", nil)
}

// finish looks back at a source that was read to its end.
func (sc *scan) finish(ctx context.Context, source int, records *recordReader) error {
	sc.next = records.end(source)
	if !records.knows && records.lines.start == 0 && records.lines.offset > 0 {
		return sc.fail(ctx, sc.plan.sources[source], "not one line of it has the expected format", nil)
	}
	return nil
}

// record writes one record, if it is looked for.
func (sc *scan) record(source int, rec *record) error {
	if rec.cut {
		name := sc.plan.sources[source].Name
		sc.note(name, fmt.Sprintf("a record is over %d bytes and was looked at up to there", sc.limits.MaxRecordBytes), nil)
	}
	if !sc.plan.matches(rec) {
		return nil
	}
	more, err := sc.out.Add(sc.line(source, rec))
	switch {
	case err != nil:
		return err
	case !more:
		sc.stopped, sc.next = true, rec.place(source)
	default:
		sc.returned++
	}
	return nil
}

// line is a record as it stands in the result.
func (sc *scan) line(source int, rec *record) lines.Record {
	from := sc.plan.sources[source]
	line := lines.Record{
		Time: rec.Time, Level: rec.Level, Service: rec.Service, Instance: rec.Instance, ID: rec.ID,
		Message: clipped(rec.message(), sc.limits.MaxMessageBytes),
	}
	for _, d := range []struct {
		field    *string
		standard string
	}{
		{&line.Service, from.Service}, {&line.Instance, from.Instance}, {&line.ID, from.Name + "@" + strconv.FormatInt(rec.offset, 10)}, {&line.Level, ""},
	} {
		if *d.field == "" {
			*d.field = d.standard
		}
		*d.field = clipped(*d.field, maxShortField)
	}
	return line
}

// fail notes a source that could not be searched; only the end of the context
// ends the search.
func (sc *scan) fail(ctx context.Context, from Source, reason string, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	sc.note(from.Name, reason, cause)
	return nil
}

// note states each reason of a source once.
func (sc *scan) note(name, reason string, cause error) {
	for _, f := range sc.failed {
		if f.Source == name && f.Reason == reason {
			return
		}
	}
	sc.failed = append(sc.failed, lines.Failure{Source: name, Reason: reason})
	sc.causes = append(sc.causes, cause)
}

// nothing is the error for a search that found nothing and proves nothing.
func (sc *scan) nothing() error {
	if len(sc.failed) > 0 {
		return errors.Join(append([]error{ErrSourceFailed}, sc.causes...)...)
	}
	return ErrScanLimit
}

// end gives a cursor with every page that is not the whole, and with a full one:
// a reader of the result cannot know that the page ended with the log.
func (sc *scan) end() lines.End {
	end := lines.End{Reached: !sc.stopped, Failed: sc.failed}
	if sc.stopped || sc.returned == sc.plan.limit {
		end.Cursor = sc.plan.cursor(sc.next)
	}
	return end
}

// clipped cuts text to at most limit bytes between two runes and says how much
// is missing.
func clipped(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const markRoom = len(" … 9223372036854775807 more bytes")
	end := limit - markRoom
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s … %d more bytes", text[:end], len(text)-end)
}
