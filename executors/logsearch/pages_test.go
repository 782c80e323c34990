package logsearch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/toolharness/harness/executors/logsearch"
)

// textSources are sources in memory that cannot seek, by name in order.
func textSources(texts map[string]string, parser logsearch.Parser) []logsearch.Source {
	var sources []logsearch.Source
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		sources = append(sources, logsearch.Source{Name: name, Parser: parser, Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(iotest.HalfReader(strings.NewReader(texts[name]))), nil
		}})
	}
	return sources
}

func numbered(lines int) string {
	var out strings.Builder
	for i := range lines {
		fmt.Fprintf(&out, "2026-01-02T03:04:%02dZ INFO line %d\n\tdetail\n", i%60, i)
	}
	return out.String()
}

// Whatever ends a page, all pages together are the whole, without a gap and
// without a record twice; seeking or not.
func TestPagesAreTheWhole(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"a": "front\n" + numbered(40), "b": "", "c": numbered(25), "d": numbered(1)}
	fsys := fstest.MapFS{}
	for name, text := range texts {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	whole := firstLines(mustRun(t, newSearch(t, logsearch.Config{Sources: textSources(texts, logsearch.RFC3339Lines{})}), logsearch.Query{}).Records)
	if n := strings.Count(whole, "\n"); n != 66 {
		t.Fatalf("got %d records in all, want 67", n+1)
	}
	for name, limits := range map[string]logsearch.Limits{
		"by_records": {PageRecords: 7},
		"one_by_one": {PageRecords: 1},
		"by_bytes":   {MaxMessageBytes: 64, MaxBytes: 24 << 10},
		"by_scan":    {MaxMessageBytes: 64, MaxRecordBytes: 64, MaxScanBytes: 200},
	} {
		for kind, sources := range map[string][]logsearch.Source{
			"readers": textSources(texts, logsearch.RFC3339Lines{}), "files": filesOf(t, fsys, logsearch.RFC3339Lines{}, "*"),
		} {
			if got := firstLines(every(t, newSearch(t, logsearch.Config{Sources: sources, Limits: limits}), logsearch.Query{})); got != whole {
				t.Errorf("%s/%s: got\n%s\nwant\n%s", name, kind, got, whole)
			}
		}
	}
}

func TestWhatEndsAPageIsStated(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"a": numbered(400)}
	for name, c := range map[string]struct {
		limits logsearch.Limits
		query  logsearch.Query
		cutBy  string
		count  int
		end    bool
		cursor bool
	}{
		"limit":      {logsearch.Limits{}, logsearch.Query{}, "limit", 100, false, true},
		"own_limit":  {logsearch.Limits{}, logsearch.Query{Limit: 3}, "limit", 3, false, true},
		"bytes":      {logsearch.Limits{MaxMessageBytes: 64, MaxBytes: 24 << 10, PageRecords: 1000}, logsearch.Query{}, "max_bytes", 266, false, true},
		"scan":       {logsearch.Limits{MaxMessageBytes: 64, MaxRecordBytes: 64, MaxScanBytes: 200, PageRecords: 1000}, logsearch.Query{}, "", 5, false, true},
		"exact_fit":  {logsearch.Limits{PageRecords: 400}, logsearch.Query{}, "", 400, true, true},
		"whole":      {logsearch.Limits{PageRecords: 401}, logsearch.Query{}, "", 400, true, false},
		"none_found": {logsearch.Limits{}, logsearch.Query{Text: "line 400"}, "", 0, true, false},
	} {
		p := mustRun(t, newSearch(t, logsearch.Config{Sources: textSources(texts, logsearch.RFC3339Lines{}), Limits: c.limits}), c.query)
		if p.CutBy != c.cutBy || len(p.Records) != c.count || p.End != c.end || (p.Cursor != "") != c.cursor {
			t.Errorf("%s: got cut by %q, %d records, end %t, cursor %q, want %q, %d, %t, a cursor: %t",
				name, p.CutBy, len(p.Records), p.End, p.Cursor, c.cutBy, c.count, c.end, c.cursor)
		}
	}
}

// A page behind a cursor says what it did not look at, so that its "nothing
// found" is not one about the whole log.
func TestAPageBehindACursorSaysSo(t *testing.T) {
	t.Parallel()
	s := newSearch(t, logsearch.Config{Sources: textSources(map[string]string{"a": numbered(4), "b": numbered(1)}, logsearch.RFC3339Lines{})})
	q := logsearch.Query{Text: "line", Limit: 5}
	first := mustRun(t, s, q)
	q.Cursor = first.Cursor
	second := mustRun(t, s, q)
	if len(first.Gaps) != 0 || len(first.Sources) != 2 {
		t.Errorf("first page: got gaps %v and sources %v, want none and both", first.Gaps, first.Sources)
	}
	if len(second.Records) != 0 || !second.End || len(second.Sources) != 1 || second.Sources[0] != "b" {
		t.Errorf("second page: got %+v, want nothing more in b", second)
	}
	if len(second.Gaps) != 1 || second.Gaps[0].What != "what stands before byte 41 of b" {
		t.Errorf("second page: got gaps %v, want what stands before the cursor", second.Gaps)
	}
}

func TestCursorOutlivesGrowthAndRestart(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"a": numbered(4)}
	q := logsearch.Query{Limit: 3}
	q.Cursor = mustRun(t, newSearch(t, logsearch.Config{Sources: textSources(texts, logsearch.RFC3339Lines{})}), q).Cursor
	grown := map[string]string{"a": texts["a"] + "2026-01-02T04:00:00Z WARN new\n"}
	q.Limit = 9 // another page size is the same search
	p := mustRun(t, newSearch(t, logsearch.Config{Sources: textSources(grown, logsearch.RFC3339Lines{})}), q)
	if got, want := firstLines(p.Records), "a@123 INFO|line 3\na@164 WARN|new"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStaleCursor(t *testing.T) {
	t.Parallel()
	text := numbered(4)
	q := logsearch.Query{Limit: 3}
	cursor := mustRun(t, newSearch(t, logsearch.Config{Sources: textSources(map[string]string{"a": text}, logsearch.RFC3339Lines{})}), q).Cursor
	q.Cursor = cursor
	for name, now := range map[string]string{
		"emptied": "", "shorter": text[:50], "replaced": strings.ReplaceAll(text, "line", "item"), "moved": "x" + text,
	} {
		for kind, sources := range map[string][]logsearch.Source{
			"reader": textSources(map[string]string{"a": now}, logsearch.RFC3339Lines{}),
			"file":   filesOf(t, fstest.MapFS{"a": {Data: []byte(now)}}, logsearch.RFC3339Lines{}, "a"),
		} {
			if _, err := run(t, newSearch(t, logsearch.Config{Sources: sources}), q); !errors.Is(err, logsearch.ErrStaleCursor) {
				t.Errorf("%s/%s: got %v, want %v", name, kind, err, logsearch.ErrStaleCursor)
			}
		}
	}
}

// A search that found nothing and did not look everywhere has no result at all.
func TestNothingFoundNeedsTheEnd(t *testing.T) {
	t.Parallel()
	gone := errors.New("permission denied on /secret/path")
	broken := logsearch.Source{Name: "z", Parser: logsearch.RFC3339Lines{}, Open: func(context.Context) (io.ReadCloser, error) { return nil, gone }}
	breaks := broken
	breaks.Open = func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(numbered(2)), iotest.ErrReader(gone))), nil
	}
	whole := textSources(map[string]string{"a": numbered(300)}, logsearch.RFC3339Lines{})
	for name, c := range map[string]struct {
		sources []logsearch.Source
		limits  logsearch.Limits
		want    error
		found   string // with a text that is there: what failed all the same
	}{
		"cannot_open":  {append(whole, broken), logsearch.Limits{}, logsearch.ErrSourceFailed, "z: could not be opened"},
		"breaks_off":   {append(whole, breaks), logsearch.Limits{}, logsearch.ErrSourceFailed, "z: could not be read to its end"},
		"other_format": {append(whole, textSources(map[string]string{"z": "prose\nprose\n"}, logsearch.RFC3339Lines{})...), logsearch.Limits{}, logsearch.ErrSourceFailed, "z: not one line of it has the expected format"},
		"long_record": {textSources(map[string]string{"z": numbered(1) + "2026-01-02T03:04:05Z " + strings.Repeat("x", 99) + "\n"}, logsearch.RFC3339Lines{}),
			logsearch.Limits{MaxMessageBytes: 64, MaxRecordBytes: 64}, logsearch.ErrSourceFailed, "z: a record is over 64 bytes and was looked at up to there"},
		"scan_limit": {whole, logsearch.Limits{MaxMessageBytes: 64, MaxRecordBytes: 64, MaxScanBytes: 200}, logsearch.ErrScanLimit, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSearch(t, logsearch.Config{Sources: c.sources, Limits: c.limits})
			_, err := run(t, s, logsearch.Query{Text: "nowhere"})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			p := mustRun(t, s, logsearch.Query{Text: "line 0"})
			failed := ""
			for _, f := range p.Failed {
				failed += f.Source + ": " + f.Reason
			}
			if len(p.Records) == 0 || failed != c.found {
				t.Errorf("with a text that is there: got %d records, failed %q, want some and %q", len(p.Records), failed, c.found)
			}
		})
	}
}

func TestCausesStayWithTheHost(t *testing.T) {
	t.Parallel()
	gone := errors.New("permission denied on /secret/path")
	s := newSearch(t, logsearch.Config{Sources: []logsearch.Source{{Name: "z", Parser: logsearch.PlainLines{}, Open: func(context.Context) (io.ReadCloser, error) { return nil, gone }}}})
	var raw bytes.Buffer
	err := s.Run(t.Context(), logsearch.Query{}, &raw)
	if !errors.Is(err, gone) {
		t.Errorf("got %v, want the cause to be found in it", err)
	}
	if strings.Contains(raw.String(), "secret") {
		t.Errorf("the result has the cause: %s", raw.String())
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	opened := 0
	s := newSearch(t, logsearch.Config{Sources: []logsearch.Source{{Name: "a", Parser: logsearch.PlainLines{}, Open: func(context.Context) (io.ReadCloser, error) {
		if opened++; opened == 1 {
			cancel()
		}
		return io.NopCloser(endless{}), nil
	}}}, Limits: logsearch.Limits{MaxScanBytes: 2 << 20}})
	if err := s.Run(ctx, logsearch.Query{Text: "nowhere"}, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if err := s.Run(t.Context(), logsearch.Query{Text: "nowhere"}, io.Discard); !errors.Is(err, logsearch.ErrScanLimit) {
		t.Errorf("a source without an end: got %v, want %v", err, logsearch.ErrScanLimit)
	}
}

// A record that never ends is given up, and the next page goes on behind its source.
func TestRecordWithoutAnEnd(t *testing.T) {
	t.Parallel()
	forever := logsearch.Source{Name: "a", Parser: logsearch.RFC3339Lines{}, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(numbered(1)), endless{})), nil
	}}
	last := textSources(map[string]string{"b": numbered(2)}, logsearch.RFC3339Lines{})
	limits := logsearch.Limits{MaxMessageBytes: 64, MaxRecordBytes: 64, MaxScanBytes: 1 << 20}
	s := newSearch(t, logsearch.Config{Sources: append([]logsearch.Source{forever}, last...), Limits: limits})
	if _, err := run(t, s, logsearch.Query{}); !errors.Is(err, logsearch.ErrSourceFailed) {
		t.Errorf("nothing found before it: got %v, want %v", err, logsearch.ErrSourceFailed)
	}
	s = newSearch(t, logsearch.Config{Sources: append(textSources(map[string]string{"0": numbered(1)}, logsearch.RFC3339Lines{}), append([]logsearch.Source{forever}, last...)...), Limits: limits})
	q := logsearch.Query{}
	p := mustRun(t, s, q)
	if len(p.Records) != 1 || len(p.Failed) != 1 || p.Failed[0].Source != "a" || p.Cursor == "" || p.End {
		t.Fatalf("got %+v, want one record, a failed source and a cursor", p)
	}
	q.Cursor = p.Cursor
	if p := mustRun(t, s, q); firstLines(p.Records) != "b@0 INFO|line 0\nb@41 INFO|line 1" || !p.End {
		t.Errorf("got %+v, want what stands behind it", p)
	}
	alone := newSearch(t, logsearch.Config{Sources: []logsearch.Source{forever}, Limits: limits})
	if _, err := run(t, alone, logsearch.Query{}); !errors.Is(err, logsearch.ErrSourceFailed) {
		t.Errorf("alone: got %v, want %v", err, logsearch.ErrSourceFailed)
	}
}

// endless is a log that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat("and so on, and so forth\n", 1+len(p)/24)), nil
}

func TestWriterErrorComesBack(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	for room := range 500 {
		s := shopSearch(t, logsearch.Limits{})
		if err := s.Run(t.Context(), logsearch.Query{Text: "started"}, &limited{room, full}); err != nil && !errors.Is(err, full) {
			t.Fatalf("room for %d bytes: got %v, want %v", room, err, full)
		} else if err == nil {
			if room < 100 {
				t.Fatalf("a result in %d bytes", room)
			}
			return
		}
	}
	t.Error("no result in 500 bytes")
}

// limited takes some bytes and then fails.
type limited struct {
	room int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.room -= len(p); l.room < 0 {
		return 0, l.err
	}
	return len(p), nil
}
