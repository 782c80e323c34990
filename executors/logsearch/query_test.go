package logsearch_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toolharness/harness/executors/logsearch"
)

func TestRefusedQueries(t *testing.T) {
	t.Parallel()
	s := shopSearch(t, logsearch.Limits{MaxPageRecords: 200})
	for name, c := range map[string]struct {
		query logsearch.Query
		field string
	}{
		"text_too_long":      {logsearch.Query{Text: strings.Repeat("x", 1025)}, "text"},
		"text_of_two_lines":  {logsearch.Query{Text: "a\nb"}, "text"},
		"text_escape":        {logsearch.Query{Text: "\x1b[31m"}, "text"},
		"text_no_utf8":       {logsearch.Query{Text: "\xff"}, "text"},
		"case_without_text":  {logsearch.Query{IgnoreCase: true}, "ignore_case"},
		"level_empty":        {logsearch.Query{Levels: []string{""}}, "levels"},
		"level_long":         {logsearch.Query{Levels: []string{strings.Repeat("x", 33)}}, "levels"},
		"level_of_two_lines": {logsearch.Query{Levels: []string{"WARN\nERROR"}}, "levels"},
		"levels_many":        {logsearch.Query{Levels: make([]string, 17)}, "levels"},
		"from_no_time":       {logsearch.Query{From: "yesterday"}, "from"},
		"from_without_zone":  {logsearch.Query{From: "2025-11-12T13:14:15"}, "from"},
		"from_date":          {logsearch.Query{From: "2025-11-12"}, "from"},
		"from_before_year_0": {logsearch.Query{From: "0000-01-01T00:00:00+14:00"}, "from"},
		"to_no_time":         {logsearch.Query{To: "now"}, "to"},
		"ends_before_begin":  {logsearch.Query{From: "2026-01-02T03:04:05Z", To: "2026-01-02T03:04:04Z"}, "to"},
		"unknown_source":     {logsearch.Query{Sources: []string{"a.log", "../etc/passwd"}}, "sources"},
		"source_not_clean":   {logsearch.Query{Sources: []string{"./a.log"}}, "sources"},
		"limit_negative":     {logsearch.Query{Limit: -1}, "limit"},
		"limit_over":         {logsearch.Query{Limit: 201}, "limit"},
		"cursor_prose":       {logsearch.Query{Cursor: "next page"}, "cursor"},
		"cursor_huge":        {logsearch.Query{Cursor: strings.Repeat("A", 1<<16)}, "cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, s, c.query)
			refused, ok := errors.AsType[*logsearch.QueryError](err)
			if !ok || refused.Field != c.field {
				t.Fatalf("got %v, want an error about %s", err, c.field)
			}
			for _, value := range append(append(c.query.Levels, c.query.Sources...), c.query.Text, c.query.From, c.query.Cursor) {
				if len(value) > 4 && strings.Contains(err.Error(), value) {
					t.Errorf("the error repeats the argument: %v", err)
				}
			}
		})
	}
}

func TestEdgesThatAreAllowed(t *testing.T) {
	t.Parallel()
	s := shopSearch(t, logsearch.Limits{MaxPageRecords: 200})
	for name, q := range map[string]logsearch.Query{
		"longest_text":  {Text: strings.Repeat("x", 1024)},
		"tab":           {Text: "\tat"},
		"most_levels":   {Levels: strings.Fields(strings.Repeat("L ", 16))},
		"one_moment":    {From: "2026-01-02T03:04:05Z", To: "2026-01-02T03:04:05Z"},
		"highest_limit": {Limit: 200},
		"source_twice":  {Sources: []string{"b.log", "b.log"}},
		"empty_members": {Levels: []string{}, Sources: []string{}},
	} {
		if _, err := run(t, s, q); err != nil {
			t.Errorf("%s: got %v, want a result", name, err)
		}
	}
}

// A cursor fits the search that made it and no other.
func TestCursorOfAnotherSearch(t *testing.T) {
	t.Parallel()
	s := shopSearch(t, logsearch.Limits{})
	q := logsearch.Query{Text: "t", Levels: []string{"ERROR", "INFO"}, From: "2026-01-02T03:00:00Z", To: "2026-01-02T04:00:00Z", Limit: 1}
	cursor := mustRun(t, s, q).Cursor
	if cursor == "" {
		t.Fatal("no cursor to try")
	}
	q.Cursor = cursor
	for name, change := range map[string]func(*logsearch.Query){
		"text":    func(q *logsearch.Query) { q.Text = "T" },
		"case":    func(q *logsearch.Query) { q.IgnoreCase = true },
		"levels":  func(q *logsearch.Query) { q.Levels = q.Levels[:1] },
		"from":    func(q *logsearch.Query) { q.From = "2026-01-02T03:00:01Z" },
		"to":      func(q *logsearch.Query) { q.To = "" },
		"window":  func(q *logsearch.Query) { q.From, q.To = "", "" },
		"sources": func(q *logsearch.Query) { q.Sources = []string{"a.log"} },
	} {
		other := q
		change(&other)
		_, err := run(t, s, other)
		if refused, ok := errors.AsType[*logsearch.QueryError](err); !ok || refused.Field != "cursor" {
			t.Errorf("with another %s: got %v, want a refused cursor", name, err)
		}
	}
	for name, change := range map[string]func(*logsearch.Query){
		"limit":           func(q *logsearch.Query) { q.Limit = 2 },
		"order_of_levels": func(q *logsearch.Query) { q.Levels = []string{"info", "error", "INFO"} },
		"zone":            func(q *logsearch.Query) { q.From = "2026-01-02T04:00:00+01:00" },
		"all_sources":     func(q *logsearch.Query) { q.Sources = []string{"b.log", "a.log"} },
	} {
		same := q
		change(&same)
		if _, err := run(t, s, same); err != nil {
			t.Errorf("with another %s: got %v, want the next page", name, err)
		}
	}
}

// Every other word than a cursor is refused, or is stale; none makes up a page.
func TestAlteredCursor(t *testing.T) {
	t.Parallel()
	s := shopSearch(t, logsearch.Limits{})
	q := logsearch.Query{Limit: 3}
	cursor := mustRun(t, s, q).Cursor
	word, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	for i := range word {
		for bit := range 8 {
			altered := append([]byte(nil), word...)
			altered[i] ^= 1 << bit
			q.Cursor = base64.RawURLEncoding.EncodeToString(altered)
			p, err := run(t, s, q)
			if _, refused := errors.AsType[*logsearch.QueryError](err); !refused && !errors.Is(err, logsearch.ErrStaleCursor) {
				t.Errorf("bit %d of byte %d: got %v and %d records, want a refusal", bit, i, err, len(p.Records))
			}
		}
	}
	for _, altered := range []string{cursor[:len(cursor)-1], cursor + "A", cursor[1:], strings.ToUpper(cursor), cursor + "=", " " + cursor} {
		q.Cursor = altered
		if _, err := run(t, s, q); err == nil {
			t.Errorf("%q for %q: got a page, want a refusal", altered, cursor)
		}
	}
}

func TestConfigIsCheckedWhole(t *testing.T) {
	t.Parallel()
	open := func(context.Context) (io.ReadCloser, error) { return nil, fs.ErrNotExist }
	good := logsearch.Source{Name: "a", Parser: logsearch.PlainLines{}, Open: open}
	with := func(change func(*logsearch.Source)) []logsearch.Source {
		s := good
		change(&s)
		return []logsearch.Source{s}
	}
	for name, c := range map[string]struct {
		config logsearch.Config
		want   []string
	}{
		"nothing":      {logsearch.Config{}, []string{"Sources: 0"}},
		"no_name":      {logsearch.Config{Sources: with(func(s *logsearch.Source) { s.Name = "" })}, []string{"Sources[0].Name"}},
		"name_blanks":  {logsearch.Config{Sources: with(func(s *logsearch.Source) { s.Name = " a" })}, []string{"Sources[0].Name"}},
		"name_control": {logsearch.Config{Sources: with(func(s *logsearch.Source) { s.Name = "a\nb" })}, []string{"Sources[0].Name"}},
		"name_long":    {logsearch.Config{Sources: with(func(s *logsearch.Source) { s.Name = strings.Repeat("a", 201) })}, []string{"Sources[0].Name"}},
		"no_parser":    {logsearch.Config{Sources: with(func(s *logsearch.Source) { s.Parser = nil })}, []string{"Sources[0].Parser"}},
		"no_open":      {logsearch.Config{Sources: with(func(s *logsearch.Source) { s.Open = nil })}, []string{"Sources[0].Open"}},
		"twice":        {logsearch.Config{Sources: []logsearch.Source{good, good}}, []string{`Sources[1].Name: "a" is used twice`}},
		"all_at_once": {logsearch.Config{Limits: logsearch.Limits{PageRecords: -1, MaxPageRecords: -2, MaxMessageBytes: 1, MaxRecordBytes: -1, MaxScanBytes: -3, MaxBytes: 1}},
			[]string{"Sources", "PageRecords", "MaxPageRecords", "MaxMessageBytes", "MaxRecordBytes", "MaxScanBytes", "MaxBytes"}},
		"page_over_most": {logsearch.Config{Sources: []logsearch.Source{good}, Limits: logsearch.Limits{PageRecords: 9, MaxPageRecords: 8}}, []string{"MaxPageRecords: 8, must be at least 9"}},
		"record_no_room": {logsearch.Config{Sources: []logsearch.Source{good}, Limits: logsearch.Limits{MaxMessageBytes: 64 << 10}}, []string{"MaxBytes: 262144"}},
	} {
		_, err := logsearch.New(c.config)
		if err == nil {
			t.Errorf("%s: got no error", name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want it to name %s", name, err, want)
			}
		}
	}
	if _, err := logsearch.New(logsearch.Config{Sources: []logsearch.Source{good}, Limits: logsearch.Limits{PageRecords: 5000}}); err != nil {
		t.Errorf("a page over the default: got %v, want it allowed", err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"logs/b.log": {}, "logs/a.log": {}, "logs/a.log.1": {}, "other.txt": {}}
	var names []string
	for _, s := range filesOf(t, fsys, logsearch.PlainLines{}, "logs/*.log.*", "logs/*") {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names, " "), "logs/a.log.1 logs/a.log logs/b.log"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, patterns := range map[string][]string{"no_pattern": nil, "matches_nothing": {"logs/*", "*.gz"}, "malformed": {"logs/["}} {
		if _, err := logsearch.Files(fsys, logsearch.PlainLines{}, patterns...); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if _, err := logsearch.Files(nil, logsearch.PlainLines{}, "*"); err == nil {
		t.Error("no file system: got no error")
	}
	// A folder that matches is a source that cannot be read, and never an empty log.
	s := newSearch(t, logsearch.Config{Sources: filesOf(t, fsys, logsearch.PlainLines{}, "logs", "other.txt")})
	if _, err := run(t, s, logsearch.Query{}); !errors.Is(err, logsearch.ErrSourceFailed) {
		t.Errorf("a folder: got %v, want %v", err, logsearch.ErrSourceFailed)
	}
}
