package logsearch_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/executors/logsearch"
)

func shopSearch(t testing.TB, limits logsearch.Limits) *logsearch.Search {
	return newSearch(t, logsearch.Config{Sources: filesOf(t, shop(), logsearch.RFC3339Lines{}, "*.log"), Limits: limits})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := shopSearch(t, logsearch.Limits{})
	for name, c := range map[string]struct {
		query logsearch.Query
		want  []string
		ran   string // the query as the result states it
	}{
		"everything": {logsearch.Query{}, []string{
			"a.log@0 |\tat rotated.away", "a.log@17 INFO|started", "a.log@51 WARN|slow Answer", "a.log@89 ERROR|failed", "a.log@156 ERROR|no such day",
			"b.log@0 ERROR|timeout", "b.log@35 |info 连接超时", "b.log@74 error|Timeout again",
		}, ""},
		"text_in_a_trace":   {logsearch.Query{Text: "timeout"}, []string{"a.log@89 ERROR|failed", "b.log@0 ERROR|timeout"}, `text "timeout"`},
		"any_letter_case":   {logsearch.Query{Text: "TIMEOUT", IgnoreCase: true}, []string{"a.log@89 ERROR|failed", "b.log@0 ERROR|timeout", "b.log@74 error|Timeout again"}, `text "TIMEOUT" in any letter case`},
		"level_as_text":     {logsearch.Query{Text: "WARN"}, []string{"a.log@51 WARN|slow Answer"}, `text "WARN"`},
		"time_as_text":      {logsearch.Query{Text: "03:05:00Z"}, []string{"b.log@35 |info 连接超时"}, `text "03:05:00Z"`},
		"chinese":           {logsearch.Query{Text: "超时"}, []string{"b.log@35 |info 连接超时"}, `text "超时"`},
		"no_pattern":        {logsearch.Query{Text: "time.ut"}, nil, `text "time.ut"`},
		"level":             {logsearch.Query{Levels: []string{"error"}}, []string{"a.log@89 ERROR|failed", "a.log@156 ERROR|no such day", "b.log@0 ERROR|timeout", "b.log@74 error|Timeout again"}, "level error"},
		"levels":            {logsearch.Query{Levels: []string{"WARN", "Info"}}, []string{"a.log@17 INFO|started", "a.log@51 WARN|slow Answer"}, "level WARN or Info"},
		"level_and_text":    {logsearch.Query{Levels: []string{"ERROR"}, Text: "shop.Pay"}, []string{"a.log@89 ERROR|failed"}, `text "shop.Pay" and level ERROR`},
		"one_source":        {logsearch.Query{Sources: []string{"b.log"}, Levels: []string{"ERROR"}}, []string{"b.log@0 ERROR|timeout", "b.log@74 error|Timeout again"}, "level ERROR"},
		"absent_level":      {logsearch.Query{Levels: []string{"FATAL"}}, nil, "level FATAL"},
		"window_both_ends":  {logsearch.Query{From: "2026-01-02T03:01:00Z", To: "2026-01-02T03:02:00Z", Levels: []string{"WARN", "ERROR"}}, []string{"a.log@51 WARN|slow Answer", "a.log@89 ERROR|failed", "a.log@156 ERROR|no such day", "b.log@0 ERROR|timeout"}, "level WARN or ERROR"},
		"window_in_a_zone":  {logsearch.Query{From: "2026-01-02T04:06:00+01:00", To: "2026-01-02T04:07:00+01:00", Text: "Timeout"}, []string{"b.log@74 error|Timeout again"}, `text "Timeout"`},
		"window_from_alone": {logsearch.Query{From: "2026-01-02T03:05:00Z"}, []string{"a.log@0 |\tat rotated.away", "a.log@156 ERROR|no such day", "b.log@35 |info 连接超时", "b.log@74 error|Timeout again"}, ""},
		"window_to_alone":   {logsearch.Query{To: "2026-01-02T03:00:00Z", Levels: []string{"INFO"}}, []string{"a.log@17 INFO|started"}, "level INFO"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustRun(t, s, c.query)
			if got, want := firstLines(p.Records), strings.Join(c.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if !p.End || p.Cursor != "" || p.CutBy != "" || len(p.Failed) > 0 {
				t.Errorf("got end %t, cursor %q, cut by %q, failed %v, want the end and nothing else", p.End, p.Cursor, p.CutBy, p.Failed)
			}
			if p.Query != c.ran {
				t.Errorf("query as it ran: got %q, want %q", p.Query, c.ran)
			}
		})
	}
}

func TestWindowIsStated(t *testing.T) {
	t.Parallel()
	s := shopSearch(t, logsearch.Limits{})
	for name, c := range map[string]struct{ from, to, wantFrom, wantTo string }{
		"both":     {"2026-01-02T04:00:00+01:00", "2026-01-02T05:00:00+01:00", "2026-01-02T03:00:00Z", "2026-01-02T04:00:00Z"},
		"from":     {"2026-01-02T03:00:00Z", "", "2026-01-02T03:00:00Z", "9999-12-31T23:59:59Z"},
		"to":       {"", "2026-01-02T03:00:00Z", "1970-01-01T00:00:00Z", "2026-01-02T03:00:00Z"},
		"an_epoch": {"2026-01-02T03:00:00Z", "2026-01-02T03:00:00Z", "2026-01-02T03:00:00Z", "2026-01-02T03:00:00Z"},
	} {
		p := mustRun(t, s, logsearch.Query{From: c.from, To: c.to})
		if p.Window == nil || !p.Window.From.Equal(at(c.wantFrom)) || !p.Window.To.Equal(at(c.wantTo)) {
			t.Errorf("%s: got %+v, want %s to %s", name, p.Window, c.wantFrom, c.wantTo)
		}
	}
	if p := mustRun(t, s, logsearch.Query{}); p.Window != nil {
		t.Errorf("no window asked for: got %+v, want none", p.Window)
	}
}

func TestTimesAreNeverInvented(t *testing.T) {
	t.Parallel()
	for _, r := range mustRun(t, shopSearch(t, logsearch.Limits{}), logsearch.Query{}).Records {
		undated := r.ID == "a.log@0" || r.ID == "a.log@156"
		if r.Time.IsZero() != undated {
			t.Errorf("%s: got time %v, want one: %t", r.ID, r.Time, !undated)
		}
	}
}

func TestWholeRecordIsReturned(t *testing.T) {
	t.Parallel()
	p := mustRun(t, shopSearch(t, logsearch.Limits{}), logsearch.Query{Text: "shop.Pay"})
	if len(p.Records) != 1 || p.Records[0].Message != "failed\n\tat shop.Pay\n\tcaused by: timeout" {
		t.Errorf("got %+v, want the record with its stack trace", p.Records)
	}
}

func TestSourceNamesStandInRecords(t *testing.T) {
	t.Parallel()
	sources := filesOf(t, shop(), logsearch.JSONLines{}, "*.log")
	for i := range sources {
		sources[i].Parser, sources[i].Service, sources[i].Instance = logsearch.RFC3339Lines{}, "shop", sources[i].Name[:1]
	}
	for _, r := range mustRun(t, newSearch(t, logsearch.Config{Sources: sources}), logsearch.Query{Text: "timeout"}).Records {
		if r.Service != "shop" || r.Instance != r.ID[:1] {
			t.Errorf("got service %q, instance %q for %s, want those of the source", r.Service, r.Instance, r.ID)
		}
	}
}

// A log may say anything; what it says of itself in short fields is cut too.
func TestLongMessagesAndFieldsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("错", 9000)
	fsys := map[string]string{"x": `{"msg":"` + long + `","level":"` + long + `","service":"` + long + `","id":"` + long + `"}`}
	s := newSearch(t, logsearch.Config{Sources: textSources(fsys, logsearch.JSONLines{})})
	p := mustRun(t, s, logsearch.Query{})
	r := p.Records[0]
	if len(r.Message) > 8<<10 || !strings.HasSuffix(r.Message, "more bytes") || strings.ContainsRune(r.Message, '\uFFFD') {
		t.Errorf("message of %d bytes ends in %q, want at most 8 KiB and a mark, between two runes", len(r.Message), r.Message[len(r.Message)-30:])
	}
	for _, field := range []string{r.Level, r.Service, r.ID} {
		if len(field) > 256 || !strings.HasSuffix(field, "more bytes") {
			t.Errorf("a field of %d bytes, want at most 256 and a mark", len(field))
		}
	}
	// What was cut away is found all the same.
	if p := mustRun(t, s, logsearch.Query{Text: long[:900] + `","level`}); len(p.Records) != 1 {
		t.Errorf("text behind the cut: got %d records, want 1", len(p.Records))
	}
}

func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	s := newSearch(t, logsearch.Config{Sources: textSources(map[string]string{"x": "a\xff\xfeb\n\x00\x1b[31m"}, logsearch.PlainLines{})})
	p := mustRun(t, s, logsearch.Query{})
	if len(p.Records) != 2 || p.Records[0].Message != "" || p.Records[1].Message != "\x00\x1b[31m" {
		t.Errorf("got %+v, want the first as base64 and the second as it is", p.Records)
	}
	if p := mustRun(t, s, logsearch.Query{Text: "b"}); len(p.Records) != 1 {
		t.Errorf("text in a line that is no UTF-8: got %d records, want 1", len(p.Records))
	}
}
