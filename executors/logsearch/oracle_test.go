package logsearch_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/executors/logsearch"
)

// oracleRecord is a record as the oracle knows it: it made the log, so that it
// need not read it.
type oracleRecord struct {
	time    time.Time // zero: none
	level   string
	message string
	text    string
	source  string
	offset  int
}

// randomLog writes a log of some files in the form of log4j together with what
// stands in it.
func randomLog(r *rand.Rand) (map[string]string, []oracleRecord) {
	texts := map[string]string{}
	var all []oracleRecord
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	for _, name := range []string{"a", "b", "c"}[:1+r.IntN(3)] {
		var log strings.Builder
		for range r.IntN(30) {
			one := oracleRecord{source: name, offset: log.Len()}
			one.time = time.Date(2026, 1, 2, r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000)*1e6, time.UTC)
			one.level = pick("INFO", "WARN", "ERROR", "")
			first := pick("timeout", "Timeout", "连接超时", "ok", "\xff", "a.b", "x(y)") + " " + pick("1", "2", "")
			one.message = first
			for range max(0, r.IntN(5)-2) {
				one.message += pick("\n", "\r\n") + pick("\tat a.b(C:1)", "java.io.IOException: timeout", "", " [2026]")
			}
			head := "[" + one.time.Format("2006-01-02 15:04:05.000") + "] "
			if one.level != "" {
				head += one.level + " "
			}
			one.text = head + one.message
			log.WriteString(one.text + "\n")
			all = append(all, one)
		}
		texts[name] = log.String()
	}
	return texts, all
}

// finds says by other means than the search whether a record is one asked for.
func (o oracleRecord) finds(q logsearch.Query) bool {
	within := func(bound string, ok func(time.Time) bool) bool {
		at, err := time.Parse(time.RFC3339, bound)
		return bound == "" || err == nil && ok(at)
	}
	pattern := regexp.QuoteMeta(q.Text)
	if q.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	return within(q.From, func(at time.Time) bool { return !o.time.Before(at) }) &&
		within(q.To, func(at time.Time) bool { return !o.time.After(at) }) &&
		(len(q.Levels) == 0 || slices.Contains(q.Levels, o.level)) &&
		(len(q.Sources) == 0 || slices.Contains(q.Sources, o.source)) &&
		regexp.MustCompile(pattern).MatchString(o.text)
}

func randomQuery(r *rand.Rand, sources []string) logsearch.Query {
	var q logsearch.Query
	if r.IntN(2) == 0 {
		q.Text = []string{"timeout", "TIMEOUT", "超时", "a.b", "] ", "IOException", "\tat", "nowhere", "x(y)"}[r.IntN(9)]
		q.IgnoreCase = r.IntN(2) == 0
	}
	if r.IntN(3) == 0 {
		q.Levels = []string{"INFO", "WARN", "ERROR"}[:1+r.IntN(3)]
	}
	if r.IntN(3) == 0 {
		q.From = fmt.Sprintf("2026-01-02T%02d:00:00Z", r.IntN(24))
	}
	if hour := r.IntN(24); q.From == "" && hour > 4 {
		q.To = fmt.Sprintf("2026-01-02T%02d:30:00.5Z", hour)
	}
	if r.IntN(4) == 0 {
		q.Sources = sources[:1+r.IntN(len(sources))]
	}
	return q
}

// TestSearchAgainstAnOracle makes logs, searches them page by page, and compares
// with the records that were put into them.
func TestSearchAgainstAnOracle(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	compared := 0
	for range 150 {
		texts, all := randomLog(r)
		limits := logsearch.Limits{PageRecords: 1 + r.IntN(9), MaxMessageBytes: 256, MaxRecordBytes: 1024, MaxScanBytes: 1024 + r.Int64N(2048)}
		sources := textSources(texts, logsearch.Log4j{})
		s := newSearch(t, logsearch.Config{Sources: sources, Limits: limits})
		names := make([]string, len(sources))
		for i, source := range sources {
			names[i] = source.Name
		}
		for range 4 {
			q := randomQuery(r, names)
			want := []string{}
			for _, o := range all {
				if o.finds(q) {
					want = append(want, fmt.Sprintf("%s@%d", o.source, o.offset))
				}
			}
			got, stuck := idsOf(t, s, q)
			if stuck { // a stretch over MaxScanBytes without a hit has no page, by design
				continue
			}
			compared++
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, query %+v:\ngot  %v\nwant %v\nlog %q", seed, q, got, want, texts)
			}
		}
	}
	if compared < 100 {
		t.Errorf("seed %d: only %d searches were compared", seed, compared)
	}
}

// idsOf reads all pages; stuck where a page had no record and not the end.
func idsOf(t *testing.T, s *logsearch.Search, q logsearch.Query) (ids []string, stuck bool) {
	t.Helper()
	ids = []string{}
	for {
		p, err := run(t, s, q)
		if err == logsearch.ErrScanLimit {
			return nil, true
		}
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		for _, r := range p.Records {
			ids = append(ids, r.ID)
		}
		if q.Cursor = p.Cursor; q.Cursor == "" {
			return ids, false
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	text := strings.Repeat(numbered(60), 500)
	s := newSearch(b, logsearch.Config{Sources: textSources(map[string]string{"a": text}, logsearch.RFC3339Lines{})})
	for name, q := range map[string]logsearch.Query{"text": {Text: "nowhere"}, "any_case": {Text: "nowhere", IgnoreCase: true}, "level": {Levels: []string{"FATAL"}}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				mustRun(b, s, q)
			}
		})
	}
}
