package lines_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/lines"
)

// wire is a document as an independent reader sees it.
type wire struct {
	Records []struct {
		Time, Level, Service, Instance, ID *string
		Message                            *string
		Base64                             []byte `json:"message_base64"`
	}
	Returned   int
	CutBy      string `json:"cut_by"`
	EndReached *bool  `json:"end_reached"`
	Cursor     string
}

func readWire(t *testing.T, raw string) wire {
	t.Helper()
	var w wire
	if err := json.Unmarshal([]byte(raw), &w); err != nil {
		t.Fatalf("Encode wrote no JSON document: %v\n%.300s", err, raw)
	}
	return w
}

func TestEncodeForm(t *testing.T) {
	t.Parallel()
	e := search()
	e.QueryIsDefault, e.Mock, e.RetainedFrom = true, true, from
	e.Unreached = []evidence.Gap{{What: "edge", Reason: "not shipped"}}
	got := encoded(t, e, []lines.Record{at(1, "E", "s", "漢 \"x\"\n"), {Message: "\xff"}},
		lines.End{Cursor: "c", Failed: []lines.Failure{{Source: "b", Reason: "timeout"}}})
	want := `{"format":"lines/1","sources":["application-logs"],"window":{"from":"2026-01-02T03:00:00Z","to":"2026-01-02T03:30:00Z"},` +
		`"query":"level:ERROR","query_is_default":true,"limit":100,"order":"newest_first","retained_from":"2026-01-02T03:00:00Z",` +
		`"cannot_cover":[{"what":"edge","reason":"not shipped"}],"mock":true,` +
		`"records":[{"time":"2026-01-02T03:00:01Z","level":"E","service":"s","message":"漢 \"x\"\n"},{"message_base64":"/w=="}],` +
		`"returned":2,"failed":[{"source":"b","reason":"timeout"}],"cursor":"c","end_reached":false}`
	if got != want {
		t.Errorf("document\n got %s\nwant %s", got, want)
	}
	if got := encoded(t, lines.Encoder{Sources: []string{"a"}}, nil, lines.End{Reached: true}); got !=
		`{"format":"lines/1","sources":["a"],"window":null,"query":"","records":[],"returned":0,"end_reached":true}` {
		t.Errorf("smallest document %s", got)
	}
}

// Every byte of a message comes back, whatever it is.
func TestEncodeKeepsMessages(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, seed))
	var records []lines.Record
	for range 300 {
		message := make([]byte, r.IntN(40))
		for i := range message {
			message[i] = byte(r.Uint32()) >> r.IntN(3)
		}
		records = append(records, lines.Record{Message: string(message)})
	}
	e := search()
	e.Limit = 0
	w := readWire(t, encoded(t, e, records, lines.End{Reached: true}))
	for i, got := range w.Records {
		message := string(got.Base64)
		if got.Message != nil {
			message = *got.Message
		}
		if message != records[i].Message {
			t.Errorf("message %q came back as %q", records[i].Message, message)
		}
		if got.Time != nil {
			t.Errorf("a record without a time got %s", *got.Time)
		}
	}
	if len(w.Records) != 300 || w.Returned != 300 {
		t.Errorf("%d records, returned %d; want 300", len(w.Records), w.Returned)
	}
}

func TestEncodeRefusesBadFields(t *testing.T) {
	t.Parallel()
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(*lines.Encoder)
		field  string
	}{
		"no_source":         {func(e *lines.Encoder) { e.Sources = nil }, "sources"},
		"blank_source":      {func(e *lines.Encoder) { e.Sources = []string{"a", " \n"} }, "sources"},
		"window_open":       {func(e *lines.Encoder) { e.To = time.Time{} }, "window"},
		"window_reversed":   {func(e *lines.Encoder) { e.To = e.From.Add(-1) }, "window"},
		"window_far":        {func(e *lines.Encoder) { e.To = late }, "window"},
		"retained_far":      {func(e *lines.Encoder) { e.RetainedFrom = late }, "retained_from"},
		"limit_negative":    {func(e *lines.Encoder) { e.Limit = -1 }, "limit"},
		"max_negative":      {func(e *lines.Encoder) { e.MaxBytes = -1 }, "max_bytes"},
		"max_for_no_record": {func(e *lines.Encoder) { e.MaxBytes = 100 }, "max_bytes"},
		"order":             {func(e *lines.Encoder) { e.Order = "random" }, "order"},
		"gap":               {func(e *lines.Encoder) { e.Unreached = []evidence.Gap{{What: "x"}} }, "cannot_cover"},
	} {
		t.Run(name, func(t *testing.T) {
			e := search()
			c.change(&e)
			var out bytes.Buffer
			_, err := e.Begin(&out)
			detail, ok := errors.AsType[*lines.EncodeError](err)
			if !ok || detail.Field != c.field || out.Len() > 0 {
				t.Errorf("Begin = %v after %d bytes, want an error about %s and nothing written", err, out.Len(), c.field)
			}
		})
	}
	if _, err := search().Begin(nil); err == nil {
		t.Error("a nil writer was taken")
	}
}

func TestEncodeCaps(t *testing.T) {
	t.Parallel()
	var records []lines.Record
	for i := range 50 {
		records = append(records, at(i, "ERROR", "checkout", strings.Repeat("漢", 20)))
	}
	e := search()
	e.Limit = 7
	w := readWire(t, encoded(t, e, records, lines.End{Reached: true}))
	if w.Returned != 7 || w.CutBy != lines.ByLimit || *w.EndReached {
		t.Errorf("%+v, want 7 records cut by the limit, the end not reached", w)
	}
	e.Limit = 0
	for most := int64(300); most < 8000; most += 97 {
		e.MaxBytes = most
		raw := encoded(t, e, records, lines.End{Reached: true})
		w := readWire(t, raw)
		if int64(len(raw)) > most || w.Returned != len(w.Records) || (w.CutBy == lines.ByMaxBytes) == *w.EndReached {
			t.Fatalf("%d bytes, limit %d: %d records, cut by %q, end reached %v", len(raw), most, w.Returned, w.CutBy, *w.EndReached)
		}
		if w.Returned == 0 { // a first record over the cap must not look like an absence
			if _, err := project(t, raw, lines.Options{}); err == nil {
				t.Fatalf("limit %d: cut before the first record was projected", most)
			}
		}
	}
}

func TestWriter(t *testing.T) {
	t.Parallel()
	t.Run("failing_writer", func(t *testing.T) {
		full := errors.New("SECRET disk")
		for after := range 4 {
			w := &failing{left: after, err: full}
			err := search().Encode(w, []lines.Record{at(1, "E", "s", "m"), at(2, "E", "s", "m")}, lines.End{Reached: true})
			detail, ok := errors.AsType[*lines.EncodeError](err)
			if !ok || detail.Field != "writer" || !errors.Is(err, full) || strings.Contains(fmt.Sprintf("%v %#v", err, err), "SECRET") {
				t.Errorf("writer failing after %d: %v", after, err)
			}
		}
		if err := search().Encode(&failing{left: 4}, nil, lines.End{}); err != nil {
			t.Errorf("a writer that works: %v", err)
		}
	})
	t.Run("short_writer", func(t *testing.T) {
		if err := search().Encode(short{}, nil, lines.End{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("Encode = %v, want %v", err, io.ErrShortWrite)
		}
	})
	t.Run("error_stays", func(t *testing.T) {
		out, err := search().Begin(&failing{left: 1, err: io.ErrClosedPipe})
		if err != nil {
			t.Fatal(err)
		}
		_, first := out.Add(at(1, "", "", "m"))
		_, again := out.Add(at(1, "", "", "m"))
		if first == nil || again != first || out.Close(lines.End{}) != first {
			t.Errorf("errors %v, %v; want the first again and again", first, again)
		}
	})
	t.Run("time_without_a_form", func(t *testing.T) {
		err := search().Encode(io.Discard, []lines.Record{{Time: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), Message: "SECRET"}}, lines.End{})
		detail, ok := errors.AsType[*lines.EncodeError](err)
		if !ok || detail.Record != 1 || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("Encode = %v, want an error about record 1", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		out, err := search().Begin(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Close(lines.End{Failed: []lines.Failure{{Source: "x"}}}); err == nil {
			t.Error("a failure without a reason was taken")
		}
		if err := out.Close(lines.End{}); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Add(at(1, "", "", "m")); err == nil {
			t.Error("Add after Close was taken")
		}
		if err := out.Close(lines.End{}); err == nil {
			t.Error("a second Close was taken")
		}
	})
	if got := (&lines.EncodeError{Field: "max_bytes", Reason: "too small", Size: 9, Limit: 8}).Error(); got != "lines: encode max_bytes: too small (9 bytes, limit 8)" {
		t.Errorf("Error() = %q", got)
	}
}

// failing takes a number of writes and then fails.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.left == 0 && f.err != nil {
		return 0, f.err
	}
	f.left--
	return len(p), nil
}

type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) / 2, nil }
