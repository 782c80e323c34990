package logsearch

import (
	"context"
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/lines"
)

// FuzzParsers: no line makes a parser panic, invent a time that cannot be
// written, or lose text.
func FuzzParsers(f *testing.F) {
	for _, line := range []string{
		"[2016-12-19 20:39:48,918] WARN [Thread-0], Error (kafka.server.X)", "2016-12-19 20:39:48,918 [main] INFO  o.a.F - up",
		"2026-01-02T03:04:05.678+01:00 [error] closed", "0000-01-01T00:00:00+14:00 x", "9999-12-31T23:59:59-01:00 x", "2026-01-02T03:04:05,Z",
		`{"time":"2026-01-02T03:04:05Z","level":"WARN","msg":"slow","n":9007199254740993}`, `{"ts":-0.5,"msg":null}`, `{"ts":1e400}`, `{"a":{"msg":1}}`,
		`{"msg":"\ud800"}`, "\xff", "{", "[", "",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, p := range []Parser{Log4j{}, RFC3339Lines{SmallLevels: true}, JSONLines{Epoch: time.Second}, PlainLines{}} {
			head, ok := p.ParseLine(line)
			if again, okAgain := p.ParseLine(line); again != head || okAgain != ok {
				t.Fatalf("%T: two answers for one line", p)
			}
			if !ok && head != (Head{}) {
				t.Errorf("%T: a head of a line that has none: %+v", p, head)
			}
			if !head.Time.IsZero() && !writable(head.Time) {
				t.Errorf("%T: a time that cannot be written: %v", p, head.Time)
			}
			if _, isJSON := p.(JSONLines); ok && !isJSON && !strings.HasSuffix(line, head.Message) {
				t.Errorf("%T: message %q is not the end of the line", p, head.Message)
			}
		}
	})
}

// FuzzRecords: whatever a file holds, its records are the file, in order, without
// a gap.
func FuzzRecords(f *testing.F) {
	for _, text := range []string{"", "*a\n*b", "front\n*a\r\n\tmore\r\n\n*b\n", "\n\n", "*\r", "*a\nb\rc\n\xff*d"} {
		f.Add(text, 64)
	}
	f.Add("*long long long\nmore\n*b\n", 7)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = 1 + (most&0xff+0xff)&0xff
		r := newRecordReader(strings.NewReader(text), starRecords{}, place{}, tail{}, most)
		var end int64
		var last record
		for n := 0; ; n++ {
			rec, err := r.read()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.offset < end || len(rec.text) > most || !rec.dated && n > 0 {
				t.Fatalf("record %d at %d of %d bytes, dated %t, behind %d", n, rec.offset, len(rec.text), rec.dated, end)
			}
			if !strings.HasPrefix(text[rec.offset:], rec.text) {
				t.Fatalf("record %d: %q is not what stands at %d", n, rec.text, rec.offset)
			}
			if between := strings.TrimLeft(text[end:rec.offset], "\r\n"); between != "" && !last.cut {
				t.Fatalf("record %d: %q before it is in no record", n, between)
			}
			end, last = rec.offset+int64(len(rec.text)), rec
		}
		if rest := strings.TrimLeft(text[end:], "\r\n"); rest != "" && !last.cut {
			t.Fatalf("%q at the end is in no record", rest)
		}
		if r.consumed() != int64(len(text)) {
			t.Errorf("consumed %d of %d bytes", r.consumed(), len(text))
		}
	})
}

// FuzzCursor: no word is taken for a cursor that was not made as one.
func FuzzCursor(f *testing.F) {
	p := plan{text: "x", sources: []Source{{Name: "a"}, {Name: "b"}}}
	f.Add(p.cursor(place{1, 12345, guard{1, 2, 3}}))
	f.Add(p.cursor(place{}))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte{cursorVersion}))
	f.Add("")
	f.Fuzz(func(t *testing.T, word string) {
		at, err := parseCursor(word, p)
		if err != nil {
			if _, ok := err.(*QueryError); !ok || at != (place{}) {
				t.Fatalf("got %v, %v, want a QueryError and no place", at, err)
			}
			return
		}
		if at.source < 0 || at.source >= len(p.sources) || at.offset < 0 || p.cursor(at) != word {
			t.Errorf("%q was read as %+v", word, at)
		}
	})
}

// FuzzSearch: whatever log and query hold, a result is one that the projector can
// judge, and pages are the whole.
func FuzzSearch(f *testing.F) {
	f.Add("2026-01-02T03:04:05Z WARN slow\n\tat x\n2026-01-02T03:04:06Z ERROR \xff\n", "slow", "WARN", true, 1)
	f.Add("front\n2026-01-02T03:04:05Z x\n", "", "", false, 3)
	f.Add("2026-01-02T03:04:05Z \u2028\x1b[31m\x00\n", "\u2028", "info", false, 2)
	f.Fuzz(func(t *testing.T, text, part, level string, fold bool, limit int) {
		s, err := New(Config{Sources: []Source{{Name: "a", Parser: RFC3339Lines{}, Open: opens(text)}}, Limits: Limits{MaxMessageBytes: 64, MaxRecordBytes: 128, MaxScanBytes: 256}})
		if err != nil {
			t.Fatal(err)
		}
		q := Query{Text: part, IgnoreCase: fold && part != "", Limit: 1 + limit&7}
		if level != "" {
			q.Levels = []string{level}
		}
		for pages := 0; pages < 50; pages++ {
			var raw strings.Builder
			if err := s.Run(context.Background(), q, &raw); err != nil {
				return
			}
			p, err := projector.Drive(context.Background(), lines.New(lines.Options{}), projector.Input{Raw: []byte(raw.String())}, projector.Options{})
			if err != nil {
				t.Fatalf("the projector cannot judge it: %v\n%s", err, raw.String())
			}
			_, rest, more := strings.Cut(raw.String(), `"cursor":"`)
			if !p.Status.Observed() {
				t.Fatalf("status %s", p.Status)
			}
			if !more {
				return
			}
			q.Cursor, _, _ = strings.Cut(rest, `"`)
		}
	})
}

func opens(text string) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}
