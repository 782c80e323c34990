package content

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestBodies_have_their_size_and_are_JSON(t *testing.T) {
	t.Parallel()
	source, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{MinSize, 1 << 10, 16 << 10, 256 << 10, 4 << 20} {
		seen := map[string]bool{}
		for kind := range kinds {
			for variant := range 3 {
				body := source.Body(kind, variant, size)
				if len(body) != size || !json.Valid(body) || !utf8.Valid(body) {
					t.Errorf("kind %d, size %d: %d bytes, JSON %v, UTF-8 %v", kind, size, len(body), json.Valid(body), utf8.Valid(body))
				}
				if blanks := size - len(bytes.TrimRight(body, " ")); size >= 256<<10 && blanks > 1<<10 {
					t.Errorf("kind %d, size %d: %d blanks at the end, want at most %d", kind, size, blanks, 1<<10)
				}
				seen[string(body)] = true
			}
		}
		if size >= 16<<10 && len(seen) != 3*int(kinds) {
			t.Errorf("size %d: %d different bodies, want %d", size, len(seen), 3*int(kinds))
		}
	}
}

func TestSet_is_what_the_store_takes(t *testing.T) {
	t.Parallel()
	source, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	set := source.Set(16 << 10)
	for v := range Variants {
		request := map[string]any{}
		if err := json.Unmarshal(set.Requests[v], &request); err != nil || len(set.Requests[v]) != requestSize {
			t.Errorf("request %d: %d bytes, %v", v, len(set.Requests[v]), err)
		}
		if !utf8.Valid(set.Agent[v]) || len(set.Agent[v]) > maxAgent || !bytes.HasPrefix(set.Raw[v], set.Agent[v]) {
			t.Errorf("agent result %d: %d bytes, not the beginning of its raw", v, len(set.Agent[v]))
		}
		if got, want := len(set.Whole[v]), requestSize+16<<10+len(set.Agent[v]); got != want {
			t.Errorf("whole %d: %d bytes, want %d", v, got, want)
		}
	}
}
