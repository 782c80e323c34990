package logsearch

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// starRecords takes lines that begin with a star for the first of a record.
type starRecords struct{}

func (starRecords) ParseLine(line string) (Head, bool) {
	rest, ok := strings.CutPrefix(line, "*")
	return Head{Message: rest}, ok
}

func readAll(t *testing.T, r *recordReader) []record {
	t.Helper()
	var all []record
	for {
		rec, err := r.read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("after %d records: %v", len(all), err)
		}
		all = append(all, rec)
	}
}

func readText(t *testing.T, text string, most int) []record {
	t.Helper()
	// One byte at a time, so that nothing hangs on where a read ends.
	return readAll(t, newRecordReader(iotest.OneByteReader(strings.NewReader(text)), starRecords{}, place{}, tail{}, most))
}

// want is a record as a test names it.
type wantRecord struct {
	text, message string
	offset        int64
	dated, cut    bool
}

func TestRecords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		most int
		want []wantRecord
	}{
		"empty":            {"", 99, nil},
		"one":              {"*a\n", 99, []wantRecord{{"*a", "a", 0, true, false}}},
		"no_line_end":      {"*a", 99, []wantRecord{{"*a", "a", 0, true, false}}},
		"two":              {"*a\n*b\n", 99, []wantRecord{{"*a", "a", 0, true, false}, {"*b", "b", 3, true, false}}},
		"joined":           {"*a\n\tat b\n\tat c\n*d\n", 99, []wantRecord{{"*a\n\tat b\n\tat c", "a\n\tat b\n\tat c", 0, true, false}, {"*d", "d", 15, true, false}}},
		"carriage_returns": {"*a\r\nb\r\n*c\r\n", 99, []wantRecord{{"*a\r\nb", "a\r\nb", 0, true, false}, {"*c", "c", 7, true, false}}},
		"lone_returns":     {"*a\rb\n", 99, []wantRecord{{"*a\rb", "a\rb", 0, true, false}}},
		"return_at_end":    {"*a\r", 99, []wantRecord{{"*a\r", "a\r", 0, true, false}}},
		"blank_lines":      {"*a\n\n\n*b\n\n", 99, []wantRecord{{"*a\n\n", "a\n\n", 0, true, false}, {"*b\n", "b\n", 5, true, false}}},
		"front":            {"tail\nmore\n*a\n", 99, []wantRecord{{"tail\nmore", "tail\nmore", 0, false, false}, {"*a", "a", 10, true, false}}},
		"front_only":       {"tail\nmore", 99, []wantRecord{{"tail\nmore", "tail\nmore", 0, false, false}}},
		"empty_front":      {"\n\nx\n*a", 99, []wantRecord{{"\n\nx", "\n\nx", 0, false, false}, {"*a", "a", 4, true, false}}},
		"at_the_limit":     {"*2345\n*b\n", 5, []wantRecord{{"*2345", "2345", 0, true, false}, {"*b", "b", 6, true, false}}},
		"over_the_limit":   {"*23456\n*b\n", 5, []wantRecord{{"*2345", "2345", 0, true, true}, {"*b", "b", 7, true, false}}},
		"far_over":         {"*" + strings.Repeat("x", 200<<10) + "\n*b\n", 5, []wantRecord{{"*xxxx", "xxxx", 0, true, true}, {"*b", "b", 200<<10 + 2, true, false}}},
		"joined_to_limit":  {"*a\n45\n*b", 5, []wantRecord{{"*a\n45", "a\n45", 0, true, false}, {"*b", "b", 6, true, false}}},
		"joined_over":      {"*a\n456\nmore\n*b", 5, []wantRecord{{"*a\n45", "a\n45", 0, true, true}, {"*b", "b", 12, true, false}}},
		"no_room_at_all":   {"*2345\nmore\n*b", 5, []wantRecord{{"*2345", "2345", 0, true, true}, {"*b", "b", 11, true, false}}},
		"blank_beyond":     {"*2345\n\n\n\n*b", 5, []wantRecord{{"*2345", "2345", 0, true, true}, {"*b", "b", 9, true, false}}},
		"cut_in_the_midst": {"00\n00000\n0", 3, []wantRecord{{"00", "00", 0, false, true}}},
		"no_utf8":          {"*\xff\xfe\n\x80\n", 99, []wantRecord{{"*\xff\xfe\n\x80", "\xff\xfe\n\x80", 0, true, false}}},
		"nul":              {"*a\x00b\n", 99, []wantRecord{{"*a\x00b", "a\x00b", 0, true, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := readText(t, c.text, c.most)
			if len(got) != len(c.want) {
				t.Fatalf("got %d records, want %d: %+v", len(got), len(c.want), got)
			}
			for i, r := range got {
				if is := (wantRecord{r.text, r.message(), r.offset, r.dated, r.cut}); is != c.want[i] {
					t.Errorf("record %d: got %+v, want %+v", i, is, c.want[i])
				}
				before := c.text[max(0, r.offset-tailBytes):r.offset]
				if got := string(r.before.bytes[:r.before.n]); got != before {
					t.Errorf("record %d: got %q before it, want %q", i, got, before)
				}
			}
		})
	}
}

// A source that breaks off gives what was whole and then its error; the record
// that broke off is not taken for a whole one.
func TestRecordsOfABrokenSource(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk is gone")
	for text, whole := range map[string]int{"": 0, "*a\n": 0, "*a": 0, "*a\n*b\n": 1, "*a\n*b\nmore\n*c": 1, "*a\n*b\nmore\n*c\n": 2} {
		r := newRecordReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), starRecords{}, place{}, tail{}, 99)
		got := 0
		var err error
		for err == nil {
			if _, err = r.read(); err == nil {
				got++
			}
		}
		if got != whole || !errors.Is(err, broken) {
			t.Errorf("%q: got %d records and %v, want %d and the source's error", text, got, err, whole)
		}
	}
}

func TestReadingFromAPlace(t *testing.T) {
	t.Parallel()
	const text = "*first\nmore\n*second\n*third\n"
	whole := readText(t, text, 99)
	for i, from := range whole {
		rest := readAll(t, newRecordReader(strings.NewReader(text[from.offset:]), starRecords{}, from.place(0), from.before, 99))
		if len(rest) != len(whole)-i {
			t.Fatalf("from record %d: got %d records, want %d", i, len(rest), len(whole)-i)
		}
		for j, r := range rest {
			if r != whole[i+j] {
				t.Errorf("from record %d: got %+v, want %+v", i, r, whole[i+j])
			}
		}
	}
}

func TestClipped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"fits":      {"abc", 64, "abc"},
		"at_limit":  {strings.Repeat("a", 64), 64, strings.Repeat("a", 64)},
		"over":      {strings.Repeat("a", 70), 64, strings.Repeat("a", 29) + " … 41 more bytes"},
		"on_a_rune": {strings.Repeat("错", 40), 64, strings.Repeat("错", 9) + " … 93 more bytes"},
	} {
		if got := clipped(c.text, c.limit); got != c.want || len(got) > c.limit {
			t.Errorf("%s: got %q (%d bytes), want %q", name, got, len(got), c.want)
		}
	}
}

func TestContains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, part string
		fold, want bool
	}{
		{"Connection to 2", "connection", false, false}, {"Connection to 2", "connection", true, true},
		{"connection", "CONNECTION TO", true, false}, {"STRASSE", "straße", true, false},
		{"ÄRGER", "ärger", true, true}, {"ΣΊΣΥΦΟΣ", "σίσυφος", true, true}, {"\u212Aelvin ſ", "kelvin S", true, true},
		{"连接到 2", "连接", true, true}, {"a\xffB", "\xffb", true, true}, {"a\xffb", "\uFFFD", true, false}, {"x", "", true, true},
	} {
		if got := contains(c.text, c.part, c.fold); got != c.want {
			t.Errorf("%q in %q, fold %t: got %t, want %t", c.part, c.text, c.fold, got, c.want)
		}
	}
}
