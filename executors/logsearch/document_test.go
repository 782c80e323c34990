package logsearch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/toolharness/harness/executors/logsearch"
)

// page is a raw document as a reader that is not ours sees it.
type page struct {
	Sources []string
	Window  *struct{ From, To time.Time }
	Query   string
	Limit   int
	Gaps    []struct{ What, Reason string } `json:"cannot_cover"`
	Records []entry
	Failed  []struct{ Source, Reason string }
	Cursor  string
	CutBy   string `json:"cut_by"`
	End     bool   `json:"end_reached"`
}

type entry struct {
	Time                                  time.Time
	Level, Service, Instance, ID, Message string
}

func newSearch(t testing.TB, c logsearch.Config) *logsearch.Search {
	t.Helper()
	s, err := logsearch.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func filesOf(t testing.TB, fsys fs.FS, parser logsearch.Parser, patterns ...string) []logsearch.Source {
	t.Helper()
	sources, err := logsearch.Files(fsys, parser, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// shop is a log of two files of RFC 3339 lines, and one without a line of that
// format.
func shop() fstest.MapFS {
	return fstest.MapFS{
		"a.log": {Data: []byte("\tat rotated.away\n" +
			"2026-01-02T03:00:00Z INFO started\n" +
			"2026-01-02T03:01:00Z WARN slow Answer\n" +
			"2026-01-02T03:02:00Z ERROR failed\n\tat shop.Pay\n\tcaused by: timeout\n" +
			"2026-02-30T03:02:00Z ERROR no such day\n")},
		"b.log": {Data: []byte("2026-01-02T03:01:30Z ERROR timeout\n" + "2026-01-02T03:05:00Z info 连接超时\n" + "2026-01-02T03:06:00Z [error] Timeout again")},
		"c.txt": {Data: []byte("ERROR timeout without a time\n")},
	}
}

func run(t testing.TB, s *logsearch.Search, q logsearch.Query) (page, error) {
	t.Helper()
	var raw bytes.Buffer
	if err := s.Run(t.Context(), q, &raw); err != nil {
		return page{}, err
	}
	var p page
	if err := json.Unmarshal(raw.Bytes(), &p); err != nil {
		t.Fatalf("the result is no JSON: %v\n%s", err, raw.Bytes())
	}
	return p, nil
}

func mustRun(t testing.TB, s *logsearch.Search, q logsearch.Query) page {
	t.Helper()
	p, err := run(t, s, q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return p
}

// every goes on from cursor to cursor until the end.
func every(t testing.TB, s *logsearch.Search, q logsearch.Query) []entry {
	t.Helper()
	var all []entry
	for pages := 0; ; pages++ {
		p := mustRun(t, s, q)
		all = append(all, p.Records...)
		if p.Cursor == "" {
			if !p.End || len(p.Failed) > 0 {
				t.Fatalf("%+v: the last page has not the end: %+v", q, p)
			}
			return all
		}
		if q.Cursor = p.Cursor; pages > 5000 {
			t.Fatalf("%+v: the cursor leads nowhere", q)
		}
	}
}

// firstLines is a short form of records for a comparison.
func firstLines(records []entry) string {
	var out []string
	for _, r := range records {
		first, _, _ := strings.Cut(r.Message, "\n")
		out = append(out, fmt.Sprintf("%s %s|%s", r.ID, r.Level, first))
	}
	return strings.Join(out, "\n")
}
