package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func read(t testing.TB, text string) (*frame, string, error) {
	t.Helper()
	r := bufio.NewReaderSize(strings.NewReader(text), 16)
	f, err := readFrame(r)
	rest, _ := io.ReadAll(r)
	return f, string(rest), err
}

func TestReadFrame_takes_one_value_and_no_more(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		bulks string
	}{
		{"+OK\r\n", ""},
		{"-ERR no such thing, and a long text that is longer than the buffer\r\n", ""},
		{":12\r\n", ""},
		{"_\r\n", ""},
		{"$-1\r\n", ""},
		{"*-1\r\n", ""},
		{"$0\r\n\r\n", "|"},
		{"$4\r\na\r\nb\r\n", "a\r\nb|"},
		{"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "GET|k|"},
		{"*2\r\n*1\r\n$1\r\na\r\n$1\r\nb\r\n", "a|b|"},
		{"%1\r\n$1\r\nk\r\n:1\r\n", "k|"},
		{"|1\r\n$3\r\nttl\r\n:1\r\n$1\r\nv\r\n", "ttl|v|"},
		{">2\r\n$4\r\npush\r\n$1\r\nx\r\n", "push|x|"},
	} {
		f, rest, err := read(t, c.text+"next")
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		bulks := ""
		for i := range f.bulks {
			bulks += f.bulk(i) + "|"
		}
		if string(f.raw) != c.text || bulks != c.bulks || rest != "next" {
			t.Errorf("%q: read %q with bulks %q, left %q; want bulks %q", c.text, f.raw, bulks, rest, c.bulks)
		}
	}
}

func TestReadFrame_refuses_what_is_cut_or_senseless(t *testing.T) {
	t.Parallel()
	if _, _, err := read(t, ""); !errors.Is(err, io.EOF) {
		t.Errorf("nothing at all: %v, want io.EOF", err)
	}
	for _, text := range []string{"+OK", "$5\r\nab", "*2\r\n$1\r\na\r\n", "$x\r\n", "$-2\r\n", "\n", strings.Repeat("*1\r\n", 40) + ":1\r\n", "*99999999\r\n", "$999999999\r\n"} {
		if f, _, err := read(t, text); err == nil {
			t.Errorf("%q was read as %q", text, f.raw)
		}
	}
}

func TestMiddle_is_inside_a_bulk(t *testing.T) {
	t.Parallel()
	f, _, err := read(t, "*3\r\n$1\r\na\r\n$2\r\nbc\r\n$6\r\ndefghi\r\n")
	if err != nil {
		t.Fatal(err)
	}
	places := map[int]bool{}
	for seed := range uint64(100) {
		at, ok := f.middle(false, seed)
		if !ok || bytes.IndexByte([]byte("cefghi"), f.raw[at]) < 0 {
			t.Errorf("seed %d: cut before %q", seed, f.raw[at:])
		}
		places[at] = true
		if at, _ := f.middle(true, seed); bytes.IndexByte([]byte("efghi"), f.raw[at]) < 0 {
			t.Errorf("seed %d: cut before %q, want one in the largest bulk", seed, f.raw[at:])
		}
	}
	if len(places) != 6 {
		t.Errorf("%d places were chosen, want all 6", len(places))
	}
	if f, _, _ := read(t, "+OK\r\n"); f != nil {
		if _, ok := f.middle(false, 0); ok {
			t.Error("a reply without a bulk has a middle")
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"))
	f.Add([]byte("%1\r\n$1\r\nk\r\n:1\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readFrame(bufio.NewReader(bytes.NewReader(text)))
		if err == nil && !bytes.HasPrefix(text, got.raw) {
			t.Errorf("%q was read as %q", text, got.raw)
		}
	})
}
