package boundary

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/canonical"
)

func TestRawWriter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit  int64
		writes []string
		kept   string // what is kept; only looked at where nothing is over
		over   bool
		size   int64
	}{
		"nothing":         {limit: 4, size: 0},
		"empty writes":    {limit: 4, writes: []string{"", ""}, size: 0},
		"below":           {limit: 4, writes: []string{"abc"}, kept: "abc", size: 3},
		"exactly":         {limit: 4, writes: []string{"ab", "cd"}, kept: "abcd", size: 4},
		"exactly, then 0": {limit: 4, writes: []string{"abcd", ""}, kept: "abcd", size: 4},
		"one over":        {limit: 4, writes: []string{"abcd", "e"}, over: true, size: 5},
		"one over, whole": {limit: 4, writes: []string{"abcde"}, over: true, size: 5},
		"goes on":         {limit: 4, writes: []string{"abcde", "f", "g"}, over: true, size: 5},
		"no room at all":  {limit: 0, writes: []string{"a"}, over: true, size: 1},
	} {
		hits := 0
		w := newRawWriter(c.limit, func() { hits++ })
		seen := int64(0)
		for _, text := range c.writes {
			before := w.isOver()
			n, err := w.Write([]byte(text))
			seen += int64(len(text))
			if fits := !before && seen <= c.limit; fits != (err == nil) || fits && n != len(text) || !fits && (n != 0 || !errors.Is(err, ErrRawLimit)) {
				t.Errorf("%s: writing %q gave %d, %v", name, text, n, err)
			}
		}
		raw := w.raw()
		if raw.Present() == c.over || raw.AtLeast != c.over || w.isOver() != c.over || raw.Size != c.size {
			t.Errorf("%s: raw %+v, want size %d, over %t", name, raw, c.size, c.over)
		}
		if !c.over && (string(raw.Bytes) != c.kept || raw.SHA256 != raw.Bytes.SHA256()) {
			t.Errorf("%s: kept %q, want %q and its digest", name, string(raw.Bytes), c.kept)
		}
		if c.over && raw.SHA256 != canonical.Body(strings.Join(c.writes, "")[:c.size]).SHA256() {
			t.Errorf("%s: the digest is not that of the %d bytes seen", name, c.size)
		}
		if (hits == 1) != c.over || hits > 1 {
			t.Errorf("%s: told %d times that the limit was passed", name, hits)
		}
	}
}

// What was handed over does not change when the writer is used on.
func TestRawWriter_used_on(t *testing.T) {
	t.Parallel()
	w := newRawWriter(1<<20, func() {})
	buffer := []byte("first")
	if _, err := w.Write(buffer); err != nil {
		t.Fatal(err)
	}
	copy(buffer, "#####")
	first := w.raw()
	for range 1000 {
		if _, err := io.WriteString(w, "more"); err != nil {
			t.Fatal(err)
		}
	}
	if string(first.Bytes) != "first" || first.Size != 5 || first.SHA256 != first.Bytes.SHA256() {
		t.Errorf("what was handed over is now %q of size %d", string(first.Bytes), first.Size)
	}
	if last := w.raw(); last.Size != 4005 || last.SHA256 != last.Bytes.SHA256() || !bytes.HasPrefix(last.Bytes, []byte("firstmore")) {
		t.Errorf("at the end %q... of size %d", string(last.Bytes[:9]), last.Size)
	}
}

// Several goroutines of one tool write at once, while somebody looks.
func TestRawWriter_at_once(t *testing.T) {
	t.Parallel()
	const writers, each, limit = 8, 200, 8 * 100 * 4
	hits := 0
	w := newRawWriter(limit, func() { hits++ })
	var wave sync.WaitGroup
	for range writers {
		wave.Go(func() {
			for range each {
				_, _ = io.WriteString(w, "1234")
				if raw := w.raw(); raw.Present() && raw.SHA256 != raw.Bytes.SHA256() {
					t.Error("bytes and digest differ")
				}
			}
		})
	}
	wave.Wait()
	if raw := w.raw(); raw.Present() || raw.Size != limit+4 || hits != 1 {
		t.Errorf("raw %+v after %d hits, want %d bytes seen and one", raw, hits, limit+4)
	}
}
